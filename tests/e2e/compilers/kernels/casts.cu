// Wide accesses through casts, to arrays that were declared of something narrow.
#include <cuda_bf16.h>

#include "suite.h"

__global__ void bytes_by_16(const uint8_t* from, uint8_t* to) {
  __shared__ uint8_t s[4096 + 16];
  const int i = 16 * threadIdx.x;
  for (int turn = 0; turn < 8; ++turn) {
    *reinterpret_cast<uint4*>(&s[i]) = *reinterpret_cast<const uint4*>(&from[4096 * turn + i]);
    __syncthreads();
    uint4 v = *reinterpret_cast<uint4*>(&s[4080 - i]);
    v.x ^= v.w;
    *reinterpret_cast<uint4*>(&to[4096 * turn + i]) = v;
    __syncthreads();
  }
}

__global__ void halves_by_8(const __nv_bfloat16* from, float* to) {
  __shared__ __nv_bfloat16 tile[64][72];
  for (int i = threadIdx.x; i < 64 * 8; i += blockDim.x) *(uint4*)&tile[i / 8][i % 8 * 8] = ((const uint4*)from)[i];
  __syncthreads();
  float sum = 0;
  const int row = threadIdx.x % 64;
  for (int k = 0; k < 64; k += 8) {
    const uint4 packed = *(const uint4*)&tile[row][k];
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(&packed);
    for (int j = 0; j < 4; ++j) {
      const float2 two = __bfloat1622float2(pairs[j]);
      sum += two.x + two.y;
    }
  }
  to[threadIdx.x] = sum;
}

__global__ void floats_by_4(const float* from, float* to, int rows) {
  __shared__ float s[1024];
  float part[4];
  for (int r = 0; r < rows; ++r) {
    *(float4*)&s[4 * threadIdx.x] = *(const float4*)&from[1024 * r + 4 * threadIdx.x];
    __syncthreads();
    *(float4*)part = *(float4*)&s[1020 - 4 * threadIdx.x];
    for (int k = 0; k < 4; ++k) part[k] += 1;
    *(float4*)&to[1024 * r + 4 * threadIdx.x] = *(float4*)part;
    __syncthreads();
  }
}

struct Message {
  uint32_t header[4];
  uint8_t body[48];
};

__global__ void members(const Message* from, Message* to, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    Message m = from[i];
    m.header[0] += *(uint32_t*)&m.body[8];
    reinterpret_cast<uint2&>(m.body[16]).x += 1;
    to[i] = m;
  }
}

int main() {
  Array<uint8_t> bytes(8 * 4096), out(8 * 4096);
  bytes_by_16<<<1, 256>>>(bytes.data, out.data);
  out.print("bytes_by_16");
  Array<__nv_bfloat16> halves(64 * 64);
  Array<float> sums(256), from(16 * 1024), to(16 * 1024);
  halves_by_8<<<1, 256>>>(halves.data, sums.data);
  sums.print("halves_by_8");
  floats_by_4<<<1, 256>>>(from.data, to.data, 16);
  to.print("floats_by_4");
  Array<uint8_t> messages(512 * sizeof(Message)), sent(512 * sizeof(Message));
  members<<<2, 128>>>(reinterpret_cast<const Message*>(messages.data), reinterpret_cast<Message*>(sent.data), 512);
  sent.print("members");
}
