#include <algorithm>
#include <filesystem>

#include "campaign/report/site/assets.h"
#include "campaign/report/site/pages.h"
#include "common/base/strings.h"

namespace fb::report::site {
namespace {

namespace fs = std::filesystem;

// Calls visit(model, problem index, sample, index of the attempt within the sample) for all attempts.
template <class Visit>
void for_each_attempt(const Summary& summary, const Visit& visit) {
  for (const Model& model : summary.models) {
    for (size_t p = 0; p < model.cells.size(); ++p) {
      for (const Sample& sample : model.cells[p].samples) {
        for (uint32_t i = 0; i < sample.attempts; ++i) visit(model, p, sample, i);
      }
    }
  }
}

// Attempts in the order of a reader's interest: the best of each model and problem, then the first, then the last.
std::vector<std::pair<size_t, size_t>> most_wanted(const Summary& summary) {
  std::vector<std::pair<size_t, size_t>> best, first, last;
  for (const Model& model : summary.models) {
    for (const Cell& cell : model.cells) {
      const Sample* fastest = nullptr;
      for (const Sample& sample : cell.samples) {
        if (sample.best && (fastest == nullptr || sample.speed.value_or(0) > fastest->speed.value_or(0)))
          fastest = &sample;
      }
      if (fastest != nullptr) best.emplace_back(fastest->run, *fastest->best);
      for (const Sample& sample : cell.samples) {
        if (sample.attempts == 0) continue;
        first.emplace_back(sample.run, sample.first);
        break;
      }
      for (auto sample = cell.samples.rbegin(); sample != cell.samples.rend(); ++sample) {
        if (sample->attempts == 0) continue;
        last.emplace_back(sample->run, sample->first + sample->attempts - 1);
        break;
      }
    }
  }
  best.insert(best.end(), first.begin(), first.end());
  best.insert(best.end(), last.begin(), last.end());
  return best;
}

void choose_pages(Site& site, size_t limit) {
  const Summary& summary = *site.summary;
  const auto add = [&](std::pair<size_t, size_t> attempt) {
    if (site.paged.size() < limit) site.paged.insert(attempt);
  };
  if (summary.attempts > limit) {
    for (const auto& attempt : most_wanted(summary)) add(attempt);
    site.attempt_pages = limit;
  }
  for_each_attempt(
      summary, [&](const Model&, size_t, const Sample& sample, uint32_t i) { add({sample.run, sample.first + i}); });
}

void write_page(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_file(file.string(), text);
}

void write_assets(const fs::path& folder, const std::optional<std::string>& bundles) {
  fs::create_directories(folder);
  for (const auto& [name, content] : embedded_assets()) write_file((folder / name).string(), content);
  if (!bundles) return;
  for (const char* name : {"plots.js", "code.js", "licences.txt"}) {
    const fs::path from = fs::path(*bundles) / name;
    if (fs::exists(from)) write_file((folder / name).string(), read_file(from.string()));
  }
}

std::string title_of(const Summary& summary, const SiteOptions& options) {
  if (!options.title.empty()) return options.title;
  for (const RunFacts& run : summary.runs) {
    if (!run.plan.name.empty()) return run.plan.name;
  }
  return "FabricBench report";
}

}  // namespace

}  // namespace fb::report::site

namespace fb::report {

Result<void> write_site(const Summary& summary, std::span<const record::Run> runs, const SiteOptions& options,
                        const std::string& folder) {
  namespace fs = std::filesystem;
  using namespace site;
  const fs::path root(folder);
  if (fs::exists(root / "campaign.json"))
    return error(fmt::format("{} is the folder of a run: the pages need one of their own", folder));
  if (fs::exists(root) && !fs::is_directory(root)) return error(fmt::format("{} is not a folder", folder));

  const auto bundles = locate_bundles();
  Site pages{
      .summary = &summary, .runs = runs, .title = title_of(summary, options), .has_bundles = bundles.has_value()};
  choose_pages(pages, options.attempt_pages);

  write_assets(root / "assets", bundles);
  for (size_t p = 0; p < summary.problems.size(); ++p)
    write_page(root / problem_address(summary.problems[p]), problem_page(pages, p));
  for_each_attempt(summary, [&](const Model& model, size_t p, const Sample& sample, uint32_t i) {
    if (!pages.has_page(sample, i)) return;
    const std::string address = attempt_address(model, summary.problems[p], sample, pages.attempt(sample, i).round);
    write_page(root / address, attempt_page(pages, model, p, sample, i));
  });
  // Last, so that all its links lead to pages that exist.
  write_page(root / "index.html", index_page(pages));
  return {};
}

}  // namespace fb::report
