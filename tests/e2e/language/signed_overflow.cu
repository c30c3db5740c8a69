// Host code that counts on signed overflow to wrap around, as unoptimised code does.

#include "checks.h"

namespace {

__global__ void square(int* values, int count) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) values[k] = static_cast<int>(static_cast<unsigned>(values[k]) * static_cast<unsigned>(values[k]));
}

}  // namespace

int main() {
  constexpr int kCount = 70000;  // squares above 46340 do not fit
  int* values = shared_array<int>(kCount);
  for (int k = 0; k < kCount; ++k) values[k] = k;
  square<<<(kCount + 255) / 256, 256>>>(values, kCount);
  CHECK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int k = 0; k < kCount; ++k) wrong += values[k] != k * k;
  CHECK_EQ(wrong, 0);
  return finish();
}
