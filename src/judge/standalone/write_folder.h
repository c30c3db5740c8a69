#pragma once

// A problem as a folder that builds with nvcc and runs on GPUs, and needs nothing else of ours: its files, SDK headers
// that they include, and the harness of sdk/export.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::standalone {

struct FolderRequest {
  const catalog::Problem* problem = nullptr;
  std::string sdk;                           // folder of the SDK
  std::optional<std::string> solution = {};  // text of an answer; none: the template
  bool reference = true;                     // with reference, baseline and alternative
};

using File = std::pair<std::string, std::string>;  // path in the folder, text

// An answer as a whole source file: solution.cu.
Result<std::string> whole_source(const catalog::Problem& problem, const std::string& answer);

// Errors are those of the answer: it has no solution in it.
Result<std::vector<File>> folder_files(const FolderRequest& request);

}  // namespace fb::standalone
