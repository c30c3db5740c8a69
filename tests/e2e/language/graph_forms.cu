// Calls of graphs in the forms that programs use: those of CUDA 11, memory of graphs, attributes of kernel nodes, copies
// to and from variables, nodes of any type.
#include <cstring>

#include "checks.h"

__device__ int variable[4];

__global__ void add(int* out, int value) { atomicAdd(out, value); }
__global__ void fill(int* memory, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) memory[i] = value;
}
__global__ void sum(const int* memory, int n, int* out) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += memory[i];
  *out = total;
}

template <class... T>
cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void (*kernel)(T...), T... arguments) {
  void* pointers[] = {&arguments...};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(kernel);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = pointers;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &params));
  return node;
}

cudaMemAllocNodeParams memory_of(size_t bytes) {
  cudaMemAllocNodeParams params = {};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.bytesize = bytes;
  return params;
}

void old_forms(cudaStream_t stream, int* out) {
  cudaGraph_t graph, other;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&other, 0));
  const cudaGraphNode_t node = add_kernel(graph, nullptr, add, out, 1);
  add_kernel(other, nullptr, add, out, 10);
  cudaGraphExec_t exec;
  cudaGraphNode_t where;
  char log[64] = "unchanged";
  CHECK(cudaGraphInstantiate(&exec, graph, &where, log, sizeof log));
  CHECK(cudaGraphLaunch(exec, stream));
  cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
  CHECK(cudaGraphExecUpdate(exec, other, &where, &result));
  CHECK_EQ(static_cast<int>(result), static_cast<int>(cudaGraphExecUpdateSuccess));
  CHECK(cudaGraphLaunch(exec, stream));
  add_kernel(other, nullptr, add, out, 10);
  CHECK_EQ(static_cast<int>(cudaGraphExecUpdate(exec, other, &where, &result)),
           static_cast<int>(cudaErrorGraphExecUpdateFailure));
  CHECK_EQ(static_cast<int>(result), static_cast<int>(cudaGraphExecUpdateErrorTopologyChanged));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(*out, 11);

  cudaLaunchAttributeValue value = {};
  value.priority = 3;
  CHECK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
  const cudaGraphNode_t copy = add_kernel(graph, node, add, out, 1);
  CHECK(cudaGraphKernelNodeCopyAttributes(copy, node));
  std::memset(&value, 0, sizeof value);
  CHECK(cudaGraphKernelNodeGetAttribute(copy, cudaLaunchAttributePriority, &value));
  CHECK_EQ(value.priority, 3);
}

void memory_nodes(cudaStream_t stream, int* out) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams params = memory_of(64 * sizeof(int));
  cudaGraphNode_t allocate, release;
  CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &params));
  int* const memory = static_cast<int*>(params.dptr);
  const cudaGraphNode_t filler = add_kernel(graph, allocate, fill, memory, 64, 2);
  const cudaGraphNode_t reader = add_kernel(graph, filler, sum, static_cast<const int*>(memory), 64, out);
  CHECK(cudaGraphAddMemFreeNode(&release, graph, &reader, 1, memory));
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(release, &type));
  CHECK_EQ(static_cast<int>(type), static_cast<int>(cudaGraphNodeTypeMemFree));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int k = 0; k < 3; ++k) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(*out, 128);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // Memory that a graph leaves behind is the program's to free, before the graph is launched again.
  CHECK(cudaGraphCreate(&graph, 0));
  params = memory_of(1 << 20);
  CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &params));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK_EQ(static_cast<int>(cudaGraphLaunch(exec, stream)), static_cast<int>(cudaErrorInvalidValue));
  unsigned long long used = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  CHECK_EQ(used >= (1u << 20), true);
  CHECK(cudaFreeAsync(params.dptr, stream));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaFree(params.dptr));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaDeviceGraphMemTrim(0));
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  CHECK_EQ(used, 0u);

  // Captured.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* captured = nullptr;
  CHECK(cudaMallocAsync(reinterpret_cast<void**>(&captured), 32 * sizeof(int), stream));
  fill<<<1, 32, 0, stream>>>(captured, 32, 3);
  sum<<<1, 1, 0, stream>>>(captured, 32, out);
  CHECK(cudaFreeAsync(captured, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(*out, 96);
}

void other_nodes(cudaStream_t stream, int* out) {
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  int source[4] = {1, 2, 3, 4};
  int result[4] = {};
  cudaGraphNode_t to, from;
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, variable, source, sizeof source, 0,
                                       cudaMemcpyHostToDevice));
  const cudaGraphNode_t inside = add_kernel(child, nullptr, add, out, 1);
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeGraph;
  params.graph.graph = child;
  cudaGraphNode_t whole;
  CHECK(cudaGraphAddNode(&whole, graph, &to, nullptr, 1, &params));
  CHECK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &whole, 1, result, variable, 8, 8, cudaMemcpyDeviceToHost));
  static int calls = 0;
  params = {};
  params.type = cudaGraphNodeTypeHost;
  params.host.fn = [](void* count) { ++*static_cast<int*>(count); };
  params.host.userData = &calls;
  cudaGraphNode_t host;
  CHECK(cudaGraphAddNode(&host, graph, &from, nullptr, 1, &params));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  *out = 0;
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(result[0] * 10 + result[1], 34);
  CHECK_EQ(calls, 1);
  CHECK_EQ(*out, 1);

  // A node of the child graph, in the copy that runs.
  cudaGraph_t embedded;
  CHECK(cudaGraphChildGraphNodeGetGraph(whole, &embedded));
  cudaGraphNode_t copied;
  CHECK(cudaGraphNodeFindInClone(&copied, inside, embedded));
  int value = 100;
  void* arguments[] = {&out, &value};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, copied, &kernel));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(*out, 101);
  CHECK(cudaGraphDebugDotPrint(graph, "/dev/null", 0));
}

int main() {
  int* out = shared_array(1);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  old_forms(stream, out);
  memory_nodes(stream, out);
  other_nodes(stream, out);
  return finish();
}
