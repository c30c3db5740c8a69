// [solution]
// Without the switch's help: every rank reads all inputs by plain loads and adds them up itself. The inputs are mapped
// by CUDA IPC by hand. One block.
struct Inputs {
  const float* of[8];
  uint32_t* counter[8];
};

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

__device__ void barrier(const Inputs& all, int rank, int world, uint32_t epoch) {
  using Counter = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int peer = 0; peer < world; ++peer) Counter(*all.counter[peer]).fetch_add(1, cuda::memory_order_release);
    while (Counter(*all.counter[rank]).load(cuda::memory_order_acquire) < epoch * static_cast<uint32_t>(world)) {
    }
  }
  __syncthreads();
}

__global__ void add_up(Inputs all, float* out, int64_t n, int rank, int world, uint32_t epoch) {
  barrier(all, rank, world, 2 * epoch - 1);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += all.of[peer][i];
    out[i] = sum;
  }
  barrier(all, rank, world, 2 * epoch);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank) {
    uint32_t* counter = nullptr;
    check(cudaMalloc(&counter, sizeof *counter), "cudaMalloc");
    check(cudaMemset(counter, 0, sizeof *counter), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    struct Handles {
      cudaIpcMemHandle_t input, counter;
    } mine;
    check(cudaIpcGetMemHandle(&mine.input, const_cast<float*>(args.in)), "cudaIpcGetMemHandle");
    check(cudaIpcGetMemHandle(&mine.counter, counter), "cudaIpcGetMemHandle");
    const auto handles = rank.all_gather(mine);
    for (int peer = 0; peer < rank.world(); ++peer) {
      all_.of[peer] = peer == rank.rank() ? args.in : open<float>(handles[peer].input);
      all_.counter[peer] = peer == rank.rank() ? counter : open<uint32_t>(handles[peer].counter);
    }
  }
  ~Solution() {
    for (void* pointer : opened_) cudaIpcCloseMemHandle(pointer);
    rank_.barrier();
    cudaFree(all_.counter[rank_.rank()]);
  }

  void run(const Args& args, cudaStream_t stream) {
    add_up<<<1, 512, 0, stream>>>(all_, args.out, args.n, rank_.rank(), rank_.world(), ++epoch_);
  }

 private:
  template <class T>
  T* open(const cudaIpcMemHandle_t& handle) {
    void* pointer = nullptr;
    check(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
    opened_.push_back(pointer);
    return static_cast<T*>(pointer);
  }

  const fabricbench::Rank& rank_;
  Inputs all_{};
  std::vector<void*> opened_;
  uint32_t epoch_ = 0;
};
// [/solution]
