// Refused by both compilers.

// construct: host_function_called_by_device
// refused
int host_only(int x) { static int calls; return x + ++calls; }
__device__ int value(unsigned t) { return host_only(t); }

// construct: kernel_that_returns_a_value
// refused
__global__ int kernel() { return 1; }

// construct: undeclared_identifier
// refused
__device__ int value(unsigned t) { return no_such_name + t; }

// construct: wrong_number_of_kernel_arguments
// refused
__global__ void kernel(int* p) { *p = 1; }
void launch() { kernel<<<1, 1>>>(); }

// construct: missing_launch_configuration
// refused
__global__ void kernel(int* p) { *p = 1; }
void launch(int* p) { kernel(p); }

// construct: missing_header
// refused
#include <no_such_header_of_cuda.h>

// construct: device_exceptions
// refused
__device__ int value(unsigned t) { if (t > 100) throw 1; return t; }

// construct: initialised_shared_variable
// refused
__global__ void kernel(int* p) { __shared__ int x = 3; *p = x; }
