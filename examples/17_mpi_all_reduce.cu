// MPI as the bootstrap: the ranks are started by mpirun and exchange their IPC handles by MPI_Allgather.
//
// Teaches: the rank on this host (for cudaSetDevice) is that of a communicator split by shared memory; handles are
// bytes for MPI; the all-reduce itself is a kernel, and MPI's own result on the host is what it is checked against.
// Watch out: MPI_Barrier knows nothing of streams. Before it can mean "my GPU is done", the stream must be
// synchronised.
//
// Run: fabricbench exec --mpi --platform h100x8 --ranks 4 examples/17_mpi_all_reduce.cu
//  or: nvcc -arch=sm_90 -std=c++17 $(mpicxx --showme:compile) 17_mpi_all_reduce.cu -lmpi -o all_reduce, then
//      mpirun -np 4 ./all_reduce
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "common/block_barrier.h"
#include "common/check.h"

constexpr size_t kInputAt = (sizeof(BlockFlags) + 255) / 256 * 256;

__global__ void one_shot(Peers<BlockFlags> flags, Peers<int> inputs, int* output, int n, int rank, int world,
                         unsigned int epoch) {
  block_barrier(flags, rank, world, 2 * epoch - 1);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int sum = 0;
    for (int r = 0; r < world; ++r) sum += inputs.of[r][i];
    output[i] = sum;
  }
  block_barrier(flags, rank, world, 2 * epoch);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, world = 0, local_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local);
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm_free(&local);
  CHECK(cudaSetDevice(local_rank));

  constexpr int kCount = 5001;
  char* mine = nullptr;
  int* output = nullptr;
  CHECK(cudaMalloc(&mine, kInputAt + kCount * sizeof(int)));
  CHECK(cudaMalloc(&output, kCount * sizeof(int)));
  CHECK(cudaMemset(mine, 0, kInputAt));
  std::vector<int> input(kCount), expected(kCount), host(kCount);
  for (int i = 0; i < kCount; ++i) input[i] = i * (rank + 1) + rank;
  CHECK(cudaMemcpy(mine + kInputAt, input.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());

  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, mine));
  std::vector<cudaIpcMemHandle_t> handles(world);
  MPI_Allgather(&handle, sizeof handle, MPI_BYTE, handles.data(), sizeof handle, MPI_BYTE, MPI_COMM_WORLD);
  Peers<BlockFlags> flags{};
  Peers<int> inputs{};
  std::vector<void*> opened;
  for (int r = 0; r < world; ++r) {
    void* base = mine;
    if (r != rank) {
      CHECK(cudaIpcOpenMemHandle(&base, handles[r], cudaIpcMemLazyEnablePeerAccess));
      opened.push_back(base);
    }
    flags.of[r] = static_cast<BlockFlags*>(base);
    inputs.of[r] = reinterpret_cast<int*>(static_cast<char*>(base) + kInputAt);
  }

  one_shot<<<4, 256>>>(flags, inputs, output, kCount, rank, world, 1);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host.data(), output, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  MPI_Allreduce(input.data(), expected.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != expected[i]) fail("rank %d: sum %d is %d, MPI says %d", rank, i, host[i], expected[i]);
  }

  for (void* pointer : opened) CHECK(cudaIpcCloseMemHandle(pointer));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(cudaFree(mine));
  CHECK(cudaFree(output));
  if (rank == 0) std::printf("OK all-reduce under MPI on %d ranks\n", world);
  MPI_Finalize();
}
