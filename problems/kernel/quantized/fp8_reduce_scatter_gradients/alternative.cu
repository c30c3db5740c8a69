// [solution]
#include <fabricbench/rank_barrier.h>

// Each rank quantises in its own memory; at a barrier ranks exchange the largest moduli; each rank reads its part of
// all ranks' codes, from the last rank to the first, and multiplies each code by the scale before it adds; after
// another barrier codes may be overwritten.
using fabricbench::Peers;

constexpr int kThreads = 128, kMostBlocks = 32, kMostTensors = 32;

// What a rank has for each other rank, written by that one only.
struct Word {
  uint32_t round;
  uint32_t most[kMostTensors];  // bits of floats that are not negative: their order is that of the floats
};

__device__ void exchange(const Peers<Word>& words, int rank, int world, uint32_t round) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer >= world) return;
  fabricbench::post(words.of[peer][rank].round, round);
  fabricbench::wait(words.of[rank][peer].round, round);
}

__global__ void barrier(Peers<Word> words, int rank, int world, uint32_t round) { exchange(words, rank, world, round); }

// One warp: lane w deals with weight w. `mine` is 0 again for the next call.
__global__ void tell(Peers<Word> words, uint32_t* mine, int64_t tensors, int rank, int world, uint32_t round) {
  if (threadIdx.x < tensors) {
    for (int r = 0; r < world; ++r) words.of[r][rank].most[threadIdx.x] = mine[threadIdx.x];
    mine[threadIdx.x] = 0;
  }
  __syncthreads();
  exchange(words, rank, world, round);
}

__device__ float scale_of(const float* history, int64_t steps) {
  __shared__ uint32_t peak;
  if (threadIdx.x == 0) peak = 0;
  __syncthreads();
  uint32_t own = 0;
  for (int64_t h = threadIdx.x; h < steps; h += kThreads) own = max(own, __float_as_uint(history[h]));
  atomicMax(&peak, own);
  __syncthreads();
  const float scale = __fdiv_rn(__uint_as_float(peak), 448.0F);
  return scale == 0 ? 1 : scale;
}

// Codes lie as gradients do. A quad is four numbers.
__global__ void quantise(const uint2* grad, const float* history, uint32_t* codes, uint32_t* mine, int64_t quads,
                         int64_t steps) {
  __shared__ uint32_t most;
  const int64_t w = blockIdx.y;
  if (threadIdx.x == 0) most = 0;
  const float scale = scale_of(history + w * steps, steps);
  uint32_t own = 0;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += int64_t{gridDim.x} * kThreads) {
    const uint2 four = grad[w * quads + i];
    uint32_t word = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t pair = k < 2 ? four.x : four.y;
      const float v = __uint_as_float(k % 2 == 0 ? pair << 16 : pair & 0xffff0000U);
      own = max(own, __float_as_uint(fabsf(v)));
      word |= uint32_t{__nv_cvt_float_to_fp8(__fdiv_rn(v, scale), __NV_SATFINITE, __NV_E4M3)} << (8 * k);
    }
    codes[w * quads + i] = word;
  }
  atomicMax(&most, own);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(mine + w, most);
}

// Exponent and mantissa, moved to their places in a float, are the number times 2^(7 - 127), also if it is subnormal.
__device__ float number(uint32_t code) {
  const float modulus = __uint_as_float((code & 0x7f) << 20) * 0x1p120F;
  return (code & 0x80) != 0 ? -modulus : modulus;
}

__global__ void add_up(Peers<const uint32_t> codes, const float* history, const Word* words, float4* mean,
                       float* new_history, int64_t quads, int64_t steps, int rank, int world) {
  const int64_t w = blockIdx.y;
  const float scale = scale_of(history + w * steps, steps), count = static_cast<float>(world);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += int64_t{gridDim.x} * kThreads) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int r = world - 1; r >= 0; --r) {
      const uint32_t four = codes.of[r][(w * world + rank) * quads + i];
      sum.x += number(four & 0xff) * scale;
      sum.y += number(four >> 8 & 0xff) * scale;
      sum.z += number(four >> 16 & 0xff) * scale;
      sum.w += number(four >> 24) * scale;
    }
    mean[w * quads + i] = make_float4(sum.x / count, sum.y / count, sum.z / count, sum.w / count);
  }
  if (blockIdx.x != 0) return;
  for (int64_t h = threadIdx.x; h + 1 < steps; h += kThreads) new_history[w * steps + h] = history[w * steps + h + 1];
  if (threadIdx.x != 0) return;
  uint32_t most = 0;
  for (int r = 0; r < world; ++r) most = max(most, words[r].most[w]);
  new_history[(w + 1) * steps - 1] = __uint_as_float(most);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(Word)),
        codes_(rank, static_cast<size_t>(args.tensors * world_ * args.count)) {
    fabricbench::check_cuda(cudaMalloc(&mine_, kMostTensors * sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(mine_, 0, kMostTensors * sizeof(uint32_t)));
    fabricbench::check_cuda(cudaDeviceSynchronize());
  }
  ~Solution() { cudaFree(mine_); }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.count / 4;
    const auto words = words_.peers<Word>();
    const auto tensors = static_cast<unsigned>(args.tensors);
    const auto blocks = [](int64_t threads) {
      return static_cast<unsigned>(std::min<int64_t>(kMostBlocks, (threads + kThreads - 1) / kThreads));
    };
    quantise<<<dim3(blocks(world_ * quads), tensors), kThreads, 0, stream>>>(reinterpret_cast<const uint2*>(args.grad),
                                                                             args.history, codes_.mine<uint32_t>(),
                                                                             mine_, world_ * quads, args.steps);
    tell<<<1, 32, 0, stream>>>(words, mine_, args.tensors, rank_, world_, ++round_);  // all codes and moduli are there
    add_up<<<dim3(blocks(quads), tensors), kThreads, 0, stream>>>(
        codes_.peers<const uint32_t>(), args.history, words_.mine<Word>(), reinterpret_cast<float4*>(args.mean),
        args.new_history, quads, args.steps, rank_, world_);
    barrier<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have read mine, and I have read all
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  uint32_t* mine_ = nullptr;
  fabricbench::PeerMemory words_, codes_;
};
// [/solution]
