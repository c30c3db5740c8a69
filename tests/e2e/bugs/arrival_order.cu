// A rendezvous in the order of arrival pairs different tensors.
//
// Shipped: ztxz16/fastllm issue 725 (about a quarter of the starts gave wrong sums). Two all-reduces are under way at
// once, on two streams of each GPU. Each kernel takes the next ticket of its GPU and reduces with the kernels
// that hold the same ticket on the other GPUs. If the kernels of two streams start in another order on one GPU, tensor A
// is added to tensor B. All accesses are ordered: no race, no hang, only wrong values, in some schedules.
// Repaired: kernels pair by the number of the tensor, which is the same on all GPUs.
//
// ending: wrong values
#include "gpus.h"

constexpr int kCount = 64, kTensors = 2;

struct Board {
  unsigned int tickets;
  float* inputs[kTensors];
  unsigned int flags[2 * kTensors][kGpus];
};

__device__ void barrier(const OnAll<Board>& boards, int gpu, int row) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    store_release_sys(&boards.of[threadIdx.x]->flags[row][gpu], 1);
    while (load_acquire_sys(&boards.of[gpu]->flags[row][threadIdx.x]) == 0) continue;
  }
  __syncthreads();
}

__global__ void all_reduce(OnAll<Board> boards, float* input, float* output, int gpu, int tensor) {
  __shared__ int place;
  const int i = static_cast<int>(threadIdx.x);
  input[i] = contribution(gpu, tensor, i);
  if (i == 0) {
#ifdef REPAIRED
    place = tensor;
#else
    place = static_cast<int>(atomicAdd(&boards.of[gpu]->tickets, 1));
#endif
    boards.of[gpu]->inputs[place] = input;
  }
  __syncthreads();
  barrier(boards, gpu, place);
  float sum = 0;
  for (int peer = 0; peer < kGpus; ++peer) sum += boards.of[peer]->inputs[place][i];
  output[i] = sum;
  barrier(boards, gpu, kTensors + place);
}

int main() {
  Gpus gpus;
  const auto boards = gpus.array<Board>(1);
  OnAll<float> inputs[kTensors], outputs[kTensors];
  cudaStream_t streams[kGpus][kTensors] = {};
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    inputs[tensor] = gpus.array<float>(kCount);
    outputs[tensor] = gpus.array<float>(kCount);
    gpus.on_each(
        [&](int gpu, cudaStream_t) { CHECK(cudaStreamCreateWithFlags(&streams[gpu][tensor], cudaStreamNonBlocking)); });
  }
  gpus.on_each([&](int gpu, cudaStream_t) {
    for (int tensor = 0; tensor < kTensors; ++tensor) {
      all_reduce<<<1, kCount, 0, streams[gpu][tensor]>>>(boards, inputs[tensor].of[gpu], outputs[tensor].of[gpu], gpu,
                                                         tensor);
    }
  });
  gpus.wait();
  for (int tensor = 0; tensor < kTensors; ++tensor) expect_sums(gpus, outputs[tensor], kCount, tensor);
  gpus.on_each([&](int gpu, cudaStream_t) {
    for (cudaStream_t stream : streams[gpu]) CHECK(cudaStreamDestroy(stream));
  });
  std::printf("OK %d all-reduces at once\n", kTensors);
}
