// Times of cuBLAS beside other work: prints one figure a line, in microseconds of virtual time.
#include <cublas_v2.h>
#include <nccl.h>

#include <cstdio>

namespace {

constexpr int kDevices = 2;
constexpr int kSize = 2048, kDeep = 1024;  // 128 tiles
constexpr size_t kBytes = size_t{8} << 20;

cublasHandle_t handles[kDevices];
ncclComm_t comms[kDevices];
cudaStream_t streams[kDevices], others[kDevices];
char *factors[kDevices], *results[kDevices], *send[kDevices], *receive[kDevices];

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void product() {
  const float one = 1, zero = 0;
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    cublasGemmEx(handles[d], CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kDeep, &one, factors[d], CUDA_R_16BF, kDeep,
                 factors[d], CUDA_R_16BF, kDeep, &zero, results[d], CUDA_R_16BF, kSize, CUBLAS_COMPUTE_32F,
                 CUBLAS_GEMM_DEFAULT);
  }
}
void all_reduce() {
  ncclGroupStart();
  for (int d = 0; d < kDevices; ++d)
    ncclAllReduce(send[d], receive[d], kBytes / 4, ncclFloat, ncclSum, comms[d], others[d]);
  ncclGroupEnd();
}
void spins(int blocks) {
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    spin<<<blocks, 1024, 0, others[d]>>>(80000);
  }
}
// A vector as long as memory is busy with for a while.
void stream_memory() {
  const float two = 2;
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    cublasSscal(handles[d], static_cast<int>(kBytes / 4), &two, reinterpret_cast<float*>(send[d]), 1);
  }
}

// Of the longest device, on the streams of products, or until all work has ended.
template <class F>
double time_of(F work, bool all = false) {
  cudaEvent_t begin[kDevices], end[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    cudaEventCreate(&begin[d]);
    cudaEventCreate(&end[d]);
  }
  for (int d = 0; d < kDevices; ++d) cudaEventRecord(begin[d], streams[d]);
  work();
  double longest = 0;
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    if (all) {
      cudaEvent_t other;
      cudaEventCreate(&other);
      cudaEventRecord(other, others[d]);
      cudaStreamWaitEvent(streams[d], other, 0);
    }
    cudaEventRecord(end[d], streams[d]);
  }
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, begin[d], end[d]);
    longest = ms * 1000 > longest ? ms * 1000 : longest;
  }
  return longest;
}

void print(const char* name, double microseconds) { std::printf("%s %.3f\n", name, microseconds); }

}  // namespace

int main() {
  ncclCommInitAll(comms, kDevices, nullptr);
  for (int d = 0; d < kDevices; ++d) {
    cudaSetDevice(d);
    cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&others[d], cudaStreamNonBlocking);
    cublasCreate(&handles[d]);
    cublasSetStream(handles[d], streams[d]);
    cudaMalloc(&factors[d], size_t{kSize} * kDeep * 2);
    cudaMalloc(&results[d], size_t{kSize} * kSize * 2);
    cudaMalloc(&send[d], kBytes);
    cudaMalloc(&receive[d], kBytes);
    cudaMemset(factors[d], 0, size_t{kSize} * kDeep * 2);
    cudaMemset(send[d], 0, kBytes);
    for (int p = 0; p < kDevices; ++p) {
      if (p != d) cudaDeviceEnablePeerAccess(p, 0);
    }
  }
  const auto five = [] {
    for (int k = 0; k < 5; ++k) product();
  };
  print("product", time_of(product));
  print("products", time_of(five));
  print("all_reduce", time_of(all_reduce, true));
  print("both", time_of([&] { all_reduce(), five(); }, true));
  print("products_beside_all_reduce", time_of([&] { all_reduce(), five(); }));
  print("spin_few", time_of([] { spins(8); }, true));
  print("product_beside_few", time_of([] { spins(8), product(); }));
  print("spin_all", time_of([] { spins(264); }, true));
  print("product_behind_all", time_of([] { spins(264), product(); }));
  print("scale", time_of(stream_memory));
  // The other factor is on the other device.
  print("product_of_remote", time_of([] {
          const float one = 1, zero = 0;
          cudaSetDevice(0);
          cublasGemmEx(handles[0], CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kDeep, &one, factors[0], CUDA_R_16BF, kDeep,
                       factors[1], CUDA_R_16BF, kDeep, &zero, results[0], CUDA_R_16BF, kSize, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT);
        }));
}
