// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 256;

// One average for each thread: fetches its gradients where they are, and adds its square to the sum in double.
__global__ void average(Args args, Peers<const __nv_bfloat16> grad, float* averages, double* squares, int world) {
  __shared__ double of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  const int64_t j = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (j < world * args.n) {
    float g = 0;
    for (int r = world - 1; r >= 0; --r) g += __bfloat162float(grad.of[r][j]) / static_cast<float>(world);
    averages[j] = g;
    args.grad_out[j] = __float2bfloat16(g);
    atomicAdd(&of_block, static_cast<double>(g) * g);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(squares, of_block);
}

// One parameter for each thread, into this rank's own part of `params`. Another form of the formulas: differences to
// the moments, and powers by multiplication, where they are not 0 in float anyway.
__global__ void update(Args args, const float* averages, const double* squares, int rank) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= args.n) return;
  float power1 = 1, power2 = 1;
  for (int t = 0; t < min(*args.step, 400); ++t) {
    power1 *= 0.9F;
    power2 *= 0.95F;
  }
  const auto norm = static_cast<float>(sqrt(*squares));
  if (i == 0) *args.norm = norm;
  float g = averages[rank * args.n + i];
  const float factor = *args.max_norm / (norm + 1e-6F);
  if (factor < 1) g *= factor;
  const float m = args.m[i] + 0.1F * (g - args.m[i]), v = args.v[i] + 0.05F * (g * g - args.v[i]);
  const float w = args.master[i] - *args.lr * (m / (1 - power1)) / (sqrtf(v / (1 - power2)) + 1e-8F);
  args.m_out[i] = m;
  args.v_out[i] = v;
  args.master_out[i] = w;
  args.params[rank * args.n + i] = __float2bfloat16(w);
}

// Fetches the part of the k-th rank behind this one, k = blockIdx.y + 1.
__global__ void fetch(Peers<int4> params, int64_t packs, int rank, int world) {
  const int64_t peer = (rank + static_cast<int>(blockIdx.y) + 1) % world;
  const int64_t pack = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pack < packs) params.of[rank][peer * packs + pack] = params.of[peer][peer * packs + pack];
}

// Averages of all parameters on every rank, without a reduce-scatter, and so the norm without an exchange.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        grad_(rank, args.grad),
        params_(rank, args.params) {
    fabricbench::check_cuda(cudaMalloc(&averages_, static_cast<size_t>(world_ * args.n) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&squares_, sizeof(double)));
  }
  ~Solution() {
    cudaFree(averages_);
    cudaFree(squares_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    // all gradients are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fabricbench::check_cuda(cudaMemsetAsync(squares_, 0, sizeof(double), stream));
    average<<<blocks(world_ * args.n), kThreads, 0, stream>>>(args, grad_.peers<const __nv_bfloat16>(), averages_,
                                                              squares_, world_);
    update<<<blocks(args.n), kThreads, 0, stream>>>(args, averages_, squares_, rank_);
    // all parts are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const dim3 grid(blocks(args.n / 8), static_cast<unsigned>(world_ - 1));
    fetch<<<grid, kThreads, 0, stream>>>(params_.peers<int4>(), args.n / 8, rank_, world_);
    // all have been fetched
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, grad_, params_;
  float* averages_ = nullptr;
  double* squares_ = nullptr;
};
// [/solution]
