// Operands of cuBLAS that are touched too early or too late, by number: odd ones are wrong, the even one before each is
// its repaired form. From 100 on: operands that are no memory of the device.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstdio>
#include <cstdlib>

namespace {

cublasHandle_t handle;
cudaStream_t stream, second;
float *a, *b, *c, *scalars;
constexpr int kSize = 64;

__global__ void fill(float* p, float value, int stride) { p[threadIdx.x * stride] = value; }
__global__ void use(const float* p, float* sum) { atomicAdd(sum, p[threadIdx.x]); }

void order(cudaStream_t first, cudaStream_t then) {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(then, event, 0);
}

void multiply(float beta = 0) {
  const float one = 1;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, a, kSize, b, kSize, &beta, c, kSize);
}

void factor_written_too_late(bool right) {
  fill<<<1, 64, 0, second>>>(a, 1, 1);
  if (right) order(second, stream);
  multiply();
}
void result_read_too_early(bool right) {
  multiply();
  if (right) order(stream, second);
  use<<<1, 64, 0, second>>>(c, scalars);
}
void factor_overwritten_too_early(bool right) {
  multiply();
  if (right) order(stream, second);
  fill<<<1, 64, 0, second>>>(b, 1, 1);
}
// Without beta C is not read.
void scalar_written_meanwhile(bool right) {
  fill<<<1, 2, 0, second>>>(scalars + 8, 1, 1);
  if (right) order(second, stream);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, scalars + 8, a, kSize, b, kSize, scalars + 9, c,
              kSize);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
}
// Rows 32 to 63 of each column belong to another; a kernel that writes to row 31 does not keep to it.
void neighbour_in_the_same_columns(bool right) {
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 32, kSize, kSize, &one, a, kSize, b, kSize, &zero, c, kSize);
  fill<<<1, 64, 0, second>>>(c + (right ? 32 : 31), 1, kSize);
}
void vector_copied_too_early(bool right) {
  const float one = 1;
  cublasSaxpy(handle, kSize, &one, a, 1, b, 1);
  float host[kSize];
  if (right) order(stream, second);
  cudaMemcpyAsync(host, b, sizeof host, cudaMemcpyDeviceToHost, second);
  cudaStreamSynchronize(second);
}
void two_products_into_one(bool right) {
  multiply();
  if (right) order(stream, second);
  cublasSetStream(handle, second);
  multiply();
}
void in_a_graph(bool right) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  multiply();
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  fill<<<1, 64, 0, second>>>(a, 1, 1);
  if (right) order(second, stream);
  cudaGraphLaunch(exec, stream);
}

constexpr void (*kCases[])(bool) = {
    factor_written_too_late,       result_read_too_early,   factor_overwritten_too_early, scalar_written_meanwhile,
    neighbour_in_the_same_columns, vector_copied_too_early, two_products_into_one,        in_a_graph};

int fault(int number) {
  const float one = 1;
  float host[16] = {};
  if (number == 100) cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, host, 4, b, 4, &one, c, 4);
  if (number == 101) cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 65, 64, 64, &one, a, 65, b, 64, &one, c, 65);
  if (number == 102) cublasSaxpy(handle, kSize * kSize + 1, &one, a, 1, b, 1);
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s, then %s\n", cudaGetErrorName(e), cublasGetStatusName(cublasSaxpy(handle, 1, &one, a, 1, b, 1)));
  return e == cudaErrorIllegalAddress ? 0 : 1;
}

}  // namespace

int main(int, char** argv) {
  const int number = std::atoi(argv[1]);
  cublasCreate(&handle);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cublasSetStream(handle, stream);
  for (float** p : {&a, &b, &c, &scalars}) {
    cudaMalloc(p, kSize * kSize * sizeof(float));
    cudaMemset(*p, 0, kSize * kSize * sizeof(float));
  }
  cudaDeviceSynchronize();
  if (number >= 100) return fault(number);
  kCases[number / 2](number % 2 == 0);
  return cudaDeviceSynchronize() != cudaSuccess;
}
