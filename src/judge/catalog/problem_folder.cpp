#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <tuple>

#include "common/base/content_hash.h"
#include "common/base/strings.h"
#include "judge/catalog/family.h"
#include "judge/catalog/names.h"
#include "judge/catalog/problem_reader.h"
#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;  // name → content

constexpr auto kRequired = std::to_array<std::string_view>({"problem.toml", "statement.md", "oracle.cpp"});
// One of reference.cu and baseline.cu must be there.
constexpr auto kOptional =
    std::to_array<std::string_view>({"reference.cu", "baseline.cu", "driver.cu", "alternative.cu", "README.md"});
// Of a variant; the rest is its problem's.
constexpr auto kOfVariant = std::to_array<std::string_view>({"variant.toml", "statement.md", "reference.cu"});
constexpr auto kOptionalOfVariant = std::to_array<std::string_view>({"alternative.cu", "README.md"});
constexpr const char* kVariants = "variants";
// In the folder of a category: what the oracles of its problems share.
constexpr const char* kMathematics = "mathematics.h";

// <problem>/variants/<library>
bool is_variant(const fs::path& folder) { return folder.parent_path().filename() == kVariants; }

// Backup files of editors do not belong to the problem.
bool is_stray(const std::string& name) { return name.starts_with('.') || name.ends_with('~'); }

class FolderReader {
 public:
  explicit FolderReader(const std::string& folder)
      : folder_((fs::absolute(folder) / "").lexically_normal().parent_path()),
        variant_(is_variant(folder_)),
        base_(variant_ ? folder_.parent_path().parent_path() : folder_) {}

  Result<Problem> read() {
    std::error_code failed;
    if (!fs::is_directory(folder_, failed)) return error(fmt::format("{}: is not a folder", folder_.string()));
    read_files();
    Problem problem = read_toml();
    if (!variant_) problem.name = folder_.filename().string();
    problem.folder = folder_.string();
    if (variant_) problem.base = base_.string();
    problem.root = root_of(folder_.string());
    problem.statement = text("statement.md");
    problem.baseline = source("baseline.cu");
    problem.has_expert = files_.contains("reference.cu");
    problem.reference = problem.has_expert ? text("reference.cu") : problem.baseline;
    problem.oracle = (base_ / "oracle.cpp").string();
    problem.mathematics = text(kMathematics);
    problem.driver = source("driver.cu");
    problem.alternative = source("alternative.cu");
    problem.hash = hash();
    if (!problem.name.empty() && !is_snake_case(problem.name))
      complain("", fmt::format("the name '{}' is not snake_case", problem.name));
    check_sources(problem);
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    return problem;
  }

 private:
  void complain(const std::string& file, std::string message, Location at = {}) {
    const std::string path = (file.empty() ? folder_ : folder_ / file).string();
    errors_.list.push_back({{}, std::string(trim(to_string(Errors(std::move(message), at), path)))});
  }
  void complain(const std::string& file, const Errors& errors) {
    for (const Diagnostic& d : errors.list) complain(file, d.message, d.at);
  }

  // Empty if there is no such file.
  std::string text(const std::string& name) const {
    const auto found = files_.find(name);
    return found == files_.end() ? "" : found->second;
  }

  // With its family's headers, which count in the hash.
  std::string source(const std::string& name) {
    FamilyHeaders headers;
    auto whole = with_family_headers(text(name), base_.parent_path().string(), headers);
    if (!whole) {
      complain(name, whole.error());
      return text(name);
    }
    files_.merge(headers);
    return std::move(*whole);
  }

  void read_files();
  void read_files_of_problem();
  void read_mathematics();
  Problem read_toml();
  Problem read_variant_toml();
  void report(const char* file, Errors errors);
  void check_sources(const Problem& problem);
  void check_answer(const std::string& name, const std::string& answer, const std::string& of,
                    std::span<const Region> regions);
  std::string hash() const;

  fs::path folder_;
  bool variant_;
  fs::path base_;  // the problem's folder, also where folder_ is a variant's
  Files files_;
  Errors errors_;
};

void FolderReader::read_files() {
  using Names = std::span<const std::string_view>;
  const Names required = variant_ ? Names(kOfVariant) : Names(kRequired);
  const Names optional = variant_ ? Names(kOptionalOfVariant) : Names(kOptional);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (is_stray(name)) continue;
    const bool known =
        std::ranges::find(required, name) != required.end() || std::ranges::find(optional, name) != optional.end();
    if (!variant_ && name == kVariants && entry.is_directory()) continue;
    if (!known || !entry.is_regular_file()) {
      complain(name, fmt::format("a {} has no such file (only {} and {})", variant_ ? "variant" : "problem",
                                 fmt::join(required, ", "), fmt::join(optional, ", ")));
      continue;
    }
    files_[name] = read_file(entry.path().string());
    if (trim(files_[name]).empty()) complain(name, "is empty");
  }
  for (const std::string_view name : required) {
    if (!files_.contains(std::string(name))) complain(std::string(name), "is missing");
  }
  if (!files_.contains("reference.cu") && !files_.contains("baseline.cu")) complain("reference.cu", "is missing");
  if (variant_) read_files_of_problem();
  read_mathematics();
}

// Of the family, if the oracle includes it: then it counts in the hash.
void FolderReader::read_mathematics() {
  const fs::path file = base_.parent_path() / kMathematics;
  std::error_code failed;
  if (!text("oracle.cpp").contains(fmt::format("\"../{}\"", kMathematics))) return;
  if (fs::is_regular_file(file, failed)) {
    files_[kMathematics] = read_file(file.string());
  } else {
    complain("oracle.cpp", fmt::format("includes ../{}, which is missing", kMathematics));
  }
}

