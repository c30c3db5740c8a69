#include "judge/session/session.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/hash.h"
#include "common/base/processor_time.h"
#include "common/base/strings.h"
#include "common/base/unique_fd.h"
#include "common/platform/platform_files.h"
#include "common/wire/judge_link.h"
#include "common/wire/messages.h"
#include "judge/catalog/libraries.h"
#include "judge/session/conversation.h"
#include "judge/session/endings.h"
#include "judge/session/rank_zygote.h"
#include "judge/session/report_words.h"
#include "launcher/launch.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using record::VerdictClass;

struct SocketPair {
  UniqueFd ours, theirs;
};

SocketPair make_sockets() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Where our own programs are.
struct Parts {
  std::string machine, rank;
};

Parts find_parts() {
  auto machine = launcher::find_machine();
  if (!machine) throw std::runtime_error(machine.error().list[0].message);
  const std::string rank = fs::path(*machine).parent_path() / "fabricbench-rank";
  if (!fs::exists(rank)) throw std::runtime_error(rank + " is missing: build or install it");
  return {std::move(*machine), rank};
}

constexpr const char* kInside = "/fabricbench";

std::string inside(const std::string& path) { return std::string(kInside) + path; }

// "NAME=VALUE" → map.
std::map<std::string, std::string> variables_of(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return variables;
}

// Puts machine and ranks into sandboxes.
class Wrapper {
 public:
  Wrapper(const SessionRequest& request, const Parts& parts, const launcher::RunDirectory& directory)
      : request_(request), parts_(parts), cell_(directory.file("cell")), ranks_(*request.zygote) {
    fs::create_directory(cell_);
  }

  // It sees its own program, the platforms, the run's folder, and the host's processes, because it watches their
  // threads.
  void wrap_machine(SpawnOptions& start, const std::string& run_folder) const {
    sandbox::Policy policy;
    policy.binds = {{parts_.machine, parts_.machine}, {run_folder, run_folder, true}};
    // A platform may build on another one beside it.
    if (const auto file = platform::find_platform_file(request_.platform)) {
      const std::string folder = fs::absolute(*file).parent_path();
      policy.binds.push_back({folder, folder});
    }
    policy.environment = variables_of(start.environment);
    std::erase_if(policy.environment, [](const auto& v) { return !v.first.starts_with("FABRICBENCH_"); });
    policy.share_process_ids = true;
    policy.proc = true;
    policy.user_namespace = ranks_.user_namespace();
    start.inherited.push_back(ranks_.user_namespace());
    start.command.emplace_back("--confine");
    start.command = sandbox::wrap(*request_.sandbox, policy, start.command);
    start.environment.clear();
  }

  // It sees copies of its own of the candidate and the driver, and its own socket. Libraries are in its memory, where
  // no two ranks have a page of the same file.
  Child start_rank(const SpawnOptions& start) {
    auto variables = variables_of(start.environment);
    const SessionLimits& limits = request_.limits;
    sandbox::RankOrder order;
    order.folder = cell_;
    order.files = {{request_.candidate, inside("/candidate.so")}};
    order.socket = {std::exchange(variables["FABRICBENCH_SOCKET"], inside("/machine.sock")), inside("/machine.sock")};
    order.variables.assign(variables.begin(), variables.end());
    order.tmp_bytes = limits.file_bytes;
    order.data_bytes = start.data_limit;
    order.arguments = {"--candidate",
                       inside("/candidate.so"),
                       "--confine",
                       "--cpu",
                       std::to_string(limits.cpu_seconds),
                       "--processes",
                       std::to_string(limits.threads),
                       "--file",
                       std::to_string(limits.file_bytes)};
    if (!request_.driver.empty()) {
      order.files.emplace_back(request_.driver, inside("/driver.so"));
      order.arguments.insert(order.arguments.end(), {"--driver", inside("/driver.so")});
    }
    return ranks_.start(order, start.out, start.err);
  }

 private:
  const SessionRequest& request_;
  const Parts& parts_;
  std::string cell_;  // an empty folder, over which each rank mounts its own files
  ZygoteSession ranks_;
};

