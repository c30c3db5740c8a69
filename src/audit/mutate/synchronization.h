#pragma once

// Which statements of a solution synchronise, and how: by what they call, or by what the functions of the solution do
// that they call. Functions of <fabricbench/rank_barrier.h> count as the solution's own where it includes them.

#include <string_view>
#include <vector>

#include "audit/mutate/code.h"

namespace fb::mutate {

class Synchronization {
 public:
  explicit Synchronization(const Code& code);

  // Stores a flag, or calls what does.
  bool signals(Range range) const;
  // Waits for a flag, or calls what does.
  bool waits(Range range) const;
  // Whether `name` at this token is an operation of an atomic: it names its order, which ordinary functions do not.
  bool is_atomic_call(size_t at, std::string_view name) const;
  // Is a fence and nothing else.
  bool is_fence(const Statement& statement) const;
  // Is a barrier of threads, blocks or ranks and nothing else, by CUDA or the SDK.
  bool is_barrier(const Statement& statement) const;
  // Is a call of one of the solution's functions and nothing else.
  bool is_own_call(const Statement& statement) const;
  // The wait at which a kernel or run() ends; null if it ends otherwise.
  const Statement* exit_wait(const Function& function) const;

 private:
  bool stores_flag(Range range) const;
  bool loads_flag(Range range) const;
  bool calls(Range range, const std::vector<std::string_view>& names) const;

  const Code& code_;
  std::vector<std::string_view> signalling_, waiting_, own_;
};

}  // namespace fb::mutate
