// Handles of communicators, operations and windows; communicators that are nonblocking, fail or end; parameters.

#include <cstdlib>
#include <string>

#include "tests/unit/shim/nccl/node.h"
#include "tests/unit/shim/requests.h"

namespace {

using NcclCommunicators = fb::Nccl;

ncclComm_t make_single(ncclConfig_t* config = nullptr) {
  ncclUniqueId id{};
  ncclComm_t made = nullptr;
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRankConfig(&made, 1, id, 0, config),
            config && config->blocking == 0 ? ncclInProgress : ncclSuccess);
  return made;
}

ncclConfig_t nonblocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

ncclResult_t wait_until_ready(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    if (const ncclResult_t r = ncclCommGetAsyncError(comm, &state); r != ncclSuccess) return r;
  }
  return state;
}

// A handle that is kept too long must not become another communicator's.
TEST_F(NcclCommunicators, HandlesAreNotGivenTwice) {
  const ncclComm_t first = make_single();
  ASSERT_EQ(ncclCommDestroy(first), ncclSuccess);
  const ncclComm_t second = make_single();
  EXPECT_NE(first, second);
  int count = 0;
  EXPECT_LOCAL(ncclCommCount(first, &count), ncclInvalidArgument);
  EXPECT_LOCAL(ncclCommDestroy(first), ncclInvalidArgument);
  EXPECT_LOCAL(ncclCommAbort(first), ncclInvalidArgument);
  EXPECT_LOCAL(ncclCommCount(second, &count), ncclSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(ncclCommAbort(second), ncclSuccess);
  EXPECT_LOCAL(ncclCommDestroy(second), ncclInvalidArgument);
  EXPECT_LOCAL(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_LOCAL(ncclCommAbort(nullptr), ncclSuccess);
}

TEST_F(NcclCommunicators, OperationsAreOfOneCommunicatorAndOneType) {
  float scalar = 10;
  ncclRedOp_t mine{}, later{};
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&mine, &scalar, ncclFloat, ncclScalarHostImmediate, comms_[0]), ncclSuccess);
  ncclRedOp_t theirs{};
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&theirs, &scalar, ncclFloat, ncclScalarHostImmediate, comms_[1]), ncclSuccess);
  scalar = 0;  // an immediate is read by the call that makes the operation
  EXPECT_LOCAL(ncclAllReduce(send_[1], receive_[1], 1, ncclFloat, mine, comms_[1], streams_[1]), ncclInvalidArgument);
  EXPECT_LOCAL(ncclAllReduce(send_[0], receive_[0], 1, ncclInt32, mine, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_LOCAL(ncclRedOpDestroy(mine, comms_[1]), ncclInvalidArgument);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  const auto count = fb::kElements;
  EXPECT_EQ(ncclAllReduce(send_[0], receive_[0], count, ncclFloat, mine, comms_[0], streams_[0]), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(send_[1], receive_[1], count, ncclFloat, theirs, comms_[1], streams_[1]), ncclSuccess);
  // Allowed as soon as the call has been made.
  EXPECT_LOCAL(ncclRedOpDestroy(mine, comms_[0]), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(received(), std::vector<float>(count, 30));
  EXPECT_LOCAL(ncclRedOpDestroy(mine, comms_[0]), ncclInvalidArgument);
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&later, &scalar, ncclFloat, ncclScalarHostImmediate, comms_[0]), ncclSuccess);
  EXPECT_NE(later, mine) << "a number is not given twice";
}

