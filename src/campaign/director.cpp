#include "campaign/director.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>
#include <utility>

#include "campaign/caller.h"
#include "campaign/files.h"
#include "campaign/judge_job.h"
#include "campaign/plan.h"
#include "campaign/sample.h"
#include "common/base/content_hash.h"
#include "common/base/interruption.h"
#include "common/base/strings.h"
#include "common/base/unique_fd.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using record::round_file;

constexpr auto kPollInterval = 200ms;             // for what has no descriptor to poll
constexpr auto kOthersInterval = 2s;              // for samples that other processes work on
constexpr uintmax_t kRoom = uintmax_t{64} << 20;  // bytes on the disk without which no call is made
constexpr uint32_t kFailuresInARow = 3;           // of calls of one model: then it is called no more
constexpr uint32_t kCallersLost = 3;              // in a row, of one round: then a later run tries again

// Every sample at work holds a lock.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Director {
 public:
  Director(const DirectorOptions& options, Executor& executor, Progress& progress)
      : options_(options),
        executor_(executor),
        progress_(progress),
        begun_(Clock::now()),
        budget_({.calls = options.plan.calls,
                 .calls_per_minute = options.plan.calls_per_minute,
                 .max_usd = options.plan.max_usd}) {}

  Outcome run();

 private:
  enum class Stage : uint8_t { waiting, elsewhere, ready, calling, judging, done, stuck };
  struct Sample {
    Standing standing;
    Stage stage = Stage::waiting;
    size_t model = 0;
    UniqueFd lock = {};
    std::optional<Child> caller = {};  // spawned by this process
    double reserved = 0;               // USD: the most that its call may cost
    uint32_t callers_lost = 0;         // in a row: ended without a response and without a reason
    Clock::time_point since = {};
  };
  struct Model {
    uint32_t failures = 0;  // calls that failed since the last success
  };

  const record::ModelSpec& spec(const Sample& sample) const { return options_.plan.models[sample.model]; }
  const catalog::Problem& problem(const Sample& sample) const;
  std::string file(const Sample& sample, std::string_view kind) const {
    return round_file(options_.run, sample.standing.round, kind);
  }

  void look_at_all();
  bool look(Sample& sample);
  void begin_work();
  void take(Sample& sample);
  void advance(Sample& sample);
  void write_request(const Sample& sample);
  bool may_call(Sample& sample);
  void call(Sample& sample);
  void submit(Sample& sample);
  void write_attempt(Sample& sample);
  void wait();
  void collect_calls();
  void call_ended(Sample& sample);
  void collect_verdicts();
  void look_at_others();
  void move(Sample& sample, Stage stage);
  void get_stuck(Sample& sample, const std::string& why);
  // An exception of `action` (the file system) leaves only this sample unfinished.
  template <class Action>
  void guarded(Sample& sample, const Action& action);
  void tell();
  Status status() const;
  size_t count(Stage stage) const { return counts_[static_cast<size_t>(stage)]; }

  const DirectorOptions& options_;
  const std::string prices_ = record::prices_file(options_.run);
  Executor& executor_;
  Progress& progress_;
  Clock::time_point begun_;
  std::vector<Sample> samples_;
  std::vector<Model> models_;
  std::array<size_t, 7> counts_ = {};
  size_t next_ = 0;           // the first sample not looked at yet
  std::deque<size_t> ready_;  // waiting for a call that may not begin yet
  std::map<record::RoundId, size_t> judged_;
  std::vector<size_t> calling_;
  size_t done_before_ = 0, passed_ = 0, unpriced_ = 0;
  bool budget_spent_ = false;
  Budget budget_;
  Clock::time_point next_look_ = {};
  std::vector<record::Attempt> fresh_;  // not reported yet
  std::vector<std::string> troubles_;
};

const catalog::Problem& Director::problem(const Sample& sample) const {
  return *std::ranges::find(options_.pack->problems, sample.standing.round.problem, &catalog::Problem::name);
}

void Director::move(Sample& sample, Stage stage) {
  --counts_[static_cast<size_t>(sample.stage)];
  ++counts_[static_cast<size_t>(stage)];
  sample.stage = stage;
  sample.since = Clock::now();
  if (stage == Stage::done || stage == Stage::stuck || stage == Stage::elsewhere) sample.lock.reset();
}

void Director::get_stuck(Sample& sample, const std::string& why) {
  move(sample, Stage::stuck);
  if (std::ranges::find(troubles_, why) != troubles_.end()) return;
  troubles_.push_back(why);
  const auto& round = sample.standing.round;
  progress_.note(
      fmt::format("{} {} sample {} round {}: {}", round.model, round.problem, round.sample, round.round, why));
}

