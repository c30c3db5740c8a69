#pragma once

// The judge's talk with the machine in one session: makes tensors, has the candidate constructed, called and destroyed,
// compares everything that comes out.

#include <optional>
#include <vector>

#include "common/wire/judge_link.h"
#include "judge/data/call_data.h"
#include "judge/data/compare.h"
#include "judge/session/arena.h"
#include "judge/session/outcome.h"
#include "judge/session/plan.h"

namespace fb::judge {

class Conversation {
 public:
  // Without `compares` only faults and times are looked at: the same calls were compared in another session.
  Conversation(const catalog::Problem& problem, const Oracle& oracle, const SessionPlan& session, wire::JudgeLink& link,
               SessionOutcome& outcome, bool compares = true, Dictionary dictionary = {});

  // Bytes of shared memory that the largest phase needs.
  static uint64_t arena_bytes(const catalog::Problem& problem, const SessionPlan& session);

  // Fills the outcome. Ends early at the first finding; and where the machine has ended, without one: then the record
  // says what happened.
  void run();

  // Where it was when it ended.
  const record::FailureLocation& location() const { return location_; }
  // Which step: "construct", "run", "destroy".
  const char* step() const { return step_; }
  bool finished() const { return finished_; }

 private:
  struct Tensor {
    uint64_t address = 0;
    std::vector<uint64_t> load, store;  // arena offsets, by call
  };

  bool run_phase(const Phase& phase);
  bool make_tensors(const Layout& layout);
  bool construct(const Layout& layout, const wire::StepOrder& order);
  bool run_calls(const Layout& layout, const Phase& phase, const CallStep& wanted);
  void add_timing(const Layout& layout, const wire::StepResult& step);
  void enter(const wire::StepOrder& order);
  bool destroy(const Layout& layout, const wire::StepOrder& order);
  bool check_step(const wire::StepResult& step);
  bool check_call(const Layout& layout, uint32_t call_in_step, uint32_t call, const CallData& data,
                  const CallData* before);
  void report(record::VerdictClass verdict, std::string summary, std::string explanation);
  Tensor& tensor(int rank, size_t t) { return tensors_[static_cast<size_t>(rank) * problem_.tensors.size() + t]; }

  const catalog::Problem& problem_;
  const Oracle& oracle_;
  const SessionPlan& session_;
  wire::JudgeLink& link_;
  SessionOutcome& outcome_;
  bool compares_;
  Dictionary dictionary_;
  Arena arena_;
  uint64_t poison_ = 0, poison_bytes_ = 0;
  std::vector<Tensor> tensors_;
  std::optional<CallData> last_;  // of the step before
  uint32_t next_call_ = 0;
  record::FailureLocation location_;
  const char* step_ = "start";
  bool finished_ = false;
};

}  // namespace fb::judge
