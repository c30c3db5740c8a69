#include "toolchain/nvcc_forms.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(NvccForms, NameTheTypesOfBracedLaunchArguments) {
  EXPECT_EQ(with_clang_forms("k<<<g, {x, y, 1}>>>(p);"), "k<<<g, dim3{x, y, 1}>>>(p);");
  EXPECT_EQ(with_clang_forms("k<<<{2, f(a, {1})}, {}, {}, {}>>>(p);"),
            "k<<<dim3{2, f(a, {1})}, dim3{}, size_t{}, cudaStream_t{}>>>(p);");
  EXPECT_EQ(with_clang_forms("k<4><<<\n  {8 >> 1},  // {no}\n  {n}>>>(p);"),
            "k<4><<<\n  dim3{8 >> 1},  // {no}\n  dim3{n}>>>(p);");
  EXPECT_EQ(with_clang_forms("#define GO(k) k<<<{1}, \\\n {2}>>>()\n"),
            "#define GO(k) k<<<dim3{1}, \\\n dim3{2}>>>()\n");
}

TEST(NvccForms, DropRestrictFromElementsOfArrays) {
  EXPECT_EQ(with_clang_forms("struct P { T* __restrict__ p[8]; };"), "struct P { T*  p[8]; };");
  EXPECT_EQ(with_clang_forms("struct P { const T *__restrict p[N][2], *q; };"), "struct P { const T * p[N][2], *q; };");
  EXPECT_EQ(with_clang_forms("struct P { std::array<const T* __restrict__, 8> p; };"),
            "struct P { std::array<const T* , 8> p; };");
  // A lambda in an argument has declarations of its own.
  EXPECT_EQ(with_clang_forms("f([&] { T* __restrict__ p[2]; });"), "f([&] { T*  p[2]; });");
}

TEST(NvccForms, MakeBytesOfSharedObjects) {
  EXPECT_EQ(with_raw_shared("{\n  __shared__ N::T<2> b;\n  __shared__ T a[2][3];\n}", {{2, 22}, {3, 16}}),
            "{\n  __shared__ ::fabricbench::RawShared< N::T<2> > b_raw_; auto& b = b_raw_.object();\n"
            "  __shared__ ::fabricbench::RawShared< T [2][3]> a_raw_; auto& a = a_raw_.object();\n}");
  for (const char* text : {"__shared__ T a, b;", "T a;", "__shared__ T a = 3;"})
    EXPECT_EQ(with_raw_shared(text, {{1, 14}}), text);
}

TEST(NvccForms, LeaveEverythingElseAlone) {
  for (const char* text : {
           "k<<<dim3{1}, 2>>>(p);",
           "k<<<f({1}), g[{2}]>>>(p);",
           "cout << \"<<<{\" << x;",
           "a = b << c; if (d <<< {",
           "// k<<<{1}, 1>>>()",
           "void f(T* __restrict__ p, T* __restrict__ q[8]);",
           "struct P { T* __restrict__ p; };",
           "template <class T> struct X<T* __restrict__> {};",
           "<<<",
           "k<<<{1",
       }) {
    EXPECT_EQ(with_clang_forms(text), text);
  }
}

}  // namespace
}  // namespace fb::toolchain
