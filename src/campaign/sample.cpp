#include "campaign/sample.h"

#include <filesystem>

#include "common/base/strings.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;

template <class Parse>
auto read(const std::string& file, const Parse& parse) -> decltype(parse(std::string_view())) {
  auto parsed = parse(read_file(file));
  if (!parsed) return error(file + ": " + in_one_line(parsed.error()));
  return parsed;
}

void add_cost(Standing& standing, const record::Call& call) {
  standing.usd += call.usd.value_or(0);
  if (!call.usd) ++standing.unpriced;
}

// The next step of a round without an attempt record.
Result<Need> need_of(const std::string& run, const record::RoundId& round, Standing& standing) {
  const auto has = [&](const char* kind) { return fs::exists(record::round_file(run, round, kind)); };
  if (!has("response.json")) return has("request.json") ? Need::call : Need::request;
  const auto response = read(record::round_file(run, round, "response.json"), llm::parse_response);
  if (!response) return std::unexpected(response.error());
  add_cost(standing, response->call);
  return is_judged(*response) && !has("verdict.json") ? Need::verdict : Need::record;
}

}  // namespace

Result<Standing> look_at(const std::string& run, const record::CampaignPlan& plan, const record::RoundId& sample) {
  Standing standing;
  standing.round = sample;
  uint32_t last = plan.rounds;
  for (uint32_t round = 1;; ++round) {
    standing.round.round = round;
    const std::string file = record::round_file(run, standing.round, "attempt.json");
    if (round > last) {
      standing.need = Need::nothing;
      return standing;
    }
    if (!fs::exists(file)) {
      standing.for_speed = standing.passed;
      auto need = need_of(run, standing.round, standing);
      if (!need) return std::unexpected(need.error());
      standing.need = *need;
      return standing;
    }
    auto attempt = read(file, record::parse_attempt);
    if (!attempt) return std::unexpected(attempt.error());
    add_cost(standing, attempt->call);
    if (attempt->passed() && !standing.passed) {
      standing.passed = true;
      last = round + plan.speed_rounds;
    }
    standing.previous = std::move(*attempt);
  }
}

}  // namespace fb::campaign
