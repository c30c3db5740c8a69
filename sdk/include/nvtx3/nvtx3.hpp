// NVTX for C++: nvtx3::scoped_range and its companions. See nvToolsExt.h: no profiler listens.
#ifndef NVTX3_CPP_VERSION
#define NVTX3_CPP_VERSION 1
#pragma GCC system_header
#include <string>

#include "nvtx3/nvToolsExt.h"

namespace nvtx3 {
inline namespace v1 {

struct domain {
  struct global {};
  template <class D = global>
  static const domain& get() {
    static const domain one;
    return one;
  }
  operator nvtxDomainHandle_t() const noexcept { return nullptr; }
};
class rgb {
 public:
  constexpr rgb(uint8_t r, uint8_t g, uint8_t b) noexcept : red(r), green(g), blue(b) {}
  uint8_t red, green, blue;
};
class argb {
 public:
  constexpr argb(uint8_t a, uint8_t r, uint8_t g, uint8_t b) noexcept : alpha(a), red(r), green(g), blue(b) {}
  uint8_t alpha, red, green, blue;
};
class color {
 public:
  using value_type = uint32_t;
  constexpr explicit color(value_type code) noexcept : value_(code) {}
  constexpr color(argb c) noexcept
      : value_(value_type(c.alpha) << 24 | value_type(c.red) << 16 | value_type(c.green) << 8 | c.blue) {}
  constexpr color(rgb c) noexcept : color(argb(0xff, c.red, c.green, c.blue)) {}
  constexpr value_type get_value() const noexcept { return value_; }

 private:
  value_type value_;
};
class category {
 public:
  using id_type = uint32_t;
  constexpr explicit category(id_type id) noexcept : id_(id) {}
  constexpr id_type get_id() const noexcept { return id_; }

 private:
  id_type id_;
};
template <class D = domain::global>
class named_category_in : public category {
 public:
  named_category_in(id_type id, const char*) noexcept : category(id) {}
  named_category_in(id_type id, const wchar_t*) noexcept : category(id) {}
};
using named_category = named_category_in<>;
template <class D = domain::global>
class registered_string_in {
 public:
  explicit registered_string_in(const char*) noexcept {}
  explicit registered_string_in(const std::string&) noexcept {}
  explicit registered_string_in(const wchar_t*) noexcept {}
  nvtxStringHandle_t get_handle() const noexcept { return nullptr; }
};
using registered_string = registered_string_in<>;
class message {
 public:
  message(const char*) noexcept {}
  message(const std::string&) noexcept {}
  message(const wchar_t*) noexcept {}
  message(const std::wstring&) noexcept {}
  template <class D>
  message(const registered_string_in<D>&) noexcept {}
};
class payload {
 public:
  template <class T>
  constexpr explicit payload(T) noexcept {}
};
class event_attributes {
 public:
  template <class... Properties>
  event_attributes(const Properties&...) noexcept {}
};

template <class D = domain::global>
class scoped_range_in {
 public:
  template <class... Properties>
  explicit scoped_range_in(const Properties&...) noexcept {}
  scoped_range_in(const scoped_range_in&) = delete;
  scoped_range_in& operator=(const scoped_range_in&) = delete;
  ~scoped_range_in() noexcept {}
};
using scoped_range = scoped_range_in<>;
struct range_handle {
  nvtxRangeId_t value = 0;
};
template <class D = domain::global>
class unique_range_in {
 public:
  template <class... Properties>
  explicit unique_range_in(const Properties&...) noexcept {}
  unique_range_in(unique_range_in&&) noexcept = default;
  unique_range_in& operator=(unique_range_in&&) noexcept = default;
  ~unique_range_in() noexcept {}
};
using unique_range = unique_range_in<>;
template <class D = domain::global, class... Properties>
range_handle start_range_in(const Properties&...) noexcept {
  return {};
}
template <class... Properties>
range_handle start_range(const Properties&...) noexcept {
  return {};
}
template <class D = domain::global>
void end_range_in(range_handle) noexcept {}
inline void end_range(range_handle) noexcept {}
template <class D = domain::global, class... Properties>
void mark_in(const Properties&...) noexcept {}
template <class... Properties>
void mark(const Properties&...) noexcept {}

}  // namespace v1
}  // namespace nvtx3

#define NVTX3_FUNC_RANGE_IN(D) ::nvtx3::v1::scoped_range_in<D> const nvtx3_range__(__func__)
#define NVTX3_FUNC_RANGE() NVTX3_FUNC_RANGE_IN(::nvtx3::v1::domain::global)
#define NVTX3_FUNC_RANGE_IF_IN(D, condition) NVTX3_FUNC_RANGE_IN(D)
#define NVTX3_FUNC_RANGE_IF(condition) NVTX3_FUNC_RANGE()
#endif
