// problem: all_reduce_one_shot
// expect: compile_error
// explains: unknown type name 'Solution'
// mode: quick
// seconds: 20
// about: A program where the class should be.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
int main() { return 0; }
// [/solution]
