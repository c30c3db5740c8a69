#pragma once

#include <string>

#include "record/run_options.h"

namespace fb::machine {

// The options of the run, and what is written besides the record.
struct NodeOptions : record::RunOptions {
  bool trace = false;
  std::string events = {};  // a file for every event that the log's hash is made of; empty: none
};

}  // namespace fb::machine
