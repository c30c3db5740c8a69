// Tiles of AMX for bf16, for the small formats that bf16 holds, and for 8-bit integers; the others as AVX-512 does
// them.

#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "virtual_node/num/tensor/engines_x86.h"
#include "virtual_node/num/tensor/tensor_engine.h"

namespace fb::num::tensor {
namespace {

#include "virtual_node/num/tensor/avx512_vectors.h"
#include "virtual_node/num/tensor/vector_kernels.h"

// Factor::form
constexpr uint8_t kDecoded = 0;   // f32, as AVX-512 has it
constexpr uint8_t kTile = 1;      // words of bf16 or bytes, laid out as a tile
constexpr uint8_t kTinyTile = 2;  // … with products that may be subnormal

// Tiles. A: 16 rows; B: a row for each word along K, 8 columns; D: 16 rows of 8 sums. Macros, as gcc's intrinsics make
// register names of their text.
#define FB_SHORT_A 0
#define FB_SHORT_B 1
#define FB_SUMS 2
#define FB_LONG_A 3
#define FB_LONG_B 4
constexpr uint32_t kShort = 8, kLong = 16;  // words along K

struct TileConfig {
  uint8_t palette = 1;
  uint8_t start = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {32, 32, 32, 64, 32};
  uint8_t rows[16] = {16, 8, 16, 16, 16};
};

// A constant: what gcc's intrinsics read is not among the operands of their assembly, so stores to a local variable
// could be left out.
alignas(64) constexpr TileConfig kConfig;

thread_local bool configured = false;

void forget_configuration() { configured = false; }

void configure() {
  if (configured) [[likely]]
    return;
  _tile_loadconfig(&kConfig);
  configured = true;
}

// Columns in the order of a tile: the even ones are register 0 of the sums, the odd ones register 1.
constexpr int kColumnOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};

inline __m512i index_of_column_words(int first_word) {
  alignas(64) int index[16];
  for (int k = 0; k < 16; ++k) index[k] = 4 * kColumnOrder[k % 8] + first_word + k / 8;
  return _mm512_load_si512(index);
}

bool holds_bf16(Element e) {
  return e == Element::bf16 || e == Element::e4m3 || e == Element::e5m2 || e == Element::e3m2 || e == Element::e2m3 ||
         e == Element::e2m1;
}

bool uses_tiles(Element e, uint32_t words) {
  return words <= 8 && (holds_bf16(e) || e == Element::s8 || e == Element::u8);
}

// Four bytes of a word become two words of bf16, and a register two, which continue each other along K.
template <Element E>
void widen_register(const uint32_t* from, uint32_t* to) {
  for (uint32_t at = 0; at < kThreads; at += kWidth) {
    alignas(64) float values[4 * kWidth];
    decode<E>(V::load_words(from + at), values);
    const auto pair = [&](uint32_t k) {
      const V::Words low = V::right<16>(V::as_words(V::load(values + k * kWidth)));
      return _mm512_or_si512(low, V::bits_and(V::as_words(V::load(values + (k + 1) * kWidth)), 0xffff0000));
    };
    const V::Words first = pair(0), second = pair(2);
    _mm512_storeu_si512(to + at, V::unpack_low(first, second));
    _mm512_storeu_si512(to + kThreads + at, V::unpack_high(first, second));
  }
}

// Registers as a tile wants them: at most 8 for A, 4 for B.
class TileWords {
 public:
  TileWords(Element element, uint32_t words, uint32_t rows_of_registers, const uint32_t* const* registers) {
    const uint32_t count = words / 4 * rows_of_registers;
    if (elements_in_word(element) != 4 || !holds_bf16(element)) {
      for (uint32_t r = 0; r < count; ++r) at_[r] = registers[r];
      words_ = words;
      return;
    }
    words_ = 2 * words;
    for (uint32_t r = 0; r < count; ++r) {
      uint32_t pair[2][kThreads];
      widen(element, registers[r], pair[0]);
      for (uint32_t k = 0; k < 2; ++k) {
        const uint32_t slot = (r / rows_of_registers * 2 + k) * rows_of_registers + r % rows_of_registers;
        __builtin_memcpy(wide_[slot], pair[k], sizeof pair[k]);
        at_[slot] = wide_[slot];
      }
    }
  }

  uint32_t words() const { return words_; }
  // Zeros beyond the last word.
  V::Words load(uint32_t r, uint32_t at, uint32_t registers) const {
    return r < registers ? V::load_words(at_[r] + at) : _mm512_setzero_si512();
  }

 private:
  static void widen(Element element, const uint32_t* from, uint32_t* to) {
    switch (element) {
      case Element::e4m3:
        return widen_register<Element::e4m3>(from, to);
      case Element::e5m2:
        return widen_register<Element::e5m2>(from, to);
      case Element::e3m2:
        return widen_register<Element::e3m2>(from, to);
      case Element::e2m3:
        return widen_register<Element::e2m3>(from, to);
      default:
        return widen_register<Element::e2m1>(from, to);
    }
  }