launcher::LaunchRequest make_launch(const SessionRequest& request, const Parts& parts,
                                    const launcher::RunDirectory& directory) {
  const SessionLimits& limits = request.limits;
  launcher::LaunchRequest launch;
  launch.program = parts.rank;
  launch.arguments = {"--candidate", request.candidate};
  if (!request.driver.empty()) launch.arguments.insert(launch.arguments.end(), {"--driver", request.driver});
  launch.options.ranks = request.session->world;
  launch.options.platform = request.platform;
  launch.nodes = request.nodes;
  launch.options.slower = request.slower;
  launch.options.seed = request.session->schedule;
  launch.options.check = request.look_for_races && request.session->looks_for_races;
  launch.options.race_pieces = request.session->one_piece_in;
  const bool whole = request.session->one_piece_in == 1;
  launch.options.uninitialised = launch.options.check && whole;
  if (!whole) launch.options.weak_lines = 0;
  launch.options.max_reports = 1;
  launch.options.sanitizer = false;
  launch.options.verbose = request.verbose;
  launch.options.count_branches = request.count_branches;
  launch.options.profile = request.profile;
  launch.options.fresh_memory = request.session->fresh_memory;
  launch.options.mode = request.session->strict ? record::AccessMode::strict : record::AccessMode::hardware;
  if (!request.trace.empty()) launch.trace = directory.file("trace.json");
  launch.options.memory = limits.device_memory;
  launch.options.budget = limits.instructions;
  launch.timeout = std::chrono::milliseconds(static_cast<int64_t>(limits.wall_seconds * 1e3));
  launch.rank_memory = limits.rank_memory;
  launch.machine = parts.machine;
  launch.out = launch.err = -1;
  return launch;
}

// What only the machine may know. It gets both sides of a driver's device code from here, not from a rank.
void give_secrets(const SessionRequest& request, const launcher::RunDirectory& directory, SpawnOptions& machine) {
  const auto& phases = request.session->phases;
  machine.command.insert(
      machine.command.end(),
      {"--secret", std::to_string(mix(request.session->schedule, phases.empty() ? 1 : phases[0].seed))});
  if (request.driver.empty()) return;
  for (const std::string name : {"candidate.ptx", "driver.ptx"})
    fs::copy_file(fs::path(request.candidate).parent_path() / name, directory.file(name));
  machine.command.insert(machine.command.end(), {"--driver", directory.path()});
}

// From the run's folder, the only one that the machine can write, to where the user wants it.
void deliver_trace(const SessionRequest& request, const launcher::RunDirectory& directory, SessionOutcome& outcome) {
  if (request.trace.empty()) return;
  std::error_code failed;
  fs::copy_file(directory.file("trace.json"), request.trace, fs::copy_options::overwrite_existing, failed);
  if (failed) outcome.notes.push_back(fmt::format("no timeline: cannot write {}: {}", request.trace, failed.message()));
}

Ruling infra(const std::string& text) {
  return {.verdict = VerdictClass::infra, .summary = text, .explanation = text + "\n"};
}

// The rules that only the machine's log can tell.
std::optional<Ruling> broken_rule(const catalog::Problem& problem, const record::RunRecord& record) {
  const auto count = [&](const std::string& kind) {
    const auto found = record.calls_in_run.find(kind);
    return found == record.calls_in_run.end() ? uint64_t{0} : found->second;
  };
  std::vector<std::string> forbidden = problem.rules.forbid_in_run;
  for (const wire::MessageTraits& m : wire::kMessages) {
    if ((m.flags & wire::message_flags::never_in_run) != 0) forbidden.emplace_back(m.name);
  }
  for (const catalog::Library& library : catalog::libraries()) {
    if (problem.rules.allows(library.name)) continue;
    for (const std::string_view kind : fb::split(library.requests, ' ')) forbidden.emplace_back(kind);
  }
  for (const std::string& kind : forbidden) {
    if (count(kind) == 0) continue;
    Ruling finding{.verdict = VerdictClass::rule_violation};
    finding.summary = fmt::format("run() made {} requests of kind `{}`, which this problem forbids", count(kind), kind);
    finding.explanation =
        finding.summary + ".\nThe rules are in the statement (fabricbench show " + problem.name + ").\n";
    return finding;
  }
  return std::nullopt;
}

// Code that the machine does not support is our failure, not the candidate's.
std::optional<Ruling> unsupported_code(const record::RunRecord& record) {
  for (const auto& incident : record.incidents) {
    if (verdict_of(incident) != VerdictClass::unsupported) continue;
    return Ruling{.verdict = VerdictClass::unsupported,
                  .summary = "the virtual node can't run this code yet",
                  .explanation = incident.text + "\n"};
  }
  return std::nullopt;
}

