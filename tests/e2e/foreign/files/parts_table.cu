__device__ int table[4] = {1, 20, 300, 4000};
__device__ int twice(int value) { return 2 * value; }