template <class Action>
void Director::guarded(Sample& sample, const Action& action) {
  try {
    action();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& e) {
    get_stuck(sample, e.what());
  }
}

// Breadth first, so that the results of a campaign that ends early can be compared.
void Director::look_at_all() {
  const auto& plan = options_.plan;
  for (uint32_t number = 1; number <= plan.samples; ++number) {
    for (const std::string& name : plan.problems) {
      for (size_t model = 0; model < plan.models.size(); ++model) {
        Sample sample;
        sample.standing.round = {.model = plan.models[model].label, .problem = name, .sample = number};
        sample.model = model;
        samples_.push_back(std::move(sample));
      }
    }
  }
  models_.resize(plan.models.size());
  counts_[static_cast<size_t>(Stage::waiting)] = samples_.size();
  for (Sample& sample : samples_) {
    if (look(sample) && sample.standing.need == Need::nothing) move(sample, Stage::done);
  }
  done_before_ = count(Stage::done);
}

// Reads the sample's folder again. False if it is damaged.
bool Director::look(Sample& sample) {
  auto standing = look_at(options_.run, options_.plan, sample.standing.round);
  if (!standing) {
    get_stuck(sample, in_one_line(standing.error()));
    return false;
  }
  budget_.spend(standing->usd - sample.standing.usd);
  if (llm::costs_money(spec(sample))) unpriced_ += standing->unpriced - sample.standing.unpriced;
  passed_ += static_cast<size_t>(standing->passed) - static_cast<size_t>(sample.standing.passed);
  sample.standing = std::move(*standing);
  return true;
}

void Director::begin_work() {
  while (!ready_.empty()) {
    Sample& sample = samples_[ready_.front()];
    if (sample.stage == Stage::ready && !may_call(sample)) break;
    ready_.pop_front();
    if (sample.stage == Stage::ready) guarded(sample, [&] { call(sample); });
  }
  // Calls go on while answers wait for the judge, but not far ahead of it.
  const size_t enough = executor_.appetite() + options_.plan.calls;
  while (ready_.empty() && next_ < samples_.size() && count(Stage::judging) < enough) {
    Sample& sample = samples_[next_++];
    if (sample.stage == Stage::waiting) guarded(sample, [&] { take(sample); });
    throw_if_interrupted();
  }
}

void Director::take(Sample& sample) {
  const std::string folder = sample_folder(options_.run, sample.standing.round);
  fs::create_directories(folder);
  auto lock = try_lock(folder + "/.lock");
  if (!lock) return move(sample, Stage::elsewhere);
  sample.lock = std::move(*lock);
  if (look(sample)) advance(sample);
}

void Director::advance(Sample& sample) {
  for (;;) {
    switch (sample.standing.need) {
      case Need::nothing:
        return move(sample, Stage::done);
      case Need::record:
        write_attempt(sample);
        break;
      case Need::verdict:
        return submit(sample);
      case Need::request:
        write_request(sample);
        break;
      case Need::call:
        if (is_being_called(options_.run, sample.standing.round)) {  // by a caller that an earlier process started
          calling_.push_back(static_cast<size_t>(&sample - samples_.data()));
          return move(sample, Stage::calling);
        }
        if (spec(sample).provider != "recorded") {
          ready_.push_back(static_cast<size_t>(&sample - samples_.data()));
          return move(sample, Stage::ready);
        }
        fs::remove(file(sample, "failed.json"));
        if (auto called = call_round(options_.run, sample.standing.round, {}); !called)
          return get_stuck(sample, in_one_line(called.error()));
        if (fs::exists(file(sample, "failed.json"))) return call_ended(sample);
        break;
    }
    if (!look(sample)) return;
  }
}

void Director::write_request(const Sample& sample) {
  const auto& round = sample.standing.round;
  llm::Request request;
  const auto fail = [](const Errors& errors) { throw std::runtime_error(in_one_line(errors)); };
  if (round.round == 1) {
    auto prompt = prompts::first_prompt(*options_.pack, problem(sample), options_.prompt);
    if (!prompt) fail(prompt.error());
    request.system = std::move(prompt->system);
    request.messages = {{llm::Role::user, std::move(prompt->user)}};
  } else {
    record::RoundId before = round;
    --before.round;
    auto previous = llm::parse_request(read_file(round_file(options_.run, before, "request.json")));
    if (!previous) fail(previous.error());
    const auto response = llm::parse_response(read_file(round_file(options_.run, before, "response.json")));
    if (!response) fail(response.error());
    const record::Attempt& attempt = *sample.standing.previous;
    auto feedback =
        prompts::feedback_prompt(problem(sample), attempt, response->text, options_.prompt, attempt.passed());
    if (!feedback) fail(feedback.error());
    request = std::move(*previous);
    // Providers take no empty messages.
    request.messages.push_back({llm::Role::assistant, response->text.empty() ? "(no answer)" : response->text});
    request.messages.push_back({llm::Role::user, std::move(*feedback)});
  }
  request.model = spec(sample);
  request.problem = round.problem;
  request.sample = round.sample;
  request.round = round.round;
  request.idempotency_key = hash_words({std::to_string(options_.plan.seed), options_.plan.created, round.model,
                                        round.problem, std::to_string(round.sample), std::to_string(round.round)});
  publish(file(sample, "request.json"), to_json(request));
}

