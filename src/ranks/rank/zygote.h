#pragma once

// A process that has loaded the libraries of ranks and forks ranks from itself, so that starting one costs neither a
// program nor its libraries. No code of a candidate runs in it or in the processes of sessions: candidates are loaded
// by ranks, behind the cell and the filter.
//
//   zygote ── session (a user namespace) ── first process of a rank's namespaces ── rank
//
// A session's process ends when the judge's end of its socket is closed, and takes its ranks with it.

#include <span>
#include <string>
#include <vector>

#include "common/sandbox/confine.h"

namespace fb::rank {

// In a new rank.
struct Forked {
  std::vector<std::string> arguments;     // as those of a program that is started
  const sandbox::CompiledFilter* filter;  // for this process
};

// Serves orders (common/sandbox/zygote_link.h) until `control` is closed; returns only in the processes of ranks, which
// have their environment, their output and their limit of memory, and no descriptor but the standard ones. All ranks
// have `libraries` besides those that every candidate may be linked with, by the names of the objects.
Forked serve_as_zygote(int control, std::span<const std::string> libraries);

}  // namespace fb::rank
