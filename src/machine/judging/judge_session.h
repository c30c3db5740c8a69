#pragma once

// A judgement, as the machine sees it: what the judge has asked for, and how far each rank is with it. wire/harness.h
// says what the messages mean.
//
// Ordering. A step begins at one moment of virtual time for all ranks, when nothing else is under way, and ends when
// nothing is left to do. What the harness moves between tensors and the arena takes no time and happens in the order of
// the rank's stream. Exchanges end at the latest of their ranks' times, whoever was heard last.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/node/judge_requests.h"
#include "machine/node/services.h"
#include "wire/harness.h"

namespace fb::machine {

class JudgeSession final : public JudgeRequests {
 public:
  // `connection` is the judge's. Node::set_judge() makes the node use it.
  JudgeSession(NodeServices& node, uint32_t ranks, uint64_t connection);
  ~JudgeSession() override;
  JudgeSession(const JudgeSession&) = delete;
  JudgeSession& operator=(const JudgeSession&) = delete;

  HostThread& judge() { return *judge_; }

  // Between steps: requests of ranks are not to be handled.
  bool frozen() const { return state_ == State::frozen; }
  bool step_is_under_way() const { return state_ == State::step; }
  bool in_run() const override { return state_ == State::step && step_.kind == wire::StepKind::run; }
  // To be called when nothing moves by itself. True: a step (or the wait for ranks) is over, and the judge knows.
  bool end_step();
  // To be called when nothing else can go on. True: a rank that was kept back may begin its call.
  bool let_straggler_go();
  // All ranks have asked for their next step, and no work is left: only threads beside can still do something.
  bool is_over() const { return state_ == State::step && all_wait() && nothing_left(); }
  // A request came while ranks were frozen.
  void note_late();
  uint64_t late_requests() const override { return late_requests_; }
  // Something of the rank has gone: nothing, if it was to go.
  std::optional<std::string> explain_loss(const Process& process) const;
  // Whether the rank can do without this thread.
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
    bool waits = false;      // has asked for its next step
    uint32_t call = 0;       // of the step: that it is in
    bool kept_back = false;  // will be told to begin it when nothing else can go on
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
  // `checked`: the operation that does it, for the race checker; 0: none looks.
  void perform(const std::vector<Move>& moves, uint32_t checked);
  void perform_while_frozen();
  std::vector<uint32_t> numbers() const;  // of the ranks' processes
  void begin_step(const wire::JudgeStep& m, std::span<const std::byte> words);
  void tell(Rank& rank, std::span<const std::byte> words);
  void begin_call(Rank& rank);
  wire::Status end_of_call(Rank& rank, HostThread& thread, Stream& stream, uint64_t stream_id);
  wire::Status join_exchange(Rank& rank, Call& call, wire::Kind kind);
  void complete_exchange();
  Time latest() const;
  // Since the step began, by device.
  std::vector<wire::DeviceTraffic> traffic() const;

  NodeServices& node_;
  std::unique_ptr<Process> judges_;  // the judge is no rank, and no process of the node
  std::shared_ptr<HostThread> judge_;
  std::vector<Rank> ranks_;
  State state_ = State::assembling;
  bool judge_waits_ = false;
  wire::JudgeStep step_;
  wire::JudgeStepDone done_;
  std::vector<fabric::Counters> before_;  // the step, by device
  std::byte* arena_ = nullptr;
  uint64_t arena_bytes_ = 0;
  uint64_t late_requests_ = 0;
};

}  // namespace fb::machine
