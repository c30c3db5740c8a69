#include "judge/session/conversation.h"

#include "judge/score/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <expected>
#include <stdexcept>
#include <utility>

#include "common/base/hash.h"
#include "common/base/processor_time.h"
#include "common/base/rng.h"

namespace fb::judge {
namespace {

using record::VerdictClass;
using wire::Direction;

// Adds the time it lives to one of the outcome's phases, and the processor time that its thread used meanwhile.
class Stopwatch {
 public:
  Stopwatch(SessionOutcome& outcome, const char* phase)
      : wall_(outcome.wall_seconds[phase]), used_(outcome.processor_seconds[phase]) {}
  ~Stopwatch() {
    wall_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    used_ += thread_seconds() - before_;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double &wall_, &used_;
  double before_ = thread_seconds();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Whether it was answered. The machine ends by itself for reasons that its record has; what it refuses is our mistake.
template <class T>
bool answered(const std::expected<T, wire::Status>& answer, const char* what) {
  if (!answer && answer.error() != wire::Status::unknown)
    throw std::runtime_error(fmt::format("the machine refuses to {}: {}", what, wire::to_string(answer.error())));
  return answer.has_value();
}

constexpr uint64_t kPieceRounding = 256;

uint64_t largest_output(const Layout& layout) {
  uint64_t bytes = 0;
  for (const auto& slots : layout.ranks) {
    for (const auto& slot : slots) bytes = std::max(bytes, slot.tensor->output ? slot.bytes() : 0);
  }
  return bytes;
}

// Each the most of any device.
record::Moved busiest(const std::vector<wire::DeviceTraffic>& devices) {
  record::Moved most;
  for (const auto& one : devices) {
    most.peer_out = std::max(most.peer_out, one.peer_out);
    most.peer_in = std::max(most.peer_in, one.peer_in);
    most.to_host = std::max(most.to_host, one.to_host);
    most.from_host = std::max(most.from_host, one.from_host);
    most.memory = std::max(most.memory, one.memory);
    most.network_out = std::max(most.network_out, one.network_out);
    most.network_in = std::max(most.network_in, one.network_in);
  }
  return most;
}

}  // namespace

uint64_t Conversation::arena_bytes(const catalog::Problem& problem, const SessionPlan& session) {
  uint64_t most = 4096;
  for (const Phase& phase : session.phases) {
    const Layout layout(problem, *phase.size, session.world);
    const uint64_t calls = std::ranges::max(phase.steps, {}, &CallStep::calls).calls;
    uint64_t bytes = largest_output(layout) + kPieceRounding;
    // Inputs go in and are read back, outputs are read back.
    for (const auto& slots : layout.ranks) {
      for (const auto& slot : slots) bytes += calls * (slot.tensor->output ? 1 : 2) * (slot.bytes() + kPieceRounding);
    }
    most = std::max(most, bytes);
  }
  return most;
}

Conversation::Conversation(const catalog::Problem& problem, const Oracle& oracle, const SessionPlan& session,
                           wire::JudgeLink& link, SessionOutcome& outcome, bool compares, Dictionary dictionary)
    : problem_(problem),
      oracle_(oracle),
      session_(session),
      link_(link),
      outcome_(outcome),
      compares_(compares),
      dictionary_(std::move(dictionary)),
      arena_(arena_bytes(problem, session)),
      tensors_(static_cast<size_t>(session.world) * problem.tensors.size()) {
  location_.world = session.world;
}

void Conversation::run() {
  {
    const Stopwatch watch(outcome_, "start");
    if (!answered(link_.begin(arena_.descriptor(), arena_.size()), "begin")) return;
  }
  for (const Phase& phase : session_.phases) {
    if (!run_phase(phase)) return;
  }
  step_ = "leave";
  finished_ = answered(link_.leave(), "end the ranks");
}

bool Conversation::run_phase(const Phase& phase) {
  const Layout layout(problem_, *phase.size, session_.world);
  location_.size = phase.size->name;
  location_.call = -1;
  next_call_ = 0;
  last_.reset();
  arena_.reset();
  poison_bytes_ = largest_output(layout);
  poison_ = arena_.take(poison_bytes_);
  // Random bits: neither predictable nor a valid result.
  catalog::Tensor pattern;
  pattern.fill = "bits";
  fill_tensor(pattern, arena_.at(poison_, poison_bytes_), mix(phase.seed, 0x9015011));
  if (!make_tensors(layout) || !construct(layout, phase.set_up)) return false;
  for (const CallStep& step : phase.steps) {
    if (!run_calls(layout, phase, step)) return false;
  }
  return destroy(layout, phase.tear_down);
}

// Where the order is the run's, that is by virtual time.
void Conversation::enter(const wire::StepOrder& order) {
  location_.schedule = order.schedule == wire::StepSchedule::drawn ? order.seed : 0;
}

bool Conversation::make_tensors(const Layout& layout) {
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      const auto made =
          link_.make_tensor(static_cast<uint32_t>(rank), layout.at(rank, t).bytes(), layout.device(rank, t));
      if (!answered(made, "make a tensor")) return false;
      tensor(rank, t) = {.address = *made, .load = {}, .store = {}};
    }
  }
  return true;
}

bool Conversation::construct(const Layout& layout, const wire::StepOrder& order) {
  const Stopwatch watch(outcome_, "run");
  step_ = "construct";
  enter(order);
  std::vector<uint64_t> words;
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) words.push_back(tensor(rank, t).address);
    for (const auto& [name, about] : problem_.parameters)
      words.push_back(static_cast<uint64_t>(layout.size->values.find(name)->second));
  }
  const auto step = link_.construct(words, order);
  return answered(step, "construct") && check_step(*step);
}

