// Arrays of restricted pointers in classes that are copied and assigned.
#include <array>

#include "checks.h"

struct Peers {
  float* __restrict__ in[8];
  const float* __restrict own;
  int count;
};
template <class T>
struct Buffers {
  T* __restrict__ rows[2][2];
  std::array<T* __restrict__, 2> more;
};

__global__ void sum(Peers peers, Buffers<float> buffers, float* __restrict__ out) {
  Peers copy;
  copy = peers;
  Buffers<float> other = buffers;
  other = buffers;
  float total = copy.own[threadIdx.x];
  for (int i = 0; i < copy.count; ++i) total += copy.in[i][threadIdx.x];
  out[threadIdx.x] = total + other.rows[1][0][0] + other.more[1][0];
}

int main() {
  float* data = shared_array<float>(64);
  for (int i = 0; i < 64; ++i) data[i] = static_cast<float>(i);
  Peers peers, assigned;
  for (int i = 0; i < 8; ++i) peers.in[i] = data + i;
  peers.own = data;
  peers.count = 8;
  assigned = peers;
  Buffers<float> buffers{}, taken;
  buffers.rows[1][0] = data + 40;
  buffers.more[1] = data + 50;
  taken = static_cast<Buffers<float>&&>(buffers);
  sum<<<1, 4>>>(assigned, taken, data + 60);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) CHECK_EQ(data[60 + i], 28.0f + 8 * i + i + 90);
  return finish();
}
