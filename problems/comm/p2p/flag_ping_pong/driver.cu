#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

__device__ inline uint32_t turn(uint32_t token, uint32_t x, uint32_t k) { return (token ^ x) * 2654435761u + k; }

// The kernel is the driver's, and a Side never sees `in`: no candidate can compute a token without the partner.
template <class Side>
__global__ void ping_pong_kernel(Side side, Args args, bool serves, uint32_t first_number) {
  uint32_t token = 0;
  for (uint32_t k = 0; k < args.rounds; ++k) {
    const uint32_t x = args.in[k], number = first_number + k;
    if (serves) {
      token = turn(token, x, k);
      side.send(token, number);
    }
    token = side.receive(number);
    args.seen[k] = token;
    if (!serves) {
      token = turn(token, x, k);
      side.send(token, number);
    }
  }
  args.token[0] = token;
}

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args&)
      : serves_(rank.rank() % 2 == 0), solution_(rank, rank.rank() ^ 1) {}

  void run(const Args& args, cudaStream_t stream) {
    ping_pong_kernel<<<1, 1, 0, stream>>>(solution_.side(), args, serves_, first_number_);
    first_number_ += static_cast<uint32_t>(args.rounds);
  }

 private:
  bool serves_;
  uint32_t first_number_ = 1;
  Solution solution_;
};
