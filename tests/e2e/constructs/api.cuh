// Spelling of the API in host code: compiled, not called.

// construct: runtime_memory
inline void host() { float* p; cudaMalloc(&p, 64); cudaMalloc((void**)&p, 64); cudaMallocManaged(&p, 64); cudaMallocHost(&p, 64); cudaHostAlloc(&p, 64, cudaHostAllocMapped | cudaHostAllocPortable); float* d; cudaHostGetDevicePointer(&d, p, 0); cudaFree(p); cudaFreeHost(p); size_t pitch; cudaMallocPitch(&p, &pitch, 16, 16); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_copies
inline void host(void* a, void* b, cudaStream_t s) { cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice); cudaMemcpyAsync(a, b, 4, cudaMemcpyDefault, s); cudaMemcpyAsync(a, b, 4, cudaMemcpyDefault); cudaMemcpyPeerAsync(a, 1, b, 0, 4, s); cudaMemset(a, 0, 4); cudaMemsetAsync(a, 0, 4); cudaMemcpy2DAsync(a, 8, b, 8, 4, 4, cudaMemcpyDeviceToDevice, s); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_symbols
__device__ int table[4]; __constant__ float scale;
inline void host() { int h[4]; float f = 1; cudaMemcpyToSymbol(table, h, sizeof h); cudaMemcpyFromSymbol(h, table, sizeof h, 0, cudaMemcpyDeviceToHost); cudaMemcpyToSymbolAsync(scale, &f, sizeof f, 0, cudaMemcpyHostToDevice, 0); void* p; cudaGetSymbolAddress(&p, table); size_t n; cudaGetSymbolSize(&n, scale); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_streams_and_events
inline void host() { cudaStream_t s; cudaStreamCreate(&s); cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamCreateWithPriority(&s, cudaStreamDefault, -1); cudaEvent_t e; cudaEventCreate(&e); cudaEventCreate(&e, cudaEventBlockingSync); cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess); cudaEventRecord(e); cudaEventRecord(e, s); cudaStreamWaitEvent(s, e); cudaStreamWaitEvent(s, e, 0); float ms; cudaEventElapsedTime(&ms, e, e); cudaStreamQuery(cudaStreamPerThread); cudaStreamSynchronize(cudaStreamLegacy); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_callbacks
inline void host(cudaStream_t s) { cudaLaunchHostFunc(s, [](void*) {}, nullptr); cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_devices
inline void host() { int n; cudaGetDeviceCount(&n); cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); n = p.multiProcessorCount + p.major + p.pciBusID + int(p.totalGlobalMem); cudaDeviceGetAttribute(&n, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0); cudaDeviceCanAccessPeer(&n, 0, 1); cudaDeviceEnablePeerAccess(1, 0); cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20); cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceMapHost); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_errors
inline const char* host() { cudaError_t e = cudaGetLastError(); if (e != cudaSuccess && e == cudaErrorInvalidValue) return cudaGetErrorName(e); switch (e) { case cudaErrorNotSupported: case cudaErrorPeerAccessAlreadyEnabled: break; default: break; } return cudaGetErrorString(static_cast<cudaError>(2)); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_launch_ex
__global__ void kernel(int* p, float x) { *p = int(x); }
inline void host(int* p, cudaStream_t s) { cudaLaunchConfig_t c{}; c.gridDim = dim3(2); c.blockDim = 32; c.stream = s; cudaLaunchAttribute a[2]; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = 2; a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1; a[1].id = cudaLaunchAttributeProgrammaticStreamSerialization; a[1].val.programmaticStreamSerializationAllowed = 1; c.attrs = a; c.numAttrs = 2; cudaLaunchKernelEx(&c, kernel, p, 1); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_cooperative_launch
__global__ void kernel(int* p) { *p = 1; }
inline void host(int* p) { void* arguments[] = {&p}; cudaLaunchCooperativeKernel((void*)kernel, dim3(1), dim3(32), arguments, 0, 0); cudaLaunchCooperativeKernel(kernel, 1, 32, arguments); cudaLaunchKernel((const void*)kernel, dim3(1), dim3(32), arguments, 0, 0); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_occupancy
__global__ void kernel(int* p) { *p = 1; }
inline void host() { int n, g; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, 128, 0); cudaOccupancyMaxPotentialBlockSize(&g, &n, kernel); cudaOccupancyMaxPotentialBlockSize(&g, &n, kernel, 0, 0); cudaFuncAttributes a; cudaFuncGetAttributes(&a, kernel); cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_graphs
inline void host(cudaStream_t s) { cudaGraph_t g; cudaGraphExec_t e; cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); cudaStreamEndCapture(s, &g); cudaGraphInstantiate(&e, g, 0); cudaGraphInstantiate(&e, g); cudaGraphLaunch(e, s); cudaGraphExecDestroy(e); cudaGraphDestroy(g); cudaGraphExecUpdateResultInfo r; cudaGraphExecUpdate(e, g, &r); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_ipc
inline void host(void* p) { cudaIpcMemHandle_t h; cudaIpcGetMemHandle(&h, p); cudaIpcOpenMemHandle(&p, h, cudaIpcMemLazyEnablePeerAccess); cudaIpcCloseMemHandle(p); cudaIpcEventHandle_t e; cudaEvent_t v; cudaIpcOpenEventHandle(&v, e); char c = h.reserved[0]; (void)c; }
__device__ int value(unsigned) { return 1; }

// construct: runtime_pools
inline void host(cudaStream_t s) { cudaMemPool_t pool; cudaMemPoolProps p = {}; p.allocType = cudaMemAllocationTypePinned; p.handleTypes = cudaMemHandleTypePosixFileDescriptor; p.location.type = cudaMemLocationTypeDevice; p.location.id = 0; cudaMemPoolCreate(&pool, &p); unsigned long long most = ~0ull; cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most); float* q; cudaMallocAsync(&q, 64, s); cudaMallocFromPoolAsync(&q, 64, pool, s); cudaFreeAsync(q, s); cudaMemAccessDesc d = {p.location, cudaMemAccessFlagsProtReadWrite}; cudaMemPoolSetAccess(pool, &d, 1); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_managed_memory
inline void host(void* p, cudaStream_t s) { cudaMemLocation at{cudaMemLocationTypeDevice, 0}; cudaMemPrefetchAsync(p, 64, at, 0, s); cudaMemAdvise(p, 64, cudaMemAdviseSetReadMostly, at); cudaPointerAttributes a; cudaPointerGetAttributes(&a, p); if (a.type == cudaMemoryTypeDevice && a.device == cudaCpuDeviceId) return; }
__device__ int value(unsigned) { return 1; }

// construct: runtime_textures_and_arrays
inline void host() { cudaArray_t a; cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(); cudaMallocArray(&a, &f, 16, 16); cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = a; cudaTextureDesc t = {}; t.addressMode[0] = cudaAddressModeWrap; t.filterMode = cudaFilterModeLinear; t.readMode = cudaReadModeElementType; cudaTextureObject_t o; cudaCreateTextureObject(&o, &r, &t, nullptr); cudaMemcpy2DToArray(a, 0, 0, &f, 4, 4, 4, cudaMemcpyHostToDevice); cudaDestroyTextureObject(o); cudaFreeArray(a); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_access_policy
inline void host(cudaStream_t s, void* p) { cudaStreamAttrValue v = {}; v.accessPolicyWindow.base_ptr = p; v.accessPolicyWindow.num_bytes = 4096; v.accessPolicyWindow.hitRatio = 1.0f; v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting; v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming; cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_3d_copies
inline void host(void* p, void* q) { cudaMemcpy3DParms c = {}; c.srcPtr = make_cudaPitchedPtr(p, 64, 64, 4); c.dstPtr = make_cudaPitchedPtr(q, 64, 64, 4); c.extent = make_cudaExtent(64, 4, 2); c.srcPos = make_cudaPos(0, 0, 0); c.kind = cudaMemcpyDeviceToDevice; cudaMemcpy3D(&c); cudaPitchedPtr d; cudaMalloc3D(&d, c.extent); }
__device__ int value(unsigned) { return 1; }

// construct: driver_contexts_and_modules
#include <cuda.h>
inline void host() { cuInit(0); CUdevice d; cuDeviceGet(&d, 0); CUcontext c; cuDevicePrimaryCtxRetain(&c, d); cuCtxCreate(&c, nullptr, CU_CTX_SCHED_SPIN, d); cuCtxSetCurrent(c); CUmodule m; cuModuleLoadData(&m, ""); CUfunction f; cuModuleGetFunction(&f, m, "k"); void* a[] = {nullptr}; cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_LEGACY, a, nullptr); CUdeviceptr p; size_t n; cuModuleGetGlobal(&p, &n, m, "x"); }
__device__ int value(unsigned) { return 1; }

// construct: driver_virtual_memory
#include <cuda.h>
inline void host() { CUmemAllocationProp p = {}; p.type = CU_MEM_ALLOCATION_TYPE_PINNED; p.location.type = CU_MEM_LOCATION_TYPE_DEVICE; p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; size_t g; cuMemGetAllocationGranularity(&g, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM); CUmemGenericAllocationHandle h; cuMemCreate(&h, g, &p, 0); CUdeviceptr a; cuMemAddressReserve(&a, g, 0, 0, 0); cuMemMap(a, g, 0, h, 0); CUmemAccessDesc d = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}; cuMemSetAccess(a, g, &d, 1); int fd; cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0); }
__device__ int value(unsigned) { return 1; }

// construct: driver_multicast
#include <cuda.h>
inline void host(CUdevice d) { CUmulticastObjectProp p = {}; p.numDevices = 2; p.size = 1 << 21; p.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC; CUmemGenericAllocationHandle h; cuMulticastCreate(&h, &p); cuMulticastAddDevice(h, d); size_t g; cuMulticastGetGranularity(&g, &p, CU_MULTICAST_GRANULARITY_RECOMMENDED); cuMulticastBindMem(h, 0, h, 0, g, 0); }
__device__ int value(unsigned) { return 1; }

// construct: driver_stream_memory
#include <cuda.h>
inline void host(CUstream s, CUdeviceptr p) { cuStreamWriteValue32(s, p, 1, CU_STREAM_WRITE_VALUE_DEFAULT); cuStreamWaitValue64(s, p, 1, CU_STREAM_WAIT_VALUE_GEQ); CUstreamBatchMemOpParams o[1] = {}; o[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32; o[0].writeValue.address = p; cuStreamBatchMemOp(s, 1, o, 0); }
__device__ int value(unsigned) { return 1; }

// construct: driver_entry_points
#include <cuda.h>
inline void host() { void* f; CUdriverProcAddressQueryResult r; cuGetProcAddress("cuMemCreate", &f, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &r); cudaDriverEntryPointQueryResult q; cudaGetDriverEntryPointByVersion("cuMemCreate", &f, 12000, cudaEnableDefault, &q); CUresult e = CUDA_ERROR_NOT_FOUND; const char* s; cuGetErrorString(e, &s); }
__device__ int value(unsigned) { return 1; }

// construct: driver_tensor_map
#include <cuda.h>
inline void host(void* p) { CUtensorMap m; cuuint64_t dims[2] = {64, 64}, strides[1] = {256}; cuuint32_t box[2] = {16, 16}, one[2] = {1, 1}; cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, dims, strides, box, one, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE); static_assert(alignof(CUtensorMap) == 64 || alignof(CUtensorMap) == 128, ""); }
__device__ int value(unsigned) { return 1; }

// construct: driver_enumeration_tags
#include <cuda.h>
inline int host() { enum cudaError_enum e = CUDA_SUCCESS; enum CUdevice_attribute_enum a = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED; struct CUDA_MEMCPY2D_st c; c.Height = 1; enum cudaMemcpyKind k = cudaMemcpyDefault; struct cudaDeviceProp p; p.major = 9; return e + a + int(c.Height) + k + p.major; }
__device__ int value(unsigned) { return 1; }

// construct: programmatic_dependent_launch
__global__ void kernel(int* p) { cudaGridDependencySynchronize(); *p = 1; cudaTriggerProgrammaticLaunchCompletion(); }
__device__ int value(unsigned) { return 1; }

// construct: profiler_calls
#include <cuda_profiler_api.h>
inline void host() { cudaProfilerStart(); cudaProfilerStop(); }
__device__ int value(unsigned) { return 1; }

// construct: runtime_memory_of_constants
inline void host() { const float* p; cudaMalloc(&p, 64); cudaMallocManaged(&p, 64); cudaMallocAsync(&p, 64, cudaStream_t{}); cudaFree((void*)p); }
__device__ int value(unsigned) { return 1; }
