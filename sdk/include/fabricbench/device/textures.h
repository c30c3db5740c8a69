// tex1D, tex2D, … of texture objects. A read gives four words, of which the texel's type takes as many as it has
// components.
#pragma once
#include "fabricbench/language.h"
#include "texture_types.h"
#include "vector_types.h"

namespace fabricbench {

template <class Word>
struct TexelWords {
  Word x, y, z, w;
};

// How a type is made of words; types that are no texels have none.
template <class T>
struct Texel {};

#define FABRICBENCH_TEXEL(type, word, ...)                                               \
  template <>                                                                            \
  struct Texel<type> {                                                                   \
    typedef void none;                                                                   \
    typedef TexelWords<word> Words;                                                      \
    static FABRICBENCH_DEVICE type make(const Words& from) { return type(__VA_ARGS__); } \
  };
#define FABRICBENCH_TEXEL_VECTORS(base, element, word)                                              \
  template <>                                                                                       \
  struct Texel<base##1> {                                                                           \
    typedef void none;                                                                              \
    typedef TexelWords<word> Words;                                                                 \
    static FABRICBENCH_DEVICE base##1 make(const Words& f) { return {element(f.x)}; }               \
  };                                                                                                \
  template <>                                                                                       \
  struct Texel<base##2> {                                                                           \
    typedef void none;                                                                              \
    typedef TexelWords<word> Words;                                                                 \
    static FABRICBENCH_DEVICE base##2 make(const Words& f) { return {element(f.x), element(f.y)}; } \
  };                                                                                                \
  template <>                                                                                       \
  struct Texel<base##4> {                                                                           \
    typedef void none;                                                                              \
    typedef TexelWords<word> Words;                                                                 \
    static FABRICBENCH_DEVICE base##4 make(const Words& f) {                                        \
      return {element(f.x), element(f.y), element(f.z), element(f.w)};                              \
    }                                                                                               \
  };
#define FABRICBENCH_TEXELS(base, element, word) \
  FABRICBENCH_TEXEL(element, word, from.x)      \
  FABRICBENCH_TEXEL_VECTORS(base, element, word)

typedef signed char TexelSchar;
typedef unsigned char TexelUchar;
typedef unsigned short TexelUshort;
typedef unsigned int TexelUint;
FABRICBENCH_TEXEL(char, int, from.x)
FABRICBENCH_TEXELS(char, TexelSchar, int)
FABRICBENCH_TEXELS(uchar, TexelUchar, unsigned int)
FABRICBENCH_TEXELS(short, short, int)
FABRICBENCH_TEXELS(ushort, TexelUshort, unsigned int)
FABRICBENCH_TEXELS(int, int, int)
FABRICBENCH_TEXELS(uint, TexelUint, unsigned int)
FABRICBENCH_TEXELS(float, float, float)
#undef FABRICBENCH_TEXELS
#undef FABRICBENCH_TEXEL_VECTORS
#undef FABRICBENCH_TEXEL

}  // namespace fabricbench

#define FABRICBENCH_LIST(...) __VA_ARGS__

// One instruction for the three kinds of words. %4 is the handle; the inputs follow.
#define FABRICBENCH_READ_WORDS(name, before, behind, parameters, inputs, word, ptx, letter)    \
  FABRICBENCH_DEVICE void name(TexelWords<word>& to, cudaTextureObject_t object, parameters) { \
    asm volatile(before ".v4." ptx behind                                                      \
                 : "=" letter(to.x), "=" letter(to.y), "=" letter(to.z), "=" letter(to.w)      \
                 : "l"(object), inputs);                                                       \
  }
