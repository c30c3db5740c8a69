// Function objects of <cuda/functional>, for a libcu++ that is older than they are.
#pragma once
#include <type_traits>
#include <utility>

#include "fabricbench/language.h"

namespace cuda {

template <class T = void>
struct maximum {
  constexpr FABRICBENCH_BOTH T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T = void>
struct minimum {
  constexpr FABRICBENCH_BOTH T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <>
struct maximum<void> {
  template <class A, class B>
  constexpr FABRICBENCH_BOTH ::std::common_type_t<A, B> operator()(const A& a, const B& b) const {
    return a < b ? b : a;
  }
};
template <>
struct minimum<void> {
  template <class A, class B>
  constexpr FABRICBENCH_BOTH ::std::common_type_t<A, B> operator()(const A& a, const B& b) const {
    return b < a ? b : a;
  }
};

// A function object whose result type the host can ask for, although only the device may call it.
template <class Result, class F>
class return_type_wrapper {
 public:
  FABRICBENCH_BOTH explicit constexpr return_type_wrapper(F f) : f_(::std::move(f)) {}
  template <class... Args>
  constexpr __device__ Result operator()(Args&&... args) const {
    return f_(::std::forward<Args>(args)...);
  }

 private:
  F f_;
};
template <class Result, class F>
constexpr FABRICBENCH_BOTH return_type_wrapper<Result, ::std::decay_t<F>> proclaim_return_type(F&& f) {
  return return_type_wrapper<Result, ::std::decay_t<F>>(::std::forward<F>(f));
}

}  // namespace cuda
