#pragma once

// Host threads: how they are answered, wait for operations, and are held back when they queue too much.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/call.h"
#include "virtual_node/machine/process/checking.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/run_log.h"

namespace fb::machine {

class HostThreads {
 public:
  using Reply = std::function<void(HostThread&, Answer&&)>;
  using Resume = std::function<void(Call&)>;

  // `wake`: how long a thread that waited takes to run again. `resume` handles a request that was held back.
  HostThreads(Time wake, fabric::ShareLedger& shares, Engine& engine, RunLog& log, Checking* checking, Reply reply,
              Resume resume);

  HostThread& add(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose);
  static void remove(HostThread& thread);
  const std::vector<std::shared_ptr<HostThread>>& all() const { return all_; }

  void answer(HostThread& thread, Answer&& answer);
  void answer_at(HostThread& thread, Time at, Answer&& answer);
  uint64_t answers() const { return answers_; }
  // A thread outside the machine has been told something: time must not move until it has acted.
  void note_told() { ++answers_; }
  // The thread is answered when all of `operations` have ended, with the sticky error of `device`.
  void wait_for(HostThread& thread, std::vector<OperationPtr> operations, uint32_t device,
                std::function<void(Answer&)> finish = {});
  // For the race checker: the host has seen that these operations have ended.
  void host_saw(const Process& process, const std::vector<OperationPtr>& ended);

  // Backpressure: a process has too many operations or bytes queued to add another.
  static bool is_full(const Process& process);
  static void hold(Call& call, std::vector<HeldCall>& into);
  // To be called when an operation of the process has ended.
  void resume_held(Process& process);
  // Handles these requests again, each at its thread's time.
  void resume(std::vector<HeldCall> calls);

 private:
  const Time wake_;
  fabric::ShareLedger& shares_;
  Engine& engine_;
  RunLog& log_;
  Checking* checking_;
  Reply reply_;
  Resume resume_;
  std::vector<std::shared_ptr<HostThread>> all_;
  uint64_t answers_ = 0;
};

}  // namespace fb::machine
