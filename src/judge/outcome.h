#pragma once

// What became of one session. It crosses from the process that ran the session to the judge as JSON.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/verdict.h"

namespace fb::judge {

// The first thing that was not right.
struct Finding {
  record::VerdictClass verdict = record::VerdictClass::infra;
  std::string summary = {};
  std::string explanation = {};
  record::Place place = {};
};

struct Outcome {
  std::optional<Finding> finding = {};
  std::vector<record::Timing> timings = {};
  uint64_t calls = 0, values = 0, instructions = 0;
  bool replayable = true;
  std::vector<std::string> notes = {};
  std::map<std::string, double> wall_seconds = {};
};

std::string to_json(const Outcome& outcome);
Result<Outcome> parse_outcome(std::string_view json);

}  // namespace fb::judge
