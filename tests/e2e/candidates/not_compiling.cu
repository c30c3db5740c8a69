// problem: all_reduce_one_shot
// expect: compile_error
// explains: not_compiling.cu:20:30: unknown type name 'Stream'
// mode: quick
// seconds: 20
// about: A semicolon and a type are missing.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, Stream stream){int x = 1}
};
// [/solution]
