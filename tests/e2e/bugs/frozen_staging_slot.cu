// A staging slot that the host's counter picks, captured in a graph.
//
// Shipped: lightseekorg/tokenspeed pull request 1440. Alternating staging slots make an exit barrier unnecessary: a
// GPU that writes slot 0 again has passed the barrier of the call between, which the others enter after their reads. The
// host counts the calls. In a graph the count is frozen: a graph with an odd number of reductions uses the same slot at
// the end of one replay and at the beginning of the next, and a fast GPU overwrites data that a slow one still reads.
// Repaired: the kernel counts, in device memory, and picks the slot itself. (tokenspeed took an exit barrier.)
//
// class: buffer reused too early
// lines: read stage
#include "gpus.h"

constexpr int kCount = 256, kReplays = 4;

__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float> staged, unsigned int* epochs, float* outputs,
                           int gpu, [[maybe_unused]] int slot_of_host) {
  const int i = static_cast<int>(threadIdx.x);
  const unsigned int epoch = *epochs;  // calls so far, of this GPU
#ifdef REPAIRED
  const int slot = static_cast<int>(epoch % 2);
#else
  const int slot = slot_of_host;
#endif
  staged.of[gpu][slot * kCount + i] = contribution(gpu, static_cast<int>(epoch), i);  // [stage]
  barrier(flags, gpu, epoch + 1);
  float sum = 0;
  for (int peer = 0; peer < kGpus; ++peer) sum += staged.of[peer][slot * kCount + i];  // [read]
  outputs[epoch * kCount + i] = sum;
  if (i == 0) *epochs = epoch + 1;
}

int main() {
  Gpus gpus;
  const auto flags = gpus.array<unsigned int>(kGpus), epochs = gpus.array<unsigned int>(1);
  const auto staged = gpus.array<float>(2 * kCount), outputs = gpus.array<float>(kReplays * kCount);

  int calls = 0;
  cudaGraphExec_t graphs[kGpus] = {};
  gpus.on_each([&](int gpu, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    all_reduce<<<1, kCount, 0, stream>>>(flags, staged, epochs.of[gpu], outputs.of[gpu], gpu, calls % 2);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&graphs[gpu], graph, 0));
    CHECK(cudaGraphDestroy(graph));
  });
  ++calls;

  for (int replay = 0; replay < kReplays; ++replay) {
    gpus.on_each([&](int gpu, cudaStream_t stream) { CHECK(cudaGraphLaunch(graphs[gpu], stream)); });
  }
  gpus.wait();
  for (int replay = 0; replay < kReplays; ++replay) {
    OnAll<float> sums{};
    for (int gpu = 0; gpu < kGpus; ++gpu) sums.of[gpu] = outputs.of[gpu] + replay * kCount;
    expect_sums(gpus, sums, kCount, replay);
  }
  for (cudaGraphExec_t graph : graphs) CHECK(cudaGraphExecDestroy(graph));
  std::printf("OK %d replays of a graph with one all-reduce\n", kReplays);
}
