// The host side of a CUDA program: every family of runtime calls, as programs write them. Only compiled.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t status = (call);                                               \
    if (status != cudaSuccess) {                                                     \
      std::printf("%s: %s\n", cudaGetErrorName(status), cudaGetErrorString(status)); \
      return 1;                                                                      \
    }                                                                                \
  } while (false)

struct Parameters {
  int values[8];
};
__device__ int device_word;
__constant__ float table[16];

template <class T>
__global__ void scale(T* data, T factor, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] *= factor;
}
__global__ void by_value(const __grid_constant__ Parameters parameters, int* out) { *out = parameters.values[3]; }
__global__ void __launch_bounds__(256, 2) __cluster_dims__(2, 1, 1) clustered(int* out) { atomicAdd(out, 1); }

int memory() {
  float* device = nullptr;
  float* pinned = nullptr;
  void* plain = nullptr;
  int* managed = nullptr;
  std::vector<float> host(16, 1.0f);
  CHECK(cudaMalloc(&device, 16 * sizeof(float)));
  CHECK(cudaMalloc(&plain, 64));
  CHECK(cudaMallocHost(&pinned, 64));
  CHECK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK(cudaMallocManaged(&managed, 64));
  CHECK(cudaMemcpy(device, host.data(), 64, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(device, 0, 64));
  CHECK(cudaMemcpyToSymbol(table, host.data(), 64));
  CHECK(cudaMemcpyToSymbol(device_word, &host[0], sizeof(int), 0, cudaMemcpyHostToDevice));
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, device_word));
  float* mapped = nullptr;
  CHECK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, device));
  if (attributes.type != cudaMemoryTypeDevice) return 2;
  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, device));
  CHECK(cudaIpcOpenMemHandle(&plain, handle, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcCloseMemHandle(plain));
  CHECK(cudaMemcpyPeer(device, 0, plain, 1, 64));
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  CHECK(cudaFreeHost(pinned));
  return cudaFree(device) == cudaSuccess ? 0 : 1;
}

int streams(float* data, int n) {
  cudaStream_t stream;
  cudaEvent_t start, stop;
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&stop, cudaEventDisableTiming));
  CHECK(cudaEventRecord(start, stream));
  scale<<<(n + 255) / 256, 256, 0, stream>>>(data, 2.0f, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(data, data + n, 4, cudaMemcpyDefault, stream));
  CHECK(cudaMemsetAsync(data, 0, 4, stream));
  CHECK(cudaEventRecord(stop, stream));
  CHECK(cudaStreamWaitEvent(stream, stop));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(cudaLaunchHostFunc(stream, [](void*) {}, nullptr));
  float* scratch = nullptr;
  CHECK(cudaMallocAsync(&scratch, 64, stream));
  CHECK(cudaFreeAsync(scratch, stream));
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  cudaMemLocation own{};
  own.type = cudaMemLocationTypeDevice;
  cudaMemAccessFlags access;
  CHECK(cudaMemPoolGetAccess(&access, pool, &own));
  if (access != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  scale<<<1, 1, 0, stream>>>(data, 2.0f, 1);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamSynchronize(stream));
  return cudaStreamDestroy(stream);
}

int launches(float* data, int* out, int n, cudaStream_t stream) {
  CHECK(cudaFuncSetAttribute(scale<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, scale<float>));
  int blocks = 0, block_size = 0, grid_size = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale<float>, 256, 0));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid_size, &block_size, scale<float>));
  float factor = 3;
  void* arguments[] = {&data, &factor, &n};
  CHECK(cudaLaunchKernel((void*)scale<float>, dim3(1), dim3(32), arguments, 0, stream));
  CHECK(cudaLaunchCooperativeKernel(scale<float>, dim3(blocks), 256, arguments, 0, stream));
  cudaLaunchAttribute attribute[2];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  attribute[1].id = cudaLaunchAttributeClusterDimension;
  attribute[1].val.clusterDim.x = 2;
  attribute[1].val.clusterDim.y = attribute[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2, 1, 1);
  config.blockDim = 128;
  config.dynamicSmemBytes = 0;
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 2;
  CHECK(cudaLaunchKernelEx(&config, scale<float>, data, 2.0f, n));
  Parameters parameters{{1, 2, 3, 4, 5, 6, 7, 8}};
  by_value<<<1, 1>>>(parameters, out);
  clustered<<<4, 64>>>(out);
  return 0;
}

int devices() {
  int count = 0, value = 0, can = 0;
  CHECK(cudaGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    CHECK(cudaSetDevice(device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaDeviceCanAccessPeer(&can, device, (device + 1) % count));
    if (can && cudaDeviceEnablePeerAccess((device + 1) % count, 0) != cudaErrorPeerAccessAlreadyEnabled) return 1;
    std::printf("%s: %d.%d, %zu bytes, %d\n", properties.name, properties.major, properties.minor,
                properties.totalGlobalMem, properties.multiProcessorCount);
  }
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 12000, cudaEnableDefault, &result));
  return cudaDeviceSynchronize();
}