  uint32_t words_ = 0;
  const uint32_t* at_[8] = {};
  alignas(64) uint32_t wide_[8][kThreads];
};

// Products of numbers that are zero or at least 2^-56 are multiples of 2^-126, and so are sums of them: nothing is
// subnormal, and nothing is flushed.
class LeastMagnitude {
 public:
  void see(V::Words pairs) {
    least_ = _mm512_min_epu16(least_, _mm512_sub_epi16(_mm512_slli_epi16(pairs, 1), _mm512_set1_epi16(1)));
  }
  bool is_tiny() const {
    const __m512i limit = _mm512_set1_epi16(static_cast<int16_t>(((127 - 56) << 8) - 1));
    return _mm512_cmplt_epu16_mask(least_, limit) != 0;
  }

 private:
  __m512i least_ = _mm512_set1_epi16(-1);
};

void describe_tile(Element element, uint32_t words, bool tiny, Factor& f) {
  f.words = words;
  f.per_word = elements_in_word(element);
  f.element = element;
  f.form = tiny ? kTinyTile : kTile;
}

// Row m of the tile: words 0 … 3 of its registers one after the other.
void prepare_tile_a(Element element, uint32_t words, const uint32_t* const* registers, Factor& a) {
  if (!uses_tiles(element, words)) return prepare_a(element, words, registers, a);
  const TileWords source(element, words, 2, registers);
  const uint32_t length = source.words() <= kShort ? kShort : kLong;
  const uint32_t count = source.words() / 2;
  auto* tile = reinterpret_cast<uint32_t*>(a.values);
  LeastMagnitude least;
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (uint32_t r = 0; r < length / 4; r += 2) {
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint32_t at = 0; at < kThreads; at += kWidth) {
        const V::Words x = source.load(2 * r + half, at, count), y = source.load(2 * r + 2 + half, at, count);
        least.see(x);
        least.see(y);
        uint32_t* row = tile + (8 * half + at / 4) * length + 4 * r;
        const __m512i rows01 = _mm512_permutex2var_epi64(x, low, y), rows23 = _mm512_permutex2var_epi64(x, high, y);
        if (length == kShort) {
          _mm512_storeu_si512(row, rows01);
          _mm512_storeu_si512(row + 2 * kShort, rows23);
        } else {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), _mm512_castsi512_si256(rows01));
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + kLong), _mm512_extracti64x4_epi64(rows01, 1));
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 2 * kLong), _mm512_castsi512_si256(rows23));
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 3 * kLong), _mm512_extracti64x4_epi64(rows23, 1));
        }
      }
    }
  }
  describe_tile(element, words, element == Element::bf16 && least.is_tiny(), a);
}

// Row j of the tile: word j of the columns.
void prepare_tile_b(Element element, uint32_t words, const uint32_t* const* registers, Factor& b) {
  if (!uses_tiles(element, words)) return prepare_b(element, words, registers, b);
  const TileWords source(element, words, 1, registers);
  const uint32_t length = source.words() <= kShort ? kShort : kLong;
  auto* tile = reinterpret_cast<uint32_t*>(b.values);
  LeastMagnitude least;
  const __m512i rows01 = index_of_column_words(0), rows23 = index_of_column_words(2);
  for (uint32_t r = 0; r < length / 4; ++r) {
    const V::Words x = source.load(r, 0, source.words() / 4), y = source.load(r, kWidth, source.words() / 4);
    least.see(x);
    least.see(y);
    _mm512_storeu_si512(tile + 32 * r, _mm512_permutex2var_epi32(x, rows01, y));
    _mm512_storeu_si512(tile + 32 * r + kWidth, _mm512_permutex2var_epi32(x, rows23, y));
  }
  describe_tile(element, words, element == Element::bf16 && least.is_tiny(), b);
}

// The words of a bf16 tile as registers again, for the sums that AVX-512 has to do.
void untile_a(const Factor& a, Factor& decoded) {
  const auto* tile = reinterpret_cast<const uint32_t*>(a.values);
  uint32_t words[4][kThreads];
  const uint32_t* registers[4] = {words[0], words[1], words[2], words[3]};
  for (uint32_t r = 0; r < 4; ++r) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      words[r][thread] = tile[(8 * (r % 2) + thread / 4) * kShort + 4 * (r / 2) + thread % 4];
    }
  }
  prepare_a(a.element, a.words, registers, decoded);
}

