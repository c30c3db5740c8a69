// The runtime API in its right uses, one call of each kind at least. One process, two devices or more.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

__device__ int table[4] = {1, 2, 3, 4};
__constant__ float factor;
__global__ void add(int* to, int what, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += what;
}
__global__ void read_table(int* to) { to[threadIdx.x] = table[threadIdx.x] + static_cast<int>(factor); }
__global__ void __cluster_dims__(2, 1, 1) clustered(int* to) { atomicAdd(to, 1); }
__global__ void wait_for_host(volatile int* flag, int* to) {
  while (*flag == 0) {
  }
  *to = 7;
}

static int read(const void* from) {
  int value = -1;
  CHECK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDefault));
  return value;
}

static void copies() {
  // Larger than a message, pageable at both ends.
  const size_t count = (5 << 20) / 4 + 3;
  std::vector<int> in(count), out(count);
  for (size_t k = 0; k < count; ++k) in[k] = static_cast<int>(k * 7);
  int *a = nullptr, *b = nullptr;
  CHECK(cudaMalloc(&a, count * 4));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&b, count * 4));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpy(a, in.data(), count * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyPeer(b, 1, a, 0, count * 4));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), b, count * 4, cudaMemcpyDeviceToHost));
  CHECK_TRUE(in == out);

  int small[3][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}}, back[3][2] = {};
  size_t pitch = 0;
  char* rows = nullptr;
  CHECK(cudaMallocPitch(&rows, &pitch, 20, 3));
  CHECK(cudaMemcpy2D(rows, pitch, small, sizeof small[0], 20, 3, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(back, sizeof back[0], rows + 4, pitch, 8, 3, cudaMemcpyDeviceToHost));
  CHECK_TRUE(back[0][0] == 2 && back[1][1] == 8 && back[2][0] == 12);
  CHECK(cudaMemset2D(rows, pitch, 0x11, 4, 2));
  CHECK_TRUE(read(rows + pitch) == 0x11111111 && read(rows + 2 * pitch) == 11);

  cudaPitchedPtr box{};
  CHECK(cudaMalloc3D(&box, {8, 2, 2}));
  int host[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, host_back[2][2][2] = {};
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = {host, 8, 8, 2};
  parameters.dstPtr = box;
  parameters.extent = {8, 2, 2};
  parameters.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&parameters));
  parameters.srcPtr = box;
  parameters.dstPtr = {host_back, 8, 8, 2};
  parameters.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&parameters));
  CHECK_TRUE(std::memcmp(host, host_back, sizeof host) == 0);

  std::memset(out.data(), 0, count * 4);
  CHECK(cudaMemcpy(out.data(), in.data(), count * 4, cudaMemcpyHostToHost));
  CHECK_TRUE(in == out);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(rows));
  CHECK(cudaFree(box.ptr));
}

static void host_memory() {
  int *pinned = nullptr, *managed = nullptr, *mapped = nullptr, *device = nullptr;
  CHECK(cudaMallocHost(&pinned, 4096));
  CHECK(cudaMallocManaged(&managed, 4096));
  CHECK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  *pinned = 5;
  *managed = 6;
  add<<<1, 1>>>(mapped, 10, 1);
  add<<<1, 1>>>(managed, 10, 1);
  CHECK(cudaDeviceSynchronize());
  CHECK_TRUE(*pinned == 15 && *managed == 16);
  CHECK(cudaMemPrefetchAsync(managed, 4096, {cudaMemLocationTypeDevice, 0}, 0, nullptr));
  cudaPointerAttributes facts{};
  CHECK(cudaPointerGetAttributes(&facts, managed + 1));
  CHECK_TRUE(facts.type == cudaMemoryTypeManaged);
  CHECK(cudaPointerGetAttributes(&facts, pinned));
  CHECK_TRUE(facts.type == cudaMemoryTypeHost && facts.devicePointer == pinned);
  CHECK(cudaPointerGetAttributes(&facts, &facts));
  CHECK_TRUE(facts.type == cudaMemoryTypeUnregistered);

  // Two neighbours on one page, registered and given up one after the other.
  std::vector<int> values(40000, 3);
  CHECK(cudaHostRegister(values.data(), 20000 * 4, cudaHostRegisterMapped));
  CHECK(cudaHostRegister(values.data() + 20000, 20000 * 4, cudaHostRegisterMapped));
  add<<<40, 1024>>>(values.data(), 1, 40000);
  CHECK(cudaDeviceSynchronize());
  CHECK_TRUE(values[0] == 4 && values[19999] == 4 && values[20000] == 4 && values[39999] == 4);
  CHECK(cudaHostUnregister(values.data()));
  add<<<20, 1024>>>(values.data() + 20000, 1, 20000);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaHostUnregister(values.data() + 20000));
  CHECK_TRUE(values[0] == 4 && values[19999] == 4 && values[20000] == 5 && values[39999] == 5);

  // The host lets a kernel go on.
  CHECK(cudaMalloc(&device, 4));
  *pinned = 0;
  wait_for_host<<<1, 1>>>(pinned, device);
  *reinterpret_cast<volatile int*>(pinned) = 1;
  CHECK_TRUE(read(device) == 7);
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
}

