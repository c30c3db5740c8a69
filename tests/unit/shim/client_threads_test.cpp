// Many host threads in the libraries beside CUDA's at once. As threads_test.cpp, whose program this is a part of: in
// the preset `tsan` the libraries are compiled with the thread sanitizer.

#include <cublas_v2.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <nvml.h>

#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/shim/nccl/node.h"
#include "tests/unit/shim/verbs/ends.h"

namespace {

void in_threads(int count, const std::function<void(int thread)>& body) {
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) threads.emplace_back(body, k);
  for (std::thread& t : threads) t.join();
}

// Each rank is a thread, and has a watchdog that asks for errors while the rank calls (as PyTorch's does).
class NcclThreads : public fb::Nccl {};

TEST_F(NcclThreads, RanksAndTheirWatchdogs) {
  in_threads(2 * fb::kRanks, [this](int thread) {
    const int rank = thread / 2;
    const ncclComm_t comm = comms_[static_cast<size_t>(rank)];
    for (int k = 0; k < 10; ++k) {
      if (thread % 2 == 0) {
        EXPECT_EQ(all_reduce(rank), ncclSuccess);
      } else {
        ncclResult_t state = ncclInternalError;
        int known = -1;
        EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
        EXPECT_EQ(state, ncclSuccess);
        EXPECT_EQ(ncclCommUserRank(comm, &known), ncclSuccess);
        EXPECT_EQ(known, rank);
        EXPECT_EQ(ncclCommUserRank(nullptr, &known), ncclInvalidArgument);
        EXPECT_NE(ncclGetLastError(nullptr), nullptr);
      }
    }
    if (thread % 2 == 0) {
      EXPECT_EQ(received(rank), std::vector<float>(fb::kElements, 3));
    }
  });
}

TEST_F(NcclThreads, MakeOperationsAndCommunicatorsOfTheirOwn) {
  in_threads(3, [this](int thread) {
    ASSERT_EQ(cudaSetDevice(thread), cudaSuccess);
    for (int k = 0; k < 4; ++k) {
      ncclUniqueId id{};
      ncclComm_t own = nullptr;
      ncclRedOp_t op{}, shared{};
      float scalar = 2;
      EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
      EXPECT_EQ(ncclCommInitRank(&own, 1, id, 0), ncclSuccess);
      EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, own), ncclSuccess);
      EXPECT_EQ(ncclRedOpCreatePreMulSum(&shared, &scalar, ncclFloat, ncclScalarHostImmediate, comms_[0]), ncclSuccess);
      EXPECT_EQ(ncclRedOpDestroy(shared, comms_[0]), ncclSuccess);
      EXPECT_EQ(ncclRedOpDestroy(op, own), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(own), ncclSuccess);
    }
  });
}

