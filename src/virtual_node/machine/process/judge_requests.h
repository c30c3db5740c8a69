#pragma once

// What the node asks of a judged run's session (virtual_node/machine/judging), which is above it.

#include <cstdint>
#include <optional>
#include <string>

#include "common/wire/harness.h"
#include "virtual_node/machine/process/call.h"

namespace fb::machine {

class JudgeRequests {
 public:
  virtual ~JudgeRequests() = default;

  // A call of run() is in progress: requests of ranks count.
  virtual bool in_run() const = 0;
  // Requests that came while ranks were frozen.
  virtual uint64_t late_requests() const = 0;
  // The rank has returned from the call or step that is in progress.
  virtual bool has_returned(const Process& process) const = 0;
  // What the thread waits for, if it is another rank or the judge.
  virtual std::optional<std::string> explain_wait(const HostThread& thread) const = 0;

  // Of ranks
  virtual wire::Status next(Call& call, const wire::StepNext& m) = 0;
  virtual wire::Status exchange(Call& call) = 0;
  virtual wire::Status exchange_descriptor(Call& call, uint32_t root) = 0;
  // Of the judge
  virtual wire::Status begin(Call& call, const wire::JudgeBegin& m) = 0;
  virtual wire::Status make_tensor(const wire::JudgeTensor& m, wire::Address& reply) = 0;
  virtual wire::Status free_tensor(const wire::JudgeFree& m) = 0;
  virtual wire::Status step(Call& call, const wire::JudgeStep& m) = 0;
};

}  // namespace fb::machine
