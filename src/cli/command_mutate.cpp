#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "audit/mutate/operators.h"
#include "audit/mutate/run.h"
#include "audit/mutate/score.h"
#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/strings.h"

namespace fb::cli {
namespace {

struct MutateOptions {
  std::vector<std::string> problems, operators;
  std::string folder, json, resume, equivalents;
  bool list = false, full = false, quick = false, no_sandbox = false, verbose = false;
  double least = 0;
  mutate::Options run;
};

// Prints mutants, or says what is wrong.
int list_mutants(const MutateOptions& o, const std::vector<std::string>& names) {
  size_t count = 0;
  for (const auto& name : names) {
    const auto pack = choose_problem(o.folder, name);
    if (!pack) return fail(pack.error());
    auto mutants = mutate::make_mutants(pack->problems.front(), o.operators);
    if (!mutants) return fail(mutants.error());
    for (const auto& mutant : mutate::draw(std::move(*mutants), o.run.limit, o.run.seed)) {
      ++count;
      print_out("{}\n  - {}\n  + {}\n", mutant.id, mutant.before, mutant.after);
    }
  }
  print_out("{} mutants of {} problems\n", count, names.size());
  return kExitDone;
}

void print_result(const mutate::MutantResult& result) {
  const bool killed = result.fate == mutate::Fate::killed;
  print_out("{:<9} {:<9} {}{}{}\n", mutate::kFateNames[static_cast<size_t>(result.fate)],
            killed ? mutate::kMeansNames[static_cast<size_t>(result.means)] : "", result.mutant.id,
            result.summary.empty() ? "" : ": ", killed ? result.verdict + ": " + result.summary : result.summary);
  flush(stdout);
}

// Into options.run: what is in files.
Result<void> read_files(MutateOptions& o) {
  if (!o.equivalents.empty()) {
    auto read = mutate::parse_equivalents(read_file(o.equivalents));
    if (!read) return error(to_string(read.error(), o.equivalents));
    o.run.equivalents = std::move(*read);
  }
  if (!o.resume.empty()) {
    auto read = mutate::parse_run(read_file(o.resume));
    if (!read) return error(to_string(read.error(), o.resume));
    if (read->seed != o.run.seed || read->quick != o.run.quick)
      return error(fmt::format("{}: a run with another seed or other sizes", o.resume));
    // What an ordinary run kills, a full one kills; what it lets pass must be judged.
    if (read->ordinary_only && !o.run.ordinary_only)
      std::erase_if(read->results, [](const auto& result) { return result.fate != mutate::Fate::killed; });
    o.run.known = std::move(read->results);
  }
  if (!o.run.out.empty()) std::filesystem::create_directories(o.run.out);
  return {};
}

int run(MutateOptions& o) {
  for (const auto& name : o.operators) {
    if (mutate::find_operator(name) == nullptr) return fail(fmt::format("there is no operator {}", name));
  }
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  std::vector<std::string> names = o.problems;
  if (names.empty()) {
    for (const auto& place : catalog::problem_places(*folder)) names.push_back(place.folder);
  }
  if (o.list) return list_mutants(o, names);
  o.run.operators = o.operators;
  o.run.quick = o.quick;
  o.run.use_sandbox = !o.no_sandbox;
  const InterruptionGuard guard;
  Progress progress("mutate");
  std::string current;
  size_t begun = 0;
  o.run.on_progress = [&](std::string_view phase, size_t done, size_t planned) {
    progress.show(fmt::format("{} ({} of {}): {}", current, begun, names.size(), phase), done, planned, "mutants");
  };
  if (o.verbose) {
    o.run.on_result = [&](const mutate::MutantResult& result) {
      progress.clear();
      print_result(result);
    };
  }
  if (const auto read = read_files(o); !read) return fail(read.error());

  mutate::Run all{.seed = o.run.seed, .quick = o.quick, .ordinary_only = o.run.ordinary_only};
  bool failed = false;
  for (const auto& name : names) {
    const auto pack = choose_problem(o.folder, name);
    if (!pack) return fail(pack.error());
    current = pack->problems.front().name;
    ++begun;
    progress.show(fmt::format("{} ({} of {}): judging the reference", current, begun, names.size()));
    auto done = mutate::run_problem(*pack, pack->problems.front(), o.run);
    progress.clear();
    if (!done) {  // the others may be judged all the same
      warn(done.error());
      failed = true;
      continue;
    }
    std::ranges::move(done->results, std::back_inserter(all.results));
    std::ranges::move(done->stale, std::back_inserter(all.stale));
    // After each problem: a long run that is ended has left what it knows.
    if (!o.json.empty()) write_file(o.json, to_json(all));
  }
  print_out("{}", describe(all));
  const bool enough = tally_of(all).rate() >= o.least;
  if (!enough) print_out("less than the {} that --least asks for\n", o.least);
  if (failed) return kExitUsage;
  return enough && all.stale.empty() ? kExitDone : kExitNo;
}

std::string operator_lines() {
  std::string text;
  for (const auto& row : mutate::operators()) text += fmt::format("  {:<18} {}\n", row.name, row.mistake);
  return text;
}

}  // namespace

void add_mutate(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<MutateOptions>();
  MutateOptions& o = *options;
  Command& command = program.add_command("mutate", "Measure the judge: which mistakes in references it notices");
  command.footer(
      "Makes mutants of references, each with one mistake that authors make, and judges them.\n"
      "Exit code: 0 done, 1 fewer killed than --least or a stale argument, 2 wrong usage or a reference that "
      "does not pass.\n\n"
      "Operators:\n" +
      operator_lines() +
      "\nExamples:\n"
      "  fabricbench dev mutate --list all_reduce_ring               its mutants\n"
      "  fabricbench dev mutate --operators drop-fence,relax-release --verbose all_reduce_two_shot\n"
      "  fabricbench dev mutate --json score.json --least 0.95       all problems; takes an hour");
  command.add_option("problems", o.problems, "Names of problems (default: all)");
  command.add_option("--operators", o.operators, "Only these operators, comma-separated")
      .delimiter(',')
      .one_value_each();
  command.add_flag("--list", o.list, "Print the mutants without judging them");
  command.add_option("--json", o.json, "Write all results to this file").output_file();
  command
      .add_option("--resume", o.resume,
                  "Results of an earlier run with the same seed: mutants judged there are not judged again")
      .check(existing_file())
      .type_name("FILE");
  command.add_option("--equivalents", o.equivalents, "Arguments why mutants are equivalent (docs/guide/mutation.md)")
      .check(existing_file())
      .type_name("FILE");
  command.add_option("--out", o.run.out, "Write every judged mutant and its verdict into this folder").output_folder();
  command.add_option("--jobs", o.run.jobs, "Mutants side by side (default: one for each core)")
      .check(in_range(1, 1024));
  command.add_option("--limit", o.run.limit, "Most mutants of each problem, drawn by the seed");
  command.add_option("--seed", o.run.seed, "Seed of inputs, schedules and the draw").show_default();
  command.add_option("--least", o.least, "Fail if a smaller share is killed").check(in_range(0.0, 1.0));
  auto quick = command.add_flag("--quick", o.quick, "One world and small sizes");
  command.add_flag("--full", o.full, "All worlds, sizes and schedules (the default)").excludes(quick);
  command.add_flag("--ordinary", o.run.ordinary_only, "Run and compare in ordinary schedules only, without checkers");
  command.add_flag("--verbose", o.verbose, "Print each mutant as soon as it is judged");
  command.add_flag("--unsafe-no-sandbox", o.no_sandbox, "Run candidates with your own rights, without a sandbox");
  add_problems_option(command, o.folder);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
