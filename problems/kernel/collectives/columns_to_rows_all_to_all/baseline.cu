// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// y[row][source] = received[source][row]: pieces of `units` numbers, or of as many times four. Grid: (rows, world).
template <class Unit>
__global__ void unpack(const Unit* received, Unit* y, int64_t units) {
  const int64_t row = blockIdx.x, rows = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t k = threadIdx.x; k < units; k += blockDim.x)
    y[(row * world + source) * units + k] = received[(source * rows + row) * units + k];
}

// What goes to one rank is one piece of `x`: NCCL sends it from there. It arrives as one piece, too, and a kernel puts
// its rows where they belong.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), message_(args.rows * args.cols), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&received_, static_cast<size_t>(world_ * message_) * sizeof(float)));
  }
  ~Solution() { cudaFree(received_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      const auto count = static_cast<size_t>(message_);
      fabricbench::check_nccl(ncclSend(args.x + to * message_, count, ncclFloat, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(received_ + from * message_, count, ncclFloat, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    if (args.cols % 4 == 0) {
      move(reinterpret_cast<const int4*>(received_), reinterpret_cast<int4*>(args.y), args.rows, args.cols / 4, stream);
    } else {
      move(received_, args.y, args.rows, args.cols, stream);
    }
  }

 private:
  template <class Unit>
  void move(const Unit* from, Unit* to, int64_t rows, int64_t units, cudaStream_t stream) const {
    const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(world_));
    const auto threads = static_cast<unsigned>(std::min<int64_t>(kThreads, (units + 31) / 32 * 32));
    unpack<<<grid, threads, 0, stream>>>(from, to, units);
  }

  int rank_, world_;
  int64_t message_;  // numbers from one rank to another
  fabricbench::NcclCommunicator comm_;
  float* received_ = nullptr;
};
// [/solution]
