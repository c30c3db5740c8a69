// An all-reduce of two nodes alone, and beside writes through the first card of each: prints both times in
// microseconds.

#include <nccl.h>

#include "../../../platforms/calibration/common/card.h"

namespace {

constexpr size_t kCount = 4 << 20;
constexpr long kBytes = 1 << 20;
constexpr int kWrites = 64;  // of a node

void check(ncclResult_t result) {
  if (result != ncclSuccess) fail("NCCL: %s", ncclGetErrorString(result));
}

double all_reduce(ncclComm_t comm, float* data, cudaStream_t stream) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin, stream));
  check(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comm, stream));
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaStreamSynchronize(stream));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  return 1000 * milliseconds;
}

}  // namespace

int main() {
  Bootstrap ranks;
  CHECK(cudaSetDevice(ranks.local_rank));
  ncclUniqueId id{};
  if (ranks.rank == 0) check(ncclGetUniqueId(&id));
  id = ranks.all_gather(id)[0];
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, ranks.world, id, ranks.rank));
  float* data = nullptr;
  CHECK(cudaMalloc(&data, kCount * sizeof(float)));
  CHECK(cudaMemset(data, 0, kCount * sizeof(float)));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  all_reduce(comm, data, stream);
  const double alone = all_reduce(comm, data, stream);

  Card card(IBV_QPT_RC, kBytes);
  const auto cards = ranks.all_gather(card.address());
  card.connect(cards[(ranks.rank + ranks.world / 2) % ranks.world]);
  ranks.barrier();
  const int mine = kWrites / (ranks.world / 2);
  for (int k = 1; k <= mine; ++k) card.post(IBV_WR_RDMA_WRITE, kBytes, k == mine ? IBV_SEND_SIGNALED : 0);
  const double beside = all_reduce(comm, data, stream);
  card.wait();
  ranks.barrier();
  if (ranks.rank == 0) std::printf("alone %.1f beside %.1f\n", alone, beside);
  check(ncclCommDestroy(comm));
}