void untile_b(const Factor& b, Factor& decoded) {
  const auto* tile = reinterpret_cast<const uint32_t*>(b.values);
  uint32_t words[2][kThreads];
  const uint32_t* registers[2] = {words[0], words[1]};
  for (uint32_t r = 0; r < 2; ++r) {
    for (uint32_t c = 0; c < kColumns; ++c) {
      for (uint32_t t = 0; t < 4; ++t) words[r][4 * kColumnOrder[c] + t] = tile[(4 * r + t) * kColumns + c];
    }
  }
  prepare_b(b.element, b.words, registers, decoded);
}

void store_tile(const float* rows, bool integers, Sums& sums) {
  const __m512i even = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), odd = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t at = 0; at < kThreads; at += kWidth) {
      const float* from = rows + (8 * half + at / 4) * kColumns;
      __m512i x = _mm512_loadu_si512(from), y = _mm512_loadu_si512(from + kWidth);
      if (integers) {
        x = V::as_words(_mm512_cvtepi32_ps(x));
        y = V::as_words(_mm512_cvtepi32_ps(y));
      }
      _mm512_storeu_si512(&sums.values[2 * half][at], _mm512_permutex2var_epi64(x, even, y));
      _mm512_storeu_si512(&sums.values[2 * half + 1][at], _mm512_permutex2var_epi64(x, odd, y));
    }
  }
}

// The sums of two tiles, by rows. Unless `keep`, A is loaded; otherwise it is the one of the call before.
void run_tiles(const Factor& a, const Factor& b, bool keep, float* rows) {
  const bool is_long = !is_integer(a.element) && a.per_word == 4 && a.words == 8;
  _tile_zero(FB_SUMS);
  if (is_long) {
    if (!keep) _tile_loadd(FB_LONG_A, a.values, 64);
    _tile_loadd(FB_LONG_B, b.values, 32);
    _tile_dpbf16ps(FB_SUMS, FB_LONG_A, FB_LONG_B);
  } else {
    if (!keep) _tile_loadd(FB_SHORT_A, a.values, 32);
    _tile_loadd(FB_SHORT_B, b.values, 32);
    const bool signed_a = a.element == Element::s8, signed_b = b.element == Element::s8;
    if (!is_integer(a.element)) {
      _tile_dpbf16ps(FB_SUMS, FB_SHORT_A, FB_SHORT_B);
    } else if (signed_a && signed_b) {
      _tile_dpbssd(FB_SUMS, FB_SHORT_A, FB_SHORT_B);
    } else if (signed_a) {
      _tile_dpbsud(FB_SUMS, FB_SHORT_A, FB_SHORT_B);
    } else if (signed_b) {
      _tile_dpbusd(FB_SUMS, FB_SHORT_A, FB_SHORT_B);
    } else {
      _tile_dpbuud(FB_SUMS, FB_SHORT_A, FB_SHORT_B);
    }
  }
  _tile_stored(FB_SUMS, rows, 32);
}

void multiply_untiled(const Factor& a, const Factor& b, Sums& sums) {
  if (a.form == kDecoded) return multiply(a, b, sums);
  Factor decoded_a, decoded_b;
  untile_a(a, decoded_a);
  untile_b(b, decoded_b);
  multiply(decoded_a, decoded_b, sums);
}

// Tiles reach registers by way of memory, and loads wait until a tile is stored there: the sums of one pair are read
// after several others have begun.
void multiply_many_tiles(const Factor* const* a, const Factor* const* b, Sums* sums, uint32_t count) {
  constexpr uint32_t kTogether = 8;
  alignas(64) float rows[kTogether][kRows * kColumns];
  configure();
  __asm__ volatile("" ::: "memory");  // the factors are stored before gcc's intrinsics read them
  for (uint32_t first = 0; first < count; first += kTogether) {
    const uint32_t end = count - first < kTogether ? count : first + kTogether;
    const Factor* loaded = nullptr;
    for (uint32_t k = first; k < end; ++k) {
      if (a[k]->form != kTile || b[k]->form != kTile) continue;
      run_tiles(*a[k], *b[k], a[k] == loaded, rows[k - first]);
      loaded = a[k];
    }
    for (uint32_t k = first; k < end; ++k) {
      if (a[k]->form != kTile || b[k]->form != kTile)
        multiply_untiled(*a[k], *b[k], sums[k]);
      else
        store_tile(rows[k - first], is_integer(a[k]->element), sums[k]);
    }
  }
}

void multiply_tiles(const Factor& a, const Factor& b, Sums& sums) {
  const Factor *one_a = &a, *one_b = &b;
  multiply_many_tiles(&one_a, &one_b, &sums, 1);
}

}  // namespace

bool request_tiles() {
  if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8")) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return false;
  pthread_atfork(nullptr, nullptr, forget_configuration);  // a child begins without a configuration
  return true;
}

extern const Engine kAmxEngine{"amx",          prepare_tile_a,      prepare_tile_b,
                               multiply_tiles, multiply_many_tiles, multiply_f64};

}  // namespace fb::num::tensor