// A call with the result of another thread's would be wrong by much.
TEST(CublasThreads, ShareAHandleAndMakeTheirOwn) {
  constexpr int kElements = 64, kThreads = 3;
  cublasHandle_t shared = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cublasCreate(&shared), CUBLAS_STATUS_SUCCESS);
  std::vector<float*> vectors(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    const std::vector<float> host(kElements, static_cast<float>(t + 1));
    float*& x = vectors[static_cast<size_t>(t)];
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&x), kElements * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cublasSetVector(kElements, sizeof(float), host.data(), 1, x, 1), CUBLAS_STATUS_SUCCESS);
  }
  in_threads(kThreads, [&](int thread) {
    const float* const x = vectors[static_cast<size_t>(thread)];
    for (int k = 0; k < 20; ++k) {
      float sum = 0, norm = 0;
      EXPECT_EQ(cublasSasum(shared, kElements, x, 1, &sum), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(sum, static_cast<float>((thread + 1) * kElements));
      if (k % 5 != 0) continue;
      cublasHandle_t own = nullptr;
      EXPECT_EQ(cublasCreate(&own), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cublasSnrm2(own, kElements, x, 1, &norm), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(norm, static_cast<float>(thread + 1) * 8);
      EXPECT_EQ(cublasDestroy(own), CUBLAS_STATUS_SUCCESS);
      cublasLogCallback logger = nullptr;
      EXPECT_EQ(cublasSetLoggerCallback(nullptr), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cublasGetLoggerCallback(&logger), CUBLAS_STATUS_SUCCESS);
    }
  });
  EXPECT_EQ(cublasDestroy(shared), CUBLAS_STATUS_SUCCESS);
  for (float* x : vectors) EXPECT_EQ(cudaFree(x), cudaSuccess);
}

TEST(NvmlThreads, StartAndEndOnTheirOwn) {
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  in_threads(4, [](int) {
    for (int k = 0; k < 20; ++k) {
      nvmlDevice_t device = nullptr;
      unsigned int index = 0;
      EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
      EXPECT_EQ(nvmlDeviceGetHandleByIndex(7, &device), NVML_SUCCESS);
      EXPECT_EQ(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
      EXPECT_EQ(index, 7u);
      EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
    }
  });
  unsigned int count = 0;
  EXPECT_EQ(nvmlDeviceGetCount(&count), NVML_SUCCESS) << "this thread's start is not ended by others";
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
}

using VerbsThreads = fb::Verbs;
using fb::End;

TEST_F(VerbsThreads, MakeAndEndParentDomains) {
  End a(list_[0]);
  in_threads(4, [&](int) {
    ibv_parent_domain_init_attr wanted{};
    wanted.pd = a.pd;
    for (int k = 0; k < 2000; ++k) EXPECT_EQ(ibv_dealloc_pd(ibv_alloc_parent_domain(a.context, &wanted)), 0);
  });
}  // its domain is not in use any more

// Batches of writes: one thread's are in one piece, whatever others build.
TEST_F(VerbsThreads, BuildBatchesOfOneQueuePair) {
  End a(list_[0], IBV_QP_EX_WITH_RDMA_WRITE, 64), b(list_[1]);
  connect(a, b);
  constexpr int kThreads = 3, kRounds = 6, kBatch = 3;
  in_threads(kThreads, [&](int thread) {
    ibv_qp_ex* const x = ibv_qp_to_qp_ex(a.qp);
    for (int round = 0; round < kRounds; ++round) {
      ibv_wr_start(x);
      for (int k = 0; k < kBatch; ++k) {
        x->wr_id = static_cast<uint64_t>(thread * 100 + round * kBatch + k);
        x->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_rdma_write(x, b.mr->rkey, reinterpret_cast<uint64_t>(b.memory.data()));
        ibv_wr_set_sge(x, a.mr->lkey, reinterpret_cast<uint64_t>(a.memory.data()), 8);
      }
      EXPECT_EQ(ibv_wr_complete(x), 0);
    }
  });
  const std::vector<ibv_wc> all = a.next(kThreads * kRounds * kBatch);
  for (size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(all[k].status, IBV_WC_SUCCESS);
    if (k % kBatch != 0) {
      EXPECT_EQ(all[k].wr_id, all[k - 1].wr_id + 1);
    }
  }
}

// One waits for events and acknowledges them, another makes them; queues of others come and go.
TEST_F(VerbsThreads, WaitForEventsWhileOthersWork) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  constexpr int kRounds = 8;
  in_threads(3, [&](int thread) {
    for (int k = 0; k < kRounds; ++k) {
      if (thread == 0) {
        ibv_cq* cq = nullptr;
        void* context = nullptr;
        ASSERT_EQ(ibv_get_cq_event(a.channel, &cq, &context), 0);
        EXPECT_EQ(cq, a.cq);
        ibv_ack_cq_events(cq, 1);
      } else if (thread == 1) {
        ibv_sge piece = a.piece(0, 8);
        ibv_send_wr wr = a.write(1, &piece, 1, b), *bad = nullptr;
        ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
        ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
        EXPECT_EQ(a.next(1).front().status, IBV_WC_SUCCESS);
      } else {
        ibv_cq* const own = ibv_create_cq(a.context, 4, nullptr, a.channel, 0);
        ASSERT_NE(own, nullptr);
        EXPECT_EQ(ibv_destroy_cq(own), 0);
      }
    }
  });
}

}  // namespace
