// A kernel waits for the last byte of a write and then looks at the first: prints "late" where that was not there yet.
// Nothing promises it (ibv_query_qp_data_in_order).

#include <cstdio>

#include "../../../platforms/calibration/common/card.h"

namespace {

constexpr long kBytes = 65536;

__global__ void look(const volatile char* memory, int* late) {
  while (memory[kBytes - 1] == 0) {
  }
  *late = memory[0] == 0;
}

}  // namespace

int main() {
  Card from(IBV_QPT_RC, kBytes), to(IBV_QPT_RC, kBytes, Memory::device);
  from.connect(to.address());
  to.connect(from.address());
  if (from.promises_order()) fail("the card promises an order");
  CHECK(cudaMemset(to.memory(), 0, kBytes));
  std::memset(from.memory(), 1, kBytes);
  int* late = nullptr;
  CHECK(cudaMallocManaged(&late, sizeof *late));
  CHECK(cudaDeviceSynchronize());
  look<<<1, 1>>>(static_cast<const volatile char*>(to.memory()), late);
  from.post(IBV_WR_RDMA_WRITE, kBytes);
  from.wait();
  CHECK(cudaDeviceSynchronize());
  std::puts(*late != 0 ? "late" : "in order");
}