// What a variant takes from its problem. They count in its hash, too.
void FolderReader::read_files_of_problem() {
  for (const std::string name : {"problem.toml", "oracle.cpp", "driver.cu"}) {
    std::error_code failed;
    if (const fs::path file = base_ / name; fs::is_regular_file(file, failed)) files_[name] = read_file(file.string());
  }
}

Problem FolderReader::read_toml() {
  if (variant_) return read_variant_toml();
  const auto file = files_.find("problem.toml");
  if (file == files_.end()) return {};
  Places places;
  Errors errors;
  Problem problem = read_problem(file->second, places, errors);
  check_problem(problem, places, errors);
  const fs::path category = folder_.parent_path();
  const auto belongs = [&](const char* what, const std::string& value, const fs::path& in, Location at) {
    const std::string parent = in.filename().string();
    if (value.empty() || value == parent) return;
    errors.list.push_back({at, fmt::format("{} '{}', but the folder is in '{}'", what, value, parent)});
  };
  belongs("category", problem.category, category, places.category);
  belongs("track", problem.track, category.parent_path(), places.track);
  report("problem.toml", std::move(errors));
  return problem;
}

// Locations of further errors than its problem has are those of variant.toml.
Problem FolderReader::read_variant_toml() {
  const auto file = files_.find("variant.toml"), whole = files_.find("problem.toml");
  if (file == files_.end()) return {};
  if (auto problem = load_problem(base_.string()); !problem) {
    for (Diagnostic& d : problem.error().list) errors_.list.push_back(std::move(d));
    return {};
  }
  Places places;
  Errors errors;
  Problem problem = read_variant(file->second, whole->second, places, errors);
  check_problem(problem, places, errors);
  if (const std::string library = folder_.filename().string(); problem.library != library && errors.list.empty())
    errors.list.push_back({{}, fmt::format("library '{}', but the folder is '{}'", problem.library, library)});
  report("variant.toml", std::move(errors));
  return problem;
}

void FolderReader::report(const char* file, Errors errors) {
  std::ranges::sort(errors.list, {}, [](const Diagnostic& d) { return std::tuple(d.at.line, d.at.column, d.message); });
  complain(file, errors);
}

void FolderReader::check_sources(const Problem& problem) {
  if (!problem.reference.empty()) {
    // The solver's template is made of it.
    const std::string file = problem.has_expert ? "reference.cu" : "baseline.cu";
    if (problem.driver.empty() && !problem.reference.contains("\"args.h\""))
      complain(file, "does not include \"args.h\"");
    const auto regions = regions_of(problem.reference);
    if (!regions) {
      complain(file, regions.error());
    } else {
      for (const Region& region : *regions) {
        const auto wrong = [&](std::string message) { complain(file, std::move(message), {region.line, 1}); };
        if (trim(region.solution).empty()) wrong("the region has no solution");
        if (trim(region.placeholder).empty())
          wrong("the region has no template: '// [template]' and lines that begin with '//| ' are missing");
      }
      check_answer("alternative.cu", problem.alternative, file, *regions);
      if (problem.has_expert) check_answer("baseline.cu", problem.baseline, file, *regions);
    }
  }
  if (problem.track == "kernel" && problem.baseline.empty())
    complain("baseline.cu", "is missing: speeds of track kernel are relative to it");
  if (const std::string oracle = text("oracle.cpp"); !oracle.empty() && !oracle.contains("FABRICBENCH_ORACLE"))
    complain("oracle.cpp", "does not contain FABRICBENCH_ORACLE(…)");
  if (!problem.driver.empty() && !problem.driver.contains("Driver"))
    complain("driver.cu", "does not define 'template <class Solution> class Driver'");
  if (problem.driver.empty() != problem.interface.empty())
    complain("problem.toml", problem.driver.empty() ? "[interface] is for problems with a driver.cu"
                                                    : "a problem with a driver.cu needs an [interface]");
}

// Alternative and baseline are answers: they have the regions of the file that the template is made of.
void FolderReader::check_answer(const std::string& name, const std::string& answer, const std::string& of,
                                std::span<const Region> regions) {
  if (answer.empty()) return;
  const auto given = regions_of(answer);
  if (!given) return complain(name, given.error());
  for (const Region& region : *given) {
    if (std::ranges::find(regions, region.name, &Region::name) == regions.end())
      complain(name, fmt::format("{} has no region '{}'", of, region.name), {region.line, 1});
  }
  for (const Region& region : regions) {
    if (std::ranges::find(*given, region.name, &Region::name) == given->end())
      complain(name, fmt::format("has no region '{}' as {} has", region.name, of));
  }
}

std::string FolderReader::hash() const {
  // Lengths separate names and contents.
  std::string all;
  for (const auto& [name, content] : files_)
    all += fmt::format("{}:{}:{}:", name.size(), name, content.size()).append(content);
  return hash_bytes(all);
}

}  // namespace

std::string root_of(const std::string& folder) {
  const fs::path path = folder;
  const fs::path problem = is_variant(path) ? path.parent_path().parent_path() : path;
  return problem.parent_path().parent_path().parent_path().string();
}

Result<Problem> load_problem(const std::string& folder) { return FolderReader(folder).read(); }

}  // namespace fb::catalog
