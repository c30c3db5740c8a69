#pragma once

// The sandbox of a rank that is forked: namespaces, files, capabilities. Limits and the filter of system calls are the
// rank's own last step (common/sandbox/confine.h).

#include <sched.h>

#include "common/sandbox/zygote_link.h"

namespace fb::sandbox {

// Of clone: a process that is made with them enters its cell. No user namespace: that is the session's.
inline constexpr int kCellNamespaces =
    CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP;

// The first process of the namespaces has from now on a file system with an empty /tmp, /dev with null, zero, full,
// random and urandom, what the order names, and nothing else, all of it read-only but /tmp; and no capabilities. Throws
// std::system_error.
void enter_cell(const RankOrder& order);

}  // namespace fb::sandbox
