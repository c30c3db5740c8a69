#include "campaign/report/pooling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace fb::report {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;  // what → value

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// The settings that must be equal so that figures of two runs can be compared. Seed and number of samples may differ.
Settings settings_of(const record::CampaignPlan& plan) {
  return {{"pack", plan.pack},
          {"pack version", plan.pack_version},
          {"rounds", fmt::format("{}", plan.rounds)},
          {"rounds for speed", fmt::format("{}", plan.speed_rounds)},
          {"prompt", plan.prompt},
          {"thoroughness", plan.thoroughness},
          {"backend", plan.backend},
          {"platform", plan.platform},
          {"device compiler", plan.device_compiler}};
}

// The settings that must be equal so that samples can be pooled.
Settings settings_of(const record::CampaignPlan& plan, const record::ModelSpec& model) {
  Settings settings = settings_of(plan);
  settings.insert(settings.end(), {{"provider", model.provider},
                                   {"model", model.model},
                                   {"base URL", model.base_url},
                                   {"effort", model.effort},
                                   {"temperature", text_of(model.temperature)},
                                   {"output tokens", text_of(model.max_output_tokens)}});
  return settings;
}

std::string difference(const Settings& a, const Settings& b) {
  std::vector<std::string> parts;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].second != b[k].second)
      parts.push_back(fmt::format("{} '{}' and '{}'", a[k].first, a[k].second, b[k].second));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Runs of one label with the same settings.
struct Alike {
  Settings settings;
  std::vector<size_t> runs;
};
struct Label {
  std::string name;
  std::vector<Alike> kinds;
};

std::vector<Label> labels_of(std::span<const record::Run> runs) {
  std::vector<Label> labels;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const record::ModelSpec& model : runs[run].plan.models) {
      auto label = std::ranges::find(labels, model.label, &Label::name);
      if (label == labels.end()) label = labels.insert(labels.end(), {model.label, {}});
      Settings settings = settings_of(runs[run].plan, model);
      auto alike = std::ranges::find(label->kinds, settings, &Alike::settings);
      if (alike == label->kinds.end()) alike = label->kinds.insert(label->kinds.end(), {std::move(settings), {}});
      alike->runs.push_back(run);
    }
  }
  return labels;
}

std::string names_of(std::span<const record::Run> runs, const std::vector<size_t>& which) {
  std::vector<std::string> names;
  for (const size_t run : which) names.push_back(name_of(runs[run]));
  return fmt::format("{}", fmt::join(names, ", "));
}

void note_versions(std::span<const record::Run> runs, const Pooled& model, std::vector<std::string>& notes) {
  std::set<std::string> versions;
  for (const size_t run : model.runs) versions.insert(runs[run].plan.version);
  if (versions.size() > 1)
    notes.push_back(fmt::format("{}: pooled runs were made by different versions of fabricbench ({}).", model.label,
                                fmt::join(versions, ", ")));
}

void note_settings(std::span<const record::Run> runs, std::vector<std::string>& notes) {
  for (const record::Run& run : runs) {
    const std::string differs = difference(settings_of(runs[0].plan), settings_of(run.plan));
    if (differs.empty()) continue;
    notes.push_back(fmt::format("Runs differ in {}: models of different runs had different conditions.", differs));
    return;
  }
}

}  // namespace

std::string name_of(const record::Run& run) {
  if (!run.plan.name.empty()) return run.plan.name;
  const std::filesystem::path folder = std::filesystem::path(run.folder).lexically_normal();
  return folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
}

std::vector<Pooled> pool(std::span<const record::Run> runs, std::vector<std::string>& notes) {
  note_settings(runs, notes);
  std::vector<Pooled> models;
  std::set<std::string> taken;
  for (const Label& label : labels_of(runs)) {
    if (label.kinds.size() > 1) {
      notes.push_back(
          fmt::format("{} was asked with different settings ({}): it is shown once for each, with the run's name.",
                      label.name, difference(label.kinds[0].settings, label.kinds[1].settings)));
    }
    for (const Alike& alike : label.kinds) {
      Pooled model{.label = label.name, .in_runs = label.name, .runs = alike.runs};
      if (label.kinds.size() > 1) model.label += fmt::format(" ({})", name_of(runs[alike.runs[0]]));
      // Runs may have the same name.
      const std::string wanted = model.label;
      for (int number = 2; taken.contains(model.label); ++number) model.label = fmt::format("{} #{}", wanted, number);
      taken.insert(model.label);
      if (model.runs.size() > 1) {
        notes.push_back(fmt::format("{}: samples of {} runs are pooled ({}).", model.label, model.runs.size(),
                                    names_of(runs, model.runs)));
        note_versions(runs, model, notes);
      }
      models.push_back(std::move(model));
    }
  }
  return models;
}

}  // namespace fb::report
