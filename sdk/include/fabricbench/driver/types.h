// Handles of the driver API, its error codes, and the enumerations that several nouns share.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "fabricbench/driver/versions.h"
#include "fabricbench/runtime/handles.h"

#define CUDA_VERSION 13000
#define CUDAAPI
#define CUDA_CB
#define CU_IPC_HANDLE_SIZE 64
#define CU_DEVICE_CPU (static_cast<CUdevice>(-1))
#define CU_DEVICE_INVALID (static_cast<CUdevice>(-2))

using CUdevice = int;
using CUdevice_v1 = CUdevice;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v2 = CUdeviceptr;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUlibrary = cudaLibrary_t;
using CUkernel = cudaKernel_t;
using CUfunction = cudaFunction_t;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;
using CUgraph = cudaGraph_t;
using CUgraphNode = cudaGraphNode_t;
using CUgraphExec = cudaGraphExec_t;
using CUmemoryPool = cudaMemPool_t;
using CUuserObject = cudaUserObject_t;
using CUarray = struct CUarray_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;
using CUhostFn = void (*)(void* data);

enum CUresult {
#define RESULT(name, number) CUDA_##name = number,
#include "fabricbench/driver/results.def"
};

enum CUmemorytype {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};
enum CUmemLocationType {
  CU_MEM_LOCATION_TYPE_INVALID = 0,
  CU_MEM_LOCATION_TYPE_NONE = 0,
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2,
  CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4,
};
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
enum CUfunc_cache {
  CU_FUNC_CACHE_PREFER_NONE = 0,
  CU_FUNC_CACHE_PREFER_SHARED = 1,
  CU_FUNC_CACHE_PREFER_L1 = 2,
  CU_FUNC_CACHE_PREFER_EQUAL = 3,
};
enum CUsharedconfig {
  CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE = 0,
  CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE = 1,
  CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE = 2,
};
