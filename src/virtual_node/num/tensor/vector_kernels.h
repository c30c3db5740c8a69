// The engine's functions over vectors of V::kWidth words; included by the file of an instruction set inside its own
// unnamed namespace, behind the definition of V.
//
// Layout of decoded factors. A: for each element k, the values of all rows, in halves of V::kWidth rows; within a half
// the rows are in the order in which transpose() leaves them, and the sums come back through the same transposition.
// B: registers of 32 words in pieces of V::kWidth, for each piece one vector for each element of a word. The products
// take A's vectors whole and B's values one by one, broadcast.

constexpr uint32_t kWidth = V::kWidth;
constexpr uint32_t kHalves = kRows / kWidth;

// Vector i, quarter q, element t of the 4 × 4 words in quarter q of all vectors becomes vector t, quarter q, element i.
inline void transpose(V::Words (&x)[4]) {
  const V::Words a = V::unpack_low(x[0], x[1]), b = V::unpack_high(x[0], x[1]);
  const V::Words c = V::unpack_low(x[2], x[3]), d = V::unpack_high(x[2], x[3]);
  x[0] = V::unpack_low64(a, c);
  x[1] = V::unpack_high64(a, c);
  x[2] = V::unpack_low64(b, d);
  x[3] = V::unpack_high64(b, d);
}

// One vector of words to one of values for each element of a word.
template <Element E>
inline void decode(V::Words x, float* to) {
  if constexpr (E == Element::f32) {
    V::store(to, V::as_floats(x));
  } else if constexpr (E == Element::tf32) {
    V::store(to, V::nan_where(V::greater(V::bits_and(x, 0x7fffffff), 0x7f800000), V::bits_and(x, 0xffffe000)));
  } else if constexpr (E == Element::bf16) {
    V::store(to, V::as_floats(V::template left<16>(x)));
    V::store(to + kWidth, V::as_floats(V::bits_and(x, 0xffff0000)));
  } else if constexpr (E == Element::f16) {
    V::store(to, V::from_half(V::bits_and(x, 0xffff)));
    V::store(to + kWidth, V::from_half(V::template right<16>(x)));
  } else if constexpr (E == Element::packed_e2m1 || E == Element::s4 || E == Element::u4) {
    for (int k = 0; k < 8; ++k) {
      if constexpr (E == Element::s4)
        V::store(to, V::from_int(V::template signed_right<28>(V::left_by(x, 28 - 4 * k))));
      if constexpr (E == Element::u4) V::store(to, V::from_int(V::bits_and(V::right_by(x, 4 * k), 15)));
      if constexpr (E == Element::packed_e2m1) V::store(to, V::template small_float<4, 9, 14>(V::right_by(x, 4 * k)));
      to += kWidth;
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      const V::Words byte = V::bits_and(V::right_by(x, 8 * k), 0xff);
      if constexpr (E == Element::s8)
        V::store(to, V::from_int(V::template signed_right<24>(V::left_by(x, 24 - 8 * k))));
      if constexpr (E == Element::u8) V::store(to, V::from_int(byte));
      if constexpr (E == Element::e5m2) V::store(to, V::from_half(V::template left<8>(byte)));
      if constexpr (E == Element::e4m3) {
        const V::Floats value = V::template small_float<8, 7, 8>(byte);
        V::store(to, V::nan_where(V::greater(V::bits_and(byte, 0x7f), 0x7e), V::as_words(value)));
      }
      if constexpr (E == Element::e3m2) V::store(to, V::template small_float<6, 8, 12>(byte));
      if constexpr (E == Element::e2m3) V::store(to, V::template small_float<6, 7, 14>(byte));
      if constexpr (E == Element::e2m1) V::store(to, V::template small_float<4, 9, 14>(byte));
      to += kWidth;
    }
  }
}

template <Element E>
void decode_a(uint32_t words, const uint32_t* const* registers, float* to) {
  constexpr uint32_t kPer = elements_in_word(E);
  for (uint32_t r = 0; r < words / 4; ++r) {
    for (uint32_t half = 0; half < kHalves; ++half) {
      V::Words x[4];
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t at = (half * 4 + i) * kWidth;
        x[i] = V::load_words(registers[2 * r + at / kThreads] + at % kThreads);
      }
      transpose(x);
      for (uint32_t t = 0; t < 4; ++t) decode<E>(x[t], to + ((half * words + 4 * r + t) * kPer) * kWidth);
    }
  }
}

template <Element E>
void decode_b(uint32_t words, const uint32_t* const* registers, float* to) {
  constexpr uint32_t kPer = elements_in_word(E);
  for (uint32_t r = 0; r < words / 4; ++r) {
    for (uint32_t at = 0; at < kThreads; at += kWidth) {
      decode<E>(V::load_words(registers[r] + at), to);
      to += kWidth * kPer;
    }
  }
}

using Decode = void (*)(uint32_t words, const uint32_t* const* registers, float* to);

