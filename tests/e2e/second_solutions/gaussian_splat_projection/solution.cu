// Every rank reads the Gaussians of all ranks and projects them to its own camera, so rows need not be exchanged: one
// kernel projects and counts what is seen by blocks, a second one adds up the counts and writes rows in their order.
// Barriers of all ranks before it (inputs are there) and behind it (no rank reads them any more).

#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

// Thread p tells rank p that this rank is here, and waits for rank p. Numbers grow, so nothing is reset and a rank that
// is ahead does no harm. System scope: the other side is another GPU. Release: what is before this kernel in its stream
// is before the flag; acquire: what follows in the stream is behind the others' flags.
__global__ void barrier(fabricbench::Peers<uint32_t> flags, int rank, uint32_t number) {
  const int peer = static_cast<int>(threadIdx.x);
  cuda::atomic_ref<uint32_t, cuda::thread_scope_system> theirs(flags.of[peer][rank]);
  cuda::atomic_ref<uint32_t, cuda::thread_scope_system> mine(flags.of[rank][peer]);
  theirs.store(number, cuda::memory_order_release);
  while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - number) < 0) {
  }
}

struct Splat {
  float x, y, depth;  // a depth of 0: not seen
  float conic[3];
  float rx, ry;
};

__device__ Splat project(const float* camera, const float* mean, const float* quaternion, const float* deviation,
                         float width, float height) {
  Splat splat = {};
  float p[3];
  for (int i = 0; i < 3; ++i) {
    p[i] = camera[3 * i] * mean[0] + camera[3 * i + 1] * mean[1] + camera[3 * i + 2] * mean[2] + camera[9 + i];
  }
  if (!(p[2] >= 0.25f)) return splat;
  const float fx = camera[12];
  const float fy = camera[13];

  const float w = quaternion[0];
  const float x = quaternion[1];
  const float y = quaternion[2];
  const float z = quaternion[3];
  const float two = 2.0f / (w * w + x * x + y * y + z * z);  // products of two parts are divided by the length's square
  const float q[3][3] = {{1.0f - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)},
                         {two * (x * y + w * z), 1.0f - two * (x * x + z * z), two * (y * z - w * x)},
                         {two * (x * z - w * y), two * (y * z + w * x), 1.0f - two * (x * x + y * y)}};
  // J R V R^T J^T = M M^T with M = J R Q diag(s), two rows of three.
  const float j[2][3] = {{fx / p[2], 0.0f, -fx * p[0] / (p[2] * p[2])}, {0.0f, fy / p[2], -fy * p[1] / (p[2] * p[2])}};
  float m[2][3];
  for (int row = 0; row < 2; ++row) {
    float jr[3];
    for (int i = 0; i < 3; ++i) {
      jr[i] = j[row][0] * camera[i] + j[row][1] * camera[3 + i] + j[row][2] * camera[6 + i];
    }
    for (int i = 0; i < 3; ++i) m[row][i] = (jr[0] * q[0][i] + jr[1] * q[1][i] + jr[2] * q[2][i]) * deviation[i];
  }
  const float a = m[0][0] * m[0][0] + m[0][1] * m[0][1] + m[0][2] * m[0][2] + 0.3f;
  const float b = m[0][0] * m[1][0] + m[0][1] * m[1][1] + m[0][2] * m[1][2];
  const float d = m[1][0] * m[1][0] + m[1][1] * m[1][1] + m[1][2] * m[1][2] + 0.3f;
  splat.x = fx * p[0] / p[2] + camera[14];
  splat.y = fy * p[1] / p[2] + camera[15];
  splat.rx = 3.33f * sqrtf(a);
  splat.ry = 3.33f * sqrtf(d);
  if (!(splat.x + splat.rx > 0.0f && splat.x - splat.rx < width && splat.y + splat.ry > 0.0f &&
        splat.y - splat.ry < height)) {
    return splat;
  }
  const float determinant = a * d - b * b;
  splat.conic[0] = d / determinant;
  splat.conic[1] = -b / determinant;
  splat.conic[2] = a / determinant;
  splat.depth = p[2];
  return splat;
}

