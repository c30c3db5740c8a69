// Conditional nodes of graphs: if, if and else, while, switch; one inside another; bodies that are captured.
// Compiled with -rdc=true.
#include "checks.h"

__global__ void set_handle(cudaGraphConditionalHandle handle, const int* value) {
  cudaGraphSetConditional(handle, static_cast<unsigned int>(*value));
}
__global__ void count_down(cudaGraphConditionalHandle handle, int* left, int* rounds) {
  *rounds += 1;
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}
__global__ void add(int* out, int value) { *out += value; }

template <class... T>
cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t* after, void (*kernel)(T...), T... arguments) {
  void* pointers[] = {&arguments...};
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(kernel);
  params.kernel.gridDim = params.kernel.blockDim = dim3(1);
  params.kernel.kernelParams = pointers;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, after, nullptr, after ? 1 : 0, &params));
  return node;
}

struct Condition {
  cudaGraphNode_t node;
  cudaGraph_t bodies[4];
};
Condition add_condition(cudaGraph_t graph, const cudaGraphNode_t* after, cudaGraphConditionalHandle handle,
                        cudaGraphConditionalNodeType type, unsigned int bodies) {
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = bodies;
  Condition made = {};
  CHECK(cudaGraphAddNode(&made.node, graph, after, nullptr, after ? 1 : 0, &params));
  for (unsigned int k = 0; k < bodies; ++k) made.bodies[k] = params.conditional.phGraph_out[k];
  return made;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}

int main() {
  int* value = shared_array(1);
  int* out = shared_array(4);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const auto run = [&](cudaGraphExec_t exec) {
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
  };

  // If, and a node behind it.
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  const cudaGraphNode_t setter = add_kernel(graph, nullptr, set_handle, handle, static_cast<const int*>(value));
  const Condition only = add_condition(graph, &setter, handle, cudaGraphCondTypeIf, 1);
  add_kernel(only.bodies[0], nullptr, add, out, 1);
  add_kernel(graph, &only.node, add, out + 1, 1);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(only.node, &type));
  CHECK_EQ(static_cast<int>(type), static_cast<int>(cudaGraphNodeTypeConditional));
  cudaGraphExec_t exec = instantiate(graph);
  run(exec);
  CHECK_EQ(out[0], 0);
  *value = 1;
  run(exec);
  run(exec);
  CHECK_EQ(out[0], 2);
  CHECK_EQ(out[1], 3);

  // If and else, by the value that each launch begins with.
  cudaGraph_t both;
  CHECK(cudaGraphCreate(&both, 0));
  CHECK(cudaGraphConditionalHandleCreate(&handle, both, 1, cudaGraphCondAssignDefault));
  const Condition choice = add_condition(both, nullptr, handle, cudaGraphCondTypeIf, 2);
  add_kernel(choice.bodies[0], nullptr, add, out, 10);
  add_kernel(choice.bodies[1], nullptr, add, out, 100);
  const cudaGraphNode_t behind = add_kernel(both, &choice.node, set_handle, handle, static_cast<const int*>(out + 3));
  const Condition again = add_condition(both, &behind, handle, cudaGraphCondTypeIf, 2);
  add_kernel(again.bodies[0], nullptr, add, out, 10);
  add_kernel(again.bodies[1], nullptr, add, out, 100);
  out[0] = 0;
  exec = instantiate(both);
  run(exec);
  CHECK_EQ(out[0], 110);
  run(exec);
  CHECK_EQ(out[0], 220);

  // While, whose body is captured and has an if inside.
  cudaGraph_t loop;
  CHECK(cudaGraphCreate(&loop, 0));
  CHECK(cudaGraphConditionalHandleCreate(&handle, loop, 1, cudaGraphCondAssignDefault));
  cudaGraphConditionalHandle inner;
  CHECK(cudaGraphConditionalHandleCreate(&inner, loop, 1, cudaGraphCondAssignDefault));
  const Condition rounds = add_condition(loop, nullptr, handle, cudaGraphCondTypeWhile, 1);
  out[0] = out[1] = out[2] = 0;
  *value = 5;
  CHECK(cudaStreamBeginCaptureToGraph(stream, rounds.bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  count_down<<<1, 1, 0, stream>>>(handle, value, out);
  CHECK(cudaMemsetAsync(out + 1, 0, sizeof(int), stream));
  add<<<1, 1, 0, stream>>>(out + 1, 3);
  cudaGraph_t captured;
  CHECK(cudaStreamEndCapture(stream, &captured));
  const Condition nested = add_condition(rounds.bodies[0], nullptr, inner, cudaGraphCondTypeIf, 1);
  add_kernel(nested.bodies[0], nullptr, add, out + 2, 1);
  run(instantiate(loop));
  CHECK_EQ(*value, 0);
  CHECK_EQ(out[0], 5);
  CHECK_EQ(out[1], 3);
  CHECK_EQ(out[2], 5);

  // Switch: a value without a body runs none.
  cudaGraph_t cases;
  CHECK(cudaGraphCreate(&cases, 0));
  CHECK(cudaGraphConditionalHandleCreate(&handle, cases, 0, 0));
  const cudaGraphNode_t choose = add_kernel(cases, nullptr, set_handle, handle, static_cast<const int*>(value));
  const Condition table = add_condition(cases, &choose, handle, cudaGraphCondTypeSwitch, 3);
  for (int k = 0; k < 3; ++k) add_kernel(table.bodies[k], nullptr, add, out, 1 << (4 * k));
  exec = instantiate(cases);
  out[0] = 0;
  for (const int wanted : {2, 0, 1, 7, 2}) {
    *value = wanted;
    run(exec);
  }
  CHECK_EQ(out[0], 0x211);

  // Wrong ones.
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 2;
  cudaGraphNode_t node;
  CHECK_EQ(static_cast<int>(cudaGraphAddNode(&node, cases, nullptr, nullptr, 0, &params)),
           static_cast<int>(cudaErrorInvalidValue));
  return finish();
}
