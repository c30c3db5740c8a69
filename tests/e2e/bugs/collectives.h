// Two collectives of one block each, for ranks that must agree which one they call. Each has flags of its own.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

#include "../../../examples/common/bootstrap.h"
#include "../../../examples/common/check.h"
#include "../../../examples/common/flags.h"
#include "../../../examples/common/peers.h"

constexpr int kCount = 64;

struct Shared {
  unsigned int one_shot[kMostRanks], two_shot[kMostRanks];  // [r] is written by rank r
  float input[kCount], sum[kCount];
};

// A barrier of all ranks over one of the arrays of flags of Shared.
template <class Flags>
__device__ void barrier(Flags flags, const Peers<Shared>& shared, int rank, int world, unsigned int epoch) {
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < world) {
    post_flag(&flags(shared.of[threadIdx.x])[rank], epoch);
    wait_flag(&flags(shared.of[rank])[threadIdx.x], epoch);
  }
  __syncthreads();
}

// Every rank reads all inputs. `first`: the rank that is added first; the order of addition is round robin from there.
__global__ void one_shot(Peers<Shared> shared, float* output, int rank, int world, unsigned int epoch, int first) {
  const int t = static_cast<int>(threadIdx.x);
  const auto flags = [](Shared* of) { return of->one_shot; };
  barrier(flags, shared, rank, world, 2 * epoch - 1);
  float sum = 0;
  for (int k = 0; k < world; ++k) sum += shared.of[(first + k) % world]->input[t];
  output[t] = sum;
  barrier(flags, shared, rank, world, 2 * epoch);
}

// Every rank adds up its share for all, then reads the others' shares.
__global__ void two_shot(Peers<Shared> shared, float* output, int rank, int world, unsigned int epoch) {
  const int t = static_cast<int>(threadIdx.x);
  const auto flags = [](Shared* of) { return of->two_shot; };
  barrier(flags, shared, rank, world, 3 * epoch - 2);
  if (t % world == rank) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += shared.of[peer]->input[t];
    shared.of[rank]->sum[t] = sum;
  }
  barrier(flags, shared, rank, world, 3 * epoch - 1);
  output[t] = shared.of[t % world]->sum[t];
  barrier(flags, shared, rank, world, 3 * epoch);
}

// A rank with its buffers: what both programs do before and after.
class Rank {
 public:
  Rank() {
    CHECK(cudaSetDevice(bootstrap_.local_rank));
    CHECK(cudaMalloc(&mine_, sizeof *mine_));
    CHECK(cudaMalloc(&output_, kCount * sizeof *output_));
    CHECK(cudaMemset(mine_, 0, sizeof *mine_));
    CHECK(cudaDeviceSynchronize());
    peers_ = new PeerBuffers(bootstrap_, mine_);
  }
  ~Rank() {
    delete peers_;
    CHECK(cudaFree(mine_));
    CHECK(cudaFree(output_));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Bootstrap& bootstrap() { return bootstrap_; }
  int rank() const { return bootstrap_.rank; }
  int world() const { return bootstrap_.world; }

  void set_input(float value) {
    float values[kCount];
    for (float& each : values) each = value;
    CHECK(cudaMemcpy(mine_->input, values, sizeof values, cudaMemcpyHostToDevice));
  }
  void all_reduce_one_shot(unsigned int epoch, int first = 0) {
    one_shot<<<1, kCount>>>(peers_->at<Shared>(0), output_, rank(), world(), epoch, first);
    CHECK(cudaGetLastError());
  }
  void all_reduce_two_shot(unsigned int epoch) {
    two_shot<<<1, kCount>>>(peers_->at<Shared>(0), output_, rank(), world(), epoch);
    CHECK(cudaGetLastError());
  }
  // Waits for what was launched.
  float output() {
    float values[kCount];
    CHECK(cudaMemcpy(values, output_, sizeof values, cudaMemcpyDeviceToHost));
    return values[0];
  }

 private:
  Bootstrap bootstrap_;
  Shared* mine_ = nullptr;
  float* output_ = nullptr;
  PeerBuffers* peers_ = nullptr;
};
