// make_cudaPitchedPtr, make_cudaPos, make_cudaExtent.
#ifndef __DRIVER_FUNCTIONS_H__
#define __DRIVER_FUNCTIONS_H__
#pragma GCC system_header
#include "driver_types.h"

FABRICBENCH_BOTH cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
  cudaPitchedPtr made;
  made.ptr = pointer;
  made.pitch = pitch;
  made.xsize = width;
  made.ysize = height;
  return made;
}
FABRICBENCH_BOTH cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  cudaPos made;
  made.x = x;
  made.y = y;
  made.z = z;
  return made;
}
FABRICBENCH_BOTH cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  cudaExtent made;
  made.width = width;
  made.height = height;
  made.depth = depth;
  return made;
}
#endif
