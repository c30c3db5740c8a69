#pragma once

// Kernels of the alternatives that go round a ring, with cuBLAS for the products.

using bf16 = __nv_bfloat16;

constexpr int kDim = 128;

// A warp for each row of scores [head][query][key]: exponentials in bf16, and the factors with which the row's results
// so far and those of this step are merged.
__global__ void exponentials(const float* scores, bf16* weights, float* log_sums, float2* factors, int tokens, int rank,
                             int source, int world, bool first) {
  const int row = static_cast<int>(blockIdx.x), local = 2 * tokens, lane = static_cast<int>(threadIdx.x);
  const auto position = [&](int owner, int t) {
    return (t < tokens ? owner : 2 * world - 1 - owner) * tokens + t % tokens;
  };
  const int query = position(rank, row % local);
  float most = -INFINITY, sum = 0;
  for (int j = lane; j < local; j += 32) {
    if (position(source, j) <= query) most = fmaxf(most, scores[int64_t{row} * local + j]);
  }
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  for (int j = lane; j < local; j += 32) {
    const int64_t at = int64_t{row} * local + j;
    const float weight = position(source, j) <= query ? __expf(scores[at] - most) : 0;
    sum += weight;
    weights[at] = __float2bfloat16(weight);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane != 0) return;
  if (first) {  // a query sees its own key, so that nothing is infinite from now on
    log_sums[row] = most + __logf(sum);
    factors[row] = {0, 1 / sum};
  } else if (sum == 0) {
    factors[row] = {1, 0};
  } else {
    const float old = log_sums[row], here = most + __logf(sum), share = 1 / (1 + __expf(old - here));
    log_sums[row] = fmaxf(old, here) + log1pf(__expf(-fabsf(old - here)));
    factors[row] = {1 - share, share / sum};
  }
}

// Rows of [head][query][dim]; `out` is [query][head][dim].
__global__ void merge(float* results, const float* part, const float2* factors, bf16* out, int queries, int dim,
                      bool first, bool last) {
  const auto row = static_cast<int>(blockIdx.x), heads = static_cast<int>(gridDim.x) / queries;
  const float2 by = factors[row];
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += static_cast<int>(blockDim.x)) {
    const int64_t at = int64_t{row} * dim + d;
    const float value = (first ? 0 : by.x * results[at]) + (by.y == 0 ? 0 : by.y * part[at]);
    results[at] = value;
    if (last) out[(int64_t{row % queries} * heads + row / queries) * dim + d] = __float2bfloat16(value);
  }
}
