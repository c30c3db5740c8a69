// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128, kMostWorld = 8;

// counts: rows for each rank, then rows from each rank.
__global__ void count(Args args, int32_t* counts, int world) {
  __shared__ int32_t own[2 * kMostWorld];
  if (threadIdx.x < 2 * kMostWorld) own[threadIdx.x] = 0;
  __syncthreads();
  const int choices = static_cast<int>(args.tokens * args.k), rows = args.expert_offsets[args.local];
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += static_cast<int>(blockDim.x))
    atomicAdd(&own[args.recv_from[i] / choices], 1);
  for (int i = static_cast<int>(threadIdx.x); i < choices; i += static_cast<int>(blockDim.x)) {
    if (args.ids[i] >= 0) atomicAdd(&own[world + args.ids[i] / static_cast<int>(args.local)], 1);
  }
  __syncthreads();
  if (threadIdx.x < 2 * world) counts[threadIdx.x] = own[threadIdx.x];
}

// Sorts rows by source; those of one source stay in the order of experts and tokens. A block for each row.
__global__ void sort(Args args, uint4* sorted) {
  const int choices = static_cast<int>(args.tokens * args.k), rows = args.expert_offsets[args.local];
  const int64_t vectors = args.hidden / 8;
  for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
    const int source = args.recv_from[row] / choices;
    int place = 0;
    for (int first = 0; first < rows; first += kThreads) {
      const int i = first + static_cast<int>(threadIdx.x), other = i < rows ? args.recv_from[i] / choices : kMostWorld;
      place += __syncthreads_count(other < source || (other == source && i < row));
    }
    for (int64_t v = threadIdx.x; v < vectors; v += kThreads)
      sorted[place * vectors + v] = reinterpret_cast<const uint4*>(args.y)[row * vectors + v];
  }
}

// Rows have arrived in the order of experts, then tokens. A block for each token looks up its rows and adds them up.
__global__ void add_up(Args args, const __nv_bfloat162* received) {
  const int choices = static_cast<int>(args.tokens * args.k), k = static_cast<int>(args.k),
            token = static_cast<int>(blockIdx.x);
  __shared__ int place[8];
  for (int j = 0; j < k; ++j) {
    const int choice = token * k + j, expert = args.ids[choice];
    int before = 0;
    for (int first = 0; first < choices; first += kThreads) {
      const int i = first + static_cast<int>(threadIdx.x), id = i < choices ? args.ids[i] : -1;
      before += __syncthreads_count(id >= 0 && (id < expert || (id == expert && i < choice)));
    }
    if (threadIdx.x == 0) place[j] = expert >= 0 ? before : -1;
  }
  __syncthreads();
  const int64_t pairs = args.hidden / 2;
  for (int64_t p = threadIdx.x; p < pairs; p += kThreads) {
    float2 sum = {};
    for (int j = 0; j < k; ++j) {
      if (place[j] < 0) continue;
      const float weight = args.weights[token * k + j];
      const float2 pair = __bfloat1622float2(received[place[j] * pairs + p]);
      sum.x += weight * pair.x;
      sum.y += weight * pair.y;
    }
    reinterpret_cast<__nv_bfloat162*>(args.out)[token * pairs + p] = __floats2bfloat162_rn(sum.x, sum.y);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto row = static_cast<size_t>(args.hidden) * sizeof(__nv_bfloat16);
    const auto choices = static_cast<size_t>(args.tokens * args.k);
    fabricbench::check_cuda(cudaMalloc(&counts_, 2 * kMostWorld * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&counts_on_host_, 2 * kMostWorld * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&sorted_, 2 * choices * row));
    fabricbench::check_cuda(cudaMalloc(&received_, choices * row));
  }
  ~Solution() {
    cudaFree(counts_);
    cudaFreeHost(counts_on_host_);
    cudaFree(sorted_);
    cudaFree(received_);
  }

  void run(const Args& args, cudaStream_t stream) {
    count<<<1, 512, 0, stream>>>(args, counts_, world_);
    fabricbench::check_cuda(cudaMemcpyAsync(counts_on_host_, counts_, static_cast<size_t>(2 * world_) * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(2 * args.tokens * args.k, 1024));
    sort<<<blocks, kThreads, 0, stream>>>(args, sorted_);
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    const auto hidden = static_cast<size_t>(args.hidden);
    size_t sent = 0, received = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const auto send = static_cast<size_t>(counts_on_host_[peer]);
      const auto receive = static_cast<size_t>(counts_on_host_[world_ + peer]);
      if (send != 0)
        fabricbench::check_nccl(
            ncclSend(sorted_ + sent * hidden / 8, send * hidden, ncclBfloat16, peer, comm_, stream));
      if (receive != 0)
        fabricbench::check_nccl(
            ncclRecv(received_ + received * hidden / 8, receive * hidden, ncclBfloat16, peer, comm_, stream));
      sent += send;
      received += receive;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    add_up<<<static_cast<unsigned>(args.tokens), kThreads, 0, stream>>>(
        args, reinterpret_cast<const __nv_bfloat162*>(received_));
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *counts_ = nullptr, *counts_on_host_ = nullptr;
  uint4 *sorted_ = nullptr, *received_ = nullptr;
};
// [/solution]
