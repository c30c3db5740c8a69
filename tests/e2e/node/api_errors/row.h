// A row of the table of wrong uses: what is done, and the code that CUDA gives for it.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

// The numbers of cudaError_t and CUresult mean the same.
struct Code {
  Code(cudaError_t error) : number(static_cast<int>(error)) {}
  Code(CUresult error) : number(static_cast<int>(error)) {}
  int number;
};
constexpr auto kNotApplicable = static_cast<cudaError_t>(16000);  // no code of CUDA

struct Row {
  const char* name;
  Code (*act)();
  int expected;
  int or_this = -1;  // where CUDA's documents leave two codes open
};
using Rows = std::vector<Row>;

Rows device_rows();
Rows memory_rows();
Rows stream_rows();
Rows launch_rows();
Rows capture_rows();
Rows driver_rows();
Rows sticky_rows();   // each leaves its process without a usable context
Rows process_rows();  // each needs another process

// What rows need around their mistake. Set-up that fails gives a code that no row expects.
struct Buffer {
  explicit Buffer(size_t bytes = 4096) { cudaMalloc(&pointer, bytes); }
  ~Buffer() { cudaFree(pointer); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* at(size_t offset) const { return static_cast<char*>(pointer) + offset; }
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(pointer); }
  void* pointer = nullptr;
};

struct Pinned {
  Pinned() { cudaHostAlloc(&pointer, 4096, cudaHostAllocMapped); }
  ~Pinned() { cudaFreeHost(pointer); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void* pointer = nullptr;
};

struct Stream {
  explicit Stream(unsigned int flags = cudaStreamNonBlocking) { cudaStreamCreateWithFlags(&handle, flags); }
  ~Stream() { cudaStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle; }
  cudaStream_t handle = nullptr;
};

struct Event {
  explicit Event(unsigned int flags = cudaEventDefault) { cudaEventCreateWithFlags(&handle, flags); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle; }
  cudaEvent_t handle = nullptr;
};

// A stream that is busy until the end of the scope: it waits for a word that another stream writes.
struct BusyStream {
  BusyStream() {
    cudaMemset(word.pointer, 0, 4);
    cudaDeviceSynchronize();
    cuStreamWaitValue32(stream, word.address(), 1, CU_STREAM_WAIT_VALUE_GEQ);
  }
  ~BusyStream() {
    cuStreamWriteValue32(waker, word.address(), 1, 0);
    cudaStreamSynchronize(stream);
  }
  Buffer word;
  Stream stream, waker;
};

inline int device_count() {
  int count = 0;
  cudaGetDeviceCount(&count);
  return count;
}
