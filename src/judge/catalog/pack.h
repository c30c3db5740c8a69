#pragma once

// A pack of problems: a folder with pack.toml (name, version) and <track>/<category>/<name>/problem.toml below it,
// where there may be variants/<library>/variant.toml. Nothing else registers a problem. To everything but the catalog a
// variant is a problem.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::catalog {

struct Pack {
  std::string name, version, root;
  std::vector<Problem> problems;  // by track, category, then name
};

// All problems; the errors are those of all folders.
Result<Pack> load_pack(const std::string& root);
// The same for listings: returns the valid problems and adds the errors of the others to `errors`.
Pack read_pack(const std::string& root, Errors& errors);

// The pack with one problem only, so that errors in others do not matter: by its name, as category/name, as
// track/category/name, or, if there is none, by the path of its folder, which then selects the pack. The message for an
// unknown name suggests the nearest.
Result<Pack> load_from_pack(const std::string& root, std::string_view problem);

// Where a problem of a pack is: its folder in it ("comm/p2p/push_copy", "comm/p2p/push_copy/variants/nccl"), and its
// name.
struct ProblemPlace {
  std::string folder, name;
};
// Every folder that looks like a problem, without reading it; sorted.
std::vector<ProblemPlace> problem_places(const std::string& root);

// The default pack: $FABRICBENCH_PROBLEMS, else ../share/fabricbench/problems beside the running
// program, else the source tree this program was built from.
Result<std::string> locate_problems();

}  // namespace fb::catalog
