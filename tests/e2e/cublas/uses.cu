// Uses and misuses of cuBLAS and cuBLASLt and their documented results: one row each, run one after the other.
//
// Prints `ok NAME` or `FAIL NAME: expected X got Y`; exit code 1 where a row failed.
//
// Run: fabricbench exec --platform h100x8 tests/e2e/cublas/uses.cu -lcublas -lcublasLt
#include <cstdio>

#include "uses/gemm_rows.h"
#include "uses/lt_rows.h"
#include "uses/other_rows.h"

Fixture& fixture() {
  static Fixture f;
  return f;
}

int main(int argc, char** argv) {
  auto& f = fixture();
  if (cublasCreate(&f.handle) != CUBLAS_STATUS_SUCCESS) return 1;
  cudaStreamCreateWithFlags(&f.stream, cudaStreamNonBlocking);
  cublasSetStream(f.handle, f.stream);
  for (double** buffer : {&f.a, &f.b, &f.c}) {
    cudaMalloc(buffer, 4 * kSize * kSize * sizeof(double));
    cudaMemset(*buffer, 0, 4 * kSize * kSize * sizeof(double));
  }
  cudaDeviceSynchronize();
  cublasHandle_t destroyed = nullptr;
  cublasCreate(&destroyed);
  cublasDestroy(destroyed);

  int rows = 0, failures = 0;
  for (const Rows& table : {gemm_rows(destroyed), handle_rows(destroyed), vector_rows(destroyed), lt_rows()}) {
    for (const Row& row : table) {
      if (argc > 1 && row.name.find(argv[1]) == std::string::npos) continue;
      ++rows;
      const int got = row.act();
      if (got == row.expected) {
        std::printf("ok %s\n", row.name.c_str());
      } else {
        ++failures;
        std::printf("FAIL %s: expected %d got %d\n", row.name.c_str(), row.expected, got);
      }
      std::fflush(stdout);
    }
  }
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  if (failed) std::printf("FAIL: the device has an error\n");
  cublasDestroy(f.handle);
  std::printf("%d rows, %d failures\n", rows, failures);
  return failures != 0 || failed;
}
