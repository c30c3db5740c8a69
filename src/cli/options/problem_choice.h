#pragma once

// What commands about problems have in common: --problems, and finding the problem that was named.

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "common/base/result.h"
#include "judge/catalog/pack.h"

namespace fb::cli {

void add_problems_option(Command& command, std::string& folder);

// The folder that --problems says, or else the one that is found.
Result<std::string> problems_folder(const std::string& chosen);

// The pack with this problem alone.
Result<catalog::Pack> choose_problem(const std::string& chosen_folder, const std::string& problem);

// Those whose names match.
std::vector<catalog::ProblemPlace> problems_named(const std::string& pack_folder, const std::string& glob);

// Which problems of a pack are meant; filters add up.
struct ProblemFilter {
  std::vector<std::string> globs = {};  // of names, as "all_*" or "p2p/*"; none: all
  std::string category = {}, library = {}, track = {}, tag = {};
  int level = 0;
};
bool matches(const catalog::Problem& problem, const ProblemFilter& filter);
// What to say where none of the pack's problems matches: what the filters may have meant.
std::string none_matches(const catalog::Pack& pack, const ProblemFilter& filter);
// --category, --level, --library, --track, --tag
void add_filter_options(Command& command, ProblemFilter& filter);

}  // namespace fb::cli
