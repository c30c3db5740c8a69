#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string_view>

#include "campaign/director.h"
#include "campaign/llm/ask.h"
#include "campaign/llm/prices.h"
#include "campaign/plan.h"
#include "campaign/prompts/prompt.h"
#include "cli/commands.h"
#include "cli/options/device_compiler_option.h"
#include "cli/options/executor_choice.h"
#include "cli/options/problem_choice.h"
#include "cli/options/seed_text.h"
#include "cli/text/failure.h"
#include "common/base/installed.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/version.h"
#include "common/platform/platform.h"
#include "toolchain/compile/device_compiler.h"
#include "toolchain/compile/locate.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::vector<std::string> models;
  ProblemFilter filter;
  std::string out, pack, name, prompt, platform, device_compiler, prices, worker, seed, max_usd;
  ExecutorChoice executor;
  uint32_t samples = 1, rounds = 1, speed_rounds = 0;
  bool samples_given = false, rounds_given = false, speed_rounds_given = false;
  uint32_t calls = 0;  // 0: not given
  double calls_per_minute = 0;
  bool quick = false, plain = false, no_cache = false, no_sandbox = false;
};

constexpr std::string_view kNoLimit = "none";

// Empty: it is one.
std::string why_no_budget(const std::string& text) {
  if (text == kNoLimit) return "";
  double usd = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), usd);
  const bool good = status == std::errc() && end == text.data() + text.size() && usd >= 0 && std::isfinite(usd);
  return good ? "" : "an amount in USD, or none";
}

// What the command line names; the rest of the run's settings stays.
void change_settings(const RunOptions& o, record::CampaignPlan& plan) {
  if (o.max_usd == kNoLimit) {
    plan.max_usd.reset();
  } else if (!o.max_usd.empty()) {
    plan.max_usd = std::stod(o.max_usd);
  }
  if (o.calls > 0) plan.calls = o.calls;
  if (o.calls_per_minute > 0) plan.calls_per_minute = o.calls_per_minute;
  if (o.no_cache) plan.use_cache = false;
}

Result<campaign::Wish> read_wish(const RunOptions& o, const catalog::Pack& pack) {
  campaign::Wish wish;
  auto& plan = wish.plan;
  for (const std::string& text : o.models) {
    auto model = llm::parse_model(text);
    if (!model) return std::unexpected(model.error());
    if (model->provider == "recorded") model->model = fs::absolute(model->model).lexically_normal();
    if (std::ranges::find(plan.models, model->label, &record::ModelSpec::label) != plan.models.end())
      return error(fmt::format("two models are called {}: give one of them another label=", model->label));
    plan.models.push_back(std::move(*model));
  }
  const bool exists = fs::exists(record::plan_file(o.out));
  const ProblemFilter& f = o.filter;
  const bool filtered = !f.globs.empty() || !f.category.empty() || !f.library.empty() || !f.track.empty() ||
                        !f.tag.empty() || f.level != 0;
  // Resuming a run keeps its problems unless others are named.
  if (!exists || filtered) {
    for (const catalog::Problem& problem : pack.problems) {
      if (matches(problem, f)) plan.problems.push_back(problem.name);
    }
    if (plan.problems.empty()) return error(none_matches(pack, f));
  }
  plan.name = o.name;
  plan.pack = pack.name;
  plan.pack_version = pack.version;
  plan.samples = o.samples;
  plan.rounds = o.rounds;
  plan.speed_rounds = o.speed_rounds;
  plan.prompt = o.prompt;
  plan.thoroughness = o.quick ? "quick" : "";
  plan.platform = o.platform;
  plan.device_compiler = o.device_compiler;
  plan.seed = o.seed.empty() ? 0 : std::stoull(o.seed);
  plan.version = version();
  wish.samples_given = o.samples_given;
  wish.rounds_given = o.rounds_given;
  wish.speed_rounds_given = o.speed_rounds_given;
  plan.use_sandbox = !o.no_sandbox;
  wish.prices = o.prices;
  wish.change_settings = [&o](record::CampaignPlan& settings) { change_settings(o, settings); };
  return wish;
}

