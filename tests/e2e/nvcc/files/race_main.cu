// Two blocks write one word, in a function of race_store.cu.
__device__ void put(int* where, int value);
__global__ void race(int* where) { put(where, static_cast<int>(blockIdx.x)); }
int main() {
  int* where = nullptr;
  cudaMalloc(&where, sizeof *where);
  race<<<2, 1>>>(where);
  return cudaDeviceSynchronize();
}
