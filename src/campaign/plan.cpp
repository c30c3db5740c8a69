#include "campaign/plan.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "campaign/files.h"
#include "campaign/llm/prices.h"
#include "common/base/hash.h"
#include "common/base/strings.h"
#include "judge/catalog/describe.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;
using record::CampaignPlan;

uint64_t secret_seed() {
  uint64_t seed = 0;
  while (seed == 0) {
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
      throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return seed;
}

const catalog::Problem* find(const catalog::Pack& pack, const std::string& name) {
  const auto found = std::ranges::find(pack.problems, name, &catalog::Problem::name);
  return found == pack.problems.end() ? nullptr : &*found;
}

// The differences because of which the run `has` can't be resumed as `wants`.
std::vector<std::string> differences(const CampaignPlan& has, const Wish& wish) {
  const CampaignPlan& wants = wish.plan;
  std::vector<std::string> list;
  const auto same = [&](const char* what, const auto& before, const auto& now, bool asked) {
    if (asked && before != now) list.push_back(fmt::format("{} was {}, is {}", what, before, now));
  };
  same("--prompt", has.prompt, wants.prompt, !wants.prompt.empty());
  same("the thoroughness", has.thoroughness, wants.thoroughness, !wants.thoroughness.empty());
  same("--backend", has.backend, wants.backend, !wants.backend.empty());
  same("--platform", has.platform, wants.platform, !wants.platform.empty());
  same("--device-compiler", has.device_compiler, wants.device_compiler, !wants.device_compiler.empty());
  same("--seed", has.seed, wants.seed, wants.seed != 0);
  same("--rounds", has.rounds, wants.rounds, wish.rounds_given);
  same("--speed-rounds", has.speed_rounds, wants.speed_rounds, wish.speed_rounds_given);
  same("the pack", has.pack + " " + has.pack_version, wants.pack + " " + wants.pack_version, true);
  same("the sandbox", has.use_sandbox, wants.use_sandbox, !wants.use_sandbox);
  for (const auto& model : wants.models) {
    const auto known = std::ranges::find(has.models, model.label, &record::ModelSpec::label);
    if (known != has.models.end() && *known != model)
      list.push_back(
          fmt::format("the model {} was called with other settings; give this one another label=", model.label));
  }
  return list;
}

void add_new(CampaignPlan& plan, const Wish& wish) {
  for (const auto& model : wish.plan.models) {
    if (std::ranges::find(plan.models, model.label, &record::ModelSpec::label) == plan.models.end())
      plan.models.push_back(model);
  }
  for (const auto& problem : wish.plan.problems) {
    if (std::ranges::find(plan.problems, problem) == plan.problems.end()) plan.problems.push_back(problem);
  }
  if (wish.samples_given) plan.samples = std::max(plan.samples, wish.plan.samples);
}

// The run has prices of its own: what it may cost must not depend on what is installed when it is resumed.
Result<void> keep_prices(const std::string& folder, const std::string& wanted) {
  const std::string file = record::prices_file(folder);
  if (wanted.empty() && fs::exists(file)) return {};
  const auto from = llm::locate_prices(wanted);
  if (!from) return std::unexpected(from.error());
  std::error_code missing;
  if (fs::equivalent(*from, file, missing)) return {};
  const std::string text = read_file(*from);
  if (const auto table = llm::parse_prices(text); !table)
    return error(std::string(trim(to_string(table.error(), *from))));
  publish(file, text, Durable::yes);
  return {};
}

// The facts of the problem that reports show; they change only with the problem.
Result<void> keep_facts(const std::string& folder, const catalog::Pack& pack, const catalog::Problem& problem) {
  const std::string file = record::problem_file(folder, problem.name);
  auto facts = nlohmann::ordered_json::parse(catalog::show_as_json(pack, problem));
  facts["pack"].erase("root");  // a path of this host
  if (!fs::exists(file)) {
    publish(file, facts.dump(2));
    return {};
  }
  const auto kept = nlohmann::json::parse(read_file(file), nullptr, false);
  if (kept.is_object() && kept.value("hash", "") == problem.hash) return {};
  return error(
      fmt::format("the problem {} has changed since this run began: begin another with a new --out", problem.name));
}

Result<CampaignPlan> first_plan(const Wish& wish) {
  CampaignPlan plan = wish.plan;
  if (plan.models.empty()) return error("a new run needs a --model");
  if (plan.problems.empty()) return error("a new run needs problems");
  if (plan.prompt.empty()) plan.prompt = "zero_shot";
  if (plan.thoroughness.empty()) plan.thoroughness = "full";
  if (plan.device_compiler.empty()) plan.device_compiler = "clang";
  if (plan.backend.empty()) plan.backend = "virtual";
  if (plan.seed == 0) plan.seed = secret_seed();
  plan.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return plan;
}

Result<CampaignPlan> grown_plan(const std::string& folder, const Wish& wish) {
  const std::string file = record::plan_file(folder);
  auto plan = record::parse_campaign_plan(read_file(file));
  if (!plan) return error(file + ": " + in_one_line(plan.error()));
  if (const auto list = differences(*plan, wish); !list.empty())
    return error(fmt::format("{} was begun with other settings: {}", folder, fmt::join(list, "; ")));
  add_new(*plan, wish);
  return plan;
}

}  // namespace

Result<CampaignPlan> open_run(const std::string& folder, const Wish& wish, const catalog::Pack& pack) {
  const bool exists = fs::exists(record::plan_file(folder));
  if (!exists && fs::exists(folder) && !fs::is_empty(folder) && !fs::exists(folder + "/.lock"))
    return error(folder + " is neither empty nor the folder of a run");
  // The lock is the first file: a process that comes at the same time must recognise the folder as a run.
  fs::create_directories(folder);
  const auto alone = lock(folder + "/.lock");
  fs::create_directories(folder + "/problems");
  auto plan = fs::exists(record::plan_file(folder)) ? grown_plan(folder, wish) : first_plan(wish);
  if (!plan) return plan;
  for (const std::string& name : plan->problems) {
    const catalog::Problem* problem = find(pack, name);
    if (problem == nullptr) return error(fmt::format("the pack has no problem {}, which this run contains", name));
    if (auto kept = keep_facts(folder, pack, *problem); !kept) return std::unexpected(kept.error());
  }
  if (auto kept = keep_prices(folder, wish.prices); !kept) return std::unexpected(kept.error());
  if (wish.change_settings) wish.change_settings(*plan);
  publish(record::plan_file(folder), to_json(*plan), Durable::yes);
  return plan;
}

uint64_t judgement_seed(const CampaignPlan& plan, const record::RoundId& round) {
  uint64_t seed = mix(plan.seed, round.round);
  for (const char c : round.problem) seed = mix(seed, static_cast<unsigned char>(c));
  return seed == 0 ? 1 : seed;
}

}  // namespace fb::campaign
