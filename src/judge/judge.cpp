#include "judge/judge.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "common/base/content_hash.h"
#include "common/base/interruption.h"
#include "common/base/processor_time.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "common/base/version.h"
#include "common/platform/platform.h"
#include "judge/answer/answer.h"
#include "judge/build/build.h"
#include "judge/build/symbols.h"
#include "judge/catalog/libraries.h"
#include "judge/catalog/source.h"
#include "judge/data/dictionary.h"
#include "judge/data/oracle.h"
#include "judge/identity.h"
#include "judge/score/bound.h"
#include "judge/score/extrapolation.h"
#include "judge/score/intervals.h"
#include "judge/score/score.h"
#include "judge/sensitivity.h"
#include "judge/session/session_jobs.h"
#include "judge/session/trace_labels.h"
#include "launcher/descendants.h"
#include "launcher/launch.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/gpu_target.h"

namespace fb::judge {
namespace {

using record::Verdict;
using record::VerdictClass;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A time this much below the floor is refused; the rest is rounding.
constexpr double kFloorMargin = 0.95;

// nvcc is ten times as slow as clang.
constexpr std::chrono::seconds kNvccTime{120};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

uint64_t draw_seed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) throw std::runtime_error("no random numbers: getrandom failed");
  return seed;
}

// Texts of the candidate (an exception, its output, names) must not command a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 0x7F) c = '?';
  }
  return text;
}

Verdict& conclude(Verdict& verdict, VerdictClass result, std::string summary, std::string explanation) {
  verdict.verdict = result;
  verdict.summary = printable(std::move(summary));
  verdict.explanation = printable(std::move(explanation));
  return verdict;
}

std::string join(const Errors& errors) {
  std::string text;
  for (const auto& diagnostic : errors.list) {
    if (diagnostic.at.line > 0) text += fmt::format("{}:{}: ", diagnostic.at.line, diagnostic.at.column);
    text += diagnostic.message + "\n";
  }
  return text;
}

// Throws where a compiler could not have written its output.
void require_room(const std::string& folder) {
  constexpr size_t kOutput = size_t{4} << 20;
  const std::string file = folder + "/room";
  write_file(file, std::string(kOutput, ' '));
  fs::remove(file);
}

// Makes one verdict, step by step. Each step returns false when the verdict is final.
class AttemptJudge {
 public:
  explicit AttemptJudge(const JudgeRequest& request) : request_(request), problem_(*request.problem) {
    verdict_.problem = problem_.name;
    verdict_.problem_hash = problem_.hash;
    if (request.pack != nullptr) {
      verdict_.pack = request.pack->name;
      verdict_.pack_version = request.pack->version;
    }
    verdict_.backend = request.backend == Backend::cuda ? "cuda" : "virtual";
    if (request.device_compiler == toolchain::DeviceCompiler::nvcc) verdict_.device_compiler = "nvcc";
    verdict_.platform = request.platform.empty() ? problem_.platform : request.platform;
    verdict_.thoroughness = request.thoroughness == Thoroughness::quick ? "quick" : "full";
    verdict_.sandbox = request.use_sandbox ? "bubblewrap" : "none";
    verdict_.version = version();
    verdict_.candidate_hash = hash_bytes(request.answer);
  }

  Verdict run() {
    const auto begin = Clock::now();
    const double used_before = all_seconds();
    try {
      verdict_.identity = identity(verdict_.platform, request_.device_compiler);
      verdict_.seed = request_.seed ? *request_.seed : draw_seed();
      if (prepare() && build() && check_symbols() && run_sessions() && check_floor()) {
        conclude(verdict_, VerdictClass::pass, "pass", {});
        if (!request_.look_for_races) verdict_.notes.emplace_back("races were not looked for");
        measure_sensitivity();
        if (request_.thoroughness == Thoroughness::full) compare_with_yardstick();
        conclude_times();
      }
      throw_if_interrupted();  // whatever was seen after the signal may follow from it
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& e) {
      conclude_failure(e.what());
    }
    end_zygote();
    verdict_.wall_seconds["all"] = seconds_since(begin);
    for (const auto& [kind, parts] : session_seconds_) {
      for (const auto& [part, seconds] : parts) verdict_.processor_seconds[fmt::format("{} {}", kind, part)] = seconds;
    }
    verdict_.processor_seconds["all"] = all_seconds() - used_before;
    return std::move(verdict_);
  }

  Result<std::string> build_only() {
    if (!prepare() || !build()) return error(verdict_.summary);
    return hash_bytes(read_file(candidate_));
  }

