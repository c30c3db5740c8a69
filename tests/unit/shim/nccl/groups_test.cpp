// Groups are of a thread, nest, and send nothing before their outermost end.

#include <thread>

#include "tests/unit/shim/nccl/node.h"
#include "tests/unit/shim/requests.h"

namespace {

using NcclGroups = fb::Nccl;

TEST_F(NcclGroups, NothingIsSentBeforeTheOutermostEnd) {
  const size_t before = fb::requests_sent();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(all_reduce(0), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(all_reduce(1), ncclSuccess);
  EXPECT_EQ(fb::requests_sent(), before);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_GT(fb::requests_sent(), before);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 3));
}

// A message and its answer would wait for each other if they were started one by one.
TEST_F(NcclGroups, CallsOfOneCommunicatorAreOneRequest) {
  const size_t before = fb::requests_sent();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (size_t r = 0; r < fb::kRanks; ++r) {
    const int peer = 1 - static_cast<int>(r);
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(ncclSend(send_[r], 4, ncclFloat, peer, comms_[r], streams_[r]), ncclSuccess);
      EXPECT_EQ(ncclRecv(receive_[r] + 4 * k, 4, ncclFloat, peer, comms_[r], streams_[r]), ncclSuccess);
    }
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(fb::requests_sent(), before + fb::kRanks);
  const std::vector<float> got = received();
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 8), std::vector<float>(8, 2));
  EXPECT_EQ(got[8], 0);
}

TEST_F(NcclGroups, TheFirstErrorComesOutAtTheOutermostEndAndNothingIsLaunched) {
  const size_t before = fb::requests_sent();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(all_reduce(0), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(send_[0], 1, ncclFloat, 7, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclCommResume(comms_[0]), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << "only the outermost end tells";
  EXPECT_EQ(all_reduce(1), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument) << "the first of two errors";
  EXPECT_EQ(fb::requests_sent(), before);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 0));
  // The next group knows nothing of it.
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < fb::kRanks; ++r) EXPECT_EQ(all_reduce(r), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 3));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(NcclGroups, AGroupThatOnlySimulatesLaunchesNothing) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < fb::kRanks; ++r) EXPECT_EQ(all_reduce(r), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_EQ(info.estimatedTime, NCCL_UNDEF_FLOAT) << "an inner end knows no time";
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_GT(info.estimatedTime, 0);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 0));
}

TEST_F(NcclGroups, AStreamOfAnotherDeviceDropsTheWholeGroup) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(all_reduce(0), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(send_[1], receive_[1], 1, ncclFloat, ncclSum, comms_[1], streams_[0]), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 0)) << "the first rank's call was right, and is not launched";
}

TEST_F(NcclGroups, AMessageToOneselfNeedsBothEndsInTheGroup) {
  for (const int ends : {1, 2}) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(send_[0], 4, ncclFloat, 0, comms_[0], streams_[0]), ncclSuccess);
    if (ends == 2) {
      EXPECT_EQ(ncclRecv(receive_[0], 4, ncclFloat, 0, comms_[0], streams_[0]), ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), ends == 2 ? ncclSuccess : ncclInvalidUsage);
  }
  EXPECT_EQ(received()[3], 1);
}

TEST_F(NcclGroups, NothingToDoIsNoMistake) {
  const size_t before = fb::requests_sent();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(send_[0], receive_[0], 0, ncclFloat, ncclSum, comms_[0], streams_[0]), ncclSuccess);
  EXPECT_EQ(fb::requests_sent(), before);
}

// One rank's group stays open while other threads call. Each rank is a thread of its own.
TEST_F(NcclGroups, AreTheThreadsOwn) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 1, ncclFloat, ncclSum, nullptr, nullptr), ncclInvalidArgument);
  std::vector<std::thread> threads;
  for (int r = 0; r < fb::kRanks; ++r) {
    threads.emplace_back([this, r] {
      EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "no group of this thread";
      EXPECT_EQ(all_reduce(r), ncclSuccess) << "another thread's error";
      EXPECT_EQ(received(r), std::vector<float>(fb::kElements, 3));
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
}

}  // namespace
