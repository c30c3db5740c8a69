// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

// NCCL's roots and counts are arguments of the host, so that it waits for the table of buckets.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMallocHost(&table_, 2 * static_cast<size_t>(args.buckets) * sizeof(int32_t)));
  }
  ~Solution() { cudaFreeHost(table_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto bytes = static_cast<size_t>(args.buckets) * sizeof(int32_t);
    int32_t *ends = table_, *owners = table_ + args.buckets;
    fabricbench::check_cuda(cudaMemcpyAsync(ends, args.ends, bytes, cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(owners, args.owners, bytes, cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t b = 0, begin = 0; b < args.buckets; begin = ends[b++]) {
      fabricbench::check_nccl(ncclReduce(args.grad + begin, args.sum + begin, static_cast<size_t>(ends[b] - begin),
                                         ncclFloat, ncclSum, owners[b], comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  fabricbench::NcclCommunicator comm_;
  int32_t* table_ = nullptr;
};
// [/solution]