static void symbols() {
  const float value = 100;
  int *device = nullptr, out[4] = {}, change = 30;
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaMalloc(&device, sizeof out));
  CHECK(cudaMemcpyToSymbol(factor, &value, sizeof value));
  CHECK(cudaMemcpyToSymbol(table, &change, 4, 8));
  CHECK(cudaGetSymbolSize(&bytes, table));
  CHECK_TRUE(bytes == 16);
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK_TRUE(read(address) == 1);
  read_table<<<1, 4>>>(device);
  CHECK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
  CHECK_TRUE(out[0] == 101 && out[2] == 130 && out[3] == 104);
  CHECK(cudaMemcpyFromSymbol(out, table, 16));
  CHECK_TRUE(out[2] == 30);
  CHECK(cudaFree(device));
}

static void streams_and_callbacks() {
  cudaStream_t stream = nullptr;
  int least = 0, greatest = 0, priority = 0, device = -1;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK_TRUE(greatest < least);
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 10));
  CHECK(cudaStreamGetPriority(stream, &priority));
  CHECK_TRUE(priority == greatest);
  CHECK(cudaStreamGetDevice(stream, &device));
  CHECK_TRUE(device == 0);
  static std::atomic<int> called = 0;
  static cudaError_t inside = cudaSuccess;
  CHECK(cudaLaunchHostFunc(
      stream,
      [](void*) {
        void* pointer = nullptr;
        inside = cudaMalloc(&pointer, 4);
        called += 1;
      },
      nullptr));
  CHECK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* data) {
        called += status == cudaSuccess ? *static_cast<int*>(data) : 0;
      },
      &greatest, 0));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_TRUE(called == 1 + greatest);
  CHECK_TRUE(inside == cudaErrorNotPermitted);

  int* values = nullptr;
  CHECK(cudaMallocAsync(&values, 4, stream));
  CHECK(cudaMemsetAsync(values, 0, 4, stream));
  std::thread([&] {
    add<<<1, 1, 0, cudaStreamPerThread>>>(values, 0, 1);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  add<<<1, 1, 0, stream>>>(values, 9, 1);
  CHECK(cudaStreamSynchronize(stream));
  CHECK_TRUE(read(values) == 9);
  CHECK(cudaFreeAsync(values, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
}

static void kernels() {
  int *device = nullptr, blocks = 0, size = 0, clusters = 0;
  CHECK(cudaMalloc(&device, 4));
  CHECK(cudaMemset(device, 0, 4));
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, add));
  CHECK_TRUE(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
  CHECK_TRUE(blocks == 2);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &size, add));
  CHECK_TRUE(size > 0 && blocks > 0);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, add, &config));
  CHECK_TRUE(clusters > 0);
  CHECK(cudaLaunchKernelEx(&config, add, device, 1, 1));
  clustered<<<2, 1>>>(device);
  CHECK(cudaDeviceSynchronize());
  CHECK_TRUE(read(device) == 3);
  cudaKernel_t kernel = nullptr;
  CHECK(cudaGetKernel(&kernel, reinterpret_cast<const void*>(&add)));
  int what = 4, count = 1;
  void* arguments[] = {&device, &what, &count};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 1, 1, arguments, 0, nullptr));
  CHECK_TRUE(read(device) == 7);
  CHECK(cudaFree(device));
}

