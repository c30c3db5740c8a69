#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256, kWarp = 32;

// totals[f]: how many values key f has. A warp for each key.
__global__ void add_lengths(const int32_t* length, int32_t* totals, int64_t batch) {
  int32_t sum = 0;
  for (int64_t b = threadIdx.x; b < batch; b += kWarp) sum += length[blockIdx.x * batch + b];
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

// Puts what has come, by source and key, into the order of keys and sources. `totals`: [source][key], of all keys.
// Grid: (any, owned keys, world).
__global__ void reorder(const int32_t* totals, const int32_t* got_length, const int64_t* got_value, int32_t* key_length,
                        int32_t* offsets, int64_t* key_value, int64_t batch, int first, int all_keys) {
  const int key = static_cast<int>(blockIdx.y), owned = static_cast<int>(gridDim.y);
  const int source = static_cast<int>(blockIdx.z), world = static_cast<int>(gridDim.z);
  __shared__ int64_t from, to;
  if (threadIdx.x < kWarp) {
    int32_t before_here = 0, before_there = 0;
    for (int i = static_cast<int>(threadIdx.x); i < owned * world; i += kWarp) {
      const int s = i / owned, k = i % owned;
      const int32_t total = totals[s * all_keys + first + k];
      if (s < source || (s == source && k < key)) before_there += total;
      if (k < key || (k == key && s < source)) before_here += total;
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      before_here += __shfl_down_sync(~0u, before_here, step);
      before_there += __shfl_down_sync(~0u, before_there, step);
    }
    if (threadIdx.x == 0) {
      from = before_there;
      to = before_here;
    }
  }
  __syncthreads();
  const int64_t count = totals[source * all_keys + first + key];
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  for (int64_t i = thread; i < count; i += threads) key_value[to + i] = got_value[from + i];
  for (int64_t b = thread; b < batch; b += threads)
    key_length[(key * world + source) * batch + b] = got_length[(source * owned + key) * batch + b];
  if (thread == 0 && source == 0) offsets[key] = static_cast<int32_t>(to);
  if (thread == 0 && source == world - 1 && key == owned - 1) offsets[owned] = static_cast<int32_t>(to + count);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        keys_(static_cast<int>(args.keys)),
        all_keys_(first(rank.world())),
        comm_(rank) {
    const auto world = static_cast<size_t>(world_), all = static_cast<size_t>(all_keys_);
    const auto samples = static_cast<size_t>(owned(rank_) * world_ * args.batch);
    fabricbench::check_cuda(cudaMalloc(&totals_, (world + 1) * all * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&known_, world * all * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&got_length_, samples * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&got_value_, samples * static_cast<size_t>(args.most) * sizeof(int64_t)));
  }
  ~Solution() {
    cudaFree(totals_);
    cudaFreeHost(known_);
    cudaFree(got_length_);
    cudaFree(got_value_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto all = static_cast<size_t>(all_keys_);
    int32_t* own = totals_ + world_ * all_keys_;
    add_lengths<<<static_cast<unsigned>(all_keys_), kWarp, 0, stream>>>(args.length, own, args.batch);
    fabricbench::check_nccl(ncclAllGather(own, totals_, all, ncclInt32, comm_, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(known_, totals_, static_cast<size_t>(world_) * all * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));  // NCCL needs counts on the host

    int64_t sent = 0, got = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t there = owned(peer) * args.batch, here = owned(rank_) * args.batch;
      fabricbench::check_nccl(
          ncclSend(args.length + first(peer) * args.batch, static_cast<size_t>(there), ncclInt32, peer, comm_, stream));
      fabricbench::check_nccl(
          ncclRecv(got_length_ + peer * here, static_cast<size_t>(here), ncclInt32, peer, comm_, stream));
      const int64_t out = values(rank_, peer), in = values(peer, rank_);
      // No message of nothing: both sides know.
      if (out > 0)
        fabricbench::check_nccl(ncclSend(args.value + sent, static_cast<size_t>(out), ncclInt64, peer, comm_, stream));
      if (in > 0)
        fabricbench::check_nccl(ncclRecv(got_value_ + got, static_cast<size_t>(in), ncclInt64, peer, comm_, stream));
      sent += out;
      got += in;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    const dim3 grid(4, static_cast<unsigned>(owned(rank_)), static_cast<unsigned>(world_));
    reorder<<<grid, kThreads, 0, stream>>>(totals_, got_length_, got_value_, args.key_length, args.offsets,
                                           args.key_value, args.batch, first(rank_), all_keys_);
  }

 private:
  int first(int rank) const { return rank * keys_ + rank / 2; }
  int owned(int rank) const { return keys_ + rank % 2; }
  // How many values go from one rank to another.
  int64_t values(int from, int to) const {
    int64_t sum = 0;
    for (int k = 0; k < owned(to); ++k) sum += known_[from * all_keys_ + first(to) + k];
    return sum;
  }

  int rank_, world_, keys_, all_keys_;
  fabricbench::NcclCommunicator comm_;
  int32_t *totals_ = nullptr,
          *known_ = nullptr;  // [source][key], on the GPU (and the own row once more) and on the host
  int32_t* got_length_ = nullptr;
  int64_t* got_value_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchange
//|   }
//| };
// [/solution]
