// Orders and scopes of atomic operations, under names of our own: where libcu++ is the real one, namespace cuda is its.
#pragma once
#include "fabricbench/language.h"

namespace fabricbench {

enum class MemoryOrder : int { relaxed, consume, acquire, release, acq_rel, seq_cst };
enum ThreadScope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

}  // namespace fabricbench
