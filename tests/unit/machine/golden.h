#pragma once

// Reads the comments of a golden run (tests/unit/machine/ptx/README.md), launches it and compares.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "virtual_node/machine/device/device.h"

namespace fb::golden {

// What memory holds before a run and must hold after it.
struct Contents {
  std::vector<uint64_t> initial;                  // bits of each element
  std::vector<std::optional<uint64_t>> expected;  // empty: not compared; none: any value
};

struct Param : Contents {
  bool buffer = false;
  std::string type;
  uint64_t count = 1;
  std::vector<Contents> members;  // of a multicast object; without initial values: nothing is bound
  // The ordinary address of one member of a multicast object: number of its parameter, and of the member.
  std::optional<std::pair<size_t, size_t>> member_of;
};

struct GoldenRun {
  uint32_t line = 0;
  machine::LaunchRequest launch;
  std::vector<Param> params;
  // What must happen instead of a normal end: "fault out_of_bounds", "deadlock", and the PTX line of a fault.
  std::string ending = "finished";
  uint32_t fault_line = 0;
  std::string message;  // part of what is said about it
  std::optional<std::string> output;
};

// Memory of 64-bit words.
Param buffer(std::vector<uint64_t> values);

// Throws std::runtime_error with the line of a malformed comment.
std::vector<GoldenRun> read_runs(const std::string& text);

struct Engine {
  bool reference = false;
  uint64_t seed = 0;
};

// Empty if all is as expected; otherwise what is not.
std::string execute(const std::string& text, const GoldenRun& run, const Engine& engine);

uint32_t bytes_of(const std::string& type);

// The bits of a literal of this type (b, u, s, i, f and a width). `line` is for the message of a malformed one.
uint64_t parse_value(const std::string& type, std::string_view text, uint32_t line);
// "4" or "4,2,1".
simt::Dim3 parse_dim(const std::string& text);

}  // namespace fb::golden
