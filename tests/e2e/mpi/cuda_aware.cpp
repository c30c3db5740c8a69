// What programs ask before they pass device pointers to MPI.
#include <mpi.h>

#include <mpi-ext.h>
#if !defined(OMPI_HAVE_MPI_EXT_CUDA) || !defined(MPIX_CUDA_AWARE_SUPPORT) || !MPIX_CUDA_AWARE_SUPPORT
#error "MPI does not say that it takes device pointers"
#endif

int main() { return MPIX_Query_cuda_support() == 1 ? 0 : 1; }
