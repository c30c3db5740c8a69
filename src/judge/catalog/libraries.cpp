#include "judge/catalog/libraries.h"

#include <algorithm>
#include <array>

#include "common/base/strings.h"

namespace fb::catalog {
namespace {

constexpr auto kLibraries = std::to_array<Library>({
#define LIBRARY(name, header, symbols, object, link, requests, about) \
  {name, header, symbols, object, link, requests, about},
#include "judge/catalog/libraries.def"
#undef LIBRARY
});

}  // namespace

std::span<const Library> libraries() { return kLibraries; }

const Library* find_library(std::string_view name) {
  const auto* found = std::ranges::find(kLibraries, name, &Library::name);
  return found == kLibraries.end() ? nullptr : &*found;
}

const Library* library_of_symbol(std::string_view symbol) {
  const auto has_it = [&](const Library& library) {
    return std::ranges::any_of(split(library.symbols, ' '), [&](std::string_view pattern) {
      return pattern.ends_with('*') ? symbol.starts_with(pattern.substr(0, pattern.size() - 1)) : symbol == pattern;
    });
  };
  const auto* found = std::ranges::find_if(kLibraries, has_it);
  return found == kLibraries.end() ? nullptr : &*found;
}

}  // namespace fb::catalog
