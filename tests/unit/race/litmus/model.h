#pragma once

// The PTX memory model as axioms over candidate executions (docs/reference/memory_model.md), for programs of a few
// operations. Written apart from the detector, which keeps clocks: the two must agree.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "litmus/program.h"

namespace fb::litmus {

struct Expectation {
  std::set<Outcome> allowed;     // by the axioms
  std::set<Outcome> sequential;  // of those, what interleaving the threads gives
  bool racy = false;             // some allowed execution has a data race
  bool racy_sequential = false;  // … one that is an interleaving
  std::string race;              // one of them in words, if any
  bool mixed_size = false;       // accesses of different sizes race: any outcome may be seen
  uint64_t executions = 0;       // allowed ones
  uint64_t candidates = 0;

  bool allows_weak() const { return allowed.size() > sequential.size(); }
};

struct ModelOptions {
  // Accesses through multicast addresses are ordered with ordinary ones of the same bytes only across a
  // fence.proxy.alias, and are never morally strong with them. Otherwise they count as ordinary accesses.
  bool multimem_is_a_proxy = false;
};

// Throws std::logic_error if an interleaving breaks an axiom: then the model is wrong.
Expectation evaluate(const Program& program, const ModelOptions& options = {});

}  // namespace fb::litmus
