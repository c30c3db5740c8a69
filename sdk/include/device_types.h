// cudaRoundMode.
#ifndef __DEVICE_TYPES_H__
#define __DEVICE_TYPES_H__
#pragma GCC system_header
#include "fabricbench/language.h"

enum cudaRoundMode {
  cudaRoundNearest,
  cudaRoundZero,
  cudaRoundPosInf,
  cudaRoundMinInf,
};
typedef enum cudaRoundMode cudaRoundMode;
#endif