TEST_F(NcclCommunicators, ANonblockingOneIsUsedWhenItSaysSo) {
  ncclConfig_t config = nonblocking();
  const ncclComm_t comm = make_single(&config);
  int rank = -1;
  EXPECT_LOCAL(ncclCommUserRank(comm, &rank), ncclInvalidArgument);
  EXPECT_LOCAL(ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, comm, streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(wait_until_ready(comm), ncclSuccess);
  EXPECT_LOCAL(ncclCommUserRank(comm, &rank), ncclSuccess);
  EXPECT_EQ(rank, 0);
  // A call is in progress until the program has asked for its end.
  EXPECT_EQ(ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, comm, streams_[0]), ncclInProgress);
  EXPECT_LOCAL(ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, comm, streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, comm, streams_[0]), ncclInProgress);
  EXPECT_EQ(wait_until_ready(comm), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
  EXPECT_EQ(wait_until_ready(comm), ncclSuccess);
  EXPECT_LOCAL(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_LOCAL(ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, comm, streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// Two ranks on one device can't be: both communicators say so when they are asked.
TEST_F(NcclCommunicators, AnAsynchronousErrorIsFoundByAskingForIt) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  std::vector<ncclComm_t> comms(2);
  ncclConfig_t config = nonblocking();
  for (int r = 0; r < 2; ++r)
    EXPECT_EQ(ncclCommInitRankConfig(&comms[static_cast<size_t>(r)], 2, id, r, &config), ncclInProgress);
  for (const ncclComm_t c : comms) {
    EXPECT_EQ(wait_until_ready(c), ncclInvalidUsage);
    int count = 0;
    EXPECT_LOCAL(ncclCommCount(c, &count), ncclInvalidArgument);
    EXPECT_EQ(ncclCommAbort(c), ncclSuccess);
  }
}

TEST_F(NcclCommunicators, RevokedAndSuspendedOnesRefuseWork) {
  const auto call = [this](ncclComm_t c) {
    return ncclAllReduce(send_[0], receive_[0], 4, ncclFloat, ncclSum, c, streams_[0]);
  };
  const ncclComm_t comm = make_single();
  uint64_t suspended = 7;
  EXPECT_LOCAL(ncclCommSuspend(comm, 0), ncclSuccess);  // nothing to suspend
  EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess);
  EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage);
  EXPECT_LOCAL(call(comm), ncclInvalidUsage);
  EXPECT_LOCAL(ncclCommMemStats(comm, ncclStatGpuMemSuspended, &suspended), ncclSuccess);
  EXPECT_EQ(suspended, 1u);
  EXPECT_EQ(ncclCommResume(comm), ncclSuccess);
  EXPECT_LOCAL(ncclCommMemStats(comm, ncclStatGpuMemSuspended, &suspended), ncclSuccess);
  EXPECT_EQ(suspended, 0u);
  EXPECT_EQ(call(comm), ncclSuccess);
  EXPECT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclSuccess);
  EXPECT_LOCAL(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclInvalidArgument);
  EXPECT_LOCAL(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_LOCAL(call(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(NcclCommunicators, RanksWithoutAColorGetNoCommunicator) {
  std::vector<ncclComm_t> parts(fb::kRanks, comms_[0]);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < fb::kRanks; ++r) {
    const auto k = static_cast<size_t>(r);
    EXPECT_EQ(ncclCommSplit(comms_[k], r == 0 ? NCCL_SPLIT_NOCOLOR : 4, 0, &parts[k], nullptr), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(parts[0], nullptr);
  int rank = -1, count = -1, device = -1;
  EXPECT_EQ(ncclCommUserRank(parts[1], &rank), ncclSuccess);
  EXPECT_EQ(ncclCommCount(parts[1], &count), ncclSuccess);
  EXPECT_EQ(ncclCommCuDevice(parts[1], &device), ncclSuccess);
  EXPECT_EQ(std::vector({rank, count, device}), std::vector({0, 1, 1}));
  EXPECT_EQ(ncclCommDestroy(parts[1]), ncclSuccess);
}

TEST_F(NcclCommunicators, WindowsAreOfOneCommunicator) {
  std::vector<ncclWindow_t> windows(fb::kRanks);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (size_t r = 0; r < fb::kRanks; ++r)
    EXPECT_EQ(ncclCommWindowRegister(comms_[r], send_[r], 4096, &windows[r], NCCL_WIN_COLL_SYMMETRIC), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_LOCAL(ncclCommWindowDeregister(comms_[0], windows[1]), ncclInvalidArgument);
  void* user = nullptr;
  EXPECT_LOCAL(ncclWinGetUserPtr(comms_[1], windows[1], &user), ncclSuccess);
  EXPECT_EQ(user, send_[1]);
  for (size_t r = 0; r < fb::kRanks; ++r) {
    EXPECT_EQ(ncclCommWindowDeregister(comms_[r], windows[r]), ncclSuccess);
    EXPECT_LOCAL(ncclCommWindowDeregister(comms_[r], windows[r]), ncclInvalidArgument);
    EXPECT_LOCAL(ncclCommWindowDeregister(comms_[r], nullptr), ncclSuccess);
  }
}

TEST(NcclParameters, AreWhatTheEnvironmentSaysNow) {
  ncclParamHandle_t handle = nullptr;
  ASSERT_EQ(ncclParamBind(&handle, "NCCL_BUFFSIZE"), ncclSuccess);
  const auto value = [&] {
    int64_t got = -1;
    EXPECT_EQ(ncclParamGetI64(handle, &got), ncclSuccess);
    return got;
  };
  EXPECT_EQ(value(), 4194304);
  for (const auto& [text, expected] :
       {std::pair{"8388608", int64_t{8388608}}, {"true", 1}, {"F", 0}, {"12 ", 4194304}, {"", 4194304}}) {
    ASSERT_EQ(::setenv("NCCL_BUFFSIZE", text, 1), 0);
    EXPECT_EQ(value(), expected) << text;
  }
  int16_t small = 0;
  ASSERT_EQ(::setenv("NCCL_BUFFSIZE", "32768", 1), 0);
  EXPECT_EQ(ncclParamGetI16(handle, &small), ncclInvalidArgument);
  uint16_t unsigned_small = 0;
  EXPECT_EQ(ncclParamGetU16(handle, &unsigned_small), ncclSuccess);
  EXPECT_EQ(unsigned_small, 32768);
  int length = 0;
  int64_t number = 0;
  EXPECT_EQ(ncclParamGet(handle, &number, sizeof number, &length), ncclSuccess);
  EXPECT_EQ(number, 32768);
  EXPECT_EQ(length, 8);
  ASSERT_EQ(::unsetenv("NCCL_BUFFSIZE"), 0);

  char room[8] = {};
  ASSERT_EQ(ncclParamBind(&handle, "NCCL_ALGO"), ncclSuccess);
  ASSERT_EQ(::setenv("NCCL_ALGO", "Ring", 1), 0);
  EXPECT_EQ(ncclParamGet(handle, room, 4, &length), ncclInvalidArgument) << "no room for its end";
  EXPECT_EQ(length, 5);
  EXPECT_EQ(ncclParamGet(handle, room, 5, &length), ncclSuccess);
  EXPECT_STREQ(room, "Ring");
  ASSERT_EQ(::unsetenv("NCCL_ALGO"), 0);
}

}  // namespace
