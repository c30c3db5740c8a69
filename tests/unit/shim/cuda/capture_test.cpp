// Capture is bookkeeping of the process: it needs no machine.

#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/event_calls.h"
#include "ranks/shim/cuda/streams/stream_calls.h"
#include "ranks/shim/cuda/streams/submit.h"

#include <gtest/gtest.h>

#include <thread>

namespace fb::shim {
namespace {

cudaStream_t make_stream(unsigned int flags = cudaStreamNonBlocking) {
  static wire::Id next = 1;
  auto stream = std::make_shared<Stream>();
  stream->id = next++;
  stream->flags = flags;
  return streams().add(std::move(stream));
}

cudaEvent_t make_event() { return events().add(std::make_shared<Event>()); }

Error work_on(cudaStream_t stream) { return submit(**find_stream(stream), EmptyWork{}); }

cudaGraph_t ended(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(end_capture(stream, &graph), cudaSuccess);
  return graph;
}

class CaptureTest : public testing::Test {
 protected:
  cudaStream_t a = make_stream(), b = make_stream();
  cudaEvent_t event = make_event();
  cudaGraph_t graph = nullptr;
};

TEST_F(CaptureTest, WorkOfOneStreamIsAChain) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(work_on(a), cudaSuccess);
  const auto made = find_graph(ended(a));
  ASSERT_TRUE(made);
  const auto& nodes = (*made)->nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_TRUE(nodes[0]->after.empty());
  EXPECT_EQ(nodes[1]->after, std::vector{nodes[0].get()});
  EXPECT_EQ(nodes[2]->after, std::vector{nodes[1].get()});
}

TEST_F(CaptureTest, EventsForkAndJoinStreams) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(work_on(a), cudaSuccess);
  EXPECT_EQ(record_event(event, a, 0), cudaSuccess);
  EXPECT_EQ(stream_wait_event(b, event, 0), cudaSuccess);
  EXPECT_EQ(work_on(a), cudaSuccess);
  EXPECT_EQ(work_on(b), cudaSuccess);
  EXPECT_EQ(record_event(event, b, 0), cudaSuccess);
  EXPECT_EQ(stream_wait_event(a, event, 0), cudaSuccess);
  EXPECT_EQ(work_on(a), cudaSuccess);
  const auto made = find_graph(ended(a));
  ASSERT_TRUE(made);
  const auto& nodes = (*made)->nodes;
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[2]->after, std::vector{nodes[0].get()});
  EXPECT_EQ(nodes[3]->after, (std::vector{nodes[1].get(), nodes[2].get()}));
  EXPECT_FALSE(capturing(**find_stream(b)));
}

TEST_F(CaptureTest, WorkThatDoesNotComeBackIsUnjoined) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(record_event(event, a, 0), cudaSuccess);
  EXPECT_EQ(stream_wait_event(b, event, 0), cudaSuccess);
  EXPECT_EQ(work_on(b), cudaSuccess);
  EXPECT_EQ(end_capture(a, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(end_capture(a, &graph), cudaErrorIllegalState);
}

TEST_F(CaptureTest, TwoCapturesDoNotMerge) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(begin_capture(b, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(record_event(event, b, 0), cudaSuccess);
  EXPECT_EQ(stream_wait_event(a, event, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end_capture(a, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end_capture(b, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureTest, AnEventFromOutsideIsRefusedUnlessItIsMeantToBeOutside) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(stream_wait_event(a, event, cudaEventWaitExternal), cudaSuccess);
  EXPECT_EQ(stream_wait_event(a, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end_capture(a, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureTest, UnsafeCallsDependOnTheModesOfCaptureAndThread) {
  const auto allowed_here = [&](cudaStreamCaptureMode of_capture, cudaStreamCaptureMode of_thread) {
    EXPECT_EQ(begin_capture(a, of_capture), cudaSuccess);
    thread().capture_mode = of_thread;
    const Error e = check_unsafe_call();
    thread().capture_mode = cudaStreamCaptureModeGlobal;
    EXPECT_EQ(end_capture(a, &graph), e == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    return e == cudaSuccess;
  };
  EXPECT_FALSE(allowed_here(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal));
  EXPECT_FALSE(allowed_here(cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal));
  EXPECT_TRUE(allowed_here(cudaStreamCaptureModeRelaxed, cudaStreamCaptureModeGlobal));
  EXPECT_FALSE(allowed_here(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal));
  EXPECT_TRUE(allowed_here(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed));
}

TEST_F(CaptureTest, OtherThreadsMindOnlyGlobalCaptures) {
  const auto allowed_elsewhere = [&](cudaStreamCaptureMode mode) {
    EXPECT_EQ(begin_capture(a, mode), cudaSuccess);
    Error e = cudaSuccess, end = cudaSuccess;
    std::thread([&] {
      cudaGraph_t theirs = nullptr;
      end = mode == cudaStreamCaptureModeRelaxed ? cudaErrorStreamCaptureWrongThread : end_capture(a, &theirs);
      e = check_unsafe_call();
    }).join();
    EXPECT_EQ(end, cudaErrorStreamCaptureWrongThread);
    EXPECT_EQ(end_capture(a, &graph), e == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    return e == cudaSuccess;
  };
  EXPECT_FALSE(allowed_elsewhere(cudaStreamCaptureModeGlobal));
  EXPECT_TRUE(allowed_elsewhere(cudaStreamCaptureModeThreadLocal));
  EXPECT_TRUE(allowed_elsewhere(cudaStreamCaptureModeRelaxed));
}

TEST_F(CaptureTest, TheDefaultStreamMustNotWaitForABlockingStreamThatCaptures) {
  const Stream legacy;
  const cudaStream_t blocking = make_stream(cudaStreamDefault);
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(check_default_stream(legacy), cudaSuccess);
  ASSERT_EQ(begin_capture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(check_default_stream(legacy), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end_capture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end_capture(a, &graph), cudaSuccess);
}

TEST_F(CaptureTest, DependenciesCanBeReplaced) {
  ASSERT_EQ(begin_capture(a, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(work_on(a), cudaSuccess);
  const cudaGraphNode_t* tails = nullptr;
  size_t count = 0;
  cudaStreamCaptureStatus status{};
  ASSERT_EQ(capture_info(a, &status, nullptr, &graph, &tails, &count), cudaSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  const auto extra = add_node(graph, nullptr, 0, EmptyWork{});
  ASSERT_TRUE(extra);
  EXPECT_EQ(update_capture_dependencies(a, &*extra, 1, cudaStreamSetCaptureDependencies), cudaSuccess);
  EXPECT_EQ(work_on(a), cudaSuccess);
  const auto made = find_graph(ended(a));
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->nodes.back()->after, std::vector{find_node(*extra)->get()});
}

}  // namespace
}  // namespace fb::shim
