// new, delete, malloc, free, alloca and virtual functions in kernels; what does not fit is null.
#include <alloca.h>

#include "checks.h"

struct Node {
  int value;
  Node* next;
  __device__ Node(int v, Node* n) : value(v), next(n) {}
  __device__ virtual ~Node() {}
  __device__ virtual int get() const { return value; }
};
struct Tenfold : Node {
  __device__ Tenfold(int v, Node* n) : Node(v, n) {}
  __device__ int get() const override { return value * 10; }
};
__device__ Node* kept;

__global__ void build(int* out) {
  Node* list = nullptr;
  for (int i = 0; i < 3; ++i) list = new Node(i, list);
  list = new Tenfold(7, list);
  int sum = 0;
  while (list) {
    sum += list->get();
    Node* next = list->next;
    delete list;
    list = next;
  }
  out[0] = sum;
  int* numbers = new int[10];
  for (int i = 0; i < 10; ++i) numbers[i] = i;
  out[1] = numbers[9];
  delete[] numbers;
  int* raw = static_cast<int*>(malloc(16));
  raw[3] = 4;
  out[2] = raw[3];
  free(raw);
  int* local = static_cast<int*>(alloca(sizeof(int) * (out[0] > 0 ? 4 : 8)));
  local[3] = 6;
  out[3] = local[3];
  out[4] = malloc(1ull << 40) == nullptr;
  out[5] = new char[1ull << 40] == nullptr;
  alignas(16) char place[sizeof(Tenfold)];
  const Node* placed = new (place) Tenfold(3, nullptr);
  out[6] = placed->get();
  kept = new Tenfold(5, nullptr);
}
__global__ void use(int* out) {
  out[7] = kept->get();
  delete kept;
}

int main() {
  size_t bytes = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
  CHECK_EQ(bytes >= (16u << 20), true);
  int* out = shared_array(8);
  build<<<1, 1>>>(out);
  use<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  const int expected[] = {73, 9, 4, 6, 1, 1, 30, 50};
  for (int i = 0; i < 8; ++i) CHECK_EQ(out[i], expected[i]);
  return finish();
}
