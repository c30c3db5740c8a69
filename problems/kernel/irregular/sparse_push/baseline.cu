// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 32, kMostWorld = 8;

__device__ int owner_of(const int64_t* id, int64_t p, int64_t end, int world) {
  return p < end ? static_cast<int>(id[p] % world) : world;
}

// The place of every pair in an order by owners that is stable, and how many pairs each owner gets. One block: each
// warp takes a run of pairs, counts them, and adds up what earlier warps have counted.
__global__ void __launch_bounds__(kWarp* kWarps)
    plan(const int64_t* id, int32_t* place, int32_t* counts, int64_t pairs, int world) {
  __shared__ int32_t next[kWarps][kMostWorld + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t run = (pairs + kWarps - 1) / kWarps, first = warp * run, end = min(first + run, pairs);
  if (lane <= world) next[warp][lane] = 0;
  __syncwarp();
  for (int64_t p = first; p < end; p += kWarp) {
    const int owner = owner_of(id, p + lane, end, world);
    const unsigned same = __match_any_sync(~0u, owner);
    if (lane == __ffs(static_cast<int>(same)) - 1) next[warp][owner] += __popc(same);
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int w = 0; w < world; ++w) {
      const int32_t before = sum;
      for (int k = 0; k < kWarps; ++k) {
        const int32_t count = next[k][w];
        next[k][w] = sum;
        sum += count;
      }
      counts[w] = sum - before;
    }
  }
  __syncthreads();
  for (int64_t p = first; p < end; p += kWarp) {
    const int owner = owner_of(id, p + lane, end, world);
    const unsigned same = __match_any_sync(~0u, owner), before = same & ((1u << lane) - 1);
    if (owner < world) place[p + lane] = next[warp][owner] + __popc(before);
    __syncwarp();
    if (before == 0) next[warp][owner] += __popc(same);
    __syncwarp();
  }
}

// A warp for each pair.
__global__ void pack(const int64_t* id, const int4* row, const int32_t* place, int64_t* packed_id, int4* packed_row,
                     int64_t pairs, int64_t quads) {
  const int64_t p = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (p >= pairs) return;
  const int64_t to = place[p];
  if (lane == 0) packed_id[to] = id[p];
  for (int64_t q = lane; q < quads; q += kWarp) packed_row[to * quads + q] = row[p * quads + q];
}

// Packs the pairs by owner. NCCL needs counts on the host: all ranks gather all of them, and the host waits for them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto world = static_cast<size_t>(world_), pairs = static_cast<size_t>(args.pairs);
    fabricbench::check_cuda(cudaMalloc(&place_, pairs * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&matrix_, (world + 1) * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&packed_id_, pairs * sizeof(int64_t)));
    fabricbench::check_cuda(cudaMalloc(&packed_row_, pairs * static_cast<size_t>(args.width) * sizeof(float)));
    fabricbench::check_cuda(cudaMallocHost(&counts_, world * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&offsets_, (world + 1) * sizeof(int32_t)));
  }
  ~Solution() {
    cudaFree(place_);
    cudaFree(matrix_);
    cudaFree(packed_id_);
    cudaFree(packed_row_);
    cudaFreeHost(counts_);
    cudaFreeHost(offsets_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_);
    int32_t* own = matrix_ + world * world;
    plan<<<1, kWarp * kWarps, 0, stream>>>(args.id, place_, own, args.pairs, world_);
    pack<<<static_cast<unsigned>((args.pairs + 7) / 8), 8 * kWarp, 0, stream>>>(
        args.id, reinterpret_cast<const int4*>(args.row), place_, packed_id_, reinterpret_cast<int4*>(packed_row_),
        args.pairs, args.width / 4);
    fabricbench::check_nccl(ncclAllGather(own, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(counts_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    int64_t sent = 0, got = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t to = counts_[rank_ * world_ + peer], from = counts_[peer * world_ + rank_];
      offsets_[peer] = static_cast<int32_t>(got);
      if (to > 0) {  // no message of nothing: both sides know
        const auto count = static_cast<size_t>(to);
        fabricbench::check_nccl(ncclSend(packed_id_ + sent, count, ncclInt64, peer, comm_, stream));
        fabricbench::check_nccl(ncclSend(packed_row_ + sent * args.width, count * static_cast<size_t>(args.width),
                                         ncclFloat, peer, comm_, stream));
      }
      if (from > 0) {
        const auto count = static_cast<size_t>(from);
        fabricbench::check_nccl(ncclRecv(args.owned_id + got, count, ncclInt64, peer, comm_, stream));
        fabricbench::check_nccl(ncclRecv(args.owned_row + got * args.width, count * static_cast<size_t>(args.width),
                                         ncclFloat, peer, comm_, stream));
      }
      sent += to;
      got += from;
    }
    offsets_[world_] = static_cast<int32_t>(got);
    fabricbench::check_nccl(ncclGroupEnd());
    // The next call writes `offsets_` after it has waited for the stream, this copy included.
    fabricbench::check_cuda(
        cudaMemcpyAsync(args.offsets, offsets_, (world + 1) * sizeof(int32_t), cudaMemcpyHostToDevice, stream));
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *place_ = nullptr, *matrix_ = nullptr;    // [source][target], and the own row once more
  int32_t *counts_ = nullptr, *offsets_ = nullptr;  // on the host
  int64_t* packed_id_ = nullptr;
  float* packed_row_ = nullptr;
};
// [/solution]
