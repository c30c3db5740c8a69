// Vectors of AVX-512, for the files that are compiled for it; included inside their unnamed namespace.

struct V {
  static constexpr uint32_t kWidth = 16;
  using Words = __m512i;
  using Floats = __m512;

  static Words load_words(const uint32_t* at) { return _mm512_loadu_si512(at); }
  static Floats load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Floats x) { _mm512_storeu_ps(at, x); }
  static Floats broadcast(const float* at) { return _mm512_set1_ps(*at); }
  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats as_floats(Words x) { return _mm512_castsi512_ps(x); }
  static Words as_words(Floats x) { return _mm512_castps_si512(x); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

  static Words unpack_low(Words a, Words b) { return _mm512_unpacklo_epi32(a, b); }
  static Words unpack_high(Words a, Words b) { return _mm512_unpackhi_epi32(a, b); }
  static Words unpack_low64(Words a, Words b) { return _mm512_unpacklo_epi64(a, b); }
  static Words unpack_high64(Words a, Words b) { return _mm512_unpackhi_epi64(a, b); }

  static Words all(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Words bits_and(Words x, uint32_t mask) { return _mm512_and_si512(x, all(mask)); }
  template <int kBy>
  static Words left(Words x) {
    return _mm512_slli_epi32(x, kBy);
  }
  template <int kBy>
  static Words right(Words x) {
    return _mm512_srli_epi32(x, kBy);
  }
  template <int kBy>
  static Words signed_right(Words x) {
    return _mm512_srai_epi32(x, kBy);
  }
  static Words left_by(Words x, int by) { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(by)); }
  static Words right_by(Words x, int by) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(by)); }
  static Floats from_int(Words x) { return _mm512_cvtepi32_ps(x); }
  static Floats from_half(Words x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
  template <int kBits, int kLeft, int kScale>
  static Floats small_float(Words x) {
    const Words magnitude = left<kLeft>(bits_and(x, (1 << (kBits - 1)) - 1));
    const Words sign = left<16 - kBits>(bits_and(x, 1 << (kBits - 1)));
    return _mm512_mul_ps(from_half(_mm512_or_si512(magnitude, sign)), _mm512_set1_ps(1 << kScale));
  }
  static __mmask16 greater(Words x, int limit) { return _mm512_cmpgt_epi32_mask(x, _mm512_set1_epi32(limit)); }
  static Floats nan_where(__mmask16 chosen, Words x) {
    return as_floats(_mm512_mask_mov_epi32(x, chosen, all(0x7fffffff)));
  }
};
