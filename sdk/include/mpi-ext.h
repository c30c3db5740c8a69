/* Open MPI's extensions, and that device pointers may be passed: ranks load a library that sees to it. It is in this
   folder, too, because host compilers are given it as a toolkit's and find it before MPI's own. */
#pragma once
#if __has_include(<mpi.h>)
#include <mpi.h>
/* Behind mpi.h, which it needs. */
#include_next <mpi-ext.h>
#endif
#undef MPIX_CUDA_AWARE_SUPPORT
#define MPIX_CUDA_AWARE_SUPPORT 1

#ifdef __cplusplus
extern "C" {
#endif
int MPIX_Query_cuda_support(void);
#ifdef __cplusplus
}
#endif
