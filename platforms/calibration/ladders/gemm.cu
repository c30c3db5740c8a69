// Matrix multiplication in eleven steps, from one thread for one element to warp-specialised tensor cores. Up to
// gemm_double_buffer the elements are f32, from gemm_mma on bf16 with f32 sums. Sizes fill the 132 multiprocessors of
// an H100 with one wave of the largest tile; those of the slow steps are short along K, which changes their rate
// little. SHARE is of 989.4 TFLOPS, the dense bf16 peak.
#include <cuda_bf16.h>

#include <string>
#include <vector>

#include "gemm_f32.h"
#include "gemm_mma.h"
#include "gemm_wgmma.h"
#include "ladder.h"

constexpr double kPeak = 989.4;

struct Size {
  int m, n, k;
};

// The factors are the same in both forms: B by rows for f32, by columns for bf16.
struct Problem {
  explicit Problem(const Size& s) : size(s) {
    const size_t of_a = size_t(s.m) * s.k, of_b = size_t(s.n) * s.k;
    std::vector<float> f(of_a);
    std::vector<__nv_bfloat16> h(of_a);
    for (size_t k = 0; k < of_a; ++k) h[k] = __float2bfloat16(f[k] = static_cast<float>(small_integer(k)));
    a = upload(f);
    a16 = upload(h);
    f.resize(of_b);
    h.resize(of_b);
    for (int k = 0; k < s.k; ++k) {
      for (int n = 0; n < s.n; ++n) {
        const auto value = static_cast<float>(element_of_b(k, n));
        f[size_t(k) * s.n + n] = value;
        h[size_t(n) * s.k + k] = __float2bfloat16(value);
      }
    }
    b = upload(f);
    b16 = upload(h);
    c = device_memory<float>(size_t(s.m) * s.n);
    c16 = device_memory<__nv_bfloat16>(size_t(s.m) * s.n);
  }
  ~Problem() {
    for (void* p : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c), static_cast<void*>(a16),
                    static_cast<void*>(b16), static_cast<void*>(c16)})
      CHECK(cudaFree(p));
  }

  int element_of_a(int m, int k) const { return small_integer(size_t(m) * size.k + k); }
  int element_of_b(int k, int n) const { return small_integer((size_t(k) << 20) + n + 12345); }

  template <class T>
  static T* upload(const std::vector<T>& from) {
    T* to = device_memory<T>(from.size());
    CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
  }

  Size size;
  float *a, *b, *c;
  __nv_bfloat16 *a16, *b16, *c16;
};

struct Step {
  const char* name;
  bool tensor;  // bf16
  Size tile;
  int blocks;  // of a multiprocessor, at once
  int k;       // of the measured size
  void (*launch)(const Problem& p);
};

template <auto kKernel, int kTile, int kThreads>
void launch_f32(const Problem& p) {
  const auto& [m, n, k] = p.size;
  kKernel<<<dim3(m / kTile, n / kTile), kThreads>>>(m, n, k, p.a, p.b, p.c);
}

template <class Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

void launch_mma(const Problem& p) {
  const auto& [m, n, k] = p.size;
  gemm_mma<<<dim3(m / 128, n / 128), 256>>>(m, n, k, p.a16, p.b16, p.c16);
}

void launch_mma_pipelined(const Problem& p) {
  const auto& [m, n, k] = p.size;
  constexpr size_t kBytes = kMmaStages * sizeof(MmaStage);
  allow_shared(gemm_mma_pipelined, kBytes);
  gemm_mma_pipelined<<<dim3(m / 128, n / 128), 128, kBytes>>>(m, n, k, p.a16, p.b16, p.c16);
}

void launch_wgmma(const Problem& p) {
  const auto& [m, n, k] = p.size;
  allow_shared(gemm_wgmma, sizeof(GroupMemory));
  gemm_wgmma<<<dim3(m / 128, n / 128), 128, sizeof(GroupMemory)>>>(n, k, describe(p.a16, m, k, 128),
                                                                   describe(p.b16, n, k, 128), p.c16);
}

void launch_wgmma_specialised(const Problem& p) {
  const auto& [m, n, k] = p.size;
  allow_shared(gemm_wgmma_specialised, sizeof(SpecialisedMemory));
  gemm_wgmma_specialised<<<dim3(m / 128, n / 256), 384, sizeof(SpecialisedMemory)>>>(n, k, describe(p.a16, m, k, 128),
                                                                                     describe(p.b16, n, k, 256), p.c16);
}

