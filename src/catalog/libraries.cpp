#include "catalog/libraries.h"

#include <algorithm>
#include <array>

namespace fb::catalog {
namespace {

constexpr auto kLibraries = std::to_array<Library>({
#define LIBRARY(name, header, symbols, object, link, requests, about) \
  {name, header, symbols, object, link, requests, about},
#include "catalog/libraries.def"
#undef LIBRARY
});

}  // namespace

std::span<const Library> libraries() { return kLibraries; }

const Library* find_library(std::string_view name) {
  const auto* found = std::ranges::find(kLibraries, name, &Library::name);
  return found == kLibraries.end() ? nullptr : &*found;
}

}  // namespace fb::catalog
