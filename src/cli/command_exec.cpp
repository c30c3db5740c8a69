#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/profile_text.h"
#include "common/base/byte_name.h"
#include "common/base/output.h"
#include "common/base/spelling.h"
#include "common/base/strings.h"
#include "common/platform/platform.h"
#include "common/platform/sysfs.h"
#include "launcher/explore.h"
#include "launcher/launch.h"
#include "toolchain/compile/gpu_target.h"
#include "toolchain/compile/locate.h"
#include "toolchain/driver/mpi.h"
#include "toolchain/driver/program.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kUsualSchedules = 20;
constexpr int kExitTimeUp = 3;  // nothing was found in the schedules for which there was time
constexpr uint64_t kMostExplored = 10'000;

struct ExecOptions {
  launcher::LaunchRequest launch;
  bool has_seed = false;
  std::optional<uint64_t> schedules;
  std::optional<uint32_t> exhaustive;  // preemptions
  double timeout = 0;
  std::string rank_memory;
  bool no_cache = false, time = false;
  std::vector<std::string> words;          // sources and what nvcc would be told
  std::vector<std::string> known_options;  // of this command, for words that are near to one
};

// "512M", "8G", "1073741824".
std::optional<uint64_t> parse_bytes(const std::string& text) {
  size_t used = 0;
  uint64_t number = 0;
  try {
    number = std::stoull(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const std::string unit = text.substr(used);
  const size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit[0]) + 1;
  if (unit.size() > 1 || power > 4 || (!unit.empty() && power == 0) || number >> (60 - 10 * power) != 0)
    return std::nullopt;
  return number << (10 * power);
}

// Each form of common/record/run_options.def as an option of the command line.
void add_text(Command& command, const std::string& flag, std::string& value, const char* help) {
  auto option = command.add_option(flag, value, help);
  if (!value.empty()) option.show_default();
}
template <class T>
void add_number(Command& command, const std::string& flag, T& value, const char* help) {
  command.add_option(flag, value, help).show_default();
}
void add_seed(Command& command, const std::string& flag, uint64_t& value, const char* help) {
  add_number(command, flag, value, help);
}
void add_flag(Command& command, const std::string& flag, bool& value, const char* help) {
  command.add_flag(flag, value, help);
}
void add_bytes(Command& command, const std::string& flag, uint64_t& value, const char* help) {
  command
      .add_option_function(
          flag,
          [&value](const std::string& text) -> std::string {
            const auto bytes = parse_bytes(text);
            if (!bytes) return text + " is not a number of bytes (as 512M, 8G)";
            value = *bytes;
            return "";
          },
          help)
      .type_name("BYTES");
}
void add_choices(Command& command, const std::string& flag, std::optional<std::vector<uint32_t>>& value,
                 const char* help) {
  command.add_option(flag, value, help).delimiter(',').one_value_each();
}
void add_mode(Command& command, const std::string& flag, record::AccessMode& value, const char* help) {
  command
      .add_option_function(
          flag,
          [&value](const std::string& text) {
            value = *record::access_mode_from(text);
            return "";
          },
          help)
      .show_default(std::string(to_string(value)))
      .check(one_of({"hardware", "strict"}));
}

template <class T>
void add_internal(Command&, const std::string&, T&, const char*) {}

void add_run_options(Command& command, record::RunOptions& o) {
#define RUN_OPTION(form, type, name, initial, help) add_##form(command, record::flag_of(#name), o.name, help);
#include "common/record/run_options.def"
  command.option("--ranks").check(in_range(1, 1024));
}

int say(const std::string& message) { return fail(message); }
// A compiler's messages: they begin with their own file and line.
int say(const Errors& errors) {
  for (const auto& diagnostic : errors.list) print_error("{}\n", diagnostic.message);
  return kExitUsage;
}

// A program that was linked before, rather than sources.
bool is_program(const std::vector<std::string>& words) {
  if (words.size() != 1 || words[0].starts_with('-') || words[0].ends_with(".o")) return false;
  std::ifstream in(words[0], std::ios::binary);
  std::string magic(4, '\0');
  return in.read(magic.data(), 4) &&
         magic ==
             "\x7f"
             "ELF" &&
         access(words[0].c_str(), X_OK) == 0;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string replay_command(const ExecOptions& o) {
  std::string text = "fabricbench exec";
  for (const auto& word : command_words(o.launch.options)) text += " " + shell_word(word);
  for (const auto& word : o.words) text += " " + shell_word(word);
  if (!o.launch.arguments.empty()) text += " --";
  for (const auto& word : o.launch.arguments) text += " " + shell_word(word);
  return text;
}

// Compiles the sources into `folder`, or finds the program that was given. False: it has been said why not.
bool make_program(ExecOptions& o, const platform::Platform& platform, const launcher::RunDirectory& folder) {
  auto libraries = toolchain::locate_libraries();
  if (!libraries) return say(libraries.error()), false;
  // Libraries that the program uses may contain NVIDIA's runtime, and look for others by name.
  if (const std::string redirect = *libraries + "/libfabricbench_redirect.so"; fs::exists(redirect))
    o.launch.preload.push_back(redirect);
  if (o.launch.options.virtual_clock) o.launch.preload.push_back(*libraries + "/libfabricbench_clock.so");
  o.launch.library_path = std::move(*libraries);
  if (o.launch.options.mpi) {
    const std::string library = folder.file("libfabricbench_mpi.so");
    if (const auto made = toolchain::build_mpi_library(library, !o.no_cache); !made) return say(made.error()), false;
    o.launch.preload.push_back(library);
  }
  if (is_program(o.words)) {
    o.launch.program = fs::absolute(o.words[0]).string();
    return true;
  }
  auto build = toolchain::parse_compiler_words(o.words, [&o](const std::string& word) {
    return fmt::format("{}: unknown option{} (`fabricbench exec --help` lists them; -Xcompiler passes one on)", word,
                       did_you_mean(word.substr(0, word.find('=')), o.known_options));
  });
  if (!build) return say(build.error().list[0].message), false;
  if (build->sources.empty()) return say("no source file (try: fabricbench exec prog.cu)"), false;
  build->mpi = o.launch.options.mpi;
  build->use_cache = !o.no_cache;
  if (build->gpu_arch.empty())
    build->gpu_arch = toolchain::architecture_of(platform.device.capability_major, platform.device.capability_minor);
  o.launch.program = folder.file(fs::path(build->sources[0]).stem().string());
  const auto built = toolchain::build_program(*build, o.launch.program);
  if (!built) return say(built.error()), false;
  if (!built->note.empty()) say(built->note);
  return true;
}

// The files of /sys that describe the node's devices, for ranks that look there.
std::vector<std::string> write_sysfs(const platform::Platform& platform, const launcher::RunDirectory& folder) {
  std::vector<std::string> folders;
  const auto host_memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (uint32_t node = 0; node < platform.node.nodes; ++node) {
    const fs::path sys = folder.file(fmt::format("sys{}", node));
    std::string made;  // entries of one folder follow each other
    for (const platform::SysfsEntry& entry : platform::sysfs_of(platform, node, host_memory)) {
      const fs::path path = sys / entry.path;
      if (std::string parent = path.parent_path().string(); parent != made)
        fs::create_directories(made = std::move(parent));
      if (entry.link) {
        fs::create_symlink(entry.text, path);
      } else {
        write_file(path.string(), entry.text);
      }
    }
    folders.push_back(sys.string());
  }
  return folders;
}

// What is reported by --check.
Result<void> complete_check(ExecOptions& o) {
  record::RunOptions& run = o.launch.options;
  if (!run.allow.empty() && !run.check) return error("--allow needs --check");
  if (run.ignore_errors && !run.check) return error("--ignore-errors needs --check");
  if (!run.suppressions.empty() && !run.check) return error("--suppressions needs --check");
  if (run.max_reports == 0) return error("--max-reports is at least 1");
  for (const std::string_view word : run.allow.empty() ? std::vector<std::string_view>() : split(run.allow, ',')) {
    if (word != "same-value" && word != "volatile")
      return error(fmt::format("--allow {}: there are same-value and volatile", word));
  }
  const char* of_environment = std::getenv("FABRICBENCH_SUPPRESSIONS");
  if (run.check && run.suppressions.empty() && of_environment != nullptr) run.suppressions = of_environment;
  if (!run.suppressions.empty() && access(run.suppressions.c_str(), R_OK) != 0)
    return error(fmt::format("{}: the file of suppressions can't be read", run.suppressions));
  return {};
}

// Which schedules are run: one, or drawn ones, or all.
Result<void> choose_schedules(ExecOptions& o) {
  const bool chosen = o.launch.options.choices.has_value();
  if (o.has_seed && o.schedules)
    return error("--seed is one schedule and --schedules runs those of the seeds 1 to N: give one of them");
  if (o.has_seed && o.exhaustive)
    return error("--exhaustive tries all schedules, not those of a seed: leave out --seed");
  if (chosen && (o.has_seed || o.schedules || o.exhaustive))
    return error("--choices is one schedule: leave out --seed, --schedules and --exhaustive");
  if (o.launch.options.mpi && (chosen || o.exhaustive))
    return error(
        "--exhaustive and --choices need runs that can be repeated, and MPI waits by spinning: not with --mpi");
  if (o.launch.options.untimed && (o.has_seed || o.schedules || o.exhaustive || chosen || o.launch.options.check))
    return error("--untimed cannot be combined with --check, --seed, --schedules, --exhaustive or --choices");
  if (!o.launch.options.why.empty() && !o.launch.options.check) return error("--why needs --check");
  if (!o.launch.options.why.empty() && !byte_named(o.launch.options.why))
    return error(fmt::format("--why {} names no byte; reports name them as m7+0x40", o.launch.options.why));
  if (auto good = complete_check(o); !good) return good;
  if (o.exhaustive && !o.schedules) o.schedules = kMostExplored;
  if (o.launch.options.check && !o.has_seed && !chosen && !o.schedules) o.schedules = kUsualSchedules;
  return {};
}

Result<platform::Platform> complete(ExecOptions& o) {
  if (o.launch.options.profile && o.launch.options.untimed)
    return error("--profile needs the model of time, which --untimed leaves out");
  if (auto good = choose_schedules(o); !good) return std::unexpected(std::move(good.error()));
  if (o.timeout > 0) {
    o.launch.timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(o.timeout));
  }
  if (!o.rank_memory.empty()) {
    const auto bytes = parse_bytes(o.rank_memory);
    if (!bytes) return error(fmt::format("--rank-memory {}: not a number of bytes (as 512M, 8G)", o.rank_memory));
    o.launch.rank_memory = *bytes;
  }
  if (o.launch.options.mpi) o.launch.mpirun = toolchain::find_program("mpirun");
  auto platform = platform::load_platform(o.launch.options.platform);
  if (!platform) return platform;
  const auto devices = static_cast<int>(platform->devices());
  o.launch.nodes = static_cast<int>(platform->node.nodes);
  if (o.launch.options.ranks > devices) {
    say(fmt::format("note: {} ranks share the {} GPUs of {}", o.launch.options.ranks, devices,
                    o.launch.options.platform));
  }
  return platform;
}

void show_times(const record::RunRecord& record, double build, double all) {
  double rest = all - build;
  print_error("fabricbench: wall time {:.3f} s: build {:.3f}", all, build);
  for (const auto& [phase, seconds] : record.wall_seconds) {
    if (phase == "build" || phase == "start ranks") continue;  // said already; a part of the run
    print_error(", {} {:.3f}", phase, seconds);
    rest -= seconds;
  }
  print_error(", other {:.3f}; virtual time {:.6f} ms\n", std::max(rest, 0.0), record.virtual_seconds * 1e3);
}

// What the program asked for and did not get, and went on.
void say_calls(const record::RunRecord& record) {
  for (const auto& [call, count] : record.unsupported_calls) say(fmt::format("not supported: {} ({}×)", call, count));
  if (!record.options.check) return;
  for (const auto& [call, count] : record.failed_calls) say(fmt::format("note: this call failed: {}", call));
}

void say_what_happened(const ExecOptions& o, const launcher::LaunchResult& ran) {
  print_error("{}", describe(ran));
  say_calls(ran.record);
  if (!ran.record.replayable) say("not replayable: " + ran.record.not_replayable_because);
  say("again: " + replay_command(o));
}

// After runs that went well: what keeps that from being the whole truth.
void say_reservations(const ExecOptions& o, const record::RunRecord& record) {
  if (o.launch.options.check) say_calls(record);
  if (!record.replayable && (o.launch.options.check || o.has_seed || o.schedules))
    say("note: not replayable: " + record.not_replayable_because);
}

// How often each suppression was used, over all runs.
using SuppressionUses = std::map<uint32_t, record::SuppressionUse>;  // by line

void count_uses(SuppressionUses& all, const record::RunRecord& record) {
  for (const record::SuppressionUse& use : record.suppressions)
    all.try_emplace(use.line, record::SuppressionUse{use.text, use.line, 0}).first->second.uses += use.uses;
}

void say_suppressions(const std::string& file, const SuppressionUses& uses) {
  uint64_t all = 0;
  for (const auto& [line, use] : uses) all += use.uses;
  if (all != 0) say(fmt::format("{} suppressed by {}", all == 1 ? "1 finding" : fmt::format("{} findings", all), file));
  for (const auto& [line, use] : uses) {
    if (use.uses == 0) say(fmt::format("note: {}:{}: nothing was suppressed by {}", file, line, use.text));
  }
}

Result<launcher::LaunchResult> run_once(const launcher::LaunchRequest& request) {
  const launcher::RunDirectory folder;
  return launcher::run_program(request, folder);
}

// One run, or all of many, and what their last line says.
struct Outcome {
  launcher::LaunchResult last;
  record::Checked counts;
  std::string schedules;  // empty: there is no last line
};

// Under many schedules, until one goes wrong. The last of them is left in `o`.
Result<Outcome> run_many(ExecOptions& o, const launcher::RunOnce& run) {
  const launcher::ExploreLimits limits{*o.schedules, o.launch.timeout};
  auto explored =
      o.exhaustive ? explore_all(o.launch, *o.exhaustive, limits, run) : explore_seeds(o.launch, limits, run);
  if (!explored) return std::unexpected(std::move(explored.error()));
  using End = launcher::Explored::End;
  o.launch = explored->request;
  if (explored->end == End::unrepeated) return error(describe_unrepeated(*explored));
  if (explored->end == End::time) explored->last.exit_code = kExitTimeUp;
  if (explored->end == End::found) {
    // All but the first were silent.
    if (explored->schedules > 1) print_error("{}", transcript(explored->last));
    say(fmt::format("schedule {}{}:", explored->schedules, o.exhaustive ? "" : fmt::format(" of {}", *o.schedules)));
  }
  std::string schedules = o.exhaustive ? describe_all(*explored, *o.exhaustive) : describe_seeds(*explored, limits);
  return Outcome{std::move(explored->last), explored->counts, std::move(schedules)};
}

Result<Outcome> run_one(const ExecOptions& o, const launcher::RunOnce& run) {
  auto ran = run(o.launch);
  if (!ran) return std::unexpected(std::move(ran.error()));
  const record::Checked counts = ran->record.checked;
  const record::RunOptions& options = o.launch.options;
  std::string schedules = !options.check    ? ""
                          : options.choices ? "1 schedule (of --choices)"
                                            : fmt::format("1 schedule (seed {})", options.seed);
  return Outcome{std::move(*ran), counts, std::move(schedules)};
}

int execute(ExecOptions& o) {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  // exec -- ./program ARGUMENTS
  if (auto& arguments = o.launch.arguments; o.words.empty() && !arguments.empty()) {
    o.words = {arguments.front()};
    arguments.erase(arguments.begin());
  }
  if (o.words.empty()) return say("no source file (try: fabricbench exec prog.cu)");
  const auto platform = complete(o);
  if (!platform) return say(platform.error().list[0].message);
  const launcher::RunDirectory folder;
  if (!make_program(o, *platform, folder)) return kExitUsage;
  o.launch.sysfs = write_sysfs(*platform, folder);
  const double build = seconds();
  o.launch.build_seconds = build;
  SuppressionUses uses;
  const launcher::RunOnce run = [&](const launcher::LaunchRequest& request) {
    auto ran = run_once(request);
    if (ran) count_uses(uses, ran->record);
    return ran;
  };
  auto outcome = o.schedules ? run_many(o, run) : run_one(o, run);
  if (!outcome) return say(outcome.error().list[0].message);
  const launcher::LaunchResult& ran = outcome->last;
  if (ran.exit_code != 0 && ran.exit_code != kExitTimeUp) {
    say_what_happened(o, ran);
  } else {
    say_reservations(o, ran.record);
  }
  say_suppressions(o.launch.options.suppressions, uses);
  if (o.launch.options.profile) print_error("{}", profile_text(ran.record.profile));
  if (o.time) show_times(ran.record, build, seconds());
  if (!outcome->schedules.empty()) say(closing_line(outcome->schedules, outcome->counts, ran));
  return checked_nothing(outcome->counts, ran) ? kExitUsage : ran.exit_code;
}

}  // namespace

