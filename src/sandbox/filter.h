#pragma once

#include "sandbox/confine.h"

namespace fb::sandbox {

// Loads the filter of system calls into all threads of this process. Throws std::system_error.
void load_filter(Filter filter);

}  // namespace fb::sandbox