// Block (i, s): kThreads Gaussians of rank s.
__global__ void __launch_bounds__(kThreads)
    project_all(Args args, fabricbench::Peers<const float> mean, fabricbench::Peers<const float> quaternion,
                fabricbench::Peers<const float> deviation, Splat* splats, int32_t* counts) {
  const int source = static_cast<int>(blockIdx.y);
  const int64_t n = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  bool seen = false;
  if (n < args.gaussians) {
    const Splat splat =
        project(args.camera, mean.of[source] + 3 * n, quaternion.of[source] + 4 * n, deviation.of[source] + 3 * n,
                static_cast<float>(args.width), static_cast<float>(args.height));
    splats[source * args.gaussians + n] = splat;
    seen = splat.depth > 0.0f;
  }
  const int count = __syncthreads_count(seen);
  if (threadIdx.x == 0) counts[source * gridDim.x + blockIdx.x] = count;
}

// The same blocks. Rows are ordered by source and then by position: as blocks and threads are.
__global__ void __launch_bounds__(kThreads)
    write_rows(Args args, fabricbench::Peers<const float4> appearance, const Splat* splats, const int32_t* counts) {
  __shared__ int32_t before_of_warp[kWarps];
  __shared__ int32_t seen_of_warp[kWarps];
  const int source = static_cast<int>(blockIdx.y);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t n = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;

  int32_t before = 0;  // rows of the blocks before this one
  const int block = static_cast<int>(source * gridDim.x + blockIdx.x);
  for (int i = static_cast<int>(threadIdx.x); i < block; i += kThreads) before += counts[i];
  for (int distance = 16; distance > 0; distance /= 2) before += __shfl_xor_sync(kAll, before, distance);
  Splat splat = {};
  if (n < args.gaussians) splat = splats[source * args.gaussians + n];
  const unsigned seen = __ballot_sync(kAll, splat.depth > 0.0f);
  if (lane == 0) {
    before_of_warp[warp] = before;
    seen_of_warp[warp] = __popc(seen);
  }
  __syncthreads();  // counts of all warps are there
  int32_t first = 0;
  for (int i = 0; i < kWarps; ++i) first += before_of_warp[i];
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) args.offsets[source] = first;
    if (block == static_cast<int>(gridDim.x * gridDim.y) - 1) args.offsets[source + 1] = first + counts[block];
  }
  if (!(splat.depth > 0.0f)) return;
  int64_t row = first + __popc(seen & ((1u << lane) - 1));
  for (int i = 0; i < warp; ++i) row += seen_of_warp[i];
  args.id[row] = static_cast<int32_t>(source * args.gaussians + n);
  float4* out = reinterpret_cast<float4*>(args.splat) + 2 * row;
  out[0] = make_float4(splat.x, splat.y, splat.depth, splat.conic[0]);
  out[1] = make_float4(splat.conic[1], splat.conic[2], splat.rx, splat.ry);
  reinterpret_cast<float4*>(args.seen_appearance)[row] = appearance.of[source][n];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank),
        blocks_((args.gaussians + kThreads - 1) / kThreads),
        flags_(rank, sizeof(uint32_t) * static_cast<size_t>(rank.world())),
        mean_(rank, args.mean),
        quaternion_(rank, args.quaternion),
        deviation_(rank, args.deviation),
        appearance_(rank, args.appearance) {
    check(cudaMalloc(&splats_, sizeof(Splat) * static_cast<size_t>(rank_.world() * args.gaussians)));
    check(cudaMalloc(&counts_, sizeof(int32_t) * static_cast<size_t>(rank_.world() * blocks_)));
  }

  ~Solution() {
    cudaFree(splats_);
    cudaFree(counts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(blocks_), static_cast<unsigned>(rank_.world()));
    // All ranks have begun this call: their Gaussians are there.
    barrier<<<1, rank_.world(), 0, stream>>>(flags_.peers<uint32_t>(), rank_.rank(), ++number_);
    project_all<<<grid, kThreads, 0, stream>>>(args, mean_.peers<const float>(), quaternion_.peers<const float>(),
                                               deviation_.peers<const float>(), splats_, counts_);
    write_rows<<<grid, kThreads, 0, stream>>>(args, appearance_.peers<const float4>(), splats_, counts_);
    // No rank reads this one's Gaussians any more.
    barrier<<<1, rank_.world(), 0, stream>>>(flags_.peers<uint32_t>(), rank_.rank(), ++number_);
  }

 private:
  static void check(cudaError_t status) { fabricbench::check_cuda(status, "gaussian_splat_projection"); }

  const fabricbench::Rank& rank_;
  int64_t blocks_;  // of a rank's Gaussians
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory mean_;
  fabricbench::PeerMemory quaternion_;
  fabricbench::PeerMemory deviation_;
  fabricbench::PeerMemory appearance_;
  Splat* splats_ = nullptr;
  int32_t* counts_ = nullptr;
  uint32_t number_ = 0;
};
// [/solution]