#define FB_DECODERS(function)                                                                                 \
  {function<Element::f32>,  function<Element::tf32>, function<Element::f16>,  function<Element::bf16>,        \
   function<Element::e4m3>, function<Element::e5m2>, function<Element::e3m2>, function<Element::e2m3>,        \
   function<Element::e2m1>, function<Element::s8>,   function<Element::u8>,   function<Element::packed_e2m1>, \
   function<Element::s4>,   function<Element::u4>}
constexpr Decode kDecodeA[] = FB_DECODERS(decode_a);
constexpr Decode kDecodeB[] = FB_DECODERS(decode_b);
#undef FB_DECODERS

inline void describe(Element element, uint32_t words, Factor& f) {
  f.words = words;
  f.per_word = elements_in_word(element);
  f.element = element;
  f.form = 0;
}

void prepare_a(Element element, uint32_t words, const uint32_t* const* registers, Factor& a) {
  describe(element, words, a);
  kDecodeA[static_cast<int>(element)](words, registers, a.values);
}

void prepare_b(Element element, uint32_t words, const uint32_t* const* registers, Factor& b) {
  describe(element, words, b);
  kDecodeB[static_cast<int>(element)](words, registers, b.values);
}

// Columns of one kind, even or odd: 0, 2, 4, 6 or 1, 3, 5, 7.
template <uint32_t kPer, uint32_t kKinds>
inline void multiply_half(const float* a, const float* b, uint32_t words, uint32_t first,
                          V::Floats (&sums)[kKinds][4]) {
  V::Floats parity[2][kKinds][4];
  for (auto& kind : parity) {
    for (auto& columns : kind) {
      for (auto& column : columns) column = V::zero();
    }
  }
  for (uint32_t r = 0; r < words / 4; ++r) {
#pragma GCC unroll 4
    for (uint32_t t = 0; t < 4; ++t) {
#pragma GCC unroll 8
      for (uint32_t i = 0; i < kPer; ++i) {
        const V::Floats row = V::load(a);
        a += kWidth;
#pragma GCC unroll 2
        for (uint32_t kind = 0; kind < kKinds; ++kind) {
#pragma GCC unroll 4
          for (uint32_t c = 0; c < 4; ++c) {
            const uint32_t word = 4 * (2 * c + kind + first) + t;
            V::Floats& sum = parity[(t * kPer + i) % 2][kind][c];
            sum =
                V::multiply_add(row, V::broadcast(b + word / kWidth * kWidth * kPer + i * kWidth + word % kWidth), sum);
          }
        }
      }
    }
    b += kThreads * kPer;
  }
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    for (uint32_t c = 0; c < 4; ++c) sums[kind][c] = V::add(parity[0][kind][c], parity[1][kind][c]);
  }
}

// The transposed sums of columns of one kind are the words of registers `kind` and `kind` + 2.
inline void store_sums(uint32_t half, uint32_t kind, const V::Floats (&columns)[4], Sums& sums) {
  V::Words x[4];
  for (uint32_t c = 0; c < 4; ++c) x[c] = V::as_words(columns[c]);
  transpose(x);
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t at = (half * 4 + i) * kWidth;
    V::store(&sums.values[kind + 2 * (at / kThreads)][at % kThreads], V::as_floats(x[i]));
  }
}

// Vectors of 16 rows have registers enough for all columns at once, those of 8 for half of them.
template <uint32_t kPer>
void multiply_decoded(const float* a, const float* b, uint32_t words, Sums& sums) {
  constexpr uint32_t kKinds = kHalves == 1 ? 2 : 1;
  for (uint32_t half = 0; half < kHalves; ++half) {
    for (uint32_t first = 0; first < 2; first += kKinds) {
      V::Floats columns[kKinds][4];
      multiply_half<kPer, kKinds>(a + half * words * kPer * kWidth, b, words, first, columns);
      for (uint32_t kind = 0; kind < kKinds; ++kind) store_sums(half, first + kind, columns[kind], sums);
    }
  }
}

void multiply(const Factor& a, const Factor& b, Sums& sums) {
  switch (a.per_word) {
    case 1:
      return multiply_decoded<1>(a.values, b.values, a.words, sums);
    case 2:
      return multiply_decoded<2>(a.values, b.values, a.words, sums);
    case 4:
      return multiply_decoded<4>(a.values, b.values, a.words, sums);
    default:
      return multiply_decoded<8>(a.values, b.values, a.words, sums);
  }
}

[[maybe_unused]] void multiply_many(const Factor* const* a, const Factor* const* b, Sums* sums, uint32_t count) {
  for (uint32_t k = 0; k < count; ++k) multiply(*a[k], *b[k], sums[k]);
}

void multiply_f64(const double* a, const double* b, double* c, uint32_t rows, uint32_t depth) {
  for (uint32_t m = 0; m < rows; ++m) {
    for (uint32_t k = 0; k < depth; ++k) {
      for (uint32_t n = 0; n < kColumns; ++n) {
        c[m * kColumns + n] = __builtin_fma(a[m * depth + k], b[k * kColumns + n], c[m * kColumns + n]);
      }
    }
  }
}
