// problem: flag_ping_pong
// expect: wrong
// explains: it returned older bytes | says_volatile_flag.cu:22 | order nothing
// mode: quick
// seconds: 30
// about: The token and its number are volatile: no race, and nothing orders the one before the other.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cuda/atomic>

// [solution]
struct Letter {
  volatile uint32_t token, number;
};

class Side {
 public:
  Side(Letter* mine, Letter* theirs) : mine_(mine), theirs_(theirs) {}
  __device__ void send(uint32_t token, uint32_t number) {
    theirs_->token = token;
    theirs_->number = number;
  }
  __device__ uint32_t receive(uint32_t number) {
    while (mine_->number != number) {
    }
    return mine_->token;
  }

 private:
  Letter *mine_, *theirs_;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int partner) : partner_(partner), letters_(rank, sizeof(Letter)) {}
  Side side() { return {letters_.mine<Letter>(), letters_.at<Letter>(partner_)}; }

 private:
  int partner_;
  fabricbench::PeerMemory letters_;
};
// [/solution]