bool Conversation::destroy(const Layout& layout, const wire::StepOrder& order) {
  const Stopwatch watch(outcome_, "run");
  step_ = "destroy";
  enter(order);
  location_.call = -1;
  const auto step = link_.destroy(order);
  if (!answered(step, "destroy") || !check_step(*step)) return false;
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      if (!answered(link_.release(static_cast<uint32_t>(rank), tensor(rank, t).address), "release a tensor"))
        return false;
    }
  }
  return true;
}

bool Conversation::run_calls(const Layout& layout, const Phase& phase, const CallStep& wanted) {
  step_ = "run";
  enter(wanted.order);
  const uint32_t calls = wanted.calls;
  std::vector<CallData> data;
  std::vector<wire::Transfer> transfers;
  {
    const Stopwatch watch(outcome_, "oracle");
    // A candidate must not choose the data that it is timed with: its constants could send all tokens to one expert.
    const Dictionary* const dictionary = wanted.timed ? nullptr : &dictionary_;
    for (uint32_t c = 0; c < calls; ++c)
      data.emplace_back(layout, oracle_, mix(phase.seed, {next_call_ + c + 1}), next_call_ + c, compares_, dictionary);
    const auto add = [&](int rank, uint32_t call, Direction direction, uint64_t address, uint64_t bytes, uint64_t at) {
      transfers.push_back({.rank = static_cast<uint32_t>(rank),
                           .call = call,
                           .direction = direction,
                           .address = address,
                           .bytes = bytes,
                           .arena_offset = at});
    };
    for (int rank = 0; rank < layout.world; ++rank) {
      for (size_t t = 0; t < layout.tensors(); ++t) {
        Tensor& tensor_of_rank = tensor(rank, t);
        const uint64_t bytes = layout.at(rank, t).bytes();
        const bool output = problem_.tensors[t].output;
        for (uint32_t c = 0; c < calls; ++c) {
          // Steps use the same places one after the other.
          if (tensor_of_rank.store.size() <= c) {
            tensor_of_rank.load.push_back(output ? poison_ : arena_.take(bytes));
            tensor_of_rank.store.push_back(arena_.take(bytes));
          }
          if (!output) std::ranges::copy(data[c].input(rank, t), arena_.at(tensor_of_rank.load[c], bytes).begin());
          add(rank, c, Direction::load, tensor_of_rank.address, bytes, tensor_of_rank.load[c]);
          add(rank, c, Direction::store, tensor_of_rank.address, bytes, tensor_of_rank.store[c]);
        }
      }
    }
  }
  location_.call = static_cast<int>(next_call_);
  std::optional<wire::StepResult> step;
  {
    const Stopwatch watch(outcome_, "run");
    if (auto ran = link_.run(transfers, calls, next_call_, wanted.order); answered(ran, "run")) step = std::move(*ran);
  }
  if (!step || !check_step(*step)) return false;
  outcome_.calls += calls;
  if (wanted.timed) add_timing(layout, *step);
  const Stopwatch watch(outcome_, "compare");
  for (uint32_t c = 0; compares_ && c < calls; ++c) {
    const CallData* before = c > 0 ? &data[c - 1] : last_ ? &*last_ : nullptr;
    if (!check_call(layout, c, next_call_ + c, data[c], before)) return false;
  }
  next_call_ += calls;
  last_ = std::move(data.back());
  return true;
}

