#pragma once

// A problem's mutants: its reference with one mistake each.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::mutate {

struct Mutant {
  // problem/operator/line:column/number: the same as long as the reference is. The place is the reference's, the number
  // counts what an operator finds at that place.
  std::string id = {};
  std::string problem = {}, made_by = {};  // by which operator
  uint32_t line = 0;
  std::string before = {}, after = {};  // the lines that differ, in one line
  std::string source = {};              // the whole reference, mutated: an answer
};

// By the named operators, or all where none are named. Changes that give the same text are one mutant, the first's.
// Errors: the reference has no region, or there is no such operator.
Result<std::vector<Mutant>> make_mutants(const catalog::Problem& problem,
                                         const std::vector<std::string>& operators = {});

// Of a text that is no reference: mutants of all of it.
Result<std::vector<Mutant>> make_mutants_of(std::string_view name, std::string_view source, size_t begin, size_t end,
                                            const std::vector<std::string>& operators);

}  // namespace fb::mutate
