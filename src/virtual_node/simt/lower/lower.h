#pragma once

// From a PTX module to a program that warps can run. Each step removes a feature of the language: virtual registers
// become rows, variables become addresses, labels become pointers, forms become functions.

#include <functional>
#include <memory>

#include "common/base/result.h"
#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/lower/tear.h"

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

// The module must outlive the program. Errors name every form that is not supported, with its line: nothing is
// refused later, at run time, that can be refused here.
Result<std::unique_ptr<Program>> lower(const ptx::Module& module, const LowerOptions& options);

}  // namespace fb::simt
