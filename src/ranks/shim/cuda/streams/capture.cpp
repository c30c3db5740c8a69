#include "ranks/shim/cuda/streams/capture.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <string>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

// The captures that have begun and not ended, under graph_lock().
std::vector<std::shared_ptr<Capture>>& open_captures() {
  static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}
// The same as a number that can be read without the lock.
std::atomic<size_t> open_count = 0;

bool forbids_unsafe_calls(const Capture& capture, const ThreadState& mine) {
  if (mine.capture_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == &mine) return capture.mode != cudaStreamCaptureModeRelaxed;
  return mine.capture_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

void join(const StreamPtr& stream, const std::shared_ptr<Capture>& capture) {
  stream->capture = capture;
  capture->streams.push_back(stream);
}

void add_tails(Stream& stream, const std::vector<NodePtr>& nodes) {
  for (const auto& node : nodes) {
    if (std::ranges::find(stream.tails, node) == stream.tails.end()) stream.tails.push_back(node);
  }
}

// Every node that leads to one of `tails`, these included.
std::set<const GraphNode*> ancestors(const std::vector<NodePtr>& tails) {
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> open;
  for (const auto& node : tails) open.push_back(node.get());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return seen;
}

// Nodes that were added by hand and made a stream's dependencies need not be joined: libraries leave what later
// captures wait for behind in a stream of their own.
bool all_joined(const Capture& capture) {
  const auto seen = ancestors(capture.origin->tails);
  const auto joined = [&](const NodePtr& node) { return !node->captured || seen.contains(node.get()); };
  if (!std::ranges::all_of(capture.left, joined)) return false;
  for (const auto& weak : capture.streams) {
    const auto stream = weak.lock();
    if (!stream || stream.get() == capture.origin) continue;
    if (!std::ranges::all_of(stream->tails, joined)) return false;
  }
  return true;
}

// Kernels that were launched into a capture from which no graph came.
void tell_kernels_lost(const Graph& graph, const std::string& how, Error error) {
  const auto kernels = std::ranges::count_if(
      graph.nodes, [](const NodePtr& node) { return std::holds_alternative<KernelWork>(node->work); });
  if (kernels != 0) tell_launch(error, "the capture of " + std::to_string(kernels) + " launches in a graph" + how);
}

void tell_open_captures() {
  if (!Session::get().connected()) return;  // a forked child has them from its parent
  const std::lock_guard lock(graph_lock());
  for (const auto& capture : open_captures())
    tell_kernels_lost(*capture->graph, ", which was not ended", cudaErrorIllegalState);
}

void close(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  // Events that were recorded in it name the capture for as long as they live; the graph must not live as long.
  capture->graph = nullptr;
  capture->left.clear();
  for (const auto& weak : capture->streams) {
    if (const auto stream = weak.lock()) {
      stream->capture = nullptr;
      stream->tails.clear();
    }
  }
  std::erase(open_captures(), capture);
  open_count = open_captures().size();
}

Error begin(cudaStream_t handle, cudaStreamCaptureMode mode, GraphPtr graph, std::vector<NodePtr> tails,
            bool existing) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if ((*stream)->legacy()) return cudaErrorStreamCaptureUnsupported;
  if ((*stream)->capture) return cudaErrorIllegalState;
  static unsigned long long next = 1;
  auto capture = std::make_shared<Capture>();
  capture->id = next++;
  capture->graph = std::move(graph);
  capture->graph_handle = capture->graph->handle;
  capture->mode = mode;
  capture->thread = &thread();
  capture->origin = stream->get();
  capture->into_existing = existing;
  join(*stream, capture);
  (*stream)->tails = std::move(tails);
  open_captures().push_back(std::move(capture));
  [[maybe_unused]] static const int at_end = std::atexit(&tell_open_captures);
  open_count = open_captures().size();
  return cudaSuccess;
}

}  // namespace

bool capturing(const Stream& stream) {
  if (open_count == 0) return false;
  const std::lock_guard lock(graph_lock());
  return stream.capture != nullptr;
}

void leave_capture(Stream& stream) {
  const std::lock_guard lock(graph_lock());
  const auto capture = stream.capture;
  if (!capture) return;
  if (capture->origin == &stream) capture->invalidated = true;
  capture->left.insert(capture->left.end(), stream.tails.begin(), stream.tails.end());
}

Error begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(graph_lock());
  auto graph = make_graph();
  const cudaGraph_t made = graph->handle;
  const Error e = begin(handle, mode, std::move(graph), {}, false);
  if (e != cudaSuccess) graphs().take(made);
  return e;
}

Error begin_capture_to_graph(cudaStream_t handle, cudaGraph_t graph_handle, const cudaGraphNode_t* after, size_t count,
                             cudaStreamCaptureMode mode) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(graph_handle);
  if (!graph) return graph.error();
  if (count > 0 && !after) return cudaErrorInvalidValue;
  std::vector<NodePtr> tails;
  for (size_t k = 0; k < count; ++k) {
    const auto node = find_node(after[k]);
    if (!node || (*node)->graph != graph->get()) return cudaErrorInvalidValue;
    tails.push_back(*node);
  }
  return begin(handle, mode, *graph, std::move(tails), true);
}