void add_exec(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ExecOptions>();
  Command& command = program.add_command("exec", "Compile a CUDA program and run it on a virtual node");
  command.footer(
      "Usage: fabricbench exec [OPTIONS] SOURCE... [-- ARGUMENTS OF THE PROGRAM]\n"
      "       fabricbench exec [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
      "Sources (.cu, .cpp, .cc, .o) or one program that is linked already; -I -D -O -std -l -L -arch -Xcompiler as "
      "for\n"
      "nvcc. Ranks get RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.\n"
      "Exit code: 0 all ranks exited with 0 (and --check found nothing), 1 the program failed or something was found:\n"
      "races, deadlocks, faults, launches that failed, kernels that had not run when their process ended; 2 it could "
      "not\n"
      "be built or run, or --check had nothing to check; 3 --timeout came before all schedules had run, and nothing "
      "was\n"
      "found.\n\n"
      "Schedules: --seed N is one, --schedules N are those of the seeds 1 to N, until one goes wrong, --exhaustive B\n"
      "are all in which at most B times a warp is interrupted at a synchronisation step. Of many runs the first one's\n"
      "output is passed on; --trace, --record and --events are of the last one.\n\n"
      "Examples:\n"
      "  fabricbench exec vector_add.cu                      one process, 8 GPUs\n"
      "  fabricbench exec --ranks 8 --prefix all_reduce.cu   8 processes\n"
      "  fabricbench exec --platform gb200_nvl72 --ranks 72 barrier.cu -- --iterations 10\n"
      "  fabricbench exec --ranks 8 --mpi mpi_all_reduce.cu\n"
      "  fabricbench exec --ranks 4 --seed 7 --trace run.json --time -O3 -Iinclude ring.cu helper.cpp\n"
      "  fabricbench exec --ranks 4 --check all_reduce.cu    races, under 20 schedules\n"
      "  fabricbench exec --ranks 2 --check --exhaustive 2 signal.cu");
  auto& launch = options->launch;
  add_run_options(command, launch.options);
  command
      .add_option("--schedules", options->schedules,
                  "Run those of the seeds 1 to N, until one goes wrong; with --exhaustive, at most N")
      .check(in_range(uint64_t{1}, uint64_t{1'000'000}));
  command
      .add_option("--exhaustive", options->exhaustive,
                  "Run all schedules with at most so many preemptions: for small programs, of few warps")
      .check(in_range(0u, 16u));
  command.add_option("--trace", launch.trace, "Write a timeline for Perfetto here (Chrome trace format)").output_file();
  command.add_option("--record", launch.record, "Write what happened here (JSON)").output_file();
  command
      .add_option("--events", launch.events,
                  "Write every event here, to compare two runs (calls come in order of arrival)")
      .output_file();
  command.add_flag("--prefix", launch.prefix, "Begin every line of output with its rank");
  command.add_option("--timeout", options->timeout, "Seconds of wall time until the run, or all of them, is ended")
      .check(positive_number());
  command.add_option("--rank-memory", options->rank_memory,
                     "Private memory of each rank, as 512M (default: 2G, or less on a small computer)");
  command.add_flag("--no-cache", options->no_cache, "Compile again, and keep nothing");
  command.add_flag("--time", options->time, "Say where the wall time went");
  command.allow_extras();
  command.callback([&command, options, &command_run] {
    options->words = command.remaining();
    options->launch.arguments = command_run.program_arguments;
    for (const OptionFacts& option : command.options()) {
      for (const std::string& name : option.long_names) options->known_options.push_back("--" + name);
    }
    options->has_seed = command.is_given("--seed");
    command_run.exit_code = execute(*options);
  });
}

}  // namespace fb::cli
