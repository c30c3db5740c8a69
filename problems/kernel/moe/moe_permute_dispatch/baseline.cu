// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <vector>

constexpr int kThreads = 128;
constexpr int kMostExperts = 512;

__device__ void copy(uint4* to, const uint4* from, int64_t vectors) {
  for (int64_t i = threadIdx.x; i < vectors; i += kThreads) to[i] = from[i];
}

__global__ void count(const int32_t* ids, int32_t* counts, int choices, int experts) {
  __shared__ int32_t own[kMostExperts];
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += static_cast<int>(blockDim.x)) own[e] = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < choices; i += static_cast<int>(blockDim.x)) {
    if (ids[i] >= 0) atomicAdd(&own[ids[i]], 1);
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += static_cast<int>(blockDim.x)) counts[e] = own[e];
}

// A block for each choice: its place is behind those of smaller experts, and of earlier choices of the same one.
__global__ void sort(const uint4* x, const int32_t* ids, uint4* rows, int32_t* from, int k, int64_t vectors, int rank) {
  const int choices = static_cast<int>(gridDim.x), choice = static_cast<int>(blockIdx.x), expert = ids[choice];
  if (expert < 0) return;
  int place = 0;
  for (int first = 0; first < choices; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x), id = i < choices ? ids[i] : -1;
    place += __syncthreads_count(id >= 0 && (id < expert || (id == expert && i < choice)));
  }
  copy(rows + place * vectors, x + choice / k * vectors, vectors);
  if (threadIdx.x == 0) from[place] = rank * choices + choice;
}

// A block for each source and expert: its rows come in the order (source, expert) and go to (expert, source).
// all: the counts, [world][world * local].
__global__ void sort_again(const int32_t* all, const uint4* rows, const int32_t* from, Args args, int rank, int world) {
  const int local = static_cast<int>(args.local), source = static_cast<int>(blockIdx.x),
            expert = static_cast<int>(blockIdx.y);
  __shared__ int32_t begin, end;
  if (threadIdx.x == 0) begin = end = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < world * local; i += kThreads) {
    const int s = i / local, l = i % local;
    const int32_t rows_here = all[(s * world + rank) * local + l];
    if (s < source || (s == source && l < expert)) atomicAdd(&begin, rows_here);
    if (l < expert || (l == expert && s < source)) atomicAdd(&end, rows_here);
  }
  __syncthreads();
  const int32_t rows_here = all[(source * world + rank) * local + expert];
  const int64_t vectors = args.hidden / 8;
  for (int32_t i = 0; i < rows_here; ++i) {
    copy(reinterpret_cast<uint4*>(args.recv_x) + (end + i) * vectors, rows + (begin + i) * vectors, vectors);
    if (threadIdx.x == 0) args.recv_from[end + i] = from[begin + i];
  }
  if (threadIdx.x == 0 && source == 0) args.expert_offsets[expert] = end;
  if (threadIdx.x == 0 && source == world - 1 && expert == local - 1) args.expert_offsets[local] = end + rows_here;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto row = static_cast<size_t>(args.hidden) * sizeof(uint16_t),
               choices = static_cast<size_t>(args.tokens * args.k);
    const auto experts = static_cast<size_t>(world_ * args.local);
    fabricbench::check_cuda(cudaMalloc(&counts_, experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(world_) * experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&all_on_host_, static_cast<size_t>(world_) * experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&sorted_, choices * row));
    fabricbench::check_cuda(cudaMalloc(&sorted_from_, choices * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&received_, 2 * choices * row));
    fabricbench::check_cuda(cudaMalloc(&received_from_, 2 * choices * sizeof(int32_t)));
  }
  ~Solution() {
    cudaFree(counts_);
    cudaFree(all_);
    cudaFreeHost(all_on_host_);
    cudaFree(sorted_);
    cudaFree(sorted_from_);
    cudaFree(received_);
    cudaFree(received_from_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto choices = static_cast<int>(args.tokens * args.k), experts = static_cast<int>(world_ * args.local);
    const int64_t vectors = args.hidden / 8;
    count<<<1, 1024, 0, stream>>>(args.ids, counts_, choices, experts);
    fabricbench::check_nccl(ncclAllGather(counts_, all_, static_cast<size_t>(experts), ncclInt32, comm_, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(all_on_host_, all_, static_cast<size_t>(world_ * experts) * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    sort<<<static_cast<unsigned>(choices), kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(args.x), args.ids,
                                                                  sorted_, sorted_from_, static_cast<int>(args.k),
                                                                  vectors, rank_);
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    const auto rows = [&](int from, int to) {
      size_t sum = 0;
      for (int64_t l = 0; l < args.local; ++l)
        sum += static_cast<size_t>(all_on_host_[from * experts + to * args.local + l]);
      return sum;
    };
    const auto hidden = static_cast<size_t>(args.hidden);
    size_t sent = 0, received = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const size_t send = rows(rank_, peer), receive = rows(peer, rank_);
      if (send != 0) {
        fabricbench::check_nccl(
            ncclSend(sorted_ + sent * hidden / 8, send * hidden, ncclBfloat16, peer, comm_, stream));
        fabricbench::check_nccl(ncclSend(sorted_from_ + sent, send, ncclInt32, peer, comm_, stream));
      }
      if (receive != 0) {
        fabricbench::check_nccl(
            ncclRecv(received_ + received * hidden / 8, receive * hidden, ncclBfloat16, peer, comm_, stream));
        fabricbench::check_nccl(ncclRecv(received_from_ + received, receive, ncclInt32, peer, comm_, stream));
      }
      sent += send;
      received += receive;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    sort_again<<<dim3(static_cast<unsigned>(world_), static_cast<unsigned>(args.local)), kThreads, 0, stream>>>(
        all_, received_, received_from_, args, rank_, world_);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *counts_ = nullptr, *all_ = nullptr, *all_on_host_ = nullptr;  // [world][experts], where all
  uint4 *sorted_ = nullptr, *received_ = nullptr;
  int32_t *sorted_from_ = nullptr, *received_from_ = nullptr;
};
// [/solution]
