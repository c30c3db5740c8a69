#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128, kWarp = 32, kMostWorld = 8;
constexpr float kNear = 0.25f, kBlur = 0.3f, kExtent = 3.33f;

// Projects this rank's Gaussians to all cameras: rows by camera and Gaussian, those that are seen; a mark for each of
// these, 32 in a word; and how many are seen in each block. Grid: (any, cameras).
__global__ void project(const float* mean, const float4* quaternion, const float* deviation, const float* cameras,
                        float4* rows, uint32_t* marks, int32_t* of_block, int64_t gaussians, float width,
                        float height) {
  __shared__ float c[16];
  const int64_t n = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (threadIdx.x < 16) c[threadIdx.x] = cameras[16 * blockIdx.y + threadIdx.x];
  __syncthreads();
  bool seen = false;
  if (n < gaussians) {
    const float mx = mean[3 * n], my = mean[3 * n + 1], mz = mean[3 * n + 2];
    const float px = c[0] * mx + c[1] * my + c[2] * mz + c[9];
    const float py = c[3] * mx + c[4] * my + c[5] * mz + c[10];
    const float pz = c[6] * mx + c[7] * my + c[8] * mz + c[11];
    if (pz >= kNear) {
      float4 q = quaternion[n];
      const float scale = 1 / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
      q = {q.x * scale, q.y * scale, q.z * scale, q.w * scale};  // w, x, y, z
      const float s0 = deviation[3 * n], s1 = deviation[3 * n + 1], s2 = deviation[3 * n + 2];
      const float m[3][3] = {
          {(1 - 2 * (q.z * q.z + q.w * q.w)) * s0, 2 * (q.y * q.z - q.x * q.w) * s1, 2 * (q.y * q.w + q.x * q.z) * s2},
          {2 * (q.y * q.z + q.x * q.w) * s0, (1 - 2 * (q.y * q.y + q.w * q.w)) * s1, 2 * (q.z * q.w - q.x * q.y) * s2},
          {2 * (q.y * q.w - q.x * q.z) * s0, 2 * (q.z * q.w + q.x * q.y) * s1, (1 - 2 * (q.y * q.y + q.z * q.z)) * s2}};
      // The covariance in space, then two rows of (Jacobian) (rotation of the camera) from both sides.
      float v[3][3];
#pragma unroll
      for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int j = 0; j < 3; ++j) v[i][j] = m[i][0] * m[j][0] + m[i][1] * m[j][1] + m[i][2] * m[j][2];
      }
      const float inverse = 1 / pz, fx = c[12] * inverse, fy = c[13] * inverse;
      const float gx = -fx * px * inverse, gy = -fy * py * inverse;
      float a = kBlur, b = 0, d = kBlur;
      float t[2][3];
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        t[0][j] = fx * c[j] + gx * c[6 + j];
        t[1][j] = fy * c[3 + j] + gy * c[6 + j];
      }
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const float u0 = v[i][0] * t[0][0] + v[i][1] * t[0][1] + v[i][2] * t[0][2];
        const float u1 = v[i][0] * t[1][0] + v[i][1] * t[1][1] + v[i][2] * t[1][2];
        a += t[0][i] * u0;
        b += t[1][i] * u0;
        d += t[1][i] * u1;
      }
      const float x = fx * px + c[14], y = fy * py + c[15];
      const float rx = kExtent * sqrtf(a), ry = kExtent * sqrtf(d);
      seen = x + rx > 0 && x - rx < width && y + ry > 0 && y - ry < height;
      if (seen) {
        const float inverse_determinant = 1 / (a * d - b * b);
        float4* row = rows + (blockIdx.y * gaussians + n) * 2;
        row[0] = {x, y, pz, d * inverse_determinant};
        row[1] = {-b * inverse_determinant, a * inverse_determinant, rx, ry};
      }
    }
  }
  const uint32_t mark = __ballot_sync(~0u, seen);
  if (threadIdx.x % kWarp == 0) marks[(int64_t{blockIdx.y} * gridDim.x * kThreads + n) / kWarp] = mark;
  const int count = __syncthreads_count(seen);
  if (threadIdx.x == 0) of_block[blockIdx.y * gridDim.x + blockIdx.x] = count;
}

// Rows that are seen, camera behind camera. ends[w]: where those of camera w end. Grid: (any, cameras).
__global__ void pack(const float4* rows, const uint32_t* marks, const float4* appearance, const int32_t* of_block,
                     float4* packed_rows, float4* packed_appearance, int32_t* packed_id, int32_t* ends,
                     int64_t gaussians, int32_t first_id) {
  __shared__ int32_t before, of_warp[kThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t n = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (warp == 0) {
    int32_t sum = 0;
    for (int b = lane; b < static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x); b += kWarp) sum += of_block[b];
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) before = sum;
  }
  const uint32_t all = marks[(int64_t{blockIdx.y} * gridDim.x * kThreads + n) / kWarp];
  const bool seen = (all >> lane & 1) != 0;
  if (lane == 0) of_warp[warp] = __popc(all);
  __syncthreads();
  int32_t to = before + __popc(all & ((1u << lane) - 1));
  for (int w = 0; w < warp; ++w) to += of_warp[w];
  if (seen) {
    const float4* row = rows + (blockIdx.y * gaussians + n) * 2;
    packed_rows[2 * to] = row[0];
    packed_rows[2 * to + 1] = row[1];
    packed_appearance[to] = appearance[n];
    packed_id[to] = first_id + static_cast<int32_t>(n);
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == kThreads - 1) ends[blockIdx.y] = to + seen;
}

