#pragma once

#include <cstdint>
#include <functional>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/lower/tear.h"
#include "virtual_node/simt/timing.h"

namespace fb::simt {

struct LowerOptions {
  bool observed = false;        // a listener will be attached
  bool reference = false;       // the slow engine: lane by lane, a row for every register
  Tear tear = Tear::no;         // stores of more than 8 bytes are made in pieces
  bool count_branches = false;  // branch_ways.h
  UnitTimes times = {};         // timing.h; empty: no spans
  // The address of a module variable of space global or constant.
  std::function<mem::Address(uint32_t variable)> address_of;
};

}  // namespace fb::simt