Error end_capture(cudaStream_t handle, cudaGraph_t* result) {
  if (result) *result = nullptr;
  const std::lock_guard lock(graph_lock());
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  const auto capture = (*stream)->capture;
  // The graph of a capture into an existing one is known to the caller.
  if (!result && !(capture && capture->into_existing)) return cudaErrorInvalidValue;
  if (!capture) return cudaErrorIllegalState;
  if (capture->origin != stream->get()) {
    capture->invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != &thread())
    return cudaErrorStreamCaptureWrongThread;
  Error e = cudaSuccess;
  if (capture->invalidated) {
    e = cudaErrorStreamCaptureInvalidated;
  } else if (!all_joined(*capture)) {
    e = cudaErrorStreamCaptureUnjoined;
  }
  if (e != cudaSuccess) tell_kernels_lost(*capture->graph, "", e);
  close(capture);
  if (e == cudaSuccess) {
    if (result) *result = capture->graph_handle;
  } else if (!capture->into_existing) {
    graphs().take(capture->graph_handle);
  }
  return e;
}

Error capture_status(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (!status) return cudaErrorInvalidValue;
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

Error capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                   const cudaGraphNode_t** dependencies, size_t* count) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  const std::lock_guard lock(graph_lock());
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
  static thread_local std::vector<cudaGraphNode_t> listed;
  const auto& capture = (*stream)->capture;
  if (status) {
    *status = !capture               ? cudaStreamCaptureStatusNone
              : capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
  }
  if (!capture || capture->invalidated) return cudaSuccess;
  if (id) *id = capture->id;
  if (graph) *graph = capture->graph_handle;
  listed.clear();
  for (const auto& node : (*stream)->tails) listed.push_back(node->handle);
  if (dependencies) *dependencies = listed.data();
  if (count) *count = listed.size();
  return cudaSuccess;
}

Error update_capture_dependencies(cudaStream_t handle, const cudaGraphNode_t* dependencies, size_t count,
                                  unsigned int flags) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  const std::lock_guard lock(graph_lock());
  const auto& capture = (*stream)->capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (flags > cudaStreamSetCaptureDependencies || (count > 0 && !dependencies)) return cudaErrorInvalidValue;
  std::vector<NodePtr> nodes;
  for (size_t k = 0; k < count; ++k) {
    const auto node = find_node(dependencies[k]);
    if (!node || (*node)->graph != capture->graph.get()) return cudaErrorInvalidValue;
    nodes.push_back(*node);
  }
  if (flags == cudaStreamSetCaptureDependencies) (*stream)->tails.clear();
  add_tails(**stream, nodes);
  return cudaSuccess;
}

Error check_unsafe_call() {
  if (open_count == 0) return cudaSuccess;
  const std::lock_guard lock(graph_lock());
  Error e = cudaSuccess;
  for (const auto& capture : open_captures()) {
    if (!forbids_unsafe_calls(*capture, thread())) continue;
    capture->invalidated = true;
    e = cudaErrorStreamCaptureUnsupported;
  }
  return e;
}

Error check_default_stream(const Stream& stream) {
  if (open_count == 0 || !stream.legacy()) return cudaSuccess;
  const std::lock_guard lock(graph_lock());
  for (const auto& capture : open_captures()) {
    for (const auto& weak : capture->streams) {
      const auto member = weak.lock();
      if (!member || member->device != stream.device || !member->blocking()) continue;
      capture->invalidated = true;
      return cudaErrorStreamCaptureImplicit;
    }
  }
  return cudaSuccess;
}

Error refuse_captured(Stream& stream) {
  const std::lock_guard lock(graph_lock());
  if (!stream.capture) return cudaSuccess;
  stream.capture->invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

Error capture_work(Stream& stream, Work work) {
  const std::lock_guard lock(graph_lock());
  const auto capture = stream.capture;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  std::vector<GraphNode*> after;
  for (const auto& node : stream.tails) after.push_back(node.get());
  stream.tails = {append_node(*capture->graph, stream.device, std::move(after), std::move(work))};
  stream.tails.back()->captured = true;
  return cudaSuccess;
}

Error capture_joint_work(const std::vector<StreamPtr>& streams, Work work) {
  const std::lock_guard lock(graph_lock());
  const auto capture = streams.front()->capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  std::vector<GraphNode*> after;
  for (const auto& stream : streams) {
    if (stream->capture != capture) return cudaErrorStreamCaptureMerge;
    for (const auto& node : stream->tails) {
      if (std::ranges::find(after, node.get()) == after.end()) after.push_back(node.get());
    }
  }
  const NodePtr node = append_node(*capture->graph, streams.front()->device, std::move(after), std::move(work));
  node->captured = true;
  for (const auto& stream : streams) stream->tails = {node};
  return cudaSuccess;
}

Error capture_event_record(Stream& stream, Event& event) {
  if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.nodes = stream.tails;
  return cudaSuccess;
}

Error capture_event_wait(const StreamPtr& stream, Event& event) {
  const auto theirs = event.capture;
  if (!stream->capture) {
    // An event of a capture draws the stream that waits for it into the capture.
    if (theirs->ended) return cudaErrorCapturedEvent;
    if (theirs->invalidated) return cudaErrorStreamCaptureInvalidated;
    if (stream->legacy()) {
      theirs->invalidated = true;
      return cudaErrorStreamCaptureImplicit;
    }
    join(stream, theirs);
    stream->tails = event.nodes;
    return cudaSuccess;
  }
  const auto ours = stream->capture;
  if (ours->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!theirs || theirs->ended) {
    ours->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (theirs != ours) {
    ours->invalidated = theirs->invalidated = true;
    return cudaErrorStreamCaptureMerge;
  }
  add_tails(*stream, event.nodes);
  return cudaSuccess;
}

}  // namespace fb::shim
