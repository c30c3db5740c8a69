#pragma once

// The text that a solver sees and that the judge compiles: args.h, regions of a reference or an answer, the template.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::catalog {

// Text of args.h: tensors, then parameters, in the order of problem.toml.
std::string args_header(const Problem& problem);
// The struct of args.h alone.
std::string args_struct(const Problem& problem);

// What the solver writes: the lines between "// [solution]" or "// [solution: name]" and "// [/solution]". In a
// reference, "// [template]" divides them: above it the solution, below it, behind "//| ", the placeholder of the
// template.
struct Region {
  std::string name;                   // empty without one
  std::string solution, placeholder;  // whole lines, each with its end
  uint32_t line = 0;                  // of the marker that opens it
};

// The regions of a reference, an alternative or an answer: at least one, in the order of the text. Located errors for
// markers that are nested, repeated, unclosed or misplaced.
Result<std::vector<Region>> regions_of(std::string_view source);

// The reference with each solution replaced by its placeholder. The markers stay, so that an answer has them, and a
// comment after the include shows the struct of args.h.
Result<std::string> make_template(const Problem& problem);

// The template with these texts {name, text} in its regions: one for each, and no other.
Result<std::string> splice(const Problem& problem, std::span<const std::pair<std::string, std::string>> region_texts);

}  // namespace fb::catalog
