#pragma once

// Markup that is safe by its type: text becomes Html only by being escaped.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fb::report::site {

// For content and for attributes in double quotes. Invalid UTF-8 and characters that HTML does not allow become U+FFFD;
// characters that change the reading order or break lines invisibly are shown by their code point.
std::string escape(std::string_view text);

class Html;

namespace detail {
template <class T>
auto html_argument(const T& value) {
  if constexpr (std::is_same_v<T, Html>) {
    return std::string_view(value.str());
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return escape(std::string_view(value));
  }
}
template <class T>
using HtmlArgument = decltype(html_argument(std::declval<const T&>()));
}  // namespace detail

class Html {
 public:
  Html() = default;
  Html& operator+=(const Html& other) {
    markup_ += other.markup_;
    return *this;
  }
  bool empty() const { return markup_.empty(); }
  const std::string& str() const { return markup_; }

  static Html text(std::string_view text) { return Html(escape(text)); }
  // JSON as the content of a <script type="application/json">; it cannot end the element.
  static Html data(std::string_view id, std::string_view json);

  // A literal pattern with arguments in its {}: Html is inserted unchanged, numbers as fmt formats them, all else is
  // escaped. Use it as html(…).
  template <class... Args>
  static Html format(fmt::format_string<detail::HtmlArgument<Args>...> pattern, const Args&... args) {
    return Html(fmt::format(pattern, detail::html_argument(args)...));
  }

 private:
  explicit Html(std::string markup) : markup_(std::move(markup)) {}
  std::string markup_;
};

template <class... Args>
Html html(fmt::format_string<detail::HtmlArgument<Args>...> pattern, const Args&... args) {
  return Html::format<Args...>(pattern, args...);
}

// A name as part of a path and of an address. Letters, digits, "_", "-", "+" and a "." that is not the first character
// are kept; every other byte becomes "~" and two hexadecimal digits. The mapping is injective.
std::string file_word(std::string_view name);

}  // namespace fb::report::site