 private:
  // The ranks' own processor time was counted in their sessions.
  void end_zygote() {
    const double before = reaped_seconds();
    zygote_.reset();
    double used = reaped_seconds() - before;
    for (const auto& [kind, parts] : session_seconds_) {
      for (const char* part : {"ranks", "ranks start"}) {
        if (const auto found = parts.find(part); found != parts.end()) used -= found->second;
      }
    }
    verdict_.processor_seconds["zygote"] = std::max(0.0, used);
  }

  // Ours: what was measured before does not make a verdict.
  void conclude_failure(const std::string& text) {
    verdict_.timings.clear();
    verdict_.speed.reset();
    verdict_.sol.reset();
    verdict_.speed_range = {};
    conclude(verdict_, VerdictClass::infra, first_line(text), text + (text.ends_with('\n') ? "" : "\n"));
  }

  bool prepare() {
    auto platform = platform::load_platform(verdict_.platform);
    if (!platform) throw std::runtime_error(join(platform.error()));
    platform_ = std::move(*platform);
    if (platform_.nic.per_node == 0 && problem_.rules.allows("verbs"))
      throw std::runtime_error(
          fmt::format("platform {} has no network cards, and problem {} needs some (its own is {})", verdict_.platform,
                      problem_.name, problem_.platform));
    if (!request_.use_sandbox) return true;
    auto ability = sandbox::probe();
    if (!ability) {
      conclude(verdict_, VerdictClass::infra, "no sandbox: a candidate is not run without one",
               join(ability.error()) + "--unsafe-no-sandbox judges without; its verdicts prove nothing.\n");
      return false;
    }
    ability_ = std::move(*ability);
    return true;
  }

  void say_progress(const JudgeProgress& progress) const {
    if (request_.on_progress) request_.on_progress(progress);
  }

  // A compiler that was killed or had no room for its output says nothing about the candidate.
  Result<Built> build_tried(const BuildRequest& wanted) const {
    for (int tried = 1;; ++tried) {
      try {
        auto built = request_.backend == Backend::cuda ? build_candidate_cuda(wanted) : build_candidate(wanted);
        if (!built) require_room(wanted.folder);
        return built;
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception&) {
        throw_if_interrupted();
        if (tried == kTries) throw;
      }
    }
  }

  Result<Built> build_counted(const BuildRequest& wanted, double used_before) {
    // Adopts what the compilers' sandboxes leave to be reaped: their processor time counts.
    std::optional<launcher::Descendants> adopted(std::in_place);
    auto built = build_tried(wanted);
    adopted.reset();
    verdict_.processor_seconds["build"] = all_seconds() - used_before;
    return built;
  }

  bool build() {
    const auto begin = Clock::now();
    const double used_before = all_seconds();
    say_progress({"building"});
    auto answer = read_answer(problem_, request_.answer);
    if (!answer) {
      const std::string text = join(answer.error());
      conclude(verdict_, VerdictClass::compile_error, first_line(text), text);
      return false;
    }
    verdict_.notes = answer->notes;
    verdict_.judged_lines = judged_lines(*answer);
    auto sources = assemble(problem_, *answer, fs::path(request_.answer_file).filename().string());
    if (!sources) throw std::runtime_error(join(sources.error()));
    BuildRequest wanted;
    wanted.sources = std::move(*sources);
    wanted.interface = problem_.interface;
    wanted.args_header = catalog::args_header(problem_);
    wanted.folder = folder_.emplace().path();
    wanted.gpu_arch = toolchain::architecture_of(platform_.device.capability_major, platform_.device.capability_minor);
    wanted.device_compiler = request_.device_compiler;
    wanted.hidden = {problem_.root};
    wanted.libraries = problem_.rules.libraries;
    wanted.sandbox = ability_ ? &*ability_ : nullptr;
    wanted.use_cache = request_.use_cache;
    wanted.line_tables = request_.line_tables;
    wanted.limits = request_.build_limits;
    if (request_.backend == Backend::cuda) wanted.limits.time = kNvccTime;
    const auto built = build_counted(wanted, used_before);
    verdict_.wall_seconds["build"] = seconds_since(begin);
    if (!built) {
      const std::string text = join(built.error());
      conclude(verdict_, VerdictClass::compile_error, first_line(text), text);
      return false;
    }
    if (!built->unsupported.empty()) {
      std::string text;
      for (const std::string& one : built->unsupported) text += one + "\n";
      conclude(verdict_, VerdictClass::unsupported, "the virtual node can't run this code yet", text);
      return false;
    }
    candidate_ = built->path;
    driver_ = built->driver;
    if (ability_) zygote_.emplace(find_rank(), problem_.rules.libraries);  // gets ready while we go on
    constants_ = constants_of_object(candidate_);
    return true;
  }

