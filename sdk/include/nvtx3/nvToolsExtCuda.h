// NVTX names of objects of the driver.
#ifndef NVTOOLSEXT_CUDA_V3
#define NVTOOLSEXT_CUDA_V3
#pragma GCC system_header
#include "cuda.h"
#include "nvtx3/nvToolsExt.h"

NVTX_DECLSPEC void nvtxNameCuDeviceA(CUdevice device, const char* text) {
  (void)device;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuDeviceW(CUdevice device, const wchar_t* text) {
  (void)device;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuContextA(CUcontext context, const char* text) {
  (void)context;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuContextW(CUcontext context, const wchar_t* text) {
  (void)context;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuStreamA(CUstream stream, const char* text) {
  (void)stream;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuStreamW(CUstream stream, const wchar_t* text) {
  (void)stream;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuEventA(CUevent event, const char* text) {
  (void)event;
  (void)text;
}
NVTX_DECLSPEC void nvtxNameCuEventW(CUevent event, const wchar_t* text) {
  (void)event;
  (void)text;
}
#define nvtxNameCuDevice nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream nvtxNameCuStreamA
#define nvtxNameCuEvent nvtxNameCuEventA
#endif
