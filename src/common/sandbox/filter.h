#pragma once

#include <sys/types.h>

#include "common/sandbox/confine.h"

namespace fb::sandbox {

// The filter for a process that has this id where it runs. Throws std::system_error.
CompiledFilter compile(Filter filter, pid_t self);

// Into all threads of this process, which may get no new privileges. Throws std::system_error.
void load(const CompiledFilter& filter);

}  // namespace fb::sandbox