#define FABRICBENCH_TEXTURE(name, before, type, operands, parameters, arguments, inputs)                            \
  namespace fabricbench {                                                                                           \
  FABRICBENCH_READ_WORDS(read_##name, before, type " {%0, %1, %2, %3}, " operands ";", FABRICBENCH_LIST parameters, \
                         FABRICBENCH_LIST inputs, float, "f32", "f")                                                \
  FABRICBENCH_READ_WORDS(read_##name, before, type " {%0, %1, %2, %3}, " operands ";", FABRICBENCH_LIST parameters, \
                         FABRICBENCH_LIST inputs, int, "s32", "r")                                                  \
  FABRICBENCH_READ_WORDS(read_##name, before, type " {%0, %1, %2, %3}, " operands ";", FABRICBENCH_LIST parameters, \
                         FABRICBENCH_LIST inputs, unsigned int, "u32", "r")                                         \
  }                                                                                                                 \
  template <class T>                                                                                                \
  FABRICBENCH_DEVICE typename fabricbench::Texel<T>::none name(T* to, cudaTextureObject_t object,                   \
                                                               FABRICBENCH_LIST parameters) {                       \
    typename fabricbench::Texel<T>::Words words;                                                                    \
    fabricbench::read_##name(words, object, FABRICBENCH_LIST arguments);                                            \
    *to = fabricbench::Texel<T>::make(words);                                                                       \
  }                                                                                                                 \
  template <class T>                                                                                                \
  FABRICBENCH_DEVICE T name(cudaTextureObject_t object, FABRICBENCH_LIST parameters) {                              \
    T texel;                                                                                                        \
    name(&texel, object, FABRICBENCH_LIST arguments);                                                               \
    return texel;                                                                                                   \
  }
// The same with the question whether the texels are there; nothing is sparse, so they are.
#define FABRICBENCH_RESIDENT(name, parameters, arguments)                                                     \
  template <class T>                                                                                          \
  FABRICBENCH_DEVICE typename fabricbench::Texel<T>::none name(T* to, cudaTextureObject_t object,             \
                                                               FABRICBENCH_LIST parameters, bool* resident) { \
    name(to, object, FABRICBENCH_LIST arguments);                                                             \
    *resident = true;                                                                                         \
  }                                                                                                           \
  template <class T>                                                                                          \
  FABRICBENCH_DEVICE T name(cudaTextureObject_t object, FABRICBENCH_LIST parameters, bool* resident) {        \
    *resident = true;                                                                                         \
    return name<T>(object, FABRICBENCH_LIST arguments);                                                       \
  }

#include "fabricbench/device/textures.def"

#undef FABRICBENCH_RESIDENT
#undef FABRICBENCH_TEXTURE
#undef FABRICBENCH_READ_WORDS
#undef FABRICBENCH_LIST

// Four texels at once, one component of each.
namespace fabricbench {
#define FABRICBENCH_GATHER(component, word, ptx, letter)                                \
  asm volatile("tld4." component ".2d.v4." ptx ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
               : "=" letter(to.x), "=" letter(to.y), "=" letter(to.z), "=" letter(to.w) \
               : "l"(object), "f"(x), "f"(y))
#define FABRICBENCH_GATHER_WORDS(word, ptx, letter)                                                                   \
  FABRICBENCH_DEVICE void gather(TexelWords<word>& to, cudaTextureObject_t object, float x, float y, int component) { \
    if (component == 1) {                                                                                             \
      FABRICBENCH_GATHER("g", word, ptx, letter);                                                                     \
    } else if (component == 2) {                                                                                      \
      FABRICBENCH_GATHER("b", word, ptx, letter);                                                                     \
    } else if (component == 3) {                                                                                      \
      FABRICBENCH_GATHER("a", word, ptx, letter);                                                                     \
    } else {                                                                                                          \
      FABRICBENCH_GATHER("r", word, ptx, letter);                                                                     \
    }                                                                                                                 \
  }
FABRICBENCH_GATHER_WORDS(float, "f32", "f")
FABRICBENCH_GATHER_WORDS(int, "s32", "r")
FABRICBENCH_GATHER_WORDS(unsigned int, "u32", "r")
#undef FABRICBENCH_GATHER_WORDS
#undef FABRICBENCH_GATHER
}  // namespace fabricbench

template <class T>
FABRICBENCH_DEVICE typename fabricbench::Texel<T>::none tex2Dgather(T* to, cudaTextureObject_t object, float x, float y,
                                                                    int component = 0) {
  typename fabricbench::Texel<T>::Words words;
  fabricbench::gather(words, object, x, y, component);
  *to = fabricbench::Texel<T>::make(words);
}
template <class T>
FABRICBENCH_DEVICE T tex2Dgather(cudaTextureObject_t object, float x, float y, int component = 0) {
  T texel;
  tex2Dgather(&texel, object, x, y, component);
  return texel;
}
template <class T>
FABRICBENCH_DEVICE T tex2Dgather(cudaTextureObject_t object, float x, float y, bool* resident, int component = 0) {
  *resident = true;
  return tex2Dgather<T>(object, x, y, component);
}
