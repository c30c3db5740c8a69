#include "ranks/shim/cuda/streams/capture.h"

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/thread_state.h"

namespace shim = fb::shim;
using shim::record;

FB_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return record(shim::begin_capture(stream, mode));
}
FB_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                                 size_t count, cudaStreamCaptureMode mode) {
  return record(shim::begin_capture_to_graph(stream, graph, dependencies, count, mode));
}
FB_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return record(shim::end_capture(stream, graph));
}
FB_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return record(shim::capture_status(stream, status));
}
// Edges carry nothing but order here: the list of their kinds is empty.
FB_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                            unsigned long long* id, cudaGraph_t* graph,
                                            const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                            size_t* count) {
  if (!status) return record(cudaErrorInvalidValue);
  if (edges) *edges = nullptr;
  return record(shim::capture_info(stream, status, id, graph, dependencies, count));
}
FB_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                               unsigned long long* id, cudaGraph_t* graph,
                                               const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
FB_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                       const cudaGraphEdgeData*, size_t count, unsigned int flags) {
  return record(shim::update_capture_dependencies(stream, dependencies, count, flags));
}

FB_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
    return record(cudaErrorInvalidValue);
  std::swap(*mode, shim::thread().capture_mode);
  return cudaSuccess;
}
