// Stream capture: what it records, what it forbids. One process.
#include <thread>

#include "check.h"

__global__ void add(int* to, int what) { *to += what; }

static cudaStream_t make_stream(unsigned int flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

static int read(const int* from) {
  int value = -1;
  CHECK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

// Two streams joined by events, pageable memory, a callback, an update.
static void records(int* device) {
  cudaStream_t a = make_stream(), b = make_stream();
  cudaEvent_t fork = nullptr, join = nullptr;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  int pageable = 10, out = 0, called = 0;
  const auto capture = [&](int what) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(device, &pageable, sizeof(int), cudaMemcpyHostToDevice, a));
    CHECK(cudaEventRecord(fork, a));
    CHECK(cudaStreamWaitEvent(b, fork));
    add<<<1, 1, 0, b>>>(device, what);
    CHECK(cudaGetLastError());
    CHECK(cudaLaunchHostFunc(b, [](void* p) { ++*static_cast<int*>(p); }, &called));
    CHECK(cudaMemsetAsync(device + 1, 0xff, sizeof(int), a));
    CHECK(cudaEventRecord(join, b));
    CHECK(cudaStreamWaitEvent(a, join));
    CHECK(cudaMemcpyAsync(&out, device, sizeof(int), cudaMemcpyDeviceToHost, a));
    cudaStreamCaptureStatus status{};
    CHECK(cudaStreamIsCapturing(b, &status));
    CHECK_TRUE(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaStreamIsCapturing(b, &status));
    CHECK_TRUE(status == cudaStreamCaptureStatusNone);
    return graph;
  };
  cudaGraph_t graph = capture(5);
  size_t nodes = 0, edges = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK_TRUE(nodes == 5);
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  CHECK_TRUE(edges == 5);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph));
  CHECK(cudaGraphDestroy(graph));
  for (int k = 0; k < 3; ++k) {
    pageable = 10 * k;
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK_TRUE(out == 10 * k + 5);
    CHECK_TRUE(called == k + 1);
    CHECK_TRUE(read(device + 1) == -1);
  }
  cudaGraph_t changed = capture(7);
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, changed, &info));
  CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaStreamSynchronize(a));
  CHECK_TRUE(out == 27);
  CHECK(cudaGraphDestroy(changed));
  cudaGraph_t empty = nullptr;
  CHECK(cudaGraphCreate(&empty, 0));
  EXPECT(cudaGraphExecUpdate(exec, empty, &info), cudaErrorGraphExecUpdateFailure);
  CHECK_TRUE(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  CHECK(cudaGraphDestroy(empty));
  EXPECT(cudaGraphDestroy(empty), cudaErrorInvalidValue);
  CHECK(cudaGraphExecDestroy(exec));
  EXPECT(cudaGraphLaunch(exec, a), cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
}

// A stream that has joined may be destroyed before the capture ends; one that has not joined leaves it open.
static void streams_may_leave(int* device) {
  for (const bool joined : {true, false}) {
    cudaStream_t a = make_stream(), b = make_stream();
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event));
    add<<<1, 1, 0, b>>>(device, 1);
    CHECK(cudaEventRecord(event, b));
    if (joined) CHECK(cudaStreamWaitEvent(a, event));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaEventDestroy(event));
    cudaGraph_t graph = nullptr;
    EXPECT(cudaStreamEndCapture(a, &graph), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    if (graph) CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(a));
  }
}

// A stream of a library that ends with a node added by hand need not come back; with captured work it must.
static void nodes_by_hand_need_not_come_back(int* device) {
  for (const bool work : {false, true}) {
    cudaStream_t a = make_stream(), b = make_stream();
    cudaEvent_t event = nullptr, serial = nullptr;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreate(&serial));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, a>>>(device, 1);
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event));
    CHECK(cudaStreamUpdateCaptureDependencies(b, nullptr, nullptr, 0, cudaStreamSetCaptureDependencies));
    add<<<1, 1, 0, b>>>(device, 1);
    CHECK(cudaEventRecord(event, b));
    CHECK(cudaStreamWaitEvent(a, event));
    cudaStreamCaptureStatus status;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* last = nullptr;
    size_t count = 0;
    CHECK(cudaStreamGetCaptureInfo(b, &status, nullptr, &graph, &last, nullptr, &count));
    CHECK_TRUE(status == cudaStreamCaptureStatusActive && count == 1);
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddEventRecordNode(&node, graph, last, count, serial));
    CHECK(cudaStreamUpdateCaptureDependencies(b, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
    if (work) add<<<1, 1, 0, b>>>(device, 1);
    graph = nullptr;
    EXPECT(cudaStreamEndCapture(a, &graph), work ? cudaErrorStreamCaptureUnjoined : cudaSuccess);
    if (graph) {
      cudaGraphExec_t exec = nullptr;
      CHECK(cudaGraphInstantiate(&exec, graph));
      CHECK(cudaGraphLaunch(exec, a));
      CHECK(cudaStreamSynchronize(a));
      CHECK(cudaEventQuery(serial));
      CHECK(cudaGraphExecDestroy(exec));
      CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(serial));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
  }
}

// Events that took part in a capture live on; the graph, and what it owns, goes when the last owner is destroyed.
static void graphs_end_while_events_live() {
  static int destroyed = 0;
  cudaStream_t a = make_stream();
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, a));
  cudaStreamCaptureStatus status;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamGetCaptureInfo(a, &status, nullptr, &graph));
  cudaUserObject_t object = nullptr;
  CHECK(cudaUserObjectCreate(
      &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaStreamEndCapture(a, &graph));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK_TRUE(destroyed == 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK_TRUE(destroyed == 1);
  CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(a));
}

