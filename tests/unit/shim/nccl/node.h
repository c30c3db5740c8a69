#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace fb {

constexpr int kRanks = 2;
constexpr size_t kElements = 256;

// Two communicators of this process, each with a stream and two buffers of its device.
class Nccl : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Fills all send buffers of a rank with `rank + 1`, and clears what is received.
  void fill();
  // What rank 0 has received, when its stream is done.
  std::vector<float> received(int rank = 0);
  ncclResult_t all_reduce(int rank) {
    const auto r = static_cast<size_t>(rank);
    return ncclAllReduce(send_[r], receive_[r], kElements, ncclFloat, ncclSum, comms_[r], streams_[r]);
  }

  std::vector<ncclComm_t> comms_ = std::vector<ncclComm_t>(kRanks);
  std::vector<cudaStream_t> streams_ = std::vector<cudaStream_t>(kRanks);
  std::vector<float*> send_ = std::vector<float*>(kRanks), receive_ = std::vector<float*>(kRanks);
};

}  // namespace fb
