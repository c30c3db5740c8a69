#include <immintrin.h>

#include "virtual_node/num/tensor/engines_x86.h"
#include "virtual_node/num/tensor/tensor_engine.h"

namespace fb::num::tensor {
namespace {

struct V {
  static constexpr uint32_t kWidth = 8;
  using Words = __m256i;
  using Floats = __m256;

  static Words load_words(const uint32_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
  static Floats load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Floats x) { _mm256_storeu_ps(at, x); }
  static Floats broadcast(const float* at) { return _mm256_broadcast_ss(at); }
  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats as_floats(Words x) { return _mm256_castsi256_ps(x); }
  static Words as_words(Floats x) { return _mm256_castps_si256(x); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  static Words unpack_low(Words a, Words b) { return _mm256_unpacklo_epi32(a, b); }
  static Words unpack_high(Words a, Words b) { return _mm256_unpackhi_epi32(a, b); }
  static Words unpack_low64(Words a, Words b) { return _mm256_unpacklo_epi64(a, b); }
  static Words unpack_high64(Words a, Words b) { return _mm256_unpackhi_epi64(a, b); }

  static Words all(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Words bits_and(Words x, uint32_t mask) { return _mm256_and_si256(x, all(mask)); }
  template <int kBy>
  static Words left(Words x) {
    return _mm256_slli_epi32(x, kBy);
  }
  template <int kBy>
  static Words right(Words x) {
    return _mm256_srli_epi32(x, kBy);
  }
  template <int kBy>
  static Words signed_right(Words x) {
    return _mm256_srai_epi32(x, kBy);
  }
  static Words left_by(Words x, int by) { return _mm256_sll_epi32(x, _mm_cvtsi32_si128(by)); }
  static Words right_by(Words x, int by) { return _mm256_srl_epi32(x, _mm_cvtsi32_si128(by)); }
  static Floats from_int(Words x) { return _mm256_cvtepi32_ps(x); }
  // Codes in the low halves of words, whose upper halves are zero.
  static Floats from_half(Words x) {
    const Words packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(x, x), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
  }
  // Formats of kBits bits whose magnitude, moved left by kLeft, is that of an f16 that is 2^kScale times too small.
  template <int kBits, int kLeft, int kScale>
  static Floats small_float(Words x) {
    const Words magnitude = left<kLeft>(bits_and(x, (1 << (kBits - 1)) - 1));
    const Words sign = left<16 - kBits>(bits_and(x, 1 << (kBits - 1)));
    return _mm256_mul_ps(from_half(_mm256_or_si256(magnitude, sign)), _mm256_set1_ps(1 << kScale));
  }
  static Words greater(Words x, int limit) { return _mm256_cmpgt_epi32(x, _mm256_set1_epi32(limit)); }
  static Floats nan_where(Words chosen, Words x) { return as_floats(_mm256_blendv_epi8(x, all(0x7fffffff), chosen)); }
};

#include "virtual_node/num/tensor/vector_kernels.h"

}  // namespace

extern const Engine kAvx2Engine{"avx2", prepare_a, prepare_b, multiply, multiply_many, multiply_f64};

}  // namespace fb::num::tensor
