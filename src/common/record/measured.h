#pragma once

// results.json of a folder that `fabricbench export` wrote: what its author says was measured on GPUs. Nothing of it
// was seen by a judge.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::record {

struct MeasuredRow {
  std::string size = {}, solution = {};
  bool right = false;
  std::string wrong = {};       // why it is not right
  std::vector<double> us = {};  // of one call by events, of the slowest rank: a number for each sample
  friend bool operator==(const MeasuredRow&, const MeasuredRow&) = default;
};

struct MeasuredGpu {
  std::string name = {};
  friend bool operator==(const MeasuredGpu&, const MeasuredGpu&) = default;
};

struct Measured {
  std::string problem = {}, task = {};  // `task`: hash of what a measurement depends on
  int world = 0, nodes = 1;
  bool modelled = false;  // on a virtual node
  MeasuredGpu gpu = {};
  std::map<std::string, std::string> solutions = {};  // name → checksum of its source
  std::vector<MeasuredRow> rows = {};
  friend bool operator==(const Measured&, const Measured&) = default;
};

Result<Measured> parse_measured(std::string_view json);

// Of a solution's source, as the folder's harness has it: FNV-1a of 64 bits as 16 hexadecimal digits.
std::string source_checksum(std::string_view source);

}  // namespace fb::record
