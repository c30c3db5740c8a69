// All-gather by peer memory, and what else a candidate may do: `what` says.

#include <cuda.h>
#include <cuda_runtime.h>
#include <fabricbench/entry.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

struct Args {
  const uint32_t* in;
  uint32_t* out;
  int64_t n;
  int64_t what;
};

enum What : int64_t {
  kGather,         // as it should be
  kThrowInRun,     // rank 1, in its third call
  kThrowInSetUp,   // rank 1
  kExit,           // rank 1 ends in its second call
  kExchangeInRun,  // and takes the refusal for an answer
  kLonelySignal,   // rank 0 waits for a flag that is never set
  kLonelyGather,   // rank 0 exchanges alone while it is set up
  kWorkLater,      // a thread of rank 0 writes to its output some time after run() has returned
  kFault,          // rank 1 writes to where nothing is
  kFreeInput,      // frees what belongs to the judge
  kShare,          // shares physical memory by a descriptor, and a file that is none
  kFork,           // rank 1 has a child that uses CUDA
};

__device__ void set(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ void await(const uint32_t* flag, uint32_t value) {
  uint32_t seen;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  } while (static_cast<int32_t>(seen - value) < 0);
}

// Flags: kMostRanks for "my input is in my buffer", kMostRanks for "I have read yours".
__global__ void gather(fabricbench::Peers<uint32_t> buffers, fabricbench::Peers<uint32_t> flags, const uint32_t* in,
                       uint32_t* out, int64_t n, int rank, int world, uint32_t epoch) {
  for (int64_t k = threadIdx.x; k < n; k += blockDim.x) buffers.of[rank][k] = in[k];
  __syncthreads();
  if (threadIdx.x < world) {
    set(&flags.of[threadIdx.x][rank], epoch);
    await(&flags.of[rank][threadIdx.x], epoch);
  }
  __syncthreads();
  for (int r = 0; r < world; ++r) {
    for (int64_t k = threadIdx.x; k < n; k += blockDim.x) out[r * n + k] = buffers.of[r][k];
  }
  __syncthreads();
  if (threadIdx.x < world) {
    set(&flags.of[threadIdx.x][fabricbench::kMostRanks + rank], epoch);
    await(&flags.of[rank][fabricbench::kMostRanks + threadIdx.x], epoch);
  }
}

__global__ void wait_for_ever(const uint32_t* flag) { await(flag, 1u << 30); }
__global__ void write_one(uint32_t* to, uint32_t value) { *to = value; }

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank),
        what_(check(rank, args.what)),
        buffers_(rank, args.n * 4),
        flags_(rank, 2 * fabricbench::kMostRanks * 4) {
    if (what_ == kLonelyGather && rank.rank() == 0) rank.barrier();
    if (what_ == kShare) share();
  }
  ~Solution() {
    if (later_.joinable()) later_.join();
  }

  void run(const Args& args, cudaStream_t stream) {
    ++epoch_;
    const int me = rank_.rank();
    if (what_ == kThrowInRun && me == 1 && epoch_ == 3) throw std::runtime_error("not today");
    if (what_ == kExit && me == 1 && epoch_ == 2) _exit(0);
    if (what_ == kFork && me == 1 && epoch_ == 1) {
      const pid_t child = fork();
      if (child == 0) {
        cudaFree(nullptr);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    if (what_ == kFreeInput && cudaFree(const_cast<uint32_t*>(args.in)) == cudaSuccess)
      throw std::runtime_error("the judge's memory could be freed");
    if (what_ == kExchangeInRun) {
      try {
        rank_.barrier();
        throw std::runtime_error("exchanged");
      } catch (const std::runtime_error& e) {
        if (std::string(e.what()) != "all_gather is not possible in run()") throw;
      }
    }
    if (what_ == kLonelySignal && me == 0) {
      wait_for_ever<<<1, 1, 0, stream>>>(flags_.mine<uint32_t>());
      return;
    }
    if (what_ == kFault && me == 1) {
      write_one<<<1, 1, 0, stream>>>(nullptr, 1);
      return;
    }
    if (what_ == kFault) {
      return;
    }
    gather<<<1, 128, 0, stream>>>(buffers_.peers<uint32_t>(), flags_.peers<uint32_t>(), args.in, args.out, args.n, me,
                                  rank_.world(), epoch_);
    if (what_ == kWorkLater && me == 0 && !later_.joinable()) {
      later_ = std::thread([out = args.out, device = rank_.device()] {
        usleep(400'000);
        cudaSetDevice(device);
        cudaStream_t mine;
        cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking);
        write_one<<<1, 1, 0, mine>>>(out, 0xBAD);
        cudaStreamSynchronize(mine);
      });
    }
  }

 private:
  // Before anything that would wait for the others when it goes.
  static int64_t check(const fabricbench::Rank& rank, int64_t what) {
    if (what == kThrowInSetUp && rank.rank() == 1) throw std::runtime_error("no\nroom");
    return what;
  }

  static void check(CUresult status) {
    if (status != CUDA_SUCCESS) throw std::runtime_error("driver: " + std::to_string(status));
  }
  void share() {
    const bool root = rank_.rank() == 1;
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {rank_.device()}};
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle mine = 0, shared = 0;
    int file = -1;
    if (root) {
      check(cuMemCreate(&mine, 2 << 20, &prop, 0));
      check(cuMemExportToShareableHandle(&file, mine, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    }
    const int got = rank_.share_descriptor(1, file);
    check(cuMemImportFromShareableHandle(&shared, reinterpret_cast<void*>(static_cast<intptr_t>(got)),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(got);
    if (root) close(file);
    // A file of its own is nothing to give.
    try {
      rank_.share_descriptor(1, root ? STDERR_FILENO : -1);
    } catch (const std::runtime_error&) {
      return;
    }
    throw std::runtime_error("ranks share a file");
  }

  const fabricbench::Rank& rank_;
  int64_t what_;
  fabricbench::PeerMemory buffers_, flags_;
  uint32_t epoch_ = 0;
  std::thread later_;
};

FABRICBENCH_ENTRY(Solution)