// Failures that would otherwise show after hours are found first.
Result<void> check_models(const std::vector<record::ModelSpec>& models, const std::string& price_file, bool limited) {
  Errors errors;
  const auto prices = llm::load_prices(price_file);
  if (!prices) return std::unexpected(prices.error());
  for (const auto& model : models) {
    if (auto ready = llm::check_ready(model); !ready)
      errors.list.insert(errors.list.end(), ready.error().list.begin(), ready.error().list.end());
    if (limited && llm::costs_money(model) && !(*prices)->find(model.provider, model.model))
      errors.list.push_back(
          {{}, fmt::format("the price of {} is not known, so --max-usd can't be kept: see --prices", model.label)});
  }
  if (!errors.list.empty()) return std::unexpected(errors);
  return {};
}

// Prints what is left to do and how to resume; returns the exit code.
int tell(const campaign::Outcome& outcome, const RunOptions& o) {
  const std::string again = fmt::format("fabricbench run --out {}", o.out);
  if (!outcome.troubles.empty()) {
    print_error("\nNot done:\n");
    for (const std::string& why : outcome.troubles) print_error("  {}\n", why);
  }
  if (outcome.callers_left > 0)
    print_error("{} call{} in flight will finish and be recorded.\n", outcome.callers_left,
                outcome.callers_left == 1 ? "" : "s");
  if (!outcome.complete() && outcome.budget_spent) {
    // No command that spends is printed to be copied: the new limit is the user's choice.
    print_error("The run's limit is spent; {} spends no more than that. To go on, give it a higher --max-usd.\n",
                again);
    return kExitNo;
  }
  if (!outcome.complete()) {
    print_error("Resume with: {}\n", again);
    return kExitNo;
  }
  print_out("fabricbench report {}\n", o.out);
  return kExitDone;
}

int run(const RunOptions& o) {
  const auto folder = problems_folder(o.pack);
  if (!folder) return fail(folder.error());
  const auto pack = catalog::load_pack(*folder);
  if (!pack) return fail(pack.error());
  const auto wish = read_wish(o, *pack);
  if (!wish) return fail(wish.error());
  if (!o.platform.empty()) {
    if (const auto platform = platform::load_platform(o.platform); !platform) return fail(platform.error());
  }
  if (toolchain::device_compiler_of(o.device_compiler) == toolchain::DeviceCompiler::nvcc) {
    if (const auto nvcc = toolchain::locate_nvcc(); !nvcc) return fail(nvcc.error());
  }
  // Before a folder is made; a run that exists has its own prices and limit, which are checked below.
  const bool limited = !o.max_usd.empty() && o.max_usd != kNoLimit;
  if (const auto ready = check_models(wish->plan.models, o.prices, limited); !ready) return fail(ready.error());
  const auto plan = campaign::open_run(o.out, *wish, *pack);
  if (!plan) return fail(plan.error());
  if (const auto ready = check_models(plan->models, record::prices_file(o.out), plan->max_usd.has_value()); !ready)
    return fail(ready.error());

  campaign::DirectorOptions options;
  options.run = fs::absolute(o.out).lexically_normal();
  options.plan = *plan;
  options.pack = &*pack;
  options.prompt.variant = plan->prompt;
  options.program = own_program();
  options.side_by_side = side_by_side(o.executor);

  const InterruptionGuard guard;
  const auto progress = o.plain ? campaign::plain_progress(stderr) : campaign::make_progress(stderr);
  const auto executor = make_executor(o.executor, options.run, o.worker.empty() ? own_program() : o.worker,
                                      [&](const std::string& text) { progress->note(text); });
  if (!executor) return fail(executor.error());
  return tell(campaign::carry_out(options, **executor, *progress), o);
}

}  // namespace

