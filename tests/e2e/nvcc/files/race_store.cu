__device__ void put(int* where, int value) {
  *where = value;  // line 2
}
