#include "judge/catalog/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "common/base/spelling.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"
#include "judge/catalog/names.h"

namespace fb::catalog {
namespace {

namespace fs = std::filesystem;

void append(Errors& all, const Errors& more) { all.list.insert(all.list.end(), more.list.begin(), more.list.end()); }

// Sub-folders by name, without those that begin with '.'.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory(failed) && !name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

// Name and version; the problems are not read.
Pack read_pack_file(const std::string& root, Errors& errors) {
  Pack pack;
  pack.root = (fs::absolute(root) / "").lexically_normal().parent_path().string();
  const std::string file = (fs::path(pack.root) / "pack.toml").string();
  std::error_code failed;
  if (!fs::is_regular_file(file, failed)) {
    errors.list.push_back({{}, fmt::format("{}: is missing, so {} is not a pack of problems", file, pack.root)});
    return pack;
  }
  Errors located;
  TomlReader reader(located);
  if (const auto table = reader.parse(read_file(file))) {
    reader.refuse_unknown(*table, {"name", "version"});
    pack.name = reader.text(*table, "name");
    pack.version = reader.text(*table, "version");
    if (!pack.name.empty() && !is_label(pack.name))
      reader.complain(*table->get("name"), fmt::format("name '{}': lower-case letters, digits and '-'", pack.name));
  }
  for (const Diagnostic& d : located.list)
    errors.list.push_back({{}, std::string(trim(to_string(Errors(d.message, d.at), file)))});
  return pack;
}

// As its variant.toml says, or the folder's where it does not: loading it will tell why.
std::string name_of_variant(const fs::path& folder) {
  std::error_code failed;
  if (const fs::path file = folder / "variant.toml"; fs::is_regular_file(file, failed)) {
    Errors ignored;
    if (const auto table = TomlReader(ignored).parse(read_file(file.string()))) {
      if (const auto name = table->get_as<std::string>("name")) return name->get();
    }
  }
  return folder.filename().string();
}

// A folder that was named by its path.
bool is_problem_folder(std::string_view path) {
  std::error_code failed;
  return path.contains('/') && (fs::is_regular_file(fs::path(path) / "problem.toml", failed) ||
                                fs::is_regular_file(fs::path(path) / "variant.toml", failed));
}

// Also where a name was expected and another thing was given.
std::string unknown_problem(std::string_view problem, const std::vector<ProblemPlace>& places) {
  constexpr const char* kList = "`fabricbench list` shows the problems";
  std::error_code failed;
  const fs::path path(problem);
  if (is_problem_folder((fs::path(".") / path).string()))
    return fmt::format("no problem is called '{}'; did you mean the folder './{}'?", problem, problem);
  if (fs::is_regular_file(path, failed))
    return fmt::format("'{}' is a file, and the name of a problem is needed: {}", problem, kList);
  if (fs::is_directory(path, failed))
    return fmt::format("'{}' is a folder without problem.toml, and no problem has this name: {}", problem, kList);
  const auto is_in_it = [&](const ProblemPlace& place) { return split(place.folder, '/')[1] == problem; };
  if (std::ranges::any_of(places, is_in_it))
    return fmt::format("'{}' is a category: `fabricbench list --category {}` shows its problems", problem, problem);
  std::vector<std::string> names;
  for (const ProblemPlace& place : places) names.push_back(place.name);
  const std::string_view last = problem.substr(problem.rfind('/') + 1);
  const std::string nearest = did_you_mean(last, names);
  return fmt::format("no problem is called '{}'{}{}{}", problem, nearest, nearest.empty() ? ": " : " ", kList);
}

Result<Pack> load_one(const std::string& root, const std::string& folder) {
  Errors errors;
  Pack pack = read_pack_file(root, errors);
  auto problem = load_problem(folder);
  if (!problem) append(errors, problem.error());
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  pack.problems.push_back(std::move(*problem));
  return pack;
}

}  // namespace

std::vector<ProblemPlace> problem_places(const std::string& root) {
  std::vector<ProblemPlace> all;
  for (const std::string& track : folders_in(root)) {
    for (const std::string& category : folders_in(fs::path(root) / track)) {
      for (const std::string& name : folders_in(fs::path(root) / track / category)) {
        const std::string folder = fmt::format("{}/{}/{}", track, category, name);
        all.push_back({folder, name});
        for (const std::string& library : folders_in(fs::path(root) / folder / "variants")) {
          const std::string variant = fmt::format("{}/variants/{}", folder, library);
          all.push_back({variant, name_of_variant(fs::path(root) / variant)});
        }
      }
    }
  }
  return all;
}

Pack read_pack(const std::string& root, Errors& errors) {
  Pack pack = read_pack_file(root, errors);
  std::map<std::string, std::string> seen;  // name → folder
  for (const auto& [folder, name] : problem_places(pack.root)) {
    const std::string path = (fs::path(pack.root) / folder).string();
    auto problem = load_problem(path);
    const auto [same, is_new] = seen.emplace(name, folder);
    if (!is_new) errors.list.push_back({{}, fmt::format("{}: {} has the same name", path, same->second)});
    if (!problem) {
      append(errors, problem.error());
    } else if (is_new) {
      pack.problems.push_back(std::move(*problem));
    }
  }
  return pack;
}

Result<Pack> load_pack(const std::string& root) {
  Errors errors;
  Pack pack = read_pack(root, errors);
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return pack;
}

Result<Pack> load_from_pack(const std::string& root, std::string_view problem) {
  const std::vector<ProblemPlace> places = problem_places(root);
  std::vector<std::string> matches;
  for (const auto& [folder, name] : places) {
    if (name == problem || ("/" + folder).ends_with(fmt::format("/{}", problem))) matches.push_back(folder);
  }
  if (matches.size() == 1) return load_one(root, (fs::path(root) / matches[0]).string());
  if (matches.size() > 1) return error(fmt::format("'{}' is ambiguous: {} or {}", problem, matches[0], matches[1]));
  if (is_problem_folder(problem)) {
    const fs::path folder = (fs::absolute(problem) / "").lexically_normal().parent_path();
    return load_one(root_of(folder.string()), folder.string());
  }
  // An invalid pack has no problems at all: report that instead.
  Errors errors;
  read_pack_file(root, errors);
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return error(unknown_problem(problem, places));
}

}  // namespace fb::catalog
