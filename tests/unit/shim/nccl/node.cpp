#include "tests/unit/shim/nccl/node.h"

namespace fb {

void Nccl::SetUp() {
  ASSERT_EQ(ncclCommInitAll(comms_.data(), kRanks, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  for (size_t r = 0; r < kRanks; ++r) {
    ASSERT_EQ(cudaSetDevice(static_cast<int>(r)), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&streams_[r], cudaStreamNonBlocking), cudaSuccess);
    for (float** buffer : {&send_[r], &receive_[r]})
      ASSERT_EQ(ncclMemAlloc(reinterpret_cast<void**>(buffer), kRanks * kElements * sizeof(float)), ncclSuccess);
  }
  fill();
}

void Nccl::TearDown() {
  for (size_t r = 0; r < kRanks; ++r) {
    EXPECT_EQ(ncclCommDestroy(comms_[r]), ncclSuccess);
    EXPECT_EQ(cudaStreamDestroy(streams_[r]), cudaSuccess);
    EXPECT_EQ(ncclMemFree(send_[r]), ncclSuccess);
    EXPECT_EQ(ncclMemFree(receive_[r]), ncclSuccess);
  }
}

void Nccl::fill() {
  for (size_t r = 0; r < kRanks; ++r) {
    const std::vector<float> mine(kRanks * kElements, static_cast<float>(r + 1));
    ASSERT_EQ(cudaMemcpy(send_[r], mine.data(), mine.size() * sizeof(float), cudaMemcpyDefault), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(static_cast<int>(r)), cudaSuccess);
    ASSERT_EQ(cudaMemset(receive_[r], 0, mine.size() * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
}

std::vector<float> Nccl::received(int rank) {
  const auto r = static_cast<size_t>(rank);
  std::vector<float> got(kElements);
  EXPECT_EQ(cudaStreamSynchronize(streams_[r]), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(got.data(), receive_[r], got.size() * sizeof(float), cudaMemcpyDefault), cudaSuccess);
  return got;
}

}  // namespace fb
