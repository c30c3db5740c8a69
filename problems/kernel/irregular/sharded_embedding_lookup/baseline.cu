// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 32, kMostWorld = 8, kThreads = 256;

__device__ int owner_of(const int64_t* id, int64_t p, int64_t end, uint32_t rows, int world) {
  return p < end ? static_cast<int>(static_cast<uint32_t>(id[p]) / rows) : world;
}

// The place of every id in an order by owners, the ids in that order (as rows of their owner), and how many there are
// of each owner. One block: each warp takes a run of ids, counts them, and adds up what earlier warps have counted.
__global__ void __launch_bounds__(kWarp* kWarps) group(const int64_t* id, int32_t* place, int32_t* grouped,
                                                       int32_t* counts, int64_t lookups, uint32_t rows, int world) {
  __shared__ int32_t next[kWarps][kMostWorld + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t run = (lookups + kWarps - 1) / kWarps, first = warp * run, end = min(first + run, lookups);
  if (lane <= world) next[warp][lane] = 0;
  __syncwarp();
  for (int64_t p = first; p < end; p += kWarp) {
    const int owner = owner_of(id, p + lane, end, rows, world);
    const unsigned same = __match_any_sync(~0u, owner);
    if ((same & ((1u << lane) - 1)) == 0) next[warp][owner] += __popc(same);
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
    const int owner = owner_of(id, p + lane, end, rows, world);
    const unsigned same = __match_any_sync(~0u, owner), before = same & ((1u << lane) - 1);
    if (owner < world) {
      const int32_t to = next[warp][owner] + __popc(before);
      place[p + lane] = to;
      grouped[to] = static_cast<int32_t>(static_cast<uint32_t>(id[p + lane]) % rows);
    }
    __syncwarp();
    if (before == 0) next[warp][owner] += __popc(same);
    __syncwarp();
  }
}

// to[i] = from[index[i]], rows of `quads` times 16 bytes.
__global__ void gather(const int32_t* index, const int4* from, int4* to, int64_t count, uint32_t quads) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count * quads) to[i] = from[int64_t{index[i / quads]} * quads + i % quads];
}

// Asks the owners for rows, as frameworks do. NCCL needs counts on the host: all ranks gather all of them, and the host
// waits for them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto world = static_cast<size_t>(world_), lookups = static_cast<size_t>(args.lookups);
    const size_t row = static_cast<size_t>(args.width) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&place_, lookups * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&grouped_, lookups * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&asked_, world * lookups * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&matrix_, (world + 1) * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&answer_, world * lookups * row));
    fabricbench::check_cuda(cudaMalloc(&got_, lookups * row));
    fabricbench::check_cuda(cudaMallocHost(&counts_, world * world * sizeof(int32_t)));
  }
  ~Solution() {
    for (void* memory : {static_cast<void*>(place_), static_cast<void*>(grouped_), static_cast<void*>(asked_),
                         static_cast<void*>(matrix_), static_cast<void*>(answer_), static_cast<void*>(got_)})
      cudaFree(memory);
    cudaFreeHost(counts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_);
    int32_t* own = matrix_ + world * world;
    group<<<1, kWarp * kWarps, 0, stream>>>(args.id, place_, grouped_, own, args.lookups,
                                            static_cast<uint32_t>(args.rows), world_);
    fabricbench::check_nccl(ncclAllGather(own, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(counts_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    const int64_t asked = exchange(grouped_, asked_, 1, ncclInt32, false, stream);
    rows_of(asked_, args.table, answer_, asked, args.width, stream);
    exchange(answer_, got_, args.width, ncclBfloat16, true, stream);
    rows_of(place_, got_, args.out, args.lookups, args.width, stream);
  }

 private:
  // Sends what is in the order of ranks to them; `back`: as many as they have sent before. Returns how many have come.
  template <class T>
  int64_t exchange(const T* from, T* to, int64_t width, ncclDataType_t type, bool back, cudaStream_t stream) {
    int64_t sent = 0, got = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t there = counts_[rank_ * world_ + peer], here = counts_[peer * world_ + rank_];
      const auto out = static_cast<size_t>((back ? here : there) * width);
      const auto in = static_cast<size_t>((back ? there : here) * width);
      // No message of nothing: both sides know.
      if (out > 0) fabricbench::check_nccl(ncclSend(from + sent, out, type, peer, comm_, stream));
      if (in > 0) fabricbench::check_nccl(ncclRecv(to + got, in, type, peer, comm_, stream));
      sent += static_cast<int64_t>(out);
      got += static_cast<int64_t>(in);
    }
    fabricbench::check_nccl(ncclGroupEnd());
    return got / width;
  }
  static void rows_of(const int32_t* index, const __nv_bfloat16* from, __nv_bfloat16* to, int64_t count, int64_t width,
                      cudaStream_t stream) {
    if (count == 0) return;
    const auto blocks = static_cast<unsigned>((count * (width / 8) + kThreads - 1) / kThreads);
    gather<<<blocks, kThreads, 0, stream>>>(index, reinterpret_cast<const int4*>(from), reinterpret_cast<int4*>(to),
                                            count, static_cast<uint32_t>(width / 8));
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *place_ = nullptr, *grouped_ = nullptr, *asked_ = nullptr;
  int32_t *matrix_ = nullptr, *counts_ = nullptr;  // [source][owner], on the GPU and on the host
  __nv_bfloat16 *answer_ = nullptr, *got_ = nullptr;
};
// [/solution]
