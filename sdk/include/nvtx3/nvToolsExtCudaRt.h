// NVTX names of objects of the runtime.
#ifndef NVTOOLSEXT_CUDART_V3
#define NVTOOLSEXT_CUDART_V3
#pragma GCC system_header
#include "driver_types.h"
#include "nvtx3/nvToolsExt.h"

NVTX_DECLSPEC void nvtxNameCudaDeviceA(int device, const char* text) {
  (void)device;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCudaDeviceW(int device, const wchar_t* text) {
  (void)device;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCudaStreamA(cudaStream_t stream, const char* text) {
  (void)stream;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCudaStreamW(cudaStream_t stream, const wchar_t* text) {
  (void)stream;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCudaEventA(cudaEvent_t event, const char* text) {
  (void)event;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCudaEventW(cudaEvent_t event, const wchar_t* text) {
  (void)event;
  (void)text;
}
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#endif
