#pragma once

// Mutants before the judge: the same judgement as `fabricbench check` makes.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/mutate/equivalents.h"
#include "audit/mutate/result.h"
#include "judge/catalog/pack.h"

namespace fb::mutate {

struct Options {
  std::vector<std::string> operators = {};  // none: all
  bool quick = false;                       // one world and small sizes
  bool ordinary_only = false;               // run and compare in an ordinary schedule, and no more
  uint64_t seed = 1;
  size_t jobs = 0;       // mutants at once; 0: as many as there are cores
  size_t limit = 0;      // so many of each problem, drawn by the seed; 0: all
  std::string out = {};  // a folder that gets each mutant's source and verdict; empty: none
  bool use_sandbox = true;
  Equivalents equivalents = {};
  // What an earlier run with the same seed and sizes found out; taken where the code is the same.
  std::vector<MutantResult> known = {};
  std::function<void(const MutantResult&)> on_result = {};
  // As mutants are compiled and then judged: "compiling", "judging", how many are done, and of how many.
  std::function<void(std::string_view phase, size_t done, size_t planned)> on_progress = {};
};

// Those of `mutants` that a limit leaves, in their order.
std::vector<Mutant> draw(std::vector<Mutant> mutants, size_t limit, uint64_t seed);

// All mutants of a problem. Errors: the reference can't be mutated or does not pass. Throws Interrupted.
Result<Run> run_problem(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options);

}  // namespace fb::mutate
