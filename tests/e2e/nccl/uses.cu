// Uses and misuses of NCCL and their documented results: one row each, run one after the other.
//
// Prints `ok NAME` or `FAIL NAME: expected X got Y`; exit code 1 where a row failed.
//
// Run: fabricbench exec --platform h100x8 tests/e2e/nccl/uses.cu -lnccl
#include <cstdio>

#include "uses/collective_rows.h"
#include "uses/comm_rows.h"
#include "uses/later_rows.h"
#include "uses/misuse_rows.h"
#include "uses/one_sided_rows.h"
#include "uses/other_rows.h"

Fixture& fixture() {
  static Fixture f;
  return f;
}

int synchronise() {
  for (int r = 0; r < kRanks; ++r) {
    if (cudaStreamSynchronize(fixture().streams[r]) != cudaSuccess) return kCudaFailed;
  }
  return 0;
}

void prepare(const std::function<float(int, size_t)>& f) {
  synchronise();
  std::vector<float> host(kRanks * kCount);
  for (int r = 0; r < kRanks; ++r) {
    for (size_t i = 0; i < host.size(); ++i) host[i] = f(r, i);
    cudaSetDevice(r);
    cudaMemcpy(fixture().send[r], host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(fixture().receive[r], 0, host.size() * sizeof(float));
    cudaDeviceSynchronize();
  }
}

int compare(size_t count, const std::function<float(int, size_t)>& f) {
  if (const int e = synchronise(); e != 0) return e;
  std::vector<float> host(count);
  for (int r = 0; r < kRanks; ++r) {
    cudaMemcpy(host.data(), fixture().receive[r], count * sizeof(float), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < count; ++i) {
      if (host[i] == f(r, i)) continue;
      std::printf("rank %d, element %zu: %g instead of %g\n", r, i, host[i], f(r, i));
      return kWrongValue;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  auto& f = fixture();
  if (ncclCommInitAll(f.comms, kRanks, nullptr) != ncclSuccess) return 1;
  for (int r = 0; r < kRanks; ++r) {
    cudaSetDevice(r);
    cudaStreamCreateWithFlags(&f.streams[r], cudaStreamNonBlocking);
    ncclMemAlloc(reinterpret_cast<void**>(&f.send[r]), kRanks * kCount * sizeof(float));
    ncclMemAlloc(reinterpret_cast<void**>(&f.receive[r]), kRanks * kCount * sizeof(float));
  }
  ncclComm_t destroyed = nullptr;
  cudaSetDevice(0);
  ncclCommInitRank(&destroyed, 1, new_id(), 0);
  ncclCommDestroy(destroyed);
  ncclRedOp_t foreign, of_other_type;
  float scalar = 2;
  double wide = 2;
  ncclRedOpCreatePreMulSum(&foreign, &scalar, ncclFloat, ncclScalarHostImmediate, f.comms[1]);
  ncclRedOpCreatePreMulSum(&of_other_type, &wide, ncclDouble, ncclScalarHostImmediate, f.comms[0]);

  int rows = 0, failures = 0;
  for (const Rows& table : {collective_rows(), misuse_rows(destroyed, foreign, of_other_type), comm_rows(),
                            other_rows(), one_sided_rows(), later_rows()}) {
    for (const Row& row : table) {
      if (argc > 1 && row.name.find(argv[1]) == std::string::npos) continue;
      ++rows;
      const int got = row.act();
      if (got == row.expected) {
        std::printf("ok %s\n", row.name.c_str());
      } else {
        ++failures;
        std::printf("FAIL %s: expected %d got %d (%s)\n", row.name.c_str(), row.expected, got,
                    ncclGetLastError(nullptr));
      }
      std::fflush(stdout);
    }
  }
  for (ncclComm_t c : f.comms) ncclCommDestroy(c);
  std::printf("%d rows, %d failures\n", rows, failures);
  return failures != 0;
}
