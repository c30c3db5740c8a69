#include "common/record/campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "common/base/strings.h"
#include "common/record/campaign_fields.h"

namespace fb::record {
namespace {

namespace fs = std::filesystem;

// Errors that name the file.
template <class T>
Result<T> named(const std::string& file, Result<T> result) {
  if (!result) return error(file + ": " + in_one_line(result.error()));
  return result;
}

// The rounds of a folder that have an attempt, in order.
std::vector<uint32_t> rounds_in(const fs::path& folder) {
  std::vector<uint32_t> rounds;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename();
    uint32_t round = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), round);
    if (status == std::errc() && std::string_view(end, name.data() + name.size()) == ".attempt.json")
      rounds.push_back(round);
  }
  std::ranges::sort(rounds);
  return rounds;
}

// There is no campaign.json in it. Runs that are inside are named: they may be what was meant.
std::string why_no_run(const std::string& folder) {
  constexpr const char* kMake = "`fabricbench run --out FOLDER` makes one";
  std::error_code failed;
  if (!fs::exists(folder, failed)) return fmt::format("there is no folder {}: {}", folder, kMake);
  if (!fs::is_directory(folder, failed)) return fmt::format("{} is a file, and a run is a folder: {}", folder, kMake);
  std::vector<std::string> inside;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (fs::exists(plan_file(entry.path().string()), failed)) inside.push_back(entry.path().string());
  }
  std::ranges::sort(inside);
  return fmt::format(
      "{} is not the folder of a run: it has no campaign.json{}", folder,
      inside.empty() ? fmt::format(" ({})", kMake) : fmt::format("; did you mean {}?", fmt::join(inside, " ")));
}

}  // namespace

std::string to_json(const CampaignPlan& plan) { return dump(to_json_value(plan)); }

Result<CampaignPlan> parse_campaign_plan(std::string_view text) {
  return parse_fields<CampaignPlan>(text, "the plan of a campaign");
}

std::string sample_folder(const std::string& run, const RoundId& id) {
  return fmt::format("{}/samples/{}/{}/{}", run, id.model, id.problem, id.sample);
}

std::string round_file(const std::string& run, const RoundId& id, std::string_view kind) {
  return fmt::format("{}/{}.{}", sample_folder(run, id), id.round, kind);
}

std::string plan_file(const std::string& run) { return run + "/campaign.json"; }
std::string prices_file(const std::string& run) { return run + "/prices.toml"; }
std::string problem_file(const std::string& run, std::string_view problem) {
  return fmt::format("{}/problems/{}.json", run, problem);
}

Result<Run> read_run(const std::string& folder) {
  Run run{.folder = folder, .plan = {}, .problems = {}, .attempts = {}};
  try {
    const std::string file = plan_file(folder);
    if (!fs::exists(file)) return error(why_no_run(folder));
    auto plan = named(file, parse_campaign_plan(read_file(file)));
    if (!plan) return std::unexpected(plan.error());
    run.plan = std::move(*plan);
    for (const std::string& problem : run.plan.problems) {
      const std::string facts = problem_file(folder, problem);
      run.problems.push_back(fs::exists(facts) ? read_file(facts) : "");
    }
    for (const ModelSpec& model : run.plan.models) {
      for (const std::string& problem : run.plan.problems) {
        for (uint32_t sample = 1; sample <= run.plan.samples; ++sample) {
          RoundId id{.model = model.label, .problem = problem, .sample = sample};
          for (const uint32_t round : rounds_in(sample_folder(folder, id))) {
            id.round = round;
            const std::string path = round_file(folder, id, "attempt.json");
            auto attempt = named(path, parse_attempt(read_file(path)));
            if (!attempt) return std::unexpected(attempt.error());
            run.attempts.push_back(std::move(*attempt));
          }
        }
      }
    }
  } catch (const std::exception& e) {
    return error(e.what());
  }
  return run;
}

}  // namespace fb::record
