#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "virtual_node/num/arith.h"

// Makes DeviceFunction rows out of plain functions: signature text and marshalling follow from the C++ type.
namespace fb::num::detail {

template <class T>
constexpr char type_letter() {
  if constexpr (std::same_as<T, void>) return 'v';
  if constexpr (std::same_as<T, float>) return 'f';
  if constexpr (std::same_as<T, double>) return 'd';
  if constexpr (std::same_as<T, int32_t>) return 'i';
  if constexpr (std::same_as<T, int64_t>) return 'l';
  if constexpr (std::same_as<T, float*>) return 'F';
  if constexpr (std::same_as<T, double*>) return 'D';
  if constexpr (std::same_as<T, int32_t*>) return 'I';
}

// What a parameter of the double function becomes in the float one.
template <class T>
using Narrowed =
    std::conditional_t<std::same_as<T, double>, float, std::conditional_t<std::same_as<T, double*>, float*, T>>;

template <class T>
uint64_t to_slot(T value) {
  if constexpr (std::floating_point<T>)
    return std::bit_cast<BitsOf<T>>(canonical(value));
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T>
T from_slot(uint64_t slot) {
  if constexpr (std::floating_point<T>)
    return std::bit_cast<T>(static_cast<BitsOf<T>>(slot));
  else
    return static_cast<T>(slot);
}

// One parameter for the time of a call: the value read from its slot or, for a pointer, room for what is written.
template <class Guest, class Host>
class Parameter {
 public:
  explicit Parameter(uint64_t slot) {
    if constexpr (!std::is_pointer_v<Guest>) value_ = static_cast<Host>(from_slot<Guest>(slot));
  }

  Host get() {
    if constexpr (std::is_pointer_v<Guest>)
      return &value_;
    else
      return value_;
  }

  void store_output(uint64_t*& outs) const {
    if constexpr (std::is_pointer_v<Guest>) *outs++ = to_slot(static_cast<std::remove_pointer_t<Guest>>(value_));
  }

 private:
  std::remove_pointer_t<Host> value_{};
};

// Function is a lambda without captures over host types; Guest is the function type the guest sees, Host its own.
template <class Function, class Guest, class Host>
struct Thunk;

template <class Function, class R, class... Params, class HostR, class... HostParams>
struct Thunk<Function, R(Params...), HostR(HostParams...)> {
  static constexpr std::array<char, 1 + sizeof...(Params)> kLetters{type_letter<R>(), type_letter<Params>()...};
  static constexpr std::string_view kSignature{kLetters.data(), kLetters.size()};

  static void call(const uint64_t* args, uint64_t* result, uint64_t* outs) {
    call_with(args, result, outs, std::index_sequence_for<Params...>{});
  }

 private:
  template <size_t... i>
  static void call_with(const uint64_t* args, uint64_t* result, [[maybe_unused]] uint64_t* outs,
                        std::index_sequence<i...>) {
    std::tuple<Parameter<Params, HostParams>...> parameters{Parameter<Params, HostParams>(args[i])...};
    if constexpr (std::same_as<R, void>) {
      Function{}(std::get<i>(parameters).get()...);
      *result = 0;
    } else {
      *result = to_slot(static_cast<R>(Function{}(std::get<i>(parameters).get()...)));
    }
    (std::get<i>(parameters).store_output(outs), ...);
  }
};

template <class F>
struct FunctionType;
template <class R, class... P>
struct FunctionType<R (*)(P...)> {
  using Same = R(P...);
  using Narrow = Narrowed<R>(Narrowed<P>...);
};

template <class Function>
using TypeOf = FunctionType<decltype(+Function{})>;

// The function as it is, and the float function around a double one.
template <class Function>
using SameThunk = Thunk<Function, typename TypeOf<Function>::Same, typename TypeOf<Function>::Same>;
template <class Function>
using NarrowThunk = Thunk<Function, typename TypeOf<Function>::Narrow, typename TypeOf<Function>::Same>;

}  // namespace fb::num::detail
