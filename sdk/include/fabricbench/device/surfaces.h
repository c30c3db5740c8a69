// surf1Dread, surf2Dwrite, … of surface objects: texels by the byte they begin at, without conversion.
#pragma once
#include "fabricbench/language.h"
#include "surface_types.h"
#include "vector_types.h"

namespace fabricbench {

// How many elements of how many bits a type has; types that are no texels have none.
template <class T>
struct SurfaceTexel {};
template <int kBits>
struct SurfaceElement {};
template <>
struct SurfaceElement<8> {
  typedef unsigned short Register;
  typedef unsigned char Type;
};
template <>
struct SurfaceElement<16> {
  typedef unsigned short Register;
  typedef unsigned short Type;
};
template <>
struct SurfaceElement<32> {
  typedef unsigned int Register;
  typedef unsigned int Type;
};
template <>
struct SurfaceElement<64> {
  typedef unsigned long long Register;
  typedef unsigned long long Type;
};

template <int bits_, int count_>
struct SurfaceFormat {
  typedef void none;
  static constexpr int kBits = bits_, kCount = count_;
  typedef typename SurfaceElement<bits_>::Type Element;
  typedef typename SurfaceElement<bits_>::Register Register;
};
#define FABRICBENCH_SURFACE_TEXEL(type, bits, count) \
  template <>                                        \
  struct SurfaceTexel<type> : SurfaceFormat<bits, count> {};
#define FABRICBENCH_SURFACE_PAIRS(scalar, base, bits) \
  FABRICBENCH_SURFACE_TEXEL(scalar, bits, 1)          \
  FABRICBENCH_SURFACE_TEXEL(base##1, bits, 1)         \
  FABRICBENCH_SURFACE_TEXEL(base##2, bits, 2)
#define FABRICBENCH_SURFACE_TEXELS(scalar, base, bits) \
  FABRICBENCH_SURFACE_PAIRS(scalar, base, bits)        \
  FABRICBENCH_SURFACE_TEXEL(base##4, bits, 4)
FABRICBENCH_SURFACE_TEXEL(char, 8, 1)
FABRICBENCH_SURFACE_TEXELS(signed char, char, 8)
FABRICBENCH_SURFACE_TEXELS(unsigned char, uchar, 8)
FABRICBENCH_SURFACE_TEXELS(short, short, 16)
FABRICBENCH_SURFACE_TEXELS(unsigned short, ushort, 16)
FABRICBENCH_SURFACE_TEXELS(int, int, 32)
FABRICBENCH_SURFACE_TEXELS(unsigned int, uint, 32)
FABRICBENCH_SURFACE_TEXELS(float, float, 32)
FABRICBENCH_SURFACE_PAIRS(long long, longlong, 64)
FABRICBENCH_SURFACE_PAIRS(unsigned long long, ulonglong, 64)
#undef FABRICBENCH_SURFACE_TEXELS
#undef FABRICBENCH_SURFACE_PAIRS
#undef FABRICBENCH_SURFACE_TEXEL

#define FABRICBENCH_LIST2(...) __VA_ARGS__

// Reads and writes of one geometry. Registers come first in a read, behind handle and coordinates in a write.
#define FABRICBENCH_READ1(geometry, bits, letter, mode, place, inputs) \
  asm volatile("suld.b." geometry "." bits "." mode " {%0}, [%1, " place "];" : "=" letter(v[0]) : "l"(object), inputs)
#define FABRICBENCH_READ2(geometry, bits, letter, mode, place, inputs)               \
  asm volatile("suld.b." geometry ".v2." bits "." mode " {%0, %1}, [%2, " place "];" \
               : "=" letter(v[0]), "=" letter(v[1])                                  \
               : "l"(object), inputs)
#define FABRICBENCH_READ4(geometry, bits, letter, mode, place, inputs)                       \
  asm volatile("suld.b." geometry ".v4." bits "." mode " {%0, %1, %2, %3}, [%4, " place "];" \
               : "=" letter(v[0]), "=" letter(v[1]), "=" letter(v[2]), "=" letter(v[3])      \
               : "l"(object), inputs)
#define FABRICBENCH_WRITE1(geometry, bits, letter, mode, place, inputs)                                           \
  asm volatile("sust.b." geometry "." bits "." mode " [%1, " place "], {%0};" ::letter(v[0]), "l"(object), inputs \
               : "memory")
#define FABRICBENCH_WRITE2(geometry, bits, letter, mode, place, inputs)                                            \
  asm volatile("sust.b." geometry ".v2." bits "." mode " [%2, " place "], {%0, %1};" ::letter(v[0]), letter(v[1]), \
               "l"(object), inputs                                                                                 \
               : "memory")
#define FABRICBENCH_WRITE4(geometry, bits, letter, mode, place, inputs)                                      \
  asm volatile("sust.b." geometry ".v4." bits "." mode " [%4, " place "], {%0, %1, %2, %3};" ::letter(v[0]), \
               letter(v[1]), letter(v[2]), letter(v[3]), "l"(object), inputs                                 \
               : "memory")

#define FABRICBENCH_BY_MODE(access, geometry, bits, letter, place, inputs)    \
  if (mode == cudaBoundaryModeZero) {                                         \
    access(geometry, bits, letter, "zero", place, FABRICBENCH_LIST2 inputs);  \
  } else if (mode == cudaBoundaryModeClamp) {                                 \
    access(geometry, bits, letter, "clamp", place, FABRICBENCH_LIST2 inputs); \
  } else {                                                                    \
    access(geometry, bits, letter, "trap", place, FABRICBENCH_LIST2 inputs);  \
  }

template <int kBits, int kCount>
struct SurfaceAccess;

#define FABRICBENCH_SURFACE_GEOMETRY(access, name, geometry, bits, letter, reg, qualifier, parameters, place, inputs) \
  static FABRICBENCH_DEVICE void name(qualifier reg* v, cudaSurfaceObject_t object, FABRICBENCH_LIST2 parameters,     \
                                      cudaSurfaceBoundaryMode mode) {                                                 \
    FABRICBENCH_BY_MODE(access, geometry, bits, letter, place, inputs)                                                \
  }
// Places: the numbers of the operands behind the handle, which differ with the count.
#define FABRICBENCH_SURFACE_COUNT(count, bits, ptx, letter, reg, a, b, c)                                           \
  template <>                                                                                                       \
  struct SurfaceAccess<bits, count> {                                                                               \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_READ##count, read_1d, "1d", ptx, letter, reg, , (int x), "{" a "}",    \
                                 ("r"(x)))                                                                          \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_READ##count, read_2d, "2d", ptx, letter, reg, , (int x, int y),        \
                                 "{" a ", " b "}", ("r"(x), "r"(y)))                                                \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_READ##count, read_3d, "3d", ptx, letter, reg, , (int x, int y, int z), \
                                 "{" a ", " b ", " c ", " c "}", ("r"(x), "r"(y), "r"(z)))                          \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_READ##count, read_a1d, "a1d", ptx, letter, reg, , (int layer, int x),  \
                                 "{" a ", " b "}", ("r"(layer), "r"(x)))                                            \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_READ##count, read_a2d, "a2d", ptx, letter, reg, ,                      \
                                 (int layer, int x, int y), "{" a ", " b ", " c ", " c "}",                         \
                                 ("r"(layer), "r"(x), "r"(y)))                                                      \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_WRITE##count, write_1d, "1d", ptx, letter, reg, const, (int x),        \
                                 "{" a "}", ("r"(x)))                                                               \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_WRITE##count, write_2d, "2d", ptx, letter, reg, const, (int x, int y), \
                                 "{" a ", " b "}", ("r"(x), "r"(y)))                                                \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_WRITE##count, write_3d, "3d", ptx, letter, reg, const,                 \
                                 (int x, int y, int z), "{" a ", " b ", " c ", " c "}", ("r"(x), "r"(y), "r"(z)))   \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_WRITE##count, write_a1d, "a1d", ptx, letter, reg, const,               \
                                 (int layer, int x), "{" a ", " b "}", ("r"(layer), "r"(x)))                        \
    FABRICBENCH_SURFACE_GEOMETRY(FABRICBENCH_WRITE##count, write_a2d, "a2d", ptx, letter, reg, const,               \
                                 (int layer, int x, int y), "{" a ", " b ", " c ", " c "}",                         \
                                 ("r"(layer), "r"(x), "r"(y)))                                                      \
  };