// The first call of a step, which begins on all ranks at once. It ends when all that it has started has ended, whatever
// comes behind it. Bytes are counted for the step as a whole.
void Conversation::add_timing(const Layout& layout, const wire::StepResult& step) {
  uint64_t end = step.begin;
  wire::GroupShares shares = {};
  for (int rank = 0; rank < layout.world; ++rank) {
    const wire::CallTimes& times = step.of(static_cast<uint32_t>(rank), 0);
    if (std::max(times.returned, times.drained) <= end) continue;
    end = std::max(times.returned, times.drained);
    shares = times.shares;
  }
  if (step.calls == 1 && step.drained != end) {
    end = step.drained;
    shares = step.shares;
  }
  record::Moved moved = busiest(step.traffic);
  for (uint64_t* bytes : {&moved.peer_out, &moved.peer_in, &moved.to_host, &moved.from_host, &moved.memory,
                          &moved.network_out, &moved.network_in})
    *bytes /= step.calls;
  record::Timing timing = {.size = layout.size->name,
                           .world = layout.world,
                           .begin_seconds = static_cast<double>(step.begin) * 1e-12,
                           .seconds = static_cast<double>(end - step.begin) * 1e-12,
                           .sensitivity = sensitivity_of(shares, end - step.begin),
                           .calls = step.calls,
                           .moved = moved};
  if (const std::string& scale = layout.size->scale; !scale.empty()) {
    timing.scale = scale;
    timing.samples = {{.value = layout.size->values.at(scale), .seconds = timing.seconds}};
  }
  outcome_.timings.push_back(std::move(timing));
}

bool Conversation::check_step(const wire::StepResult& step) {
  dictionary_.seen = step.words;
  if (step.faults > 0) {
    report(VerdictClass::fault, {}, {});  // the record has the text
    return false;
  }
  if (step.late_requests > 0) {
    report(
        VerdictClass::cheat, "CUDA was called after a step had ended",
        "A thread of the candidate called CUDA after all ranks had returned and all work was done. What run() starts "
        "must be ordered on `stream` or finished when it returns.\n");
    return false;
  }
  return true;
}

bool Conversation::check_call(const Layout& layout, uint32_t call_in_step, uint32_t call, const CallData& data,
                              const CallData* before) {
  location_.call = static_cast<int>(call);
  for (int rank = 0; rank < layout.world; ++rank) {
    location_.rank = rank;
    for (size_t t = 0; t < layout.tensors(); ++t) {
      const auto& slot = layout.at(rank, t);
      const auto got = arena_.at(tensor(rank, t).store[call_in_step], slot.bytes());
      if (!slot.tensor->output) {
        if (std::memcmp(got.data(), data.input(rank, t).data(), got.size()) == 0) continue;
        report(VerdictClass::wrong, fmt::format("rank {} changed its input `{}`", rank, slot.tensor->name),
               "Inputs belong to the caller: a solution may read them only.\n");
        return false;
      }
      outcome_.values += static_cast<uint64_t>(slot.elements);
      const auto mismatch = compare(slot, rank, t, data.expected(rank, t), got, arena_.at(poison_, slot.bytes()));
      if (!mismatch) continue;
      report(VerdictClass::wrong, summarize(*mismatch, layout), explain(*mismatch, layout, data, before, got));
      return false;
    }
  }
  location_.rank = -1;
  return true;
}

void Conversation::report(VerdictClass verdict, std::string summary, std::string explanation) {
  outcome_.finding = Ruling{verdict, std::move(summary), std::move(explanation), location_};
}

}  // namespace fb::judge
