#pragma once

// What this installation can do, and what is missing.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fb::cli {

enum class Health : uint8_t {
  good,
  absent,   // and not needed: `text` says what it would enable
  warning,  // works, but not as well as it could
  failed,   // `exec` or `check` can't run
};

struct Finding {
  std::string name = {};
  Health health = Health::good;
  std::string text = {};    // what was found, or what is wrong
  std::string remedy = {};  // a command, or what to do; empty: nothing is to be done, or it is unknown
};

struct Diagnosis {
  std::vector<Finding> findings = {};
  bool exec_runs = false, check_runs = false;
};

// Looks for everything in the places where commands look, and runs a small program and a quick check. `before` is
// called before what takes time, `after` with each finding.
Diagnosis diagnose(const std::function<void(const std::string& name)>& before,
                   const std::function<void(const Finding&)>& after);

}  // namespace fb::cli
