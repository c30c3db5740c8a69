#pragma once

// A problem of tests/unit/prove/fixtures, at its smaller size.

#include <stdlib.h>

#include <stdexcept>
#include <string>

#include "judge/catalog/problem.h"
#include "judge/data/call_data.h"
#include "judge/data/oracle.h"

namespace fb::prove {

class Fixture {
 public:
  explicit Fixture(const std::string& name) : problem_(load(name)), oracle_(load_oracle()) {}

  const catalog::Problem& problem() const { return problem_; }
  const judge::Oracle& oracle() const { return oracle_; }
  judge::Layout layout(int world = 3) const { return {problem_, problem_.sizes.front(), world}; }

 private:
  static catalog::Problem load(const std::string& name) {
    // Oracles are compiled once, and found again by the next test.
    setenv("FABRICBENCH_CACHE", FB_BINARY_DIR "/tests/oracle_cache", 1);
    auto problem = catalog::load_problem(FB_SOURCE_DIR "/tests/unit/prove/fixtures/comm/p2p/" + name);
    if (!problem) throw std::runtime_error(to_string(problem.error(), name));
    return std::move(*problem);
  }
  judge::Oracle load_oracle() const {
    auto oracle = judge::Oracle::load(problem_);
    if (!oracle) throw std::runtime_error(to_string(oracle.error(), problem_.name));
    return std::move(*oracle);
  }

  catalog::Problem problem_;
  judge::Oracle oracle_;
};

}  // namespace fb::prove
