// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr int kMostExperts = 512, kMostWorld = 8;

// Counts in shared memory, then adds up the blocks' counts with atomics.
__global__ void count(const int32_t* ids, int32_t* counts, int64_t choices, int experts) {
  __shared__ int32_t own[kMostExperts];
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) own[e] = 0;
  __syncthreads();
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < choices; i += int64_t{gridDim.x} * kThreads) {
    if (ids[i] >= 0) atomicAdd(&own[ids[i]], 1);
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    if (own[e] != 0) atomicAdd(&counts[e], own[e]);
  }
}

// One block, one thread for each expert. all: [world][experts].
__global__ void __launch_bounds__(kMostExperts)
    lay_out(const int32_t* all, int32_t* send_offsets, int32_t* recv_counts, int32_t* recv_offsets,
            int32_t* put_offsets, int local, int rank, int world) {
  __shared__ int32_t sent[kMostExperts + 1], received[kMostExperts + 1];  // inclusive sums up to the expert before
  const int experts = world * local, e = static_cast<int>(threadIdx.x);
  int32_t count[kMostWorld] = {}, total = 0, own = 0;
  if (e < experts) {
    for (int s = 0; s < world; ++s) {
      count[s] = all[s * experts + e];
      total += count[s];
      if (s == rank) own = count[s];
    }
    sent[e + 1] = own;
    received[e + 1] = total;
  }
  if (e == 0) sent[0] = received[0] = 0;
  __syncthreads();
  for (int step = 1; step < experts; step *= 2) {
    const int32_t more = e < experts && e >= step ? sent[e + 1 - step] : 0;
    const int32_t more_received = e < experts && e >= step ? received[e + 1 - step] : 0;
    __syncthreads();
    if (e < experts) {
      sent[e + 1] += more;
      received[e + 1] += more_received;
    }
    __syncthreads();
  }
  if (e >= experts) return;

  send_offsets[e + 1] = sent[e + 1];
  if (e == 0) send_offsets[0] = 0;
  const int owner = e / local, l = e % local;
  int32_t at = received[e] - received[owner * local];
  for (int s = 0; s < world; ++s) {
    if (s == rank) put_offsets[e] = at;
    if (owner == rank) {
      recv_counts[s * local + l] = count[s];
      recv_offsets[l * world + s] = at;
    }
    at += count[s];
  }
  if (owner == rank && l == local - 1) recv_offsets[local * world] = at;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(world_ * world_ * args.local) * sizeof(int32_t)));
  }
  ~Solution() { cudaFree(all_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto experts = static_cast<int>(world_ * args.local);
    const int64_t choices = args.tokens * args.k;
    const auto blocks = static_cast<int>(std::min<int64_t>(132, (choices + kThreads - 1) / kThreads));
    fabricbench::check_cuda(
        cudaMemsetAsync(args.send_counts, 0, static_cast<size_t>(experts) * sizeof(int32_t), stream));
    count<<<blocks, kThreads, 0, stream>>>(args.ids, args.send_counts, choices, experts);
    fabricbench::check_nccl(
        ncclAllGather(args.send_counts, all_, static_cast<size_t>(experts), ncclInt32, comm_, stream));
    lay_out<<<1, kMostExperts, 0, stream>>>(all_, args.send_offsets, args.recv_counts, args.recv_offsets,
                                            args.put_offsets, static_cast<int>(args.local), rank_, world_);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* all_ = nullptr;  // [world][experts]
};
// [/solution]