#define FABRICBENCH_SURFACE_BITS(bits, ptx, letter, reg)                 \
  FABRICBENCH_SURFACE_COUNT(1, bits, ptx, letter, reg, "%2", "%3", "%4") \
  FABRICBENCH_SURFACE_COUNT(2, bits, ptx, letter, reg, "%3", "%4", "%5")
FABRICBENCH_SURFACE_BITS(8, "b8", "h", unsigned short)
FABRICBENCH_SURFACE_COUNT(4, 8, "b8", "h", unsigned short, "%5", "%6", "%7")
FABRICBENCH_SURFACE_BITS(16, "b16", "h", unsigned short)
FABRICBENCH_SURFACE_COUNT(4, 16, "b16", "h", unsigned short, "%5", "%6", "%7")
FABRICBENCH_SURFACE_BITS(32, "b32", "r", unsigned int)
FABRICBENCH_SURFACE_COUNT(4, 32, "b32", "r", unsigned int, "%5", "%6", "%7")
FABRICBENCH_SURFACE_BITS(64, "b64", "l", unsigned long long)
#undef FABRICBENCH_SURFACE_BITS
#undef FABRICBENCH_SURFACE_COUNT
#undef FABRICBENCH_SURFACE_GEOMETRY
#undef FABRICBENCH_BY_MODE
#undef FABRICBENCH_WRITE4
#undef FABRICBENCH_WRITE2
#undef FABRICBENCH_WRITE1
#undef FABRICBENCH_READ4
#undef FABRICBENCH_READ2
#undef FABRICBENCH_READ1

}  // namespace fabricbench