// Where the rows of each source begin and the last ones end: the host knows it.
struct Offsets {
  int32_t of[kMostWorld + 1];
};
__global__ void tell(Offsets begin, int32_t* offsets) { offsets[threadIdx.x] = begin.of[threadIdx.x]; }

// Gathers the cameras, projects to all of them, packs rows by camera, and sends them. NCCL needs counts on the host:
// all ranks gather all of them, and the host waits for them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto world = static_cast<size_t>(world_), most = world * static_cast<size_t>(args.gaussians);
    blocks_ = static_cast<unsigned>((args.gaussians + kThreads - 1) / kThreads);
    fabricbench::check_cuda(cudaMalloc(&cameras_, world * 16 * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&rows_, most * 2 * sizeof(float4)));
    fabricbench::check_cuda(cudaMalloc(&marks_, world * blocks_ * (kThreads / kWarp) * sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMalloc(&of_block_, world * blocks_ * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&packed_rows_, most * 2 * sizeof(float4)));
    fabricbench::check_cuda(cudaMalloc(&packed_appearance_, most * sizeof(float4)));
    fabricbench::check_cuda(cudaMalloc(&packed_id_, most * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&matrix_, (world + 1) * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&ends_, world * world * sizeof(int32_t)));
  }
  ~Solution() {
    cudaFree(cameras_);
    cudaFree(rows_);
    cudaFree(marks_);
    cudaFree(of_block_);
    cudaFree(packed_rows_);
    cudaFree(packed_appearance_);
    cudaFree(packed_id_);
    cudaFree(matrix_);
    cudaFreeHost(ends_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_);
    const dim3 grid(blocks_, static_cast<unsigned>(world_));
    int32_t* own = matrix_ + world * world;
    fabricbench::check_nccl(ncclAllGather(args.camera, cameras_, 16, ncclFloat, comm_, stream));
    project<<<grid, kThreads, 0, stream>>>(args.mean, reinterpret_cast<const float4*>(args.quaternion), args.deviation,
                                           cameras_, rows_, marks_, of_block_, args.gaussians,
                                           static_cast<float>(args.width), static_cast<float>(args.height));
    pack<<<grid, kThreads, 0, stream>>>(rows_, marks_, reinterpret_cast<const float4*>(args.appearance), of_block_,
                                        packed_rows_, packed_appearance_, packed_id_, own, args.gaussians,
                                        static_cast<int32_t>(rank_ * args.gaussians));
    fabricbench::check_nccl(ncclAllGather(own, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(ends_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    Offsets offsets{};
    int32_t got = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int32_t first = peer > 0 ? ends_[rank_ * world_ + peer - 1] : 0;
      const int32_t out = ends_[rank_ * world_ + peer] - first;
      const int32_t in = ends_[peer * world_ + rank_] - (rank_ > 0 ? ends_[peer * world_ + rank_ - 1] : 0);
      offsets.of[peer] = got;
      if (out > 0) {  // no message of nothing: both sides know
        const auto count = static_cast<size_t>(out);
        fabricbench::check_nccl(ncclSend(packed_rows_ + 2 * first, 8 * count, ncclFloat, peer, comm_, stream));
        fabricbench::check_nccl(ncclSend(packed_appearance_ + first, 4 * count, ncclFloat, peer, comm_, stream));
        fabricbench::check_nccl(ncclSend(packed_id_ + first, count, ncclInt32, peer, comm_, stream));
      }
      if (in > 0) {
        const auto count = static_cast<size_t>(in);
        fabricbench::check_nccl(ncclRecv(args.splat + 8 * got, 8 * count, ncclFloat, peer, comm_, stream));
        fabricbench::check_nccl(ncclRecv(args.seen_appearance + 4 * got, 4 * count, ncclFloat, peer, comm_, stream));
        fabricbench::check_nccl(ncclRecv(args.id + got, count, ncclInt32, peer, comm_, stream));
      }
      got += in;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    offsets.of[world_] = got;
    tell<<<1, static_cast<unsigned>(world_ + 1), 0, stream>>>(offsets, args.offsets);
  }

 private:
  int rank_, world_;
  unsigned blocks_ = 0;
  fabricbench::NcclCommunicator comm_;
  float* cameras_ = nullptr;
  float4 *rows_ = nullptr, *packed_rows_ = nullptr, *packed_appearance_ = nullptr;
  uint32_t* marks_ = nullptr;
  int32_t *of_block_ = nullptr, *packed_id_ = nullptr;
  int32_t *matrix_ = nullptr,
          *ends_ = nullptr;  // [source][camera]: ends of rows, on the GPU (and the own row) and on the host
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the projection and the exchange
//|   }
//| };
// [/solution]
