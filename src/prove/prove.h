#pragma once

// Proves a problem: that its reference is right, that its oracle depends on what it should, and that no impostor
// passes.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "catalog/pack.h"

namespace fb::prove {

struct Check {
  std::string name = {};  // "reference passes"
  bool good = false;
  std::string detail = {};  // what went wrong, or what was measured
  double seconds = 0;
};

struct Report {
  std::string problem = {};
  std::vector<Check> checks = {};
  bool good() const;
};

struct Options {
  bool thorough = false;  // more seeds, more schedules, every impostor run for real
  bool with_nvcc = true;  // compile the reference with nvcc, where there is one
  bool use_sandbox = true;
  uint64_t seed = 1;
  std::function<void(const Check&)> on_check = {};  // as they end
};

Report prove(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options);

}  // namespace fb::prove
