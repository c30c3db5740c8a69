// [solution]
#include <fabricbench/rank_barrier.h>

// Pulls: codes are loaded from the memory of their senders and dequantised in registers. There are no buffers; ranks
// wait for each other twice, before they read and when they have read.
using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;

constexpr int kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kBatch = 4;                               // loads of a thread before its stores
constexpr int64_t kPiece = int64_t{kBatch} * kThreads;  // octets of codes that a block of threads takes at once

// One word for each share and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its codes may be read
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer has read this share of my codes
};

// Exponent and mantissa, moved to their places in a float, are the number times 2^(7 - 127), also if it is subnormal.
__device__ float number(uint32_t code) {
  const float modulus = __uint_as_float((code & 0x7f) << 20) * 0x1p120F;
  return (code & 0x80) != 0 ? -modulus : modulus;
}

// Eight numbers.
__device__ uint4 dequantise(uint2 codes, float scale) {
  uint4 result;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&result);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint32_t two = (k < 2 ? codes.x : codes.y) >> (k % 2 * 16);
    pairs[k] = __floats2bfloat162_rn(number(two & 0xff) * scale, number(two >> 8 & 0xff) * scale);
  }
  return result;
}

// Each block of threads deals with one peer and one share of its rows: it loads the codes from the peer's memory and
// stores numbers to its own. So codes cross the link, and nothing is stored on the way. Its partner is the block of the
// peer that deals with this rank and has the same share. Blocks of all peers alternate, beginning with the rank behind
// this one: every pair of ranks is under way at once.
//
// Loads are plain, not through the read-only path (__ldg): the codes are another rank's, and only the acquire says that
// they are there.
__global__ void __launch_bounds__(kThreads)
    pull(Peers<Flags> flags, Peers<const uint2> codes, Peers<const float> scales, uint4* out, int64_t octets, int rank,
         int world, uint32_t call) {
  const auto block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int peer = (rank + 1 + block % world) % world, share = block / world;
  const int shares = static_cast<int>(gridDim.x) / world;
  const bool remote = peer != rank;

  if (remote && thread == 0) {
    // The release is there for what the stream did before this kernel: my codes come before the peer's loads of them.
    post(flags.of[peer]->ready[share][rank], call);
    wait(flags.of[rank]->ready[share][peer], call);
  }
  __syncthreads();  // the acquire of one thread is that of all

  const uint2* from = codes.of[peer] + rank * octets;
  const float* scale_of = scales.of[peer] + rank * octets / 16;  // sixteen octets have one
  uint4* to = out + peer * octets;
  // Octets of a warp are adjacent: the scales of its batch are one sector.
  const int first = thread / kWarp * kBatch * kWarp + thread % kWarp;
  for (int64_t piece = share; piece * kPiece < octets; piece += shares) {
    uint2 bytes[kBatch];
    float scale[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      // Behind the end the last one is loaded again: without branches all loads are under way at once.
      const int64_t octet = min(piece * kPiece + first + k * kWarp, octets - 1);
      bytes[k] = from[octet];
      scale[k] = scale_of[octet / 16];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t octet = piece * kPiece + first + k * kWarp;
      if (octet < octets) to[octet] = dequantise(bytes[k], scale[k]);
    }
  }

  if (!remote) return;
  __syncthreads();  // the loads of all threads come before the release of one
  if (thread == 0) {
    post(flags.of[peer]->done[share][rank], call);
    wait(flags.of[rank]->done[share][peer], call);  // my codes may get new contents
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        codes_(rank, args.codes),
        scales_(rank, args.scales) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t octets = args.rows * args.hidden / 8, pieces = (octets + kPiece - 1) / kPiece;
    // The same on all ranks, and no share without a piece.
    const auto shares = static_cast<int>(std::min<int64_t>(kBlocks / world_, pieces));
    pull<<<shares * world_, kThreads, 0, stream>>>(flags_.peers<Flags>(), codes_.peers<const uint2>(),
                                                   scales_.peers<const float>(), reinterpret_cast<uint4*>(args.out),
                                                   octets, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, codes_, scales_;
};
// [/solution]
