// Stream capture and graphs.
#pragma once
#include <thread>

#include "launch_rows.h"
#include "row.h"

// A capture on a stream of its own; ended at the end of the scope, whatever became of it.
struct Capture {
  explicit Capture(unsigned int flags = cudaStreamNonBlocking) : stream(flags) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  }
  ~Capture() {
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream, &graph);
    if (graph) cudaGraphDestroy(graph);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Stream stream;
};

// A graph of `kernels` kernels in a row.
inline cudaGraph_t graph_of(int kernels) {
  const Stream stream;
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < kernels; ++i) nothing<<<1, 32, 0, stream>>>();
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

inline Rows capture_rows() {
  return {
      {"cudaStreamSynchronize of a capturing stream",
       []() -> Code {
         const Capture capture;
         return cudaStreamSynchronize(capture.stream);
       },
       900},
      {"cudaStreamEndCapture of an invalidated capture",
       []() -> Code {
         const Stream stream;
         cudaGraph_t graph = nullptr;
         cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
         cudaStreamSynchronize(stream);
         return cudaStreamEndCapture(stream, &graph);
       },
       901},
      {"cudaStreamQuery of a capturing stream",
       []() -> Code {
         const Capture capture;
         return cudaStreamQuery(capture.stream);
       },
       900},
      {"cudaDeviceSynchronize during a capture",
       []() -> Code {
         const Capture capture;
         return cudaDeviceSynchronize();
       },
       900},
      {"cudaMalloc during a global capture",
       []() -> Code {
         const Capture capture;
         void* pointer = nullptr;
         return cudaMalloc(&pointer, 4096);
       },
       900},
      {"cudaStreamEndCapture without a beginning",
       []() -> Code {
         const Stream stream;
         cudaGraph_t graph = nullptr;
         return cudaStreamEndCapture(stream, &graph);
       },
       401},
      {"cudaStreamBeginCapture twice",
       []() -> Code {
         const Capture capture;
         return cudaStreamBeginCapture(capture.stream, cudaStreamCaptureModeGlobal);
       },
       401},
      {"cudaStreamBeginCapture on the default stream",
       []() -> Code { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal); }, 900},
      {"cudaStreamEndCapture by another thread",
       []() -> Code {
         const Capture capture;
         cudaError_t error = cudaSuccess;
         std::thread([&] {
           cudaGraph_t graph = nullptr;
           error = cudaStreamEndCapture(capture.stream, &graph);
         }).join();
         return error;
       },
       908},
      {"cudaStreamEndCapture before a fork was joined",
       []() -> Code {
         const Stream stream, other;
         const Event fork(cudaEventDisableTiming);
         cudaGraph_t graph = nullptr;
         cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
         cudaEventRecord(fork, stream);
         cudaStreamWaitEvent(other, fork, 0);
         nothing<<<1, 32, 0, other>>>();
         return cudaStreamEndCapture(stream, &graph);
       },
       904},
      {"cudaStreamEndCapture on the stream that was forked to",
       []() -> Code {
         const Capture capture;
         const Stream other;
         const Event fork(cudaEventDisableTiming), join(cudaEventDisableTiming);
         cudaGraph_t graph = nullptr;
         cudaEventRecord(fork, capture.stream);
         cudaStreamWaitEvent(other, fork, 0);
         const cudaError_t error = cudaStreamEndCapture(other, &graph);
         cudaEventRecord(join, other);
         cudaStreamWaitEvent(capture.stream, join, 0);
         return error;
       },
       903},
      {"the default stream during a capture that waits for it",
       []() -> Code {
         const Capture capture(cudaStreamDefault);
         nothing<<<1, 32>>>();
         return cudaGetLastError();
       },
       906},
      {"cudaEventQuery of a captured event",
       []() -> Code {
         const Event event(cudaEventDisableTiming);
         const Capture capture;
         cudaEventRecord(event, capture.stream);
         return cudaEventQuery(event);
       },
       907},
      {"a capturing stream that waits for an event from before",
       []() -> Code {
         const Event event(cudaEventDisableTiming);
         const Stream before;
         cudaEventRecord(event, before);
         const Capture capture;
         return cudaStreamWaitEvent(capture.stream, event, 0);
       },
       905},
      {"two captures that meet",
       []() -> Code {
         const Event event(cudaEventDisableTiming);
         const Capture one, two;
         cudaEventRecord(event, one.stream);
         return cudaStreamWaitEvent(two.stream, event, 0);
       },
       902},
      {"cudaGraphInstantiate of null",
       []() -> Code {
         cudaGraphExec_t executable = nullptr;
         return cudaGraphInstantiate(&executable, nullptr, 0);
       },
       1},
      {"cudaGraphInstantiate of a destroyed graph",
       []() -> Code {
         cudaGraph_t graph = graph_of(1);
         cudaGraphDestroy(graph);
         cudaGraphExec_t executable = nullptr;
         return cudaGraphInstantiate(&executable, graph, 0);
       },
       1, 400},
      {"cudaGraphLaunch of null",
       []() -> Code {
         const Stream stream;
         return cudaGraphLaunch(nullptr, stream);
       },
       1, 400},
      {"cudaGraphExecUpdate with another shape",
       []() -> Code {
         cudaGraph_t small = graph_of(1), large = graph_of(3);
         cudaGraphExec_t executable = nullptr;
         cudaGraphInstantiate(&executable, small, 0);
         cudaGraphExecUpdateResultInfo info{};
         const cudaError_t error = cudaGraphExecUpdate(executable, large, &info);
         cudaGraphExecDestroy(executable);
         cudaGraphDestroy(small);
         cudaGraphDestroy(large);
         return info.result == cudaGraphExecUpdateErrorTopologyChanged ? error : cudaErrorUnknown;
       },
       910},
  };
}
