// Collectives of NCCL, bf16. The host waits for each call.
//   all_reduce       the size is that of the vector
//   reduce_scatter   the size is that of the input
#include <nccl.h>

#include "common/harness.h"

void check_nccl(ncclResult_t result) {
  if (result != ncclSuccess) fail("NCCL: %s", ncclGetErrorString(result));
}

ncclComm_t communicator_of(const Gpu& gpu) {
  ncclUniqueId id;
  if (gpu.rank == 0) check_nccl(ncclGetUniqueId(&id));
  id = gpu.bootstrap.all_gather<ncclUniqueId>(id)[0];
  ncclComm_t communicator = nullptr;
  check_nccl(ncclCommInitRank(&communicator, gpu.world, id, gpu.rank));
  return communicator;
}

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const bool gathers = arguments.algorithm == "all_reduce";
  measure_all(arguments, [gathers](const Gpu& gpu, long bytes) {
    static const ncclComm_t communicator = communicator_of(gpu);
    const Shared<char> in(gpu.bootstrap, bytes), out(gpu.bootstrap, bytes);
    const size_t elements = static_cast<size_t>(bytes) / 2;
    return gpu.one_by_one(2, [&] {
      check_nccl(gathers ? ncclAllReduce(in.mine(), out.mine(), elements, ncclBfloat16, ncclSum, communicator, gpu.stream)
                         : ncclReduceScatter(in.mine(), out.mine(), elements / gpu.world, ncclBfloat16, ncclSum,
                                             communicator, gpu.stream));
    });
  });
}
