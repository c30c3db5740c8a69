// [solution]
// Pulls: each rank keeps its partial sums in memory of its own, and reads those of its left neighbour. One block, whole
// chunks. A place is written again only when its chunk has come around, thus after the right neighbour has read it.
struct Flags {
  uint32_t left_stage, right_stage;  // how far the neighbours are: 2 * world - 1 stages a call
};
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void await(uint32_t& flag, uint32_t stage) {
  if (threadIdx.x == 0) {
    while (Flag(flag).load(cuda::memory_order_acquire) < stage) {
    }
  }
  __syncthreads();
}

__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// A chunk in one stage, by single floats or by four.
template <class T>
__device__ void handle(const float* from, float* parts, const float* in, float* out, int64_t n, int chunk, int world,
                       int stage) {
  const int64_t all = n / (sizeof(T) / sizeof(float));
  for (int64_t i = all * chunk / world + threadIdx.x; i < all * (chunk + 1) / world; i += blockDim.x) {
    T value{};
    if (stage < world) value = reinterpret_cast<const T*>(in)[i];
    if (stage > 0) value = value + reinterpret_cast<const T*>(from)[i];
    reinterpret_cast<T*>(parts)[i] = value;
    if (stage >= world - 1) reinterpret_cast<T*>(out)[i] = value;
  }
}

__global__ void ring(Flags* left, Flags* mine, Flags* right, const float* from, float* parts, const float* in,
                     float* out, int64_t n, int rank, int world, uint32_t before) {
  await(mine->right_stage, before);  // the right neighbour reads nothing of the call before any more
  for (int stage = 0; stage < 2 * world - 1; ++stage) {
    const int chunk = (rank - stage + 2 * world) % world;
    if (stage > 0) await(mine->left_stage, before + stage);
    if (n % 4 == 0) {
      handle<float4>(from, parts, in, out, n, chunk, world, stage);
    } else {
      handle<float>(from, parts, in, out, n, chunk, world, stage);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      Flag(right->left_stage).store(before + stage + 1, cuda::memory_order_release);
      Flag(left->right_stage).store(before + stage + 1, cuda::memory_order_release);
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), parts_(rank, sizeof(float) * args.n) {}

  void run(const Args& args, cudaStream_t stream) {
    const int left = (rank_ + world_ - 1) % world_, right = (rank_ + 1) % world_;
    ring<<<1, 512, 0, stream>>>(flags_.at<Flags>(left), flags_.mine<Flags>(), flags_.at<Flags>(right),
                                parts_.at<const float>(left), parts_.mine<float>(), args.in, args.out, args.n, rank_,
                                world_, stages_);
    stages_ += static_cast<uint32_t>(2 * world_ - 1);
  }

 private:
  int rank_, world_;
  uint32_t stages_ = 0;
  fabricbench::PeerMemory flags_, parts_;
};
// [/solution]