// Where the caller has the graph already, the end of the capture need not return it.
static void into_a_graph(int* device) {
  cudaStream_t stream = make_stream();
  cudaGraph_t graph = nullptr, same = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  for (cudaGraph_t* result : {&same, static_cast<cudaGraph_t*>(nullptr)}) {
    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(device, 1);
    CHECK(cudaStreamEndCapture(stream, result));
  }
  CHECK_TRUE(same == graph);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK_TRUE(nodes == 2);
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

static void built(int* device) {
  cudaGraph_t graph = nullptr, child = nullptr;
  cudaGraphNode_t first = nullptr, second = nullptr, third = nullptr, inner = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  cudaMemsetParams zero{device, 0, 0, 4, 1, 1};
  CHECK(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &zero));
  int what = 3;
  void* arguments[] = {&device, &what};
  cudaKernelNodeParams kernel{reinterpret_cast<void*>(&add), 1, 1, 0, arguments, nullptr};
  CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &kernel));
  CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
  CHECK(cudaGraphAddKernelNode(&third, graph, nullptr, 0, &kernel));
  CHECK(cudaGraphAddDependencies(graph, &second, &third, nullptr, 1));
  EXPECT(cudaGraphAddDependencies(graph, &second, &third, nullptr, 1), cudaErrorInvalidValue);
  EXPECT(cudaGraphAddDependencies(graph, &inner, &third, nullptr, 1), cudaErrorInvalidValue);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK_TRUE(read(device) == 6);
  what = 40;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, third, &kernel));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK_TRUE(read(device) == 43);
  CHECK(cudaGraphAddDependencies(graph, &third, &first, nullptr, 1));
  cudaGraphExec_t cyclic = nullptr;
  EXPECT(cudaGraphInstantiate(&cyclic, graph, 0), cudaErrorInvalidValue);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaGraphDestroy(graph));
}

static void forbids(int* device) {
  cudaStream_t a = make_stream(), b = make_stream(), blocking = make_stream(cudaStreamDefault);
  cudaEvent_t event = nullptr, outside = nullptr;
  cudaGraph_t graph = nullptr;
  void* pointer = nullptr;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&outside));
  CHECK(cudaEventRecord(outside, b));
  EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorIllegalState);
  EXPECT(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  const auto begin = [&](cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    CHECK(cudaStreamBeginCapture(a, mode));
  };
  const auto end = [&](cudaError_t error) { EXPECT(cudaStreamEndCapture(a, &graph), error); };

  begin();
  EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
  end(cudaErrorStreamCaptureInvalidated);

  begin();
  EXPECT(cudaMalloc(&pointer, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaMemsetAsync(device, 0, 4, a), cudaErrorStreamCaptureInvalidated);
  end(cudaErrorStreamCaptureInvalidated);

  begin(cudaStreamCaptureModeRelaxed);
  CHECK(cudaMalloc(&pointer, 4));
  CHECK(cudaFree(pointer));
  end(cudaSuccess);
  CHECK(cudaGraphDestroy(graph));

  begin();
  auto mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(cudaMalloc(&pointer, 4));
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK_TRUE(mode == cudaStreamCaptureModeRelaxed);
  end(cudaSuccess);
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(pointer));

  begin();
  EXPECT(cudaStreamWaitEvent(a, outside), cudaErrorStreamCaptureIsolation);
  end(cudaErrorStreamCaptureInvalidated);

  begin();
  CHECK(cudaEventRecord(event, a));
  EXPECT(cudaEventQuery(event), cudaErrorCapturedEvent);
  end(cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  CHECK(cudaEventRecord(event, a));
  CHECK(cudaEventSynchronize(event));

  begin();
  CHECK(cudaEventRecord(event, a));
  CHECK(cudaStreamWaitEvent(b, event));
  CHECK(cudaMemsetAsync(device, 0, 4, b));
  EXPECT(cudaStreamEndCapture(b, &graph), cudaErrorStreamCaptureUnmatched);
  end(cudaErrorStreamCaptureInvalidated);

  begin();
  CHECK(cudaEventRecord(event, a));
  CHECK(cudaStreamWaitEvent(b, event));
  CHECK(cudaMemsetAsync(device, 0, 4, b));
  end(cudaErrorStreamCaptureUnjoined);

  begin();
  CHECK(cudaStreamBeginCapture(b, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, b));
  EXPECT(cudaStreamWaitEvent(a, event), cudaErrorStreamCaptureMerge);
  end(cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaStreamEndCapture(b, &graph), cudaErrorStreamCaptureInvalidated);

  CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  EXPECT(cudaMemset(device, 0, 4), cudaErrorStreamCaptureImplicit);
  EXPECT(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);

  begin(cudaStreamCaptureModeThreadLocal);
  std::thread([&] {
    EXPECT(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureWrongThread);
    CHECK(cudaMalloc(&pointer, 4));
    CHECK(cudaFree(pointer));
  }).join();
  end(cudaSuccess);
  CHECK(cudaGraphDestroy(graph));

  begin();
  std::thread([&] { EXPECT(cudaMalloc(&pointer, 4), cudaErrorStreamCaptureUnsupported); }).join();
  end(cudaErrorStreamCaptureInvalidated);
}

int main() {
  int* device = nullptr;
  CHECK(cudaMalloc(&device, 64));
  records(device);
  streams_may_leave(device);
  nodes_by_hand_need_not_come_back(device);
  graphs_end_while_events_live();
  into_a_graph(device);
  built(device);
  forbids(device);
  std::puts(failures() == 0 ? "OK" : "FAILED");
  return failures() != 0;
}
