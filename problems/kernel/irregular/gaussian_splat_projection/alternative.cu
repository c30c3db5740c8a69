// [solution]
#include <fabricbench/rank_barrier.h>

// Each rank reads the Gaussians of all ranks and projects them to its own camera: no counts are exchanged. Barriers of
// all ranks are kernels.
using fabricbench::Peers;

constexpr int kThreads = 256, kWarp = 32;

struct Splat {
  float x, y, z, conic[3], rx, ry;
};

// In another order than products of matrices suggest: the axes of the Gaussian are turned to the camera's, projected,
// and their squares added up. The rotation is not divided by the quaternion's length, but by its square.
__device__ bool project(const float* mean, const float* q, const float* deviation, const float* c, float width,
                        float height, Splat& s) {
  float p[3];
  for (int i = 0; i < 3; ++i)
    p[i] = c[9 + i] + (c[3 * i] * mean[0] + (c[3 * i + 1] * mean[1] + c[3 * i + 2] * mean[2]));
  if (p[2] < 0.25f) return false;
  const float w = q[0], x = q[1], y = q[2], z = q[3];
  const float turn[3][3] = {{w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
  const float length = w * w + x * x + y * y + z * z;
  const float nx = p[0] / p[2], ny = p[1] / p[2];
  float a = 0, b = 0, d = 0;
  for (int k = 0; k < 3; ++k) {
    float axis[3];
    for (int i = 0; i < 3; ++i)
      axis[i] = (c[3 * i] * turn[0][k] + c[3 * i + 1] * turn[1][k] + c[3 * i + 2] * turn[2][k]) * deviation[k] / length;
    const float u = c[12] * (axis[0] - nx * axis[2]) / p[2], v = c[13] * (axis[1] - ny * axis[2]) / p[2];
    a += u * u;
    b += u * v;
    d += v * v;
  }
  a += 0.3f;
  d += 0.3f;
  const float determinant = a * d - b * b;
  s = {c[12] * nx + c[14], c[13] * ny + c[15], p[2], {d / determinant, -b / determinant, a / determinant},
       3.33f * sqrtf(a),   3.33f * sqrtf(d)};
  return s.x > -s.rx && s.x < width + s.rx && s.y > -s.ry && s.y < height + s.ry;
}

// Grid: (any, sources). A row is written where it would be if all were seen; `marks` says which are.
__global__ void project_all(Peers<const float> mean, Peers<const float> quaternion, Peers<const float> deviation,
                            const float* camera, Splat* rows, uint32_t* marks, int64_t gaussians, float width,
                            float height) {
  const int source = static_cast<int>(blockIdx.y), lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t n = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  Splat s;
  const bool seen = n < gaussians && project(mean.of[source] + 3 * n, quaternion.of[source] + 4 * n,
                                             deviation.of[source] + 3 * n, camera, width, height, s);
  if (seen) rows[source * gaussians + n] = s;
  const uint32_t all = __ballot_sync(~0u, seen);
  if (lane == 0) marks[(int64_t{source} * gridDim.x * kThreads + n) / kWarp] = all;
}

// A warp for each 32 Gaussians: it counts the marks of all warps before it. Grid: (any, sources).
__global__ void keep(const Splat* rows, const uint32_t* marks, Peers<const float4> appearance, int32_t* offsets,
                     int32_t* id, Splat* splat, float4* seen_appearance, int64_t gaussians) {
  const int source = static_cast<int>(blockIdx.y), lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t n = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t group = (int64_t{source} * gridDim.x * kThreads + n) / kWarp;
  int32_t before = 0;
  for (int64_t g = lane; g < group; g += kWarp) before += __popc(marks[g]);
  for (int step = kWarp / 2; step > 0; step /= 2) before += __shfl_xor_sync(~0u, before, step);
  const uint32_t mark = marks[group];
  if (lane == 0 && n == 0) offsets[source] = before;
  if (lane == 0 && source == static_cast<int>(gridDim.y) - 1 && n + kWarp == int64_t{gridDim.x} * kThreads)
    offsets[source + 1] = before + __popc(mark);
  if ((mark >> lane & 1) == 0) return;
  const int32_t to = before + __popc(mark & ((1u << lane) - 1));
  id[to] = static_cast<int32_t>(source * gaussians + n);
  splat[to] = rows[source * gaussians + n];
  seen_appearance[to] = appearance.of[source][n];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        means_(rank, args.mean),
        quaternions_(rank, args.quaternion),
        deviations_(rank, args.deviation),
        appearances_(rank, args.appearance) {
    const auto world = static_cast<size_t>(world_);
    blocks_ = static_cast<unsigned>((args.gaussians + kThreads - 1) / kThreads);
    fabricbench::check_cuda(cudaMalloc(&rows_, world * static_cast<size_t>(args.gaussians) * sizeof(Splat)));
    fabricbench::check_cuda(cudaMalloc(&marks_, world * blocks_ * (kThreads / kWarp) * sizeof(uint32_t)));
  }
  ~Solution() {
    cudaFree(rows_);
    cudaFree(marks_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    // all have begun
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++round_);
    project_all<<<dim3(blocks_, world), kThreads, 0, stream>>>(
        means_.peers<const float>(), quaternions_.peers<const float>(), deviations_.peers<const float>(), args.camera,
        rows_, marks_, args.gaussians, static_cast<float>(args.width), static_cast<float>(args.height));
    keep<<<dim3(blocks_, world), kThreads, 0, stream>>>(
        rows_, marks_, appearances_.peers<const float4>(), args.offsets, args.id, reinterpret_cast<Splat*>(args.splat),
        reinterpret_cast<float4*>(args.seen_appearance), args.gaussians);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  unsigned blocks_ = 0;
  uint32_t round_ = 0;
  fabricbench::PeerMemory flags_, means_, quaternions_, deviations_, appearances_;
  Splat* rows_ = nullptr;
  uint32_t* marks_ = nullptr;
};
// [/solution]
