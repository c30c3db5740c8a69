#include "toolchain/source/nvcc_forms.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

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

TEST(NvccForms, GiveADeclvalOfTheProgramToBothSides) {
  EXPECT_EQ(with_clang_forms("template <typename T>\nT&& declval() noexcept;"),
            "template <typename T>\n__host__ __device__ T&& declval() noexcept;");
  EXPECT_EQ(with_clang_forms("template <class T> typename std::add_rvalue declval() { }"),
            "template <class T> __host__ __device__ typename std::add_rvalue declval() { }");
  for (const char* text : {"template <class T> __device__ T declval();", "using std::declval;",
                           "template <class T> using U = decltype(declval<T>());",
                           "template <class T, class = decltype(declval<T>() + 1)> struct S {};"})
    EXPECT_EQ(with_clang_forms(text), text);
}

TEST(NvccForms, NameDestructorsWithoutTemplate) {
  EXPECT_EQ(with_clang_forms("a.template ~T<U>(); p->template f<1>();"), "a. ~T<U>(); p->template f<1>();");
}

TEST(NvccForms, InsertTypenameWhereClangMissesIt) {
  EXPECT_EQ(with_typenames("f(\n  sizeof(decltype(p)::Element), T::U());", {{2, 10}, {2, 33}}),
            "f(\n  sizeof(typename decltype(p)::Element), typename T::U());");
  EXPECT_EQ(with_typenames("__shared__ T a;", {{1, 14}, {9, 1}}), "__shared__ T a;");
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
TEST(NvccForms, LaunchesInFunctionsOfTheDeviceAreCallsOfTemplates) {
  DeclaredKernels kernels;
  kernels.add("template <class T> __global__ void t(T* p);");
  const auto rewritten = [&](std::string_view body) {
    return with_device_launches("__global__ void p() {" + std::string(body) + "}", kernels);
  };
  const auto expected = [](std::string_view body) { return "__global__ void p() {" + std::string(body) + "}"; };
  EXPECT_EQ(rewritten("k<<<1, 2>>>(a);"), expected("::fabricbench::launch_kernel<k>(1, 2)(a);"));
  EXPECT_EQ(rewritten("if (x) n::k<T, (3 > 2)><<<f(1, 2), {4}, 0, s>>>();"),
            expected("if (x) ::fabricbench::launch_kernel<n::k<T, (3 > 2)>>(f(1, 2), {4}, 0, s)();"));
  EXPECT_EQ(rewritten("return ::k<<<1, 1>>>(a);"), expected("return ::fabricbench::launch_kernel<::k>(1, 1)(a);"));
  EXPECT_EQ(rewritten("t<<<1, 1>>>(a,  // one\n g(b));"),
            expected("::fabricbench::launch_chosen<decltype(t_chosen_(a,   g(b)))>(1, 1)(a,  // one\n g(b));"));
  EXPECT_EQ(rewritten("n<X>::t<int><<<1, 1>>>(a);"),
            expected("::fabricbench::launch_chosen<decltype(n<X>::t_chosen_<int>(a))>(1, 1)(a);"));
  EXPECT_EQ(rewritten("int x = 1 << 2;"), expected("int x = 1 << 2;"));
  // Lambdas of the device, and nothing of the host.
  EXPECT_EQ(
      with_device_launches("void h() { auto f = [=] __device__ (int i) { k<<<1, 1>>>(i); }; k<<<1, 1>>>(0); }",
                           kernels),
      "void h() { auto f = [=] __device__ (int i) { ::fabricbench::launch_kernel<k>(1, 1)(i); }; k<<<1, 1>>>(0); }");
  EXPECT_EQ(with_device_launches("struct S { int a; }; void h() { k<<<1, 1>>>(0); }", kernels),
            "struct S { int a; }; void h() { k<<<1, 1>>>(0); }");
}

TEST(NvccForms, ArgumentsChooseBetweenKernelsOfOneNameAndOfATemplate) {
  DeclaredKernels kernels;
  kernels.add(
      "template <class T> __global__ void __launch_bounds__(256, f(2)) a(T* p) {}\n"
      "__global__ void b(int); template <int N> __device__ void c();\n"
      "template <int N> static __global__ void d();\n"
      "__global__ void e(int); __global__ void e(int, int) {}\n"
      "template <> __global__ void g<int>(int*) {}\n"
      "#define KERNEL(name) \\\n  template <class T> __global__ void h(T) {}\n"
      "template <class> __global__ void unnamed();");
  for (const char* name : {"a", "d", "e"}) EXPECT_TRUE(kernels.chosen(name)) << name;
  for (const char* name : {"b", "c", "g", "h", "unnamed"}) EXPECT_FALSE(kernels.chosen(name)) << name;
}

TEST(NvccForms, TheChooserHasTheKernelsParametersAndLinesStay) {
  const auto rewritten = [](std::string_view text) {
    DeclaredKernels kernels;
    kernels.add(text);
    return with_device_launches(text, kernels);
  };
  EXPECT_EQ(
      rewritten("template <class T, int n = 2, class... U>\n__global__ void k(const T* p, U... rest);"),
      "template <class T, int n = 2, class... U>\n__global__ void k(const T* p, U... rest); template <class T, int "
      "n = 2, class... U> static __host__ __device__ ::fabricbench::ChosenKernel<void (*)(const T* p, U... rest), "
      "k<T, n, U...>> k_chosen_(const T* p, U... rest);");
  // A definition comes behind a declaration, which takes its default values.
  EXPECT_EQ(
      rewritten("template <int n =\n2> __global__ void k(const __grid_constant__ S s, int x = 3) {}"),
      "template <int n = 2> __global__ void k(const __grid_constant__ S s, int x = 3); template <int n = 2> static "
      "__host__ __device__ ::fabricbench::ChosenKernel<void (*)(const S s, int x), k<n>> k_chosen_(const S s, "
      "int x); template <int n \n> __global__ void k(const __grid_constant__ S s, int x ) {}");
}

}  // namespace fb::toolchain
