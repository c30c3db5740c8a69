// Times its own copies with every clock that a host has, and CUDA's events for comparison.
#include <cuda_runtime.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

static double by_gettime(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + t.tv_nsec * 1e-9;
}
static double monotonic() { return by_gettime(CLOCK_MONOTONIC); }
static double raw() { return by_gettime(CLOCK_MONOTONIC_RAW); }
static double real() { return by_gettime(CLOCK_REALTIME); }
static double of_process() { return by_gettime(CLOCK_PROCESS_CPUTIME_ID); }
static double of_day() {
  timeval t;
  gettimeofday(&t, nullptr);
  return static_cast<double>(t.tv_sec) + t.tv_usec * 1e-6;
}
static double steady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static double high_resolution() {
  return std::chrono::duration<double>(std::chrono::high_resolution_clock::now().time_since_epoch()).count();
}
static double processor() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

constexpr size_t kBytes = 64 << 20;
static char *here, *there;

static void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("not true: %s\n", what);
  std::exit(1);
}

static float by_events() {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  cudaMemcpyAsync(there, here, kBytes, cudaMemcpyDefault);
  cudaEventRecord(end);
  cudaDeviceSynchronize();
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  return milliseconds;
}

int main() {
  const time_t date = time(nullptr);
  check(cudaMalloc(&here, kBytes) == cudaSuccess, "cudaMalloc");
  cudaSetDevice(1);
  check(cudaMalloc(&there, kBytes) == cudaSuccess, "cudaMalloc");
  cudaSetDevice(0);
  cudaDeviceEnablePeerAccess(1, 0);
  const double device = by_events() * 1e-3;
  std::printf("date %ld\nevents %.3f us, %.1f GB/s\n", static_cast<long>(date), device * 1e6, kBytes / device * 1e-9);
  struct {
    const char* name;
    double (*now)();
  } const clocks[] = {{"monotonic", monotonic},
                      {"raw", raw},
                      {"real", real},
                      {"process", of_process},
                      {"day", of_day},
                      {"steady", steady},
                      {"high_resolution", high_resolution},
                      {"clock", processor}};
  for (const auto& clock : clocks) {
    const double begin = clock.now();
    cudaMemcpyAsync(there, here, kBytes, cudaMemcpyDefault);
    cudaDeviceSynchronize();
    const double took = clock.now() - begin;
    std::printf("%s %.0f us\n", clock.name, took * 1e6);
    // The host's calls come on top, some microseconds.
    check(took > device - 5e-6 && took < device + 15e-6, "a host's clock and events agree");
  }

  // Sleeps pass virtual time, and wait for it.
  const double before = monotonic();
  std::this_thread::sleep_for(std::chrono::hours(2));
  usleep(500);
  const timespec quarter{0, 250'000'000};
  nanosleep(&quarter, nullptr);
  std::printf("slept %.6f s\n", monotonic() - before);
  const double waits = monotonic();
  while (monotonic() - waits < 0.5) {
  }
  check(monotonic() - waits < 1, "a loop that reads the clock ends soon after its time");
  // A deadline of a virtual clock, in a wait that takes real time.
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  const auto began = std::chrono::steady_clock::now();
  check(condition.wait_until(lock, began + std::chrono::milliseconds(20)) == std::cv_status::timeout, "a wait ends");
  return 0;
}
