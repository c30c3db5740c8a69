#pragma once

// Libraries that a problem may allow its solutions to call: the rows of libraries.def.

#include <span>
#include <string_view>

namespace fb::catalog {

struct Library {
  std::string_view name;  // as problem.toml says it
  std::string_view header;
  std::string_view symbols;   // separated by blanks; a * at the end: the beginnings of names
  std::string_view object;    // the shared object's name
  std::string_view link;      // for the linker
  std::string_view requests;  // kinds of requests to the machine that nothing else makes, separated by blanks
  std::string_view about;
};

std::span<const Library> libraries();
const Library* find_library(std::string_view name);
// The library that has this function; null: none of them.
const Library* library_of_symbol(std::string_view symbol);

}  // namespace fb::catalog