void add_run(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<RunOptions>();
  RunOptions& o = *options;
  Command& command =
      program.add_command("run", "Run a campaign: prompt models, judge their answers, feed back, record");
  command.footer(
      "A sample is one independent attempt of a model at a problem; each round after the first gets feedback on the "
      "one "
      "before.\n"
      "The run folder holds all state: the same command, or --out alone, resumes an interrupted run and repeats no "
      "call\n"
      "that was answered. Models, problems and samples may be added to a run later. Keys come from the environment\n"
      "(docs/guide/models.md). Exit code: 0 the run is complete, 1 work is left, 2 wrong usage.\n\n"
      "Examples:\n"
      "  fabricbench run 'p2p/*' --model anthropic:claude-sonnet-4-5 --rounds 3 --out runs/first\n"
      "  fabricbench run --model openai:gpt-5.1,effort=high --model xai:grok-4.5 --samples 4 --max-usd 20 --out "
      "runs/two\n"
      "  fabricbench run --model openai-compatible:qwen,url=http://127.0.0.1:8000/v1 --level 1 --out runs/local\n"
      "  fabricbench run --model 'command:./my_agent.sh' --out runs/agent\n"
      "  fabricbench run --out runs/two              resume after Ctrl-C, a crash or a full disk\n"
      "  fabricbench report runs/two --html site");
  command.add_option("--out", o.out, "Folder of the run").output_folder().required();
  command
      .add_option("--model", o.models,
                  "PROVIDER:MODEL[,effort=E][,temperature=T][,max_tokens=N][,label=L][,url=U]; several")

      .one_value_each();
  command.add_option("GLOB", o.filter.globs, "Names of problems, such as 'all_*' or 'p2p/*' (default: all)");
  add_filter_options(command, o.filter);
  add_problems_option(command, o.pack);
  command.add_option("--samples", o.samples, "Independent attempts of each model at each problem")
      .check(in_range(1, 10'000))
      .show_default()
      .marks(o.samples_given);
  command.add_option("--rounds", o.rounds, "Most answers of a sample; it ends with the first that passes")
      .check(in_range(1, 100))
      .show_default()
      .marks(o.rounds_given);
  command.add_option("--speed-rounds", o.speed_rounds, "More rounds after a pass, asking for a faster solution")
      .check(in_range(0, 100))
      .show_default()
      .marks(o.speed_rounds_given);
  command.add_option("--prompt", o.prompt, "Variant of the prompt (default: zero_shot; fabricbench dev prompt --help)")
      .check(one_of(prompts::variants()));
  command
      .add_option("--max-usd", o.max_usd,
                  "Start no call that could raise the cost of the run above this; the run keeps it (none: no limit)")
      .check({why_no_budget, "USD"});
  command.add_option("--prices", o.prices, "Price file instead of the installed one; the run keeps a copy")
      .check(existing_file());
  command.add_option("--calls", o.calls, "Concurrent calls of models (default: 4)").check(in_range(1, 1000));
  command.add_option("--calls-per-minute", o.calls_per_minute, "Most calls started per minute")
      .check(positive_number());
  add_executor_options(command, o.executor);
  command.add_flag("--quick", o.quick, "Judge quickly: one world, small sizes, no times");
  command.add_option("--platform", o.platform, "Platform of all judgements (default: each problem's own)");
  add_device_compiler_option(command, o.device_compiler);
  command.add_option("--seed", o.seed, "Seed of all judgements, to repeat a campaign (default: a secret one)")
      .check({why_no_seed, "UINT"});
  command.add_option("--name", o.name, "Title for reports");
  command.add_flag("--plain", o.plain, "Print lines instead of a live view");
  command.add_flag("--no-cache", o.no_cache, "Judge again what was judged before");
  command.add_flag("--unsafe-no-sandbox", o.no_sandbox, "Run candidates as yourself, without protection");
  command.add_option("--worker", o.worker, "Program that judges instead of this one, for tests of campaigns").hidden();
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