  bool check_symbols() {
    const auto broken = judge::check_symbols(candidate_, problem_.rules);
    if (!broken) {  // no object that a linker would make
      conclude(verdict_, VerdictClass::cheat, "the object that was built is damaged", join(broken.error()));
      return false;
    }
    if (broken->empty()) return true;
    std::string text;
    for (const auto& one : *broken) text += fmt::format("{}: {}\n", one.symbol, one.why);
    conclude(verdict_, VerdictClass::rule_violation,
             fmt::format("the code uses {}, which is not allowed", broken->front().symbol), text);
    return false;
  }

  bool run_sessions() {
    if (request_.backend == Backend::cuda) {
      conclude(verdict_, VerdictClass::infra,
               "the candidate was compiled and linked with nvcc; running it on real GPUs is not implemented",
               "Backend cuda builds a candidate and checks its symbols. Its run on real GPUs does not exist yet.\n");
      return false;
    }
    const auto begin = Clock::now();
    const double used_before = all_seconds();
    auto oracle = Oracle::load(problem_);
    if (!oracle) {
      conclude(verdict_, VerdictClass::infra, "the problem's oracle can't be used", join(oracle.error()));
      return false;
    }
    oracle_.emplace(std::move(*oracle));
    verdict_.processor_seconds["load oracle"] = all_seconds() - used_before;
    verdict_.wall_seconds["load oracle"] = seconds_since(begin);
    const auto plan = make_plan(problem_, request_.thoroughness, verdict_.seed, request_.schedules);
    const auto outcomes = run_plan(plan);
    verdict_.wall_seconds["sessions"] = seconds_since(begin);
    for (size_t k = 0; k < outcomes.size(); ++k) {
      if (!add(outcomes[k], plan[k])) return false;
    }
    merge_samples(problem_, verdict_.timings);
    return true;
  }

  // `kind`: under which name its processor time is counted.
  SessionRequest request_for(const SessionPlan& session, const char* kind) {
    SessionRequest wanted;
    wanted.processor_seconds = &session_seconds_[kind];
    wanted.problem = &problem_;
    wanted.oracle = &*oracle_;
    wanted.session = &session;
    wanted.candidate = candidate_;
    wanted.driver = driver_;
    wanted.platform = verdict_.platform;
    wanted.nodes = static_cast<int>(platform_.node.nodes);
    wanted.constants = constants_;
    wanted.look_for_races = request_.look_for_races;
    wanted.verbose = request_.verbose;
    wanted.count_branches = request_.branches != nullptr;
    wanted.sandbox = ability_ ? &*ability_ : nullptr;
    wanted.zygote = zygote_ ? &*zygote_ : nullptr;
    wanted.limits = request_.limits;
    return wanted;
  }

  size_t side_by_side() const {
    return request_.side_by_side != 0 ? request_.side_by_side : std::max(1u, std::thread::hardware_concurrency());
  }

  std::vector<std::string> run_plan(const std::vector<SessionPlan>& plan) {
    say_progress({"running sessions", 0, plan.size()});
    std::vector<SessionRequest> wanted;
    for (const SessionPlan& session : plan) {
      const bool timed = std::ranges::any_of(session.phases, &Phase::is_timed);
      wanted.push_back(request_for(session, timed ? "timed" : "checked"));
    }
    if (!wanted.empty()) wanted.front().trace = request_.trace;
    return judge::run_sessions(wanted, side_by_side(), [&, ended = size_t{0}]() mutable {
      say_progress({"running sessions", ++ended, plan.size()});
    });
  }

  // False: it has a finding.
  bool add(const std::string& text, const SessionPlan& session) {
    auto outcome = parse_outcome(text);
    if (!outcome) {
      conclude(verdict_, VerdictClass::infra, "a session was lost",
               "The process of a session ended without an outcome.\n");
      return false;
    }
    ++verdict_.sessions;
    if (session.schedule != 0) ++verdict_.schedules;
    verdict_.calls += outcome->calls;
    verdict_.values += outcome->values;
    verdict_.instructions += outcome->instructions;
    verdict_.replayable &= outcome->replayable;
    for (auto& note : outcome->notes) {
      if (std::ranges::find(verdict_.notes, note) == verdict_.notes.end()) verdict_.notes.push_back(std::move(note));
    }
    for (const auto& [phase, seconds] : outcome->wall_seconds) verdict_.wall_seconds["session " + phase] += seconds;
    if (request_.branches != nullptr) record::merge(*request_.branches, outcome->branches);
    verdict_.timings.insert(verdict_.timings.end(), outcome->timings.begin(), outcome->timings.end());
    if (!outcome->finding) return true;
    verdict_.location = outcome->finding->location;
    conclude(verdict_, outcome->finding->verdict, std::move(outcome->finding->summary),
             std::move(outcome->finding->explanation));
    return false;
  }

