// Defines what values.cu defines.
__device__ int helper(int x) { return x; }
