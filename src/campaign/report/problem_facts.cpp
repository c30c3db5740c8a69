#include "campaign/report/problem_facts.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/json.h"

namespace fb::report {
namespace {

ProblemSize size_from(const Json& json) {
  ProblemSize size;
  take(json, "name", size.name);
  take(json, "quick", size.quick);
  take(json, "timed", size.timed);
  if (const auto values = json.find("values"); values != json.end()) {
    for (const auto& [name, value] : values->items()) size.values.emplace_back(name, value.get<int64_t>());
  }
  return size;
}

ProblemCost cost_from(const Json& json) {
  ProblemCost cost;
  take(json, "size", cost.size);
  take(json, "world", cost.world);
  take(json, "link_bytes", cost.link_bytes);
  take(json, "memory_bytes", cost.memory_bytes);
  take(json, "flops", cost.flops);
  take(json, "tensor_flops", cost.tensor_flops);
  return cost;
}

}  // namespace

Result<Problem> read_problem(std::string name, std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) return error("not the JSON of a problem: not an object");
    Problem p;
    p.name = std::move(name);
    p.known = true;
    take(json, "title", p.title);
    take(json, "track", p.track);
    take(json, "category", p.category);
    take(json, "library", p.library);
    take(json, "parallelism", p.parallelism);
    take(json, "level", p.level);
    take(json, "tags", p.tags);
    take(json, "platform", p.platform);
    take(json, "hash", p.hash);
    take(json, "worlds", p.worlds);
    take(json, "level_reason", p.level_reason);
    take(json, "provenance", p.provenance);
    take(json, "statement", p.statement);
    take(json, "args", p.args);
    if (const auto sizes = json.find("sizes"); sizes != json.end()) {
      for (const Json& size : *sizes) p.sizes.push_back(size_from(size));
    }
    if (const auto cost = json.find("cost"); cost != json.end() && cost->contains("timed")) {
      for (const Json& timed : cost->at("timed")) p.cost.push_back(cost_from(timed));
    }
    return p;
  } catch (const nlohmann::json::exception& e) {
    return error(std::string("not the JSON of a problem: ") + e.what());
  }
}

}  // namespace fb::report