#define FABRICBENCH_SURFACE(function, geometry, parameters, names, arguments)                                     \
  template <class T>                                                                                              \
  FABRICBENCH_DEVICE typename fabricbench::SurfaceTexel<T>::none function##read(                                  \
      T* to, cudaSurfaceObject_t object, FABRICBENCH_LIST2 parameters,                                            \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                                      \
    typedef fabricbench::SurfaceTexel<T> F;                                                                       \
    typename F::Register words[F::kCount];                                                                        \
    typename F::Element elements[F::kCount];                                                                      \
    fabricbench::SurfaceAccess<F::kBits, F::kCount>::read_##geometry(words, object, FABRICBENCH_LIST2 arguments,  \
                                                                     mode);                                       \
    for (int k = 0; k < F::kCount; ++k) elements[k] = static_cast<typename F::Element>(words[k]);                 \
    __builtin_memcpy(to, elements, sizeof(T));                                                                    \
  }                                                                                                               \
  template <class T>                                                                                              \
  FABRICBENCH_DEVICE T function##read(cudaSurfaceObject_t object, FABRICBENCH_LIST2 parameters,                   \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                      \
    T texel;                                                                                                      \
    function##read(&texel, object, FABRICBENCH_LIST2 names, mode);                                                \
    return texel;                                                                                                 \
  }                                                                                                               \
  template <class T>                                                                                              \
  FABRICBENCH_DEVICE typename fabricbench::SurfaceTexel<T>::none function##write(                                 \
      T value, cudaSurfaceObject_t object, FABRICBENCH_LIST2 parameters,                                          \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                                      \
    typedef fabricbench::SurfaceTexel<T> F;                                                                       \
    typename F::Element elements[F::kCount];                                                                      \
    typename F::Register words[F::kCount];                                                                        \
    __builtin_memcpy(elements, &value, sizeof(T));                                                                \
    for (int k = 0; k < F::kCount; ++k) words[k] = elements[k];                                                   \
    fabricbench::SurfaceAccess<F::kBits, F::kCount>::write_##geometry(words, object, FABRICBENCH_LIST2 arguments, \
                                                                      mode);                                      \
  }
// Names are in the function's order; the instructions have the layer first.
FABRICBENCH_SURFACE(surf1D, 1d, (int x), (x), (x))
FABRICBENCH_SURFACE(surf2D, 2d, (int x, int y), (x, y), (x, y))
FABRICBENCH_SURFACE(surf3D, 3d, (int x, int y, int z), (x, y, z), (x, y, z))
FABRICBENCH_SURFACE(surf1DLayered, a1d, (int x, int layer), (x, layer), (layer, x))
FABRICBENCH_SURFACE(surf2DLayered, a2d, (int x, int y, int layer), (x, y, layer), (layer, x, y))
FABRICBENCH_SURFACE(surfCubemap, a2d, (int x, int y, int face), (x, y, face), (face, x, y))
FABRICBENCH_SURFACE(surfCubemapLayered, a2d, (int x, int y, int face), (x, y, face), (face, x, y))
#undef FABRICBENCH_SURFACE
#undef FABRICBENCH_LIST2
