#pragma once

// What a built candidate asks of other libraries. The file is read as data: nothing of it runs, and nothing in it is
// believed.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

// Of an ELF shared object for x86-64, as the loader would see it. Errors where it is none, or a broken one.
Result<std::vector<std::string>> undefined_symbols(const std::string& path);

struct Violation {
  std::string symbol;  // or the name of a library
  std::string why;
};

// Symbols and libraries that no candidate may use (forbidden_symbols.def) unless the problem allows the library they
// are of (judge/catalog/libraries.def), or that the problem forbids: names, or with a * at the end the beginnings of
// names.
Result<std::vector<Violation>> check_symbols(const std::string& path, const catalog::Rules& rules);
// Likewise, of a file's content.
Result<std::vector<Violation>> check_object(std::string_view bytes, const catalog::Rules& rules);

}  // namespace fb::judge
