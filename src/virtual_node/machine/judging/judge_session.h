#pragma once

// The machine's side of a judged run: the judge's current step, and how far each rank is with it. The messages are
// described in common/wire/harness.h.
//
// Ordering. A step begins at the same virtual time for all ranks, when nothing else runs, and ends when all operations
// have ended. Transfers between tensors and the arena take no time and happen in the order of the rank's stream. An
// exchange ends at the latest of its ranks' times, in whichever order their requests arrived.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/wire/harness.h"
#include "virtual_node/fabric/network.h"
#include "virtual_node/machine/process/judge_requests.h"
#include "virtual_node/machine/process/services.h"

namespace fb::machine {

class JudgeSession final : public JudgeRequests {
 public:
  // `connection` is the judge's. Node::set_judge() makes the node use it.
  JudgeSession(ProcessServices& node, uint32_t ranks, uint64_t connection);
  ~JudgeSession() override;
  JudgeSession(const JudgeSession&) = delete;
  JudgeSession& operator=(const JudgeSession&) = delete;

  HostThread& judge() { return *judge_; }

  // Between steps: requests of ranks are not to be handled.
  bool frozen() const { return state_ == State::frozen; }
  // How many have begun.
  uint64_t steps() const { return steps_; }
  // Written to tensors and read from them by the judge, in the calls of this step.
  uint64_t step_bytes() const { return step_bytes_; }
  bool step_is_under_way() const { return state_ == State::step; }
  bool in_run() const override { return state_ == State::step && step_.kind == wire::StepKind::run; }
  // To be called when nothing makes progress by itself. True: a step (or the wait for ranks) has ended and the judge
  // was answered.
  bool end_step();
  // To be called when nothing else can make progress. True: a rank that was kept back begins its call.
  bool let_straggler_go();
  // "in run, call 3", "after construct": where this rank is.
  std::string where(const Process& process) const;
  bool has_straggler() const { return std::ranges::any_of(ranks_, &Rank::kept_back); }
  // All ranks have asked for their next step and no operation is left; only their other threads can still act.
  bool is_over() const { return state_ == State::step && all_wait() && nothing_left(); }
  // A request came while ranks were frozen.
  void note_late();
  uint64_t late_requests() const override { return late_requests_; }
  // A thread or process of the rank has ended. None: it was allowed to.
  std::optional<std::string> explain_loss(const Process& process) const;
  // Whether the step can't end without this thread.
  bool needs(const HostThread& thread) const;
  bool has_returned(const Process& process) const override;
  std::optional<std::string> explain_wait(const HostThread& thread) const override;

  wire::Status next(Call& call, const wire::StepNext& m) override;
  wire::Status exchange(Call& call) override;
  wire::Status exchange_descriptor(Call& call, uint32_t root) override;
  wire::Status begin(Call& call, const wire::JudgeBegin& m) override;
  wire::Status make_tensor(const wire::JudgeTensor& m, wire::Address& reply) override;
  wire::Status free_tensor(const wire::JudgeFree& m) override;
  wire::Status step(Call& call, const wire::JudgeStep& m) override;

 private:
  enum class State : uint8_t { assembling, frozen, step, left };

  // A transfer whose memory was found; it stays even if the rank frees it.
  struct Move {
    std::shared_ptr<mem::Allocation> holder;
    std::byte* tensor = nullptr;
    std::byte* arena = nullptr;
    uint64_t bytes = 0;
    bool load = false;
  };
  struct Calling {
    std::vector<Move> loads, stores;
    wire::CallTimes times;
  };
  struct Rank {
    Process* process = nullptr;
    std::shared_ptr<HostThread> thread;  // asks for steps
    uint32_t device = 0;
    uint32_t tensors = 0;    // that it has now: numbers them in reports
    bool waits = false;      // has asked for its next step
    uint32_t call = 0;       // current one of the step
    bool kept_back = false;  // begins when nothing else can make progress
    std::shared_ptr<std::vector<Calling>> calls;
    // The exchange that it waits in.
    std::shared_ptr<HostThread> exchanging;
    wire::Kind exchange{};
    uint32_t root = 0;
    std::vector<std::byte> brought;
    std::shared_ptr<Physical> physical;
    bool brought_descriptor = false;
  };

  Rank* rank_of(const Process& process);
  const Rank* rank_of(const Process& process) const;
  bool all_wait() const;
  bool nothing_left() const;
  std::string phase_of(const Rank& rank) const;  // "run, call 3"
  wire::Status read_transfers(std::span<const std::byte> blob, uint32_t calls);
  // `checked`: the operation, for the race detector; 0: no races are looked for.
  void perform(const std::vector<Move>& moves, uint32_t checked);
  void perform_while_frozen();
  std::vector<uint32_t> numbers() const;  // of the ranks' processes
  Time begin_of(const wire::StepOrder& order) const;
  void set_order(const wire::StepOrder& order);
  void begin_step(const wire::JudgeStep& m, std::span<const std::byte> words);
  void tell(Rank& rank, std::span<const std::byte> words);
  void begin_call(Rank& rank);
  wire::GroupShares shares_of(Time at) const;
  void note_drained(wire::CallTimes& times, Time at) const;
  wire::Status end_of_call(Rank& rank, HostThread& thread, Stream& stream, uint64_t stream_id);
  wire::Status join_exchange(Rank& rank, Call& call, wire::Kind kind);
  void complete_exchange();
  Time latest() const;
  // Since the step began, by device.
  std::vector<wire::DeviceTraffic> traffic() const;

  ProcessServices& node_;
  std::unique_ptr<Process> judges_;  // the judge is neither a rank nor a process of the node
  std::shared_ptr<HostThread> judge_;
  std::vector<Rank> ranks_;
  State state_ = State::assembling;
  bool judge_waits_ = false;
  wire::JudgeStep step_;
  uint64_t steps_ = 0, step_bytes_ = 0;
  uint64_t seed_ = 0;  // of what is drawn in this step; 0: nothing
  wire::JudgeStepDone done_;
  std::vector<fabric::Counters> before_;                  // the step, by device
  std::vector<fabric::Network::Carried> carried_before_;  // the step, by network card
  std::byte* arena_ = nullptr;
  uint64_t arena_bytes_ = 0;
  uint64_t late_requests_ = 0;
};

}  // namespace fb::machine