  // Whose figures a timing has.
  const catalog::SizeClass& size_of(const record::Timing& t) const {
    const catalog::SizeClass& size = *std::ranges::find(problem_.sizes, t.size, &catalog::SizeClass::name);
    return t.refusal.empty() ? size : size.samples.back();
  }

  bool check_floor() {
    if (verdict_.timings.empty()) return true;
    for (auto& t : verdict_.timings) {
      const catalog::SizeClass& size = size_of(t);
      t.limit_seconds = limit_seconds(problem_, size, t.world, platform_);
      const double floor = floor_seconds(problem_, size, t.world, platform_);
      if (t.seconds >= kFloorMargin * floor) continue;
      verdict_.location = {.size = t.size, .world = t.world};
      conclude(verdict_, VerdictClass::cheat,
               fmt::format("size {}: {:.2f} us are less than the links need ({:.2f} us)", t.size, t.seconds * 1e6,
                           floor * 1e6),
               "The data that must cross the links can't cross them in this time.\n");
      return false;
    }
    return true;
  }

  void measure_sensitivity() {
    const bool wanted = request_.thoroughness == Thoroughness::full || request_.thoroughness == Thoroughness::times;
    if (!wanted || !request_.measure_sensitivity || verdict_.timings.empty()) return;
    const auto begin = Clock::now();
    const auto plan = make_plan(problem_, Thoroughness::times, verdict_.seed);
    SessionRequest timed = request_for(plan.front(), "sensitivity");
    timed.trace = request_.trace;
    timed.profile = request_.profile;
    const bool known = std::ranges::none_of(verdict_.timings, [](const auto& t) { return t.sensitivity.empty(); });
    std::vector<double> factors = request_.slower;
    if (!known && factors.empty()) factors = {kSlower};
    if (factors.empty() && timed.trace.empty() && !timed.profile) return;
    say_progress({factors.empty() ? "recording the timed calls" : "measuring sensitivities"});
    const auto measured = measure_again(timed, factors, side_by_side());
    if (!measured) {
      verdict_.notes.push_back("no intervals: the sensitivity of the times could not be measured: " +
                               first_line(join(measured.error())));
    } else {
      auto slower = measured->slower;
      for (SlowerRun& run : slower) merge_samples(problem_, run.timings);
      add_elasticities(verdict_.timings, slower);
      traced_ = measured->traced;
      verdict_.profile = measured->profile;
      for (const auto& [phase, seconds] : measured->wall_seconds) verdict_.wall_seconds["session " + phase] += seconds;
    }
    verdict_.wall_seconds["sensitivity"] = seconds_since(begin);
  }

  // A pass without its speed would count against the candidate; that the reference fails is ours.
  std::vector<record::Timing> measure(Yardstick which) {
    say_progress({which == Yardstick::baseline ? "measuring the baseline" : "measuring the reference"});
    auto times = yardstick_times(request_, which);
    if (times) return std::move(*times);
    throw std::runtime_error(fmt::format("the {} could not be measured: {}",
                                         which == Yardstick::baseline ? "baseline" : "reference", join(times.error())));
  }

  // Where the time of one is not extrapolated, that of the other is not either.
  void refuse_as(const std::vector<record::Timing>& times, const char* whose) {
    for (auto& t : verdict_.timings) {
      const record::Timing* other = same_call(times, t);
      if (other == nullptr || other->refusal.empty() || !t.refusal.empty()) continue;
      use_largest_sample(t, fmt::format("the {}'s time is not extrapolated: {}", whose, other->refusal));
      t.limit_seconds = limit_seconds(problem_, size_of(t), t.world, platform_);
    }
  }
  void take_seconds(const std::vector<record::Timing>& times, double record::Timing::* to) {
    for (auto& t : verdict_.timings) {
      const record::Timing* other = same_call(times, t);
      if (other != nullptr) t.*to = t.refusal.empty() ? other->seconds : other->samples.back().seconds;
    }
  }