static void library() {
  static const char text[] =
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .global .u32 value = 3;\n"
      ".visible .entry twice(.param .u64 to)\n{\n.reg .u64 %a;\n.reg .u32 %v;\n"
      "ld.param.u64 %a, [to];\nld.global.u32 %v, [%a];\nadd.u32 %v, %v, %v;\nst.global.u32 [%a], %v;\nret;\n}\n";
  cudaLibrary_t loaded = nullptr;
  cudaKernel_t twice = nullptr;
  void* value = nullptr;
  size_t bytes = 0;
  CHECK(cudaLibraryLoadData(&loaded, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&twice, loaded, "twice"));
  EXPECT(cudaLibraryGetKernel(&twice, loaded, "thrice"), cudaErrorSymbolNotFound);
  CHECK(cudaLibraryGetGlobal(&value, &bytes, loaded, "value"));
  CHECK_TRUE(bytes == 4);
  void* arguments[] = {&value};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(twice), 1, 1, arguments, 0, nullptr));
  CHECK_TRUE(read(value) == 6);
  CHECK(cudaLibraryUnload(loaded));
  EXPECT(cudaLibraryUnload(loaded), cudaErrorInvalidResourceHandle);
  static const char wrong[] = ".version 8.5\n.target sm_90\n.address_size 64\nnonsense\n";
  EXPECT(cudaLibraryLoadData(&loaded, wrong, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidPtx);
}

static void devices() {
  int count = 0, same = -1, value = 0;
  CHECK(cudaGetDeviceCount(&count));
  cudaDeviceProp facts{};
  char id[32] = {};
  for (int k = 0; k < count; ++k) {
    CHECK(cudaGetDeviceProperties(&facts, k));
    CHECK_TRUE(facts.warpSize == 32 && facts.totalGlobalMem > 0 && facts.multiProcessorCount > 0);
    CHECK(cudaDeviceGetPCIBusId(id, sizeof id, k));
    CHECK(cudaDeviceGetByPCIBusId(&same, id));
    CHECK_TRUE(same == k);
  }
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK_TRUE(value == facts.multiProcessorCount);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(cudaGetDriverEntryPointByVersion("cuMemCreate", &entry, 13000, cudaEnableDefault, &found));
  CHECK_TRUE(entry && found == cudaDriverEntryPointSuccess);
  CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 13000, cudaEnableDefault, &found));
  CHECK_TRUE(!entry && found == cudaDriverEntryPointSymbolNotFound);
}

// A child that starts anew is a process of its own.
static void fork_first() {
  const pid_t child = fork();
  if (child == 0) {
    int* device = nullptr;
    CHECK(cudaMalloc(&device, 4));
    CHECK(cudaMemset(device, 0, 4));
    add<<<1, 1>>>(device, 2, 1);
    CHECK_TRUE(read(device) == 2);
    _exit(failures());
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_TRUE(status == 0);
}

// Both ways through more memory than the host's caches hold, in strides of a grid, up to both ends.
static __global__ void reverse(uint4* to, const uint4* from, size_t n) {
  const size_t all = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
  for (size_t i = mine; i < n; i += all) to[n - 1 - i] = from[i];
}
static __global__ void backward(uint4* to, const uint4* from, size_t n) {
  const long all = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
  for (long i = static_cast<long>(n) - 1 - mine; i >= 0; i -= all) to[i] = from[n - 1 - static_cast<size_t>(i)];
}
static void large_strides() {
  constexpr size_t kBytes = 12 << 20;
  std::vector<unsigned> words(kBytes / sizeof(unsigned)), back(words.size());
  for (size_t k = 0; k < words.size(); ++k) words[k] = static_cast<unsigned>(k) * 2654435761u;
  uint4 *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, kBytes));
  CHECK(cudaMalloc(&to, kBytes));
  CHECK(cudaMemcpy(from, words.data(), kBytes, cudaMemcpyHostToDevice));
  reverse<<<8, 1024>>>(to, from, kBytes / sizeof(uint4));
  backward<<<8, 1024>>>(from, to, kBytes / sizeof(uint4));
  CHECK(cudaMemcpy(back.data(), from, kBytes, cudaMemcpyDeviceToHost));
  CHECK_TRUE(back == words);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

int main(int argc, char**) {
  if (argc > 1) fork_first();
  copies();
  host_memory();
  symbols();
  streams_and_callbacks();
  kernels();
  library();
  devices();
  large_strides();
  CHECK(cudaDeviceReset());
  std::puts(failures() == 0 ? "OK" : "FAILED");
  return failures() != 0;
}
