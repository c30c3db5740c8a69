#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::toolchain {

// C++ that nvcc accepts and clang does not, in a form that both accept. Line numbers stay.
//   kernel<<<{2, 2}, {x, y, 1}>>>   → kernel<<<dim3{2, 2}, dim3{x, y, 1}>>>
//   T* __restrict__ p[8];           → T* p[8]: outside of parameter lists clang makes nothing of it, and refuses to
//                                     assign a class that has such a member; std::array<T* __restrict__, 8> likewise
//   template <class T> T&& declval() noexcept;   → __host__ __device__: clang resolves calls in a device function
//   without
//                                     regard to whether they are evaluated
//   object.template ~T<U>();        → object.~T<U>()
std::string with_clang_forms(std::string_view source);

// The kernels that a program's files declare.
class DeclaredKernels {
 public:
  void add(std::string_view source);
  // Whether the arguments of a launch choose between kernels of this name: a template, or several functions.
  bool chosen(const std::string& name) const;

 private:
  std::set<std::string> templates_;
  std::map<std::string, std::set<std::string>> parameters_;
};

// Launches in functions of the device, which clang does not have, as calls of templates of the SDK (device/runtime.h):
//   kernel<<<1, 32>>>(p, n)      → ::fabricbench::launch_kernel<kernel>(1, 32)(p, n)
//   kernel<T><<<1, 32>>>(p, n)   → ::fabricbench::launch_chosen<decltype(kernel_chosen_<T>(p, n))>(1, 32)(p, n), where
//                                  the arguments choose: each declaration of such a kernel gets a declaration of a
//                                  function `kernel_chosen_` with the same parameters, whose type names the kernel
std::string with_device_launches(std::string_view source, const DeclaredKernels& kernels);

// The shared variables whose names are at these places: `__shared__ T x;` becomes bytes of shared memory and a
// reference x to a T in them, which neither constructs nor destroys it.
std::string with_raw_shared(std::string_view source, const std::vector<Location>& names);

// "typename" before the names of types that begin at these places, unless they are of shared variables.
std::string with_typenames(std::string_view source, const std::vector<Location>& places);

}  // namespace fb::toolchain
