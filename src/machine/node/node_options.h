#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fb::machine {

struct NodeOptions {
  uint64_t seed = 0;  // 0: by time
  // Not by time nor drawn: the first scheduling choices (ScheduleKind::chosen).
  std::optional<std::vector<uint32_t>> choices = {};
  // Results only: nothing is observed and warps run as they come, so that clocks mean nothing. Not with a seed, choices
  // or a check.
  bool untimed = false;
  bool strict = false;      // 16-byte accesses may tear
  bool check = false;       // look for races
  bool keep_going = false;  // a race does not end the run
  uint32_t weak_lines = 4;  // race::Options
  std::string why = {};     // race::Options
  uint64_t budget = 200'000'000'000;
  uint64_t memory = 0;  // bytes of the host that all devices together may take; 0: half of what the host has
  bool trace = false;
  std::string events;  // a file for every event that the log's hash is made of; empty: none
};

}  // namespace fb::machine
