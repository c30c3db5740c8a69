// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kWarp = 32, kOutputs = 8;

// Reads the tokens of its channel where they are, gates them in float, adds up in order of the taps, and stores sums in
// float on the ranks of the tokens. Memory: the gated tokens behind `taps` zeros, then the filter. Grid: (channels,
// tiles of kWarp * kOutputs tokens), a warp each.
__global__ void convolve(Peers<const __nv_bfloat16> x2, Peers<const __nv_bfloat16> v, const float* h, const float* bias,
                         Peers<float> sums, int chunk, int taps, int rank, int world) {
  extern __shared__ float memory[];
  const auto lane = static_cast<int>(threadIdx.x), channel = static_cast<int>(blockIdx.x);
  const int row = world * static_cast<int>(gridDim.x), tokens = 2 * world * chunk;
  const auto column = rank * static_cast<int>(gridDim.x) + channel;
  const int first = static_cast<int>(blockIdx.y) * kWarp * kOutputs, end = min(tokens, first + kWarp * kOutputs);
  const int used = min(taps, end);
  float *z = memory + used, *filter = z + (first + kWarp * kOutputs);
  const auto place = [&](int t, int& owner) {
    const int number = t / chunk;
    owner = number < world ? number : 2 * world - 1 - number;
    return (int64_t{number < world ? 0 : chunk} + t % chunk) * row + column;
  };
  for (int i = lane; i < used; i += kWarp) memory[i] = 0;
  for (int t = lane; t < first + kWarp * kOutputs; t += kWarp) {
    int owner = rank;
    const int64_t at = place(min(t, tokens - 1), owner);
    z[t] = __bfloat162float(x2.of[owner][at]) * __bfloat162float(v.of[owner][at]);
  }
  for (int k = lane; k < used; k += kWarp) filter[k] = h[channel * int64_t{taps} + k];
  __syncwarp();

  const int own = first + lane * kOutputs;
  float window[kOutputs], out[kOutputs];  // the tokens of tap k, and the sums
  for (int q = 0; q < kOutputs; ++q) {
    window[q] = z[own + q];
    out[q] = bias[channel] * window[q];
  }
  for (int k = 0; k < used; ++k) {
    const float tap = filter[k];
#pragma unroll
    for (int q = 0; q < kOutputs; ++q) out[q] += tap * window[q];
#pragma unroll
    for (int q = kOutputs - 1; q > 0; --q) window[q] = window[q - 1];
    // Nothing is older than the zeros: own - k - 1 is at least -used.
    window[0] = z[own - k - 1];
  }
  for (int q = 0; q < kOutputs && own + q < tokens; ++q) {
    int owner = rank;
    const int64_t at = place(own + q, owner);
    sums.of[owner][at] = out[q];
  }
}

__global__ void gate(const __nv_bfloat16* x1, const float* sums, __nv_bfloat16* y, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = __float2bfloat16(__bfloat162float(x1[i]) * sums[i]);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        count_(2 * args.chunk * world_ * args.channels),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, static_cast<size_t>(count_) * sizeof(float)),
        gates_(rank, args.x2),
        values_(rank, args.v) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t tokens = 2 * args.chunk * world_, tile = kWarp * kOutputs, tiles = (tokens + tile - 1) / tile;
    const auto bytes = static_cast<size_t>(tiles * tile + 2 * std::min(args.taps, tokens)) * sizeof(float);
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    convolve<<<dim3(static_cast<unsigned>(args.channels), static_cast<unsigned>(tiles)), kWarp, bytes, stream>>>(
        gates_.peers<const __nv_bfloat16>(), values_.peers<const __nv_bfloat16>(), args.h, args.bias,
        sums_.peers<float>(), static_cast<int>(args.chunk), static_cast<int>(args.taps), rank_, world_);
    // All inputs have been read, and all sums are there. They are overwritten behind the first barrier of the next
    // call.
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    gate<<<static_cast<unsigned>((count_ + 255) / 256), 256, 0, stream>>>(args.x1, sums_.mine<float>(), args.y, count_);
  }

 private:
  int rank_, world_;
  int64_t count_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_, gates_, values_;
};
// [/solution]
