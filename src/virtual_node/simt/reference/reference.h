#pragma once

// The slow engine: instructions that compute lane by lane, written apart from the fast ones, so that each checks the
// other. It shares with the fast engine how warps split, wait and are scheduled.

#include "virtual_node/simt/exec/select.h"

namespace fb::simt {

// Null: this instruction has no slow twin (it coordinates lanes or blocks rather than computing); the fast one is used.
Exec select_reference(const Selection& selection);

}  // namespace fb::simt