void launch_wgmma_cluster(const Problem& p) {
  const auto& [m, n, k] = p.size;
  allow_shared(gemm_wgmma_cluster, sizeof(ClusterMemory));
  gemm_wgmma_cluster<<<dim3(m / 256, n / 128), 384, sizeof(ClusterMemory)>>>(n, k, describe(p.a16, m, k, 128),
                                                                             describe(p.b16, n, k, 128), p.c16);
}

const Step kSteps[] = {
    {"gemm_naive", false, {32, 32, 1}, 2, 64, launch_f32<gemm_naive, 32, 1024>},
    {"gemm_coalesced", false, {32, 32, 1}, 2, 128, launch_f32<gemm_coalesced, 32, 1024>},
    {"gemm_shared", false, {32, 32, 32}, 2, 256, launch_f32<gemm_shared, 32, 1024>},
    {"gemm_registers_1d", false, {64, 64, 8}, 2, 256, launch_f32<gemm_registers_1d, 64, 512>},
    {"gemm_registers_2d", false, {128, 128, 8}, 2, 128, launch_f32<gemm_registers_2d, 128, 256>},
    {"gemm_vectorised", false, {128, 128, 8}, 2, 128, launch_f32<gemm_vectorised, 128, 256>},
    {"gemm_double_buffer", false, {128, 128, 16}, 2, 128, launch_f32<gemm_double_buffer, 128, 256>},
    {"gemm_mma", true, {128, 128, 32}, 2, 512, launch_mma},
    {"gemm_mma_pipelined", true, {128, 128, 64}, 2, 512, launch_mma_pipelined},
    {"gemm_wgmma", true, {128, 128, 64}, 2, 1024, launch_wgmma},
    {"gemm_wgmma_specialised", true, {128, 256, 64}, 1, 2048, launch_wgmma_specialised},
    {"gemm_wgmma_cluster", true, {256, 128, 64}, 1, 2048, launch_wgmma_cluster},
};

int reference(const Problem& p, int m, int n) {
  int sum = 0;
  for (int k = 0; k < p.size.k; ++k) sum += p.element_of_a(m, k) * p.element_of_b(k, n);
  return sum;
}

// Every element, or 1,000 of them.
void compare(const Step& step, const Problem& p, bool all) {
  const size_t count = size_t(p.size.m) * p.size.n;
  std::vector<float> c(count);
  std::vector<__nv_bfloat16> c16(count);
  CHECK(cudaMemcpy(c.data(), p.c, count * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(c16.data(), p.c16, count * sizeof(__nv_bfloat16), cudaMemcpyDeviceToHost));
  for (size_t at = 0; at < count; at += all ? 1 : count / 1000 | 1) {
    const int m = static_cast<int>(at / p.size.n), n = static_cast<int>(at % p.size.n);
    const auto exact = static_cast<float>(reference(p, m, n));
    const float wanted = step.tensor ? __bfloat162float(__float2bfloat16(exact)) : exact;
    const float got = step.tensor ? __bfloat162float(c16[at]) : c[at];
    if (got != wanted) fail("%s: element (%d, %d) is %g instead of %g", step.name, m, n, got, wanted);
  }
}

// Launched twice, so a step that adds to what it finds is wrong.
void run(const Step& step, const LadderOptions& options) {
  // Two tiles each way, three or more along K; or a wave of tiles for the 11 × 12 multiprocessors of an H100.
  const Size small{2 * step.tile.m, 2 * step.tile.n, 3 * (step.tile.k < 32 ? 32 : step.tile.k)};
  const Problem p(options.check ? small : Size{11 * step.tile.m, 12 * step.blocks * step.tile.n, step.k});
  const double us = microseconds_of([&] { step.launch(p); });
  compare(step, p, options.check);
  const auto& [m, n, k] = p.size;
  const std::string size = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  print_step(step.name, size.c_str(), us, 2e-6 * m * n * k / us, "TFLOPS", kPeak);
}

int main(int argc, char** argv) {
  const LadderOptions options = read_options(argc, argv);
  bool found = false;
  for (const Step& step : kSteps) {
    if (!options.only.empty() && options.only != step.name) continue;
    found = true;
    run(step, options);
  }
  if (!found) fail("no step of this name");
}