void conclude(const SessionRequest& request, const launcher::LaunchResult& result, const Conversation& talk,
              SessionOutcome& outcome) {
  outcome.instructions = result.record.instructions;
  outcome.branches = result.record.branches;
  outcome.profile = result.record.profile;
  outcome.replayable = result.record.replayable;
  if (!result.record.replayable) outcome.notes.push_back("not replayable: " + result.record.not_replayable_because);
  if (result.record.races_thinned_out)
    outcome.notes.emplace_back(
        "races: with so many accesses, one in 16 pieces of the memory was looked at from some point on");
  outcome.in_doubt = may_have_been_killed(result);
  auto ended = finding_of(result, talk.location(), talk.step());
  // The judge's own finding counts: what happened afterwards followed from it. But of a fault only the record knows.
  const bool has_own = outcome.finding && outcome.finding->verdict != VerdictClass::fault;
  if (!has_own && ended) outcome.finding = std::move(ended);
  if (!outcome.finding && !talk.finished()) outcome.finding = infra("the session ended too early");
  if (outcome.finding &&
      (outcome.finding->verdict == VerdictClass::wrong || outcome.finding->verdict == VerdictClass::race ||
       outcome.finding->verdict == VerdictClass::deadlock))
    outcome.finding->explanation = failed_calls(result.record) + outcome.finding->explanation;
  if (outcome.finding && outcome.finding->verdict == VerdictClass::wrong)
    outcome.finding->explanation += old_reads(result.record);
  // Where a kernel ran and failed, it was not the code that the machine can't run.
  const bool nothing_ran = outcome.finding && (outcome.finding->verdict == VerdictClass::wrong ||
                                               outcome.finding->summary.find("threw") != std::string::npos);
  if (auto ours = unsupported_code(result.record); ours && nothing_ran) {
    ours->location = outcome.finding->location;
    outcome.finding = std::move(ours);
  }
  if (const auto rule = broken_rule(*request.problem, result.record)) {
    const record::FailureLocation location = outcome.finding ? outcome.finding->location : talk.location();
    outcome.finding = rule;
    outcome.finding->location = location;
  }
  if (outcome.finding && outcome.finding->verdict == VerdictClass::fault && outcome.finding->summary.empty())
    outcome.finding = infra("a kernel's fault left no report");
  if (outcome.finding) {
    outcome.finding->summary = in_words_of(*request.problem, outcome.finding->summary);
    outcome.finding->explanation = in_words_of(*request.problem, outcome.finding->explanation);
  }
}

// Processor time up to now, of this process and of its children.
struct Used {
  double here = process_seconds(), children = reaped_seconds();
};

// What the session took, by part: sandboxes, programs and libraries that are set up and taken down are the start. The
// conversation has added its own phases, and waits for the machine in some of them. `forked`: ranks are no children.
void split(const Used& now, const Used& before, const std::map<std::string, double>& of_run, bool forked,
           std::map<std::string, double>& parts) {
  const auto get = [](const std::map<std::string, double>& from, const char* name) {
    const auto found = from.find(name);
    return found == from.end() ? 0.0 : found->second;
  };
  const double here = now.here - before.here, children = now.children - before.children;
  const double machine = get(of_run, "machine"), ranks = get(of_run, "ranks"), launch = get(of_run, "launch");
  const double oracle = get(parts, "oracle"), compare = get(parts, "compare");
  const double ranks_start = get(of_run, "ranks start");
  parts = {{"machine", machine},
           {"ranks", ranks},
           {"oracle", oracle},
           {"compare", compare},
           {"ranks start", ranks_start},
           {"start", launch + std::max(0.0, children - machine - (forked ? 0 : ranks + ranks_start))},
           {"rest", std::max(0.0, here - launch - oracle - compare)}};
}

}  // namespace

std::string find_rank() { return find_parts().rank; }

SessionOutcome run_session(const SessionRequest& request) {
  SessionOutcome outcome;
  const Used before;
  try {
    const Parts parts = find_parts();
    const launcher::RunDirectory directory;
    SocketPair sockets = make_sockets();
    wire::JudgeLink link(std::move(sockets.ours), static_cast<uint32_t>(request.session->world));
    // On a platform that is made slower only times are of interest.
    Conversation talk(*request.problem, *request.oracle, *request.session, link, outcome, request.slower.empty(),
                      {.constants = request.constants});
    launcher::LaunchRequest launch = make_launch(request, parts, directory);
    launch.judge = sockets.theirs.release();
    std::optional<Wrapper> wrapper;
    if (request.sandbox != nullptr) {
      wrapper.emplace(request, parts, directory);
      launch.start_rank = [&](int, const SpawnOptions& start) { return wrapper->start_rank(start); };
    }
    launch.prepare_machine = [&](SpawnOptions& start) {
      give_secrets(request, directory, start);
      if (wrapper) wrapper->wrap_machine(start, directory.path());
    };
    std::string trouble;
    std::thread talker([&] {
      try {
        talk.run();
      } catch (const std::exception& e) {
        trouble = e.what();
      }
      // Ranks that were told to leave do; the others have to be ended.
      if (!talk.finished()) link.interrupt();
    });
    const auto ran = [&]() -> Result<launcher::LaunchResult> {
      try {
        return launcher::run_program(launch, directory);
      } catch (const std::exception& e) {  // the conversation has to be ended first
        return error(e.what());
      }
    }();
    if (!ran) link.interrupt();  // the machine never had its end
    talker.join();
    if (!ran) {
      outcome.finding = infra(ran.error().list[0].message);
    } else if (!trouble.empty()) {
      outcome.finding = infra(trouble);
    } else {
      deliver_trace(request, directory, outcome);
      conclude(request, *ran, talk, outcome);
      split(Used(), before, ran->record.processor_seconds, request.sandbox != nullptr, outcome.processor_seconds);
    }
  } catch (const std::exception& e) {
    outcome.finding = infra(e.what());
  }
  return outcome;
}

}  // namespace fb::judge
