#include "common/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace fb {

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    &std::free);
  return status == 0 && text ? text.get() : name;
}

std::string short_function_name(std::string name) {
  if (!name.ends_with(')')) return name;
  size_t depth = 0, open = name.size();
  while (open-- > 0) {
    if (name[open] == ')') ++depth;
    if (name[open] == '(' && --depth == 0) break;
  }
  name.erase(open);
  constexpr std::string_view kResult = "void ";  // of templates
  return name.starts_with(kResult) ? name.substr(kResult.size()) : name;
}

}  // namespace fb
