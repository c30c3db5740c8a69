// MPI calls with device pointers, on any number of ranks: halo exchange of a Jacobi iteration as programs write it, and
// one call of each kind.
#include <cuda_runtime.h>
#include <mpi-ext.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(condition)                                                         \
  if (!(condition)) {                                                            \
    std::printf("rank %d, line %d: not true: %s\n", rank, __LINE__, #condition); \
    MPI_Abort(MPI_COMM_WORLD, 1);                                                \
  }

#if !defined(MPIX_CUDA_AWARE_SUPPORT) || !MPIX_CUDA_AWARE_SUPPORT
#error "programs that ask at compile time must be told"
#endif

static int rank = 0, ranks = 1;

__global__ void fill(int* to, int count, int from, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from + i * step;
}
__global__ void smooth(float* to, const float* from, int width, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  if (x == 0 || x >= width - 1 || y > rows) return;
  to[y * width + x] = 0.25f * (from[y * width + x - 1] + from[y * width + x + 1] + from[(y - 1) * width + x] +
                               from[(y + 1) * width + x]);
}

template <class T>
struct Array {
  explicit Array(int length) : count(length) { cudaMalloc(&data, static_cast<size_t>(length) * sizeof(T)); }
  ~Array() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> copy(static_cast<size_t>(count));
    cudaMemcpy(copy.data(), data, copy.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return copy;
  }
  void set(int from, int step) const {
    fill<<<(count + 127) / 128, 128>>>(data, count, from, step);
    cudaDeviceSynchronize();
  }
  T* data = nullptr;
  int count;
};

// Rows of each rank with a halo above and below; neighbours in a ring. Returns the sum of all elements.
static double jacobi(bool nonblocking) {
  const int width = 64, rows = 8, steps = 12;
  Array<float> a((rows + 2) * width), b((rows + 2) * width);
  std::vector<float> start(static_cast<size_t>(a.count));
  for (size_t k = 0; k < start.size(); ++k) start[k] = static_cast<float>((k * 7 + static_cast<size_t>(rank) * 3) % 11);
  for (const auto* array : {&a, &b})
    cudaMemcpy(array->data, start.data(), start.size() * sizeof(float), cudaMemcpyHostToDevice);
  float *from = a.data, *to = b.data;
  const int above = (rank + ranks - 1) % ranks, below = (rank + 1) % ranks;
  for (int step = 0; step < steps; ++step) {
    float* const first = from + width;
    float* const last = from + rows * width;
    if (nonblocking) {
      MPI_Request requests[4];
      MPI_Irecv(from, width, MPI_FLOAT, above, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(last + width, width, MPI_FLOAT, below, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Isend(last, width, MPI_FLOAT, below, 0, MPI_COMM_WORLD, &requests[2]);
      MPI_Isend(first, width, MPI_FLOAT, above, 1, MPI_COMM_WORLD, &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Sendrecv(last, width, MPI_FLOAT, below, 0, from, width, MPI_FLOAT, above, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Sendrecv(first, width, MPI_FLOAT, above, 1, last + width, width, MPI_FLOAT, below, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    smooth<<<dim3(1, rows), width>>>(to, from, width, rows);
    cudaDeviceSynchronize();
    std::swap(from, to);
  }
  std::vector<float> end(start.size());
  cudaMemcpy(end.data(), from, end.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0, all = 0;
  for (int k = width; k < (rows + 1) * width; ++k) sum += end[static_cast<size_t>(k)];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void messages() {
  const int n = 1000, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  Array<int> out(n), in(n);
  out.set(rank * n, 1);
  in.set(-1, 0);
  MPI_Request requests[2];
  int index = -1, flag = 0;
  // A message may be shorter than the buffer: the rest stays.
  MPI_Status status;
  MPI_Isend(out.data, n / 2, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv(in.data, n, MPI_INT, from, 3, MPI_COMM_WORLD, &status);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(in.host()[n / 2 - 1] == from * n + n / 2 - 1 && in.host()[n / 2] == -1);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == n / 2 && status.MPI_SOURCE == from);

  MPI_Irecv(in.data, n, MPI_INT, from, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data, n, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  CHECK(in.host()[n - 1] == from * n + n - 1);

  MPI_Sendrecv_replace(in.data, n, MPI_INT, from, 5, to, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.host()[7] == rank * n + 7);
  // A datatype without gaps.
  MPI_Datatype ten;
  MPI_Type_contiguous(10, MPI_INT, &ten);
  MPI_Type_commit(&ten);
  MPI_Sendrecv(out.data, n / 10, ten, to, 6, in.data, n / 10, ten, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.host()[n - 1] == from * n + n - 1);
  MPI_Type_free(&ten);
  // Device to host, and managed memory.
  int* managed = nullptr;
  cudaMallocManaged(&managed, n * sizeof(int));
  MPI_Sendrecv(out.data, n, MPI_INT, to, 7, managed, n, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(managed[5] == from * n + 5);
  cudaFree(managed);
}

static void collectives() {
  const int n = 100;
  Array<int> mine(n), sum(n), all(n * ranks), back(n * ranks);
  mine.set(rank, 1);
  MPI_Allreduce(mine.data, sum.data, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum.host()[9] == ranks * (ranks - 1) / 2 + 9 * ranks);
  MPI_Allreduce(MPI_IN_PLACE, mine.data, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(mine.host()[9] == ranks - 1 + 9);
  mine.set(rank, 1);
  sum.set(-5, 0);
  MPI_Reduce(mine.data, sum.data, n, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
  CHECK(sum.host()[1] == (rank == ranks - 1 ? ranks * (ranks - 1) / 2 + ranks : -5));
  MPI_Bcast(sum.data, n, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  CHECK(sum.host()[1] == ranks * (ranks - 1) / 2 + ranks);
  MPI_Allgather(mine.data, n, MPI_INT, all.data, n, MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < ranks; ++k) CHECK(all.host()[static_cast<size_t>(k * n + 3)] == k + 3);
  all.set(rank * 100000, 1);
  MPI_Alltoall(all.data, n, MPI_INT, back.data, n, MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < ranks; ++k) CHECK(back.host()[static_cast<size_t>(k * n)] == k * 100000 + rank * n);
  MPI_Reduce_scatter_block(all.data, sum.data, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum.host()[2] == 100000 * (ranks * (ranks - 1) / 2) + ranks * (rank * n + 2));
  mine.set(rank * n, 1);
  MPI_Gather(mine.data, n, MPI_INT, all.data, n, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) CHECK(all.host().back() == ranks * n - 1);
  MPI_Scatter(all.data, n, MPI_INT, sum.data, n, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(sum.host()[4] == rank * n + 4);
  std::vector<int> counts(static_cast<size_t>(ranks), 10), at(static_cast<size_t>(ranks));
  for (int k = 0; k < ranks; ++k) at[static_cast<size_t>(k)] = k * n + 5;
  all.set(-1, 0);
  MPI_Allgatherv(mine.data, 10, MPI_INT, all.data, counts.data(), at.data(), MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < ranks; ++k) {
    CHECK(all.host()[static_cast<size_t>(k * n + 5)] == k * n && all.host()[static_cast<size_t>(k * n + 4)] == -1);
  }
  MPI_Request request;
  MPI_Iallreduce(mine.data, sum.data, n, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum.host()[6] == 6);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);
  CHECK(MPIX_Query_cuda_support() == 1);
  if (argc > 1) {  // a column of a matrix: a datatype with gaps
    Array<int> matrix(64);
    MPI_Datatype column;
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Bcast(matrix.data, 1, column, 0, MPI_COMM_WORLD);
    return 0;
  }
  messages();
  collectives();
  const double blocking = jacobi(false), nonblocking = jacobi(true);
  CHECK(blocking == nonblocking);
  if (rank == 0) std::printf("OK, the sum of all elements is %.4f\n", blocking);
  MPI_Finalize();
  return 0;
}
