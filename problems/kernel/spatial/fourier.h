#pragma once

// The transform of the baselines of distributed transforms. They define kThreads, kRoots and the operators.

// Transform of 2^log2n points (Stockham): rounds from one buffer to the other, each with a factor of 4, the first with
// a factor of 2 where log2n is odd. Returns the buffer that has the result.
__device__ float2* transform(float2* from, float2* to, int log2n, const float2* roots) {
  int log2done = 0;  // of the length of the transforms so far
  if (log2n % 2 != 0) {
    const int half = 1 << (log2n - 1);
    for (int j = static_cast<int>(threadIdx.x); j < half; j += kThreads) {
      const float2 a = from[j], b = from[j + half];
      to[2 * j] = a + b;
      to[2 * j + 1] = a - b;
    }
    __syncthreads();
    float2* swap = from;
    from = to, to = swap;
    log2done = 1;
  }
  const int quarter = 1 << (log2n - 2);
  for (; log2done < log2n; log2done += 2) {
    const int done = 1 << log2done, stride = kRoots / 4 >> log2done;
    for (int j = static_cast<int>(threadIdx.x); j < quarter; j += kThreads) {
      const int k = j & (done - 1);
      const float2 *in = from + j, w1 = __ldg(roots + k * stride), w2 = __ldg(roots + 2 * k * stride),
                   w3 = __ldg(roots + 3 * k * stride);
      const float2 a = in[0], b = in[quarter] * w1, c = in[2 * quarter] * w2, d = in[3 * quarter] * w3;
      const float2 sum = a + c, difference = a - c, other_sum = b + d, other = turned(b - d);
      float2* out = to + 4 * j - 3 * k;
      out[0] = sum + other_sum;
      out[done] = difference + other;
      out[2 * done] = sum - other_sum;
      out[3 * done] = difference - other;
    }
    __syncthreads();
    float2* swap = from;
    from = to, to = swap;
  }
  return from;
}
