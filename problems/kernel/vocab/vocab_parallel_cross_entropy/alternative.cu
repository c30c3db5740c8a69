// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kWarp = 32;

// What a rank knows of a row.
struct alignas(16) Part {
  float most, sum, logit;  // the sum of exponentials is relative to the largest logit
};

// A warp for each row, with two passes.
__global__ void reduce(const __nv_bfloat16* logits, const int32_t* target, Part* parts, int64_t vocab, int rank) {
  const __nv_bfloat16* row = logits + blockIdx.x * vocab;
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(row);
  float most = -1e30F, sum = 0;
  for (int64_t j = threadIdx.x; j < vocab / 2; j += kWarp) {
    const float2 x = __bfloat1622float2(pairs[j]);
    most = fmaxf(most, fmaxf(x.x, x.y));
  }
  for (int step = kWarp / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  for (int64_t j = threadIdx.x; j < vocab / 2; j += kWarp) {
    const float2 x = __bfloat1622float2(pairs[j]);
    sum += expf(x.x - most) + expf(x.y - most);
  }
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x != 0) return;
  const int64_t word = target[blockIdx.x] - rank * vocab;
  parts[blockIdx.x] = {most, sum, word >= 0 && word < vocab ? __bfloat162float(row[word]) : 0};
}

// Reads the parts of all ranks where they are.
__global__ void finish(Peers<Part> parts, const int32_t* target, float* loss, int64_t tokens, int64_t vocab,
                       int world) {
  const int64_t t = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  float most = -1e30F, sum = 0;
  for (int r = 0; r < world; ++r) most = fmaxf(most, parts.of[r][t].most);
  for (int r = 0; r < world; ++r) sum += parts.of[r][t].sum * expf(parts.of[r][t].most - most);
  loss[t] = logf(sum) + (most - parts.of[target[t] / vocab][t].logit);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        parts_(rank, static_cast<size_t>(args.tokens) * sizeof(Part)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const auto words = words_.peers<uint32_t>();
    const auto parts = parts_.peers<Part>();
    reduce<<<rows, kWarp, 0, stream>>>(args.logits, args.target, parts.of[rank_], args.vocab, rank_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all parts are there
    finish<<<(rows + 63) / 64, 64, 0, stream>>>(parts, args.target, args.loss, args.tokens, args.vocab, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, parts_;
};
// [/solution]
