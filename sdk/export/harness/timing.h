#pragma once

// How fast: microseconds of a call, by the host's clock and by events, always of the slowest rank.

#include <chrono>
#include <memory>

#include "solution.h"

namespace harness {

struct Samples {
  std::vector<double> us;
  double median() const {
    std::vector<double> sorted = us;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
  double low() const { return us.empty() ? 0 : *std::min_element(us.begin(), us.end()); }
  double high() const { return us.empty() ? 0 : *std::max_element(us.begin(), us.end()); }
};

// One call at a time: from a barrier of the ranks until the GPU is idle. Back to back: the mean over many.
struct Times {
  Samples one, one_by_events, many, many_by_events;
};

class Timer {
 public:
  Timer(Ranks& ranks, cudaStream_t stream, int iterations) : ranks_(ranks), stream_(stream), iterations_(iterations) {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void sample(Instance& instance, Times& times) {
    measure(instance, 1, times.one, times.one_by_events);
    if (iterations_ > 1) measure(instance, iterations_, times.many, times.many_by_events);
  }

 private:
  void measure(Instance& instance, int calls, Samples& host, Samples& events) {
    ranks_.barrier();
    const auto begin = std::chrono::steady_clock::now();
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int k = 0; k < calls; ++k) instance.run();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaStreamSynchronize(stream_), instance.name());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    host.us.push_back(ranks_.slowest(took.count() / calls));
    events.us.push_back(ranks_.slowest(static_cast<double>(ms) * 1e3 / calls));
  }

  Ranks& ranks_;
  cudaStream_t stream_;
  int iterations_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace harness
