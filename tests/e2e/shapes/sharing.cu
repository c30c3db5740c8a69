// Two flows that meet on a link: microseconds of each with hardly any bytes (`case.flow.start`), with all of them alone
// (`case.flow.alone`) and beside the other one (`case.flow.together`). The second flow of a case named `long` has twice
// the bytes; those of a case named `apart` have no link in common.
#include "shapes.h"

constexpr size_t kBytes = 16 * kMiB;

struct Flow {
  enum { kernel, copy } by;
  int from, to;  // GPUs
  size_t bytes;
};

class Flows {
 public:
  explicit Flows(Gpus& gpus) : gpus_(gpus) {
    for (auto& arrays : arrays_) arrays = gpus.on_all<char>(2 * kBytes);
    for (int gpu = 0; gpu < gpus.count; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      CHECK(cudaStreamCreateWithFlags(&second_[gpu], cudaStreamNonBlocking));
      CHECK(cudaEventCreate(&fork_[gpu]));
      CHECK(cudaEventCreate(&join_[gpu]));
    }
  }

  void report(const char* name, Flow first, Flow second) {
    const auto alone = [&](int k, size_t bytes) {
      Flow flows[2] = {first, second};
      flows[k].bytes = bytes;
      flows[1 - k].bytes = 0;
      return run(flows[0], flows[1]).of[k];
    };
    const Times together = run(first, second);
    for (int k = 0; k < 2; ++k) {
      std::printf("%s.%d.start %.4f\n", name, k, alone(k, sizeof(uint4)));
      std::printf("%s.%d.alone %.4f\n", name, k, alone(k, (k == 0 ? first : second).bytes));
      std::printf("%s.%d.together %.4f\n", name, k, together.of[k]);
    }
  }

 private:
  struct Times {
    double of[2];
  };

  void enqueue(const Flow& flow, int which, cudaStream_t stream) {
    if (flow.bytes == 0) return;
    char *to = arrays_[which].of[flow.to], *from = arrays_[which].of[flow.from];
    if (flow.by == Flow::kernel) {
      // Enough for a link, and two of them fit beside each other on one GPU.
      constexpr int kBlocks = 64;
      copy_kernel<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<uint4*>(to), reinterpret_cast<uint4*>(from),
                                                    flow.bytes);
    } else {
      CHECK(cudaMemcpyPeerAsync(to, flow.to, from, flow.from, flow.bytes, stream));
    }
  }

  // Where both begin on one GPU the second one has a stream of its own there.
  Times run(const Flow& first, const Flow& second) {
    const bool same = first.from == second.from;
    const Gpus::Times times = gpus_.time([&](int gpu, cudaStream_t stream) {
      if (same && gpu == first.from) {
        CHECK(cudaEventRecord(fork_[gpu], stream));
        CHECK(cudaStreamWaitEvent(second_[gpu], fork_[gpu], 0));
        enqueue(second, 1, second_[gpu]);
        CHECK(cudaEventRecord(join_[gpu], second_[gpu]));
      }
      if (gpu == first.from) enqueue(first, 0, stream);
      if (!same && gpu == second.from) enqueue(second, 1, stream);
    });
    if (!same) return {{times.of[first.from], times.of[second.from]}};
    CHECK(cudaSetDevice(first.from));
    CHECK(cudaEventSynchronize(join_[first.from]));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, fork_[first.from], join_[first.from]));
    return {{times.of[first.from], 1000.0 * milliseconds}};
  }

  Gpus& gpus_;
  OnAll<char> arrays_[2];
  cudaStream_t second_[kMostGpus] = {};
  cudaEvent_t fork_[kMostGpus] = {}, join_[kMostGpus] = {};
};

int main() {
  Gpus gpus(3);
  Flows flows(gpus);
  constexpr auto kernel = Flow::kernel, copy = Flow::copy;
  flows.report("kernels_in", {kernel, 1, 0, kBytes}, {kernel, 2, 0, kBytes});
  flows.report("kernels_out", {kernel, 0, 1, kBytes}, {kernel, 0, 2, kBytes});
  flows.report("kernels_in_long", {kernel, 1, 0, kBytes}, {kernel, 2, 0, 2 * kBytes});
  flows.report("copies_in", {copy, 1, 0, kBytes}, {copy, 2, 0, kBytes});
  flows.report("copies_out", {copy, 0, 1, kBytes}, {copy, 0, 2, kBytes});
  flows.report("copies_in_long", {copy, 1, 0, kBytes}, {copy, 2, 0, 2 * kBytes});
  flows.report("mixed_in", {kernel, 1, 0, kBytes}, {copy, 2, 0, kBytes});
  flows.report("mixed_out", {kernel, 0, 1, kBytes}, {copy, 0, 2, kBytes});
  flows.report("mixed_in_long", {kernel, 1, 0, kBytes}, {copy, 2, 0, 2 * kBytes});
  // Neither two directions of one link nor a link into a GPU and one out of it.
  flows.report("apart_both_ways", {kernel, 0, 1, kBytes}, {kernel, 1, 0, kBytes});
  flows.report("apart_through", {kernel, 0, 1, kBytes}, {kernel, 1, 2, kBytes});
}
