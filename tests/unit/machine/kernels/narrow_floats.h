// What half and bfloat16 have in common, for fp16.cu and bf16.cu: 22 results of two values, on either side.
#pragma once

template <class H>
__host__ __device__ inline void scalar_operations(H x, H y, H z, H* r) {
  r[0] = __hadd(x, y);
  r[1] = __hsub(x, y);
  r[2] = __hmul(x, y);
  r[3] = __hfma(x, y, z);
  r[4] = __hdiv(x, y);
  r[5] = __hneg(x);
  r[6] = __habs(x);
  r[7] = __hmax(x, y);
  r[8] = __hmin(x, y);
  r[9] = x + y;
  r[10] = x * z;
  r[11] = -z;
  r[12] = H(static_cast<float>(x) * 3.0f);
  r[13] = __hlt(x, y) ? x : y;
  r[14] = x == y ? x : z;
  r[15] = x >= y ? x : z;
}

template <class H, class H2>
__host__ __device__ inline void pair_operations(H2 x, H2 y, H2 z, H2* r) {
  r[0] = __hadd2(x, y);
  r[1] = __hmul2(x, y);
  r[2] = __hfma2(x, y, z);
  r[3] = __hmax2(x, y);
  r[4] = __hmin2(y, z);
  r[5] = __habs2(z);
  r[6] = x + z;
  r[7] = __hsub2(x, __hneg2(y));
}
