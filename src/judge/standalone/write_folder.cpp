#include "judge/standalone/write_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "common/base/strings.h"
#include "judge/answer/answer.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"
#include "judge/standalone/driver_files.h"
#include "judge/standalone/problem_source.h"

namespace fb::standalone {
namespace {

namespace fs = std::filesystem;
using catalog::Problem;

constexpr std::string_view kSdk = "fabricbench/";
// What a solution may include, whether the ones at hand do or not.
constexpr auto kForSolutions = std::to_array<std::string_view>(
    {"rank.h", "peer_memory.h", "rank_barrier.h", "check.h", "cublas.h", "nccl.h", "verbs.h"});

std::string with(std::string text, const std::vector<std::pair<std::string_view, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  }
  return text;
}

// The headers of the SDK that a text includes: `#include <fabricbench/rank.h>` is rank.h.
std::vector<std::string> sdk_headers_of(std::string_view text) {
  std::vector<std::string> headers;
  for (const auto whole : catalog::lines_of(text)) {
    std::string_view line = trim(whole);
    if (!line.starts_with("#include <")) continue;
    line.remove_prefix(std::string_view("#include <").size());
    if (line.starts_with(kSdk)) headers.emplace_back(line.substr(kSdk.size(), line.find('>') - kSdk.size()));
  }
  return headers;
}

void add_sdk_headers(const std::string& sdk, std::vector<File>& files) {
  std::vector<std::string> open(kForSolutions.begin(), kForSolutions.end());
  for (const auto& [path, text] : files) std::ranges::copy(sdk_headers_of(text), std::back_inserter(open));
  std::set<std::string> known;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const fs::path path = fs::path(sdk) / "include" / kSdk / name;
    // A name that the SDK does not have is an error of the compiler, with its line.
    if (!fs::is_regular_file(path) || !known.insert(name).second) continue;
    const std::string text = read_file(path.string());
    std::ranges::copy(sdk_headers_of(text), std::back_inserter(open));
    files.emplace_back(fmt::format("include/fabricbench/{}", name), text);
  }
}

std::string readme(const Problem& problem, const std::string& text) {
  const int needs = least_capability(problem);
  std::string said;
  if (needs > kLeastCapability)
    said = fmt::format("The reference needs GPUs of compute capability {}.{} or more.\n", needs / 10, needs % 10);
  if (problem.uses_network()) {
    said +=
        "Messages go through InfiniBand cards: queue pairs are addressed by LID alone, which RoCE does not have. RDMA "
        "of "
        "GPU memory needs the kernel's dma-buf or nvidia-peermem.\n";
  }
  auto worlds = problem.worlds;
  std::ranges::sort(worlds);
  return with(text, {{"@NAME@", problem.name},
                     {"@TITLE@", problem.title},
                     {"@WORLDS@", fmt::format("{}", fmt::join(worlds, ", "))},
                     {"@RANKS@", fmt::format("{}", worlds.back())},
                     {"@NEEDS@", said}});
}

}  // namespace

Result<std::string> whole_source(const Problem& problem, const std::string& answer) {
  const auto read = judge::read_answer(problem, answer);
  if (!read) return std::unexpected(read.error());
  return catalog::splice(problem, read->regions);
}

Result<std::vector<File>> folder_files(const FolderRequest& request) {
  const Problem& problem = *request.problem;
  const fs::path parts = fs::path(request.sdk) / "export";
  std::vector<File> files;
  const auto solution = request.solution ? whole_source(problem, *request.solution) : catalog::make_template(problem);
  if (!solution) return std::unexpected(solution.error());
  files.emplace_back("solution.cu", *solution);
  if (request.reference) {
    for (const auto& [name, text] :
         {std::pair("reference.cu", problem.has_expert ? problem.reference : std::string()),
          std::pair("baseline.cu", problem.baseline), std::pair("alternative.cu", problem.alternative)}) {
      if (text.empty()) continue;
      const auto source = whole_source(problem, text);
      if (!source) return std::unexpected(source.error());
      files.emplace_back(name, *source);
    }
  }
  files.emplace_back("statement.md", problem.statement);
  files.emplace_back("args.h", catalog::args_header(problem));
  files.emplace_back("problem.cpp", problem_source(problem));
  files.emplace_back("oracle/oracle.cpp", read_file(problem.oracle));
  if (!problem.mathematics.empty()) files.emplace_back("mathematics.h", problem.mathematics);
  if (!problem.driver.empty()) {
    files.emplace_back("interface.h", interface_header(problem));
    files.emplace_back("driver.cu", driver_source(problem));
  }
  for (const auto& entry : fs::recursive_directory_iterator(parts)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(parts).generic_string(), text = read_file(entry.path());
    files.emplace_back(name, name == "README.md" ? readme(problem, text) : text);
  }
  add_sdk_headers(request.sdk, files);
  return files;
}

}  // namespace fb::standalone
