#include <cuda.h>
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "args.h"

#pragma GCC poison PeerMemory  // exchanging the handles is the task

// [solution]
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
inline void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": error " + std::to_string(status));
}

// In the memory of the rank that waits for them, so that waiting does not use the link. Both count calls.
struct Flags {
  uint32_t ready;  // the next rank's input is there: written by the next rank
  uint32_t read;   // this rank's input has been read: written by the rank before
};

// Memory of another process, open as long as this lives.
template <class T>
class Opened {
 public:
  explicit Opened(const cudaIpcMemHandle_t& handle) {
    check(cudaIpcOpenMemHandle(&memory_, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  }
  ~Opened() { close(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  void close() {
    if (memory_ != nullptr) cudaIpcCloseMemHandle(memory_);
    memory_ = nullptr;
  }
  T* get() const { return static_cast<T*>(memory_); }

 private:
  void* memory_ = nullptr;
};

struct Handles {
  cudaIpcMemHandle_t in, flags;
};

// Flags are zero before any peer can reach them: the handle leaves this rank only afterwards.
inline Flags* make_flags() {
  void* flags = nullptr;
  check(cudaMalloc(&flags, sizeof(Flags)), "cudaMalloc");
  check(cudaMemset(flags, 0, sizeof(Flags)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return static_cast<Flags*>(flags);
}

inline std::vector<Handles> exchange(const fabricbench::Rank& rank, const uint32_t* in, Flags* flags) {
  Handles mine;
  check(cudaIpcGetMemHandle(&mine.in, const_cast<uint32_t*>(in)), "cudaIpcGetMemHandle");
  check(cudaIpcGetMemHandle(&mine.flags, flags), "cudaIpcGetMemHandle");
  return rank.all_gather(mine);
}

// The copy engine pulls, and the streams of the processes shake hands by themselves: a stream that waits for a value
// occupies no multiprocessor, and the host only enqueues.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank),
        mine_(make_flags()),
        all_(exchange(rank, args.in, mine_)),
        next_in_(all_[neighbour(1)].in),
        next_(all_[neighbour(1)].flags),
        before_(all_[neighbour(-1)].flags) {}

  // Memory is freed when no rank has it open any more.
  ~Solution() {
    next_in_.close();
    next_.close();
    before_.close();
    rank_.barrier();
    cudaFree(mine_);
  }
  Solution(const Solution&) = delete;
  Solution& operator=(const Solution&) = delete;

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    write(stream, &before_.get()->ready);  // `in` holds this call's data
    wait(stream, &mine_->ready);
    check(cudaMemcpyAsync(args.out, next_in_.get(), static_cast<size_t>(args.n) * sizeof *args.out,
                          cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
    write(stream, &next_.get()->read);
    wait(stream, &mine_->read);  // `in` may change from here on
  }

 private:
  size_t neighbour(int distance) const {
    return static_cast<size_t>((rank_.rank() + distance + rank_.world()) % rank_.world());
  }
  // By default a write comes after all earlier work of its stream and behind a fence for the whole system.
  void write(cudaStream_t stream, uint32_t* flag) const {
    check(cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(flag), call_, CU_STREAM_WRITE_VALUE_DEFAULT),
          "cuStreamWriteValue32");
  }
  // Not "equal": a neighbour may already be a call ahead. The comparison is cyclic, so the counter may overflow.
  void wait(cudaStream_t stream, uint32_t* flag) const {
    check(cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(flag), call_, CU_STREAM_WAIT_VALUE_GEQ),
          "cuStreamWaitValue32");
  }

  const fabricbench::Rank& rank_;
  uint32_t call_ = 0;
  Flags* mine_;
  std::vector<Handles> all_;
  Opened<const uint32_t> next_in_;
  Opened<Flags> next_, before_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: export, exchange and open handles
//|   }
//|   ~Solution() {
//|     // TODO: close, wait for all ranks, free
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the copy and what orders it with the neighbours
//|   }
//| };
// [/solution]
