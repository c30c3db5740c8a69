#pragma once

#include <string>
#include <vector>

#include "common/record/run_options.h"
#include "virtual_node/machine/process/suppressions.h"

namespace fb::machine {

// The options of the run, and what is written besides the record.
struct NodeOptions : record::RunOptions {
  bool trace = false;
  // A folder with candidate.ptx and driver.ptx (driver_link.h); empty: there is no driver.
  std::string driver = {};
  uint64_t secret = 0;                       // of a judge: what ranks must not guess is drawn from it; 0: the seed
  std::vector<Suppression> suppressed = {};  // of the file RunOptions::suppressions
  std::string events = {};                   // a file for every event that the log's hash is made of; empty: none
};

}  // namespace fb::machine