  void compare_with_yardstick() {
    const auto begin = Clock::now();
    const double used_before = all_seconds();
    if (request_.measure_yardstick && !verdict_.timings.empty()) {
      std::vector<record::Timing> reference;
      if (problem_.has_expert) reference = measure(Yardstick::reference);
      if (!problem_.baseline.empty()) yardstick_ = measure(Yardstick::baseline);
      refuse_as(reference, "reference");
      refuse_as(yardstick_, "baseline");
      take_seconds(reference, &record::Timing::reference_seconds);
      take_seconds(yardstick_, &record::Timing::baseline_seconds);
      if (yardstick_.empty()) yardstick_ = std::move(reference);
    }
    score(verdict_);
    verdict_.processor_seconds["reference"] = all_seconds() - used_before;
    verdict_.wall_seconds["reference"] = seconds_since(begin);
  }

  // What is said of the times when all of them are there.
  void conclude_times() {
    if (verdict_.timings.empty()) return;
    verdict_.peaks = peaks_of(platform_);
    add_intervals(verdict_, yardstick_, platform_);
    for (auto& t : verdict_.timings) add_bound(t, platform_);
    add_costliest_line(verdict_);
    if (traced_.empty()) return;
    try {
      label_timed_calls(request_.trace, traced_, verdict_.timings);
    } catch (const std::exception& e) {  // the verdict stands without
      verdict_.notes.push_back(fmt::format("the timeline has no figures of the verdict: {}", e.what()));
    }
  }

  const JudgeRequest& request_;
  const catalog::Problem& problem_;
  Verdict verdict_;
  std::optional<sandbox::SandboxSupport> ability_;
  std::optional<TempDir> folder_;
  std::optional<RankZygote> zygote_;
  std::string candidate_, driver_;   // driver_ may be empty
  std::vector<uint64_t> constants_;  // of its code
  std::optional<Oracle> oracle_;
  platform::Platform platform_;
  std::vector<record::Timing> yardstick_;                                 // empty: was not measured
  std::map<std::string, std::map<std::string, double>> session_seconds_;  // processor time by kind and part
  std::vector<record::Timing> traced_;                                    // the timed calls as the timeline has them
};

}  // namespace

Verdict judge(const JudgeRequest& request) {
  const InterruptionGuard guard;  // lives longer than all that a judgement makes
  return AttemptJudge(request).run();
}

Result<std::string> build_answer(const JudgeRequest& request) {
  const InterruptionGuard guard;
  return AttemptJudge(request).build_only();
}

catalog::Problem with_rules_of_baseline(const catalog::Problem& problem) {
  catalog::Problem open = problem;
  open.rules = {};
  for (const catalog::Library& library : catalog::libraries()) {
    // Network cards are not on every platform.
    if (library.name != "verbs" || problem.uses_network()) open.rules.libraries.emplace_back(library.name);
  }
  return open;
}

Result<std::vector<record::Timing>> yardstick_times(const JudgeRequest& request, Yardstick which) {
  // A fixed seed: inputs of the measurement are not secret, no verdict depends on them.
  constexpr uint64_t kSeed = 1;
  const bool baseline = which == Yardstick::baseline;
  const std::string platform = request.platform.empty() ? request.problem->platform : request.platform;
  toolchain::Cache cache = request.use_cache ? toolchain::Cache::of_user() : toolchain::Cache();
  if (const auto known = platform::load_platform(platform); !known) return std::unexpected(known.error());
  const std::string key = hash_words({baseline ? "baseline times 2" : "reference times 2",
                                      request.measure_sensitivity ? "with sensitivities" : "alone",
                                      request.problem->hash, identity(platform, request.device_compiler)});
  if (const auto kept = cache.get(key)) {
    if (const auto verdict = record::parse_verdict(*kept)) return verdict->timings;
  }
  const catalog::Problem problem = baseline ? with_rules_of_baseline(*request.problem) : *request.problem;
  JudgeRequest reference = request;
  reference.problem = &problem;
  reference.on_progress = {};
  reference.answer = baseline ? request.problem->baseline : request.problem->reference;
  reference.answer_file = baseline ? "baseline.cu" : "reference.cu";
  reference.thoroughness = Thoroughness::times;
  reference.seed = kSeed;
  reference.trace.clear();
  reference.measure_yardstick = false;
  reference.limits.wall_seconds = kSecondsForOurs;
  const Verdict verdict = judge(reference);
  if (verdict.verdict != VerdictClass::pass)
    return error(fmt::format("{}: {}", to_string(verdict.verdict), verdict.summary));
  const bool whole = std::ranges::none_of(
      verdict.timings, [&](const record::Timing& t) { return request.measure_sensitivity && t.sensitivity.empty(); });
  if (whole) cache.put(key, to_json(verdict));
  return verdict.timings;
}

}  // namespace fb::judge