// Whether the call may begin now. If it can't begin at all, the sample gets stuck, which needs no call either.
bool Director::may_call(Sample& sample) {
  if (models_[sample.model].failures >= kFailuresInARow) {
    get_stuck(sample, fmt::format("{} calls of {} in a row have failed: its remaining samples are left for a later run",
                                  kFailuresInARow, spec(sample).label));
    return true;
  }
  const size_t running = count(Stage::calling);
  if (!budget_.has_slot(running, Clock::now())) return false;
  if (fs::space(options_.run).available < kRoom) {
    get_stuck(sample, "the disk is almost full: no call is made whose answer might not be kept");
    return true;
  }
  if (!budget_.limits_cost() || !llm::costs_money(spec(sample))) return true;
  const auto request = llm::parse_request(read_file(file(sample, "request.json")));
  const auto most = request ? llm::most_expensive(*request, prices_) : std::nullopt;
  if (!most) {
    get_stuck(sample, fmt::format("the price of {} is not known, so --max-usd can't be kept: see --prices",
                                  spec(sample).label));
    return true;
  }
  sample.reserved = *most;
  switch (budget_.decide(*most, running)) {
    case Budget::Decision::allowed:
      return true;
    case Budget::Decision::wait:
      return false;
    case Budget::Decision::exhausted:
      budget_spent_ = true;
      get_stuck(sample, fmt::format("--max-usd {} does not allow another call, which may cost {:.4f}",
                                    *budget_.limits().max_usd, *most));
  }
  return true;
}

void Director::call(Sample& sample) {
  if (sample.stage != Stage::ready) return;
  fs::remove(file(sample, "failed.json"));
  auto caller = start_caller(options_.program, options_.run, sample.standing.round, prices_);
  budget_.begins(caller ? sample.reserved : 0, Clock::now());
  if (caller) sample.caller = std::move(*caller);
  calling_.push_back(static_cast<size_t>(&sample - samples_.data()));
  move(sample, Stage::calling);
}

void Director::submit(Sample& sample) {
  const auto response = llm::parse_response(read_file(file(sample, "response.json")));
  if (!response) return get_stuck(sample, in_one_line(response.error()));
  const catalog::Problem& about = problem(sample);
  const auto& round = sample.standing.round;
  publish(file(sample, "answer.md"), response->text);
  const JudgeJob job{.problems = options_.pack->root,
                     .problem = about.name,
                     .problem_hash = about.hash,
                     .answer = fmt::format("{}.answer.md", round.round),
                     .thoroughness = options_.plan.thoroughness,
                     .backend = options_.plan.backend,
                     .platform = options_.plan.platform,
                     .device_compiler = options_.plan.device_compiler,
                     .seed = judgement_seed(options_.plan, round),
                     .use_cache = options_.plan.use_cache,
                     .use_sandbox = options_.plan.use_sandbox,
                     .side_by_side = options_.side_by_side};
  publish(file(sample, "job.json"), to_json(job));
  judged_[round] = static_cast<size_t>(&sample - samples_.data());
  move(sample, Stage::judging);
  executor_.submit(round);
}

void Director::write_attempt(Sample& sample) {
  const auto& round = sample.standing.round;
  const auto response = llm::parse_response(read_file(file(sample, "response.json")));
  if (!response) throw std::runtime_error(in_one_line(response.error()));
  record::Attempt attempt;
  attempt.model = round.model;
  attempt.problem = round.problem;
  attempt.sample = round.sample;
  attempt.round = round.round;
  attempt.for_speed = sample.standing.for_speed;
  attempt.call = response->call;
  if (is_judged(*response)) {
    auto judged = parse_judged(read_file(file(sample, "verdict.json")));
    if (!judged) throw std::runtime_error(file(sample, "verdict.json") + ": " + in_one_line(judged.error()));
    attempt.verdict = std::move(judged->verdict);
    attempt.cached = judged->cached;
  }
  publish(file(sample, "attempt.json"), to_json(attempt));
  fresh_.push_back(std::move(attempt));
}

