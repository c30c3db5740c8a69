// What happens at the border of a surface.
#ifndef __SURFACE_TYPES_H__
#define __SURFACE_TYPES_H__
#pragma GCC system_header
#include "fabricbench/language.h"

enum cudaSurfaceBoundaryMode {
  cudaBoundaryModeZero = 0,
  cudaBoundaryModeClamp = 1,
  cudaBoundaryModeTrap = 2,
};
typedef enum cudaSurfaceBoundaryMode cudaSurfaceBoundaryMode;
enum cudaSurfaceFormatMode {
  cudaFormatModeForced = 0,
  cudaFormatModeAuto = 1,
};
typedef enum cudaSurfaceFormatMode cudaSurfaceFormatMode;
typedef unsigned long long cudaSurfaceObject_t;

#define cudaSurfaceType1D 0x01
#define cudaSurfaceType2D 0x02
#define cudaSurfaceType3D 0x03
#define cudaSurfaceTypeCubemap 0x0C
#define cudaSurfaceType1DLayered 0xF1
#define cudaSurfaceType2DLayered 0xF2
#define cudaSurfaceTypeCubemapLayered 0xFC
#endif
