/* Open MPI's extensions, and that device pointers may be passed: ranks load a library that sees to it. */
#pragma once
#include <mpi.h>
/* Behind mpi.h, which it needs. */
#include_next <mpi-ext.h>
#undef MPIX_CUDA_AWARE_SUPPORT
#define MPIX_CUDA_AWARE_SUPPORT 1

#ifdef __cplusplus
extern "C" {
#endif
int MPIX_Query_cuda_support(void);
#ifdef __cplusplus
}
#endif
