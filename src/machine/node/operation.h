#pragma once

// Work that a host has handed over: an operation begins when those before it have ended. Streams, events and graphs
// are only ways to say who comes before whom.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/engine.h"
#include "wire/status.h"

namespace fb::machine {

struct Process;

struct Operation {
  Process* process = nullptr;
  uint32_t device = 0;
  uint64_t stream = 0;  // of its process, for traces
  std::string name;
  Time issued = 0;  // the host was through with it
  Time begun = 0, ended = 0;
  bool has_begun = false, has_ended = false;
  bool counted = false;  // among those of its process that have not ended
  uint64_t payload = 0;  // bytes that it carries
  wire::Status status = wire::Status::ok;
  uint64_t tie = 0;  // its place among operations that begin at the same time

  // Does the work and sees to it that finish() is called. Empty: there is nothing to do.
  std::function<void(const std::shared_ptr<Operation>&)> work;

  uint32_t before = 0;  // operations that it waits for
  std::vector<std::shared_ptr<Operation>> after;
  std::vector<std::function<void()>> on_end;
};

using Work = std::shared_ptr<Operation>;

class Operations {
 public:
  explicit Operations(Engine& engine) : engine_(&engine) {}

  // `op` waits for `earlier`, if that is still to end. To be called before submit().
  static void order(const Work& earlier, const Work& op);
  void submit(const Work& op);
  // The work has ended at `at`. Idempotent.
  void finish(const Work& op, Time at, wire::Status status = wire::Status::ok);

  std::function<void(const Operation&)> on_finished;  // for logs and traces

 private:
  void begin(const Work& op);

  Engine* engine_;
};

}  // namespace fb::machine
