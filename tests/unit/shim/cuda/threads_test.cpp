// Many host threads in the client library at once. In the preset `tsan` the library is compiled with the thread
// sanitizer, which reports the data races that these tests provoke; without it they check results only.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/shim/cuda/add_kernel.h"

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 12;

// Runs `body` in all threads, which begin together.
void in_threads(const std::function<void(int thread)>& body) {
  std::barrier begin(kThreads);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] {
      begin.arrive_and_wait();
      body(k);
    });
  }
  for (std::thread& t : threads) t.join();
}

// First in this program: the threads' first calls start the session with the machine.
TEST(Threads, FirstCallsOfAllThreads) {
  std::atomic<int> devices = 0;
  in_threads([&](int k) {
    int count = 0;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    devices += count;
    EXPECT_EQ(cudaSetDevice(k), cudaSuccess);
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, k) << "the current device is the thread's own";
  });
  EXPECT_EQ(devices, 8 * kThreads);
}

TEST(Threads, ErrorsAreTheThreadsOwn) {
  in_threads([](int k) {
    for (int round = 0; round < kRounds; ++round) {
      if (k % 2 == 0) {
        EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
        EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
      }
      EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
  });
}

TEST(Threads, MemoryAndCopies) {
  in_threads([](int k) {
    ASSERT_EQ(cudaSetDevice(k % 2), cudaSuccess);
    for (int round = 0; round < kRounds; ++round) {
      const int value = k * kRounds + round;
      int *device = nullptr, *pinned = nullptr, result = -1;
      ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 4096), cudaSuccess);
      ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4096), cudaSuccess);
      *pinned = value;
      EXPECT_EQ(cudaMemcpyAsync(device, pinned, sizeof value, cudaMemcpyDefault, cudaStreamPerThread), cudaSuccess);
      EXPECT_EQ(cudaMemcpyAsync(&result, device, sizeof value, cudaMemcpyDefault, cudaStreamPerThread), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
      EXPECT_EQ(result, value);
      cudaPointerAttributes attributes{};
      EXPECT_EQ(cudaPointerGetAttributes(&attributes, device), cudaSuccess);
      EXPECT_EQ(attributes.device, k % 2);
      EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
      EXPECT_EQ(cudaFree(device), cudaSuccess);
    }
  });
}

TEST(Threads, StreamsAndEventsOfOthers) {
  // Every stream is fed by all threads, every event is recorded by one and waited for by all.
  std::vector<cudaStream_t> streams(kThreads);
  std::vector<cudaEvent_t> events(kThreads);
  for (cudaStream_t& s : streams) ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  for (cudaEvent_t& e : events) ASSERT_EQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
  unsigned char* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), kThreads * 64), cudaSuccess);
  in_threads([&](int k) {
    const auto mine = static_cast<size_t>(k);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(cudaMemsetAsync(memory + mine * 64, round, 64, streams[mine]), cudaSuccess);
      EXPECT_EQ(cudaEventRecord(events[mine], streams[mine]), cudaSuccess);
      const size_t other = (mine + 1) % kThreads;
      EXPECT_EQ(cudaStreamWaitEvent(streams[other], events[mine], 0), cudaSuccess);
      const cudaError_t done = cudaEventQuery(events[other]);
      EXPECT_TRUE(done == cudaSuccess || done == cudaErrorNotReady);
      EXPECT_EQ(cudaEventSynchronize(events[mine]), cudaSuccess);
    }
  });
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<unsigned char> result(kThreads * 64);
  EXPECT_EQ(cudaMemcpy(result.data(), memory, result.size(), cudaMemcpyDefault), cudaSuccess);
  for (const unsigned char b : result) EXPECT_EQ(b, kRounds - 1);
  for (cudaStream_t s : streams) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  for (cudaEvent_t e : events) EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Threads, CallbacksRunWhileThreadsCall) {
  std::atomic<int> called = 0;
  in_threads([&](int) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(cudaLaunchHostFunc(
                    stream, [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &called),
                cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
  EXPECT_EQ(called, kThreads * kRounds);
}

TEST(Threads, ModulesLaunchesAndGraphs) {
  unsigned int* counter = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&counter), 4), cudaSuccess);
  ASSERT_EQ(cudaMemset(counter, 0, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "non-blocking streams do not wait for the fill";
  in_threads([&](int) {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, fb::kAddKernel), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&add, module, "add"), CUDA_SUCCESS);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    unsigned int one = 1;
    void* arguments[] = {&counter, &one};
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(stream), arguments, nullptr),
              CUDA_SUCCESS);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(stream), arguments, nullptr),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  });
  unsigned int result = 0;
  EXPECT_EQ(cudaMemcpy(&result, counter, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(result, 32u * 2u * kThreads * kRounds);
  EXPECT_EQ(cudaFree(counter), cudaSuccess);
}

}  // namespace
