#include <mpi.h>

#include "ripples.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float mine = 0, all = 0;
  const bool good = cudaSetDevice(rank) == cudaSuccess && set_scale(2.0f) == cudaSuccess &&
                    weighed_sum(10 * rank, 10, &mine) == cudaSuccess;
  MPI_Reduce(&mine, &all, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) report("sum of all ranks", all);
  MPI_Finalize();
  return good ? 0 : 1;
}