void Director::wait() {
  std::vector<pollfd> watched;
  for (const int fd : executor_.descriptors()) watched.push_back({fd, POLLIN, 0});
  bool blind = count(Stage::elsewhere) > 0 || !ready_.empty();
  for (const size_t index : calling_) {
    const Sample& sample = samples_[index];
    if (sample.caller) watched.push_back({sample.caller->handle(), POLLIN, 0});
    blind = blind || !sample.caller;
  }
  if (const int interruption = interruption_descriptor(); interruption >= 0)
    watched.push_back({interruption, POLLIN, 0});
  // The live view is redrawn as often.
  const auto longest = blind ? kPollInterval : std::min<std::chrono::milliseconds>(executor_.patience(), 500ms);
  poll(watched.data(), watched.size(), static_cast<int>(longest.count()));
  throw_if_interrupted();
}

void Director::collect_calls() {
  std::erase_if(calling_, [&](size_t index) {
    Sample& sample = samples_[index];
    if (sample.caller) {
      if (!sample.caller->try_reap()) return false;
      sample.caller.reset();
      budget_.ends(sample.reserved);
    } else if (is_being_called(options_.run, sample.standing.round)) {
      return false;
    }
    guarded(sample, [&] { call_ended(sample); });
    return true;
  });
}

void Director::call_ended(Sample& sample) {
  Model& model = models_[sample.model];
  if (fs::exists(file(sample, "response.json"))) {
    model.failures = 0;
    sample.callers_lost = 0;
    if (look(sample)) advance(sample);
    return;
  }
  const std::string failed = file(sample, "failed.json");
  if (!fs::exists(failed)) {  // killed: the model has not failed
    if (++sample.callers_lost == kCallersLost)
      return get_stuck(sample, "the process that called the model ended without a response");
    ready_.push_back(static_cast<size_t>(&sample - samples_.data()));
    return move(sample, Stage::ready);
  }
  ++model.failures;
  const auto response = llm::parse_response(read_file(failed));
  get_stuck(sample, response ? response->call.error : in_one_line(response.error()));
}

void Director::collect_verdicts() {
  for (const Ended& ended : executor_.collect()) {
    const auto found = judged_.find(ended.round);
    if (found == judged_.end()) continue;
    Sample& sample = samples_[found->second];
    judged_.erase(found);
    guarded(sample, [&] {
      if (!ended.failure.empty()) {
        get_stuck(sample, "no verdict: " + ended.failure);
      } else if (look(sample)) {
        advance(sample);
      }
    });
  }
}

void Director::look_at_others() {
  if (count(Stage::elsewhere) == 0 || Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kOthersInterval;
  for (Sample& sample : samples_) {
    if (sample.stage != Stage::elsewhere) continue;
    guarded(sample, [&] { take(sample); });
  }
}

void Director::tell() {
  const Status now = status();
  for (const record::Attempt& attempt : std::exchange(fresh_, {})) progress_.attempted(attempt, now);
  progress_.looked(now);
}

Status Director::status() const {
  Status status;
  status.samples = samples_.size();
  status.done = count(Stage::done);
  status.done_before = done_before_;
  status.passed = passed_;
  status.stuck = count(Stage::stuck);
  status.calls = count(Stage::calling);
  status.judging = count(Stage::judging);
  status.usd = budget_.spent();
  status.unpriced = unpriced_;
  status.elapsed = Clock::now() - begun_;
  constexpr size_t kMost = 8;
  const auto add = [&](const Sample& sample, const char* what) {
    const auto& round = sample.standing.round;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - sample.since).count();
    if (status.now.size() < kMost)
      status.now.push_back(fmt::format("{} {} s: {} {} sample {} round {}", what, seconds, round.model, round.problem,
                                       round.sample, round.round));
  };
  for (const auto& [round, index] : judged_) add(samples_[index], "judging");
  for (const size_t index : calling_) add(samples_[index], "asking");
  return status;
}

Outcome Director::run() {
  allow_many_files();
  Outcome outcome;
  try {
    look_at_all();
    progress_.began(status());
    for (;;) {
      begin_work();
      const bool idle = ready_.empty() && calling_.empty() && judged_.empty() && count(Stage::elsewhere) == 0;
      if (idle && next_ == samples_.size()) break;
      if (!idle) wait();
      collect_calls();
      collect_verdicts();
      look_at_others();
      tell();
    }
  } catch (const Interrupted&) {
    outcome.callers_left = calling_.size();
  }
  executor_.stop();
  tell();
  outcome.status = status();
  outcome.troubles = troubles_;
  outcome.budget_spent = budget_spent_;
  progress_.ended(outcome.status);
  return outcome;
}

}  // namespace

Outcome carry_out(const DirectorOptions& options, Executor& executor, Progress& progress) {
  return Director(options, executor, progress).run();
}

}  // namespace fb::campaign
