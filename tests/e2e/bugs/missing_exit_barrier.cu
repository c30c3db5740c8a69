// A one-shot all-reduce without a barrier at its end.
//
// Shipped: ROCm/aiter, cross_device_reduce_1stage; repaired by pull request 3514. A fast GPU leaves the kernel while a
// slow one still reads the fast one's input; the next kernel of the fast GPU's stream writes new values there.
// Repaired: no GPU leaves before all have read.
//
// class: buffer reused too early
// lines: read write
#include "gpus.h"

constexpr int kCount = 512, kThreads = 128, kCalls = 3;

__global__ void produce(float* input, int gpu, int call) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  input[i] = contribution(gpu, call, i);  // [write]
}

__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float> inputs, float* output, int gpu, unsigned int epoch) {
  barrier(flags, gpu, 2 * epoch - 1);  // all inputs are there
  for (int i = static_cast<int>(threadIdx.x); i < kCount; i += kThreads) {
    float sum = 0;
    for (int peer = 0; peer < kGpus; ++peer) sum += inputs.of[peer][i];  // [read]
    output[i] = sum;
  }
#ifdef REPAIRED
  barrier(flags, gpu, 2 * epoch);  // all have read
#endif
}

int main() {
  Gpus gpus;
  const auto flags = gpus.array<unsigned int>(kGpus);
  const auto inputs = gpus.array<float>(kCount);
  std::vector<OnAll<float>> outputs;
  for (int call = 1; call <= kCalls; ++call) outputs.push_back(gpus.array<float>(kCount));
  for (int call = 1; call <= kCalls; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      produce<<<kCount / kThreads, kThreads, 0, stream>>>(inputs.of[gpu], gpu, call);
      all_reduce<<<1, kThreads, 0, stream>>>(flags, inputs, outputs[call - 1].of[gpu], gpu,
                                             static_cast<unsigned int>(call));
    });
  }
  gpus.wait();
  for (int call = 1; call <= kCalls; ++call) expect_sums(gpus, outputs[call - 1], kCount, call);
  std::printf("OK %d one-shot all-reduces back to back\n", kCalls);
}
