#include "audit/mutate/result.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fb::mutate {
namespace {

// Names of older reports.
std::string current_name(const std::string& fate) {
  return fate == "twin" ? "duplicate" : fate == "argued" ? "declared equivalent" : fate;
}

using Json = nlohmann::ordered_json;

template <class Names>
size_t index_of(const Names& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::runtime_error("unknown: " + name);
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

std::string to_json(const Run& run) {
  Json results = Json::array();
  for (const auto& r : run.results) {
    Json one = {{"id", r.mutant.id},
                {"problem", r.mutant.problem},
                {"operator", r.mutant.made_by},
                {"line", r.mutant.line},
                {"fate", kFateNames[static_cast<size_t>(r.fate)]},
                {"means", kMeansNames[static_cast<size_t>(r.means)]},
                {"class", r.verdict},
                {"summary", r.summary},
                {"before", r.mutant.before},
                {"after", r.mutant.after},
                {"code", r.code},
                {"seconds", r.seconds}};
    if (!r.duplicate_of.empty()) one["duplicate_of"] = r.duplicate_of;
    if (!r.argument.empty()) one["argument"] = r.argument;
    results.push_back(std::move(one));
  }
  const Json all = {{"schema", 1},        {"seed", run.seed},
                    {"quick", run.quick}, {"ordinary_only", run.ordinary_only},
                    {"stale", run.stale}, {"mutants", std::move(results)}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Run> parse_run(std::string_view json) {
  try {
    const Json all = Json::parse(json);
    Run run{.seed = all.at("seed"),
            .quick = all.at("quick"),
            .ordinary_only = all.at("ordinary_only"),
            .stale = all.at("stale")};
    for (const auto& one : all.at("mutants")) {
      MutantResult r;
      r.mutant.id = one.at("id");
      r.mutant.problem = one.at("problem");
      r.mutant.made_by = one.at("operator");
      r.mutant.line = one.at("line");
      r.mutant.before = one.at("before");
      r.mutant.after = one.at("after");
      r.fate = static_cast<Fate>(index_of(kFateNames, current_name(one.at("fate"))));
      r.means = static_cast<Means>(index_of(kMeansNames, one.at("means")));
      r.verdict = one.at("class");
      r.summary = one.at("summary");
      r.code = one.at("code");
      r.seconds = one.at("seconds");
      r.duplicate_of = one.value("duplicate_of", one.value("twin_of", ""));
      r.argument = one.value("argument", "");
      run.results.push_back(std::move(r));
    }
    return run;
  } catch (const std::exception& e) {
    return error(std::string("no report of mutants: ") + e.what());
  }
}

}  // namespace fb::mutate
