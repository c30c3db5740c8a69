// Products of random sizes, types, layouts and batches against a plain loop: equal bits.
//
// Run: fabricbench exec --platform h100x8 tests/e2e/cublas/values.cu -lcublas -- PROGRAMS [SEED]
#include <cublas_v2.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

cublasHandle_t handle;
std::mt19937_64 rng;
int below(int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); }

template <class T>
constexpr cudaDataType kType = CUDA_R_32F;
template <>
constexpr cudaDataType kType<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kType<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType kType<__nv_bfloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType kType<int8_t> = CUDA_R_8I;
template <>
constexpr cudaDataType kType<int> = CUDA_R_32I;

template <class T>
T draw() {
  if constexpr (sizeof(T) == 1 || std::is_same_v<T, int>) {
    return static_cast<T>(below(256) - 128);
  } else {
    return T(std::ldexp(static_cast<float>(below(20001) - 10000), -12 + below(4)));
  }
}

float tf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x1000) & ~0x1fffu;  // to nearest, ties away from zero
  std::memcpy(&x, &bits, 4);
  return x;
}

template <class W>
W as_multiplied(W x, cublasComputeType_t compute) {
  if constexpr (std::is_same_v<W, float>) {
    if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return tf32(x);
    if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return static_cast<float>(__nv_bfloat16(x));
    if (compute == CUBLAS_COMPUTE_32F_FAST_16F) return static_cast<float>(__half(x));
  }
  return x;
}

template <class T>
T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  cudaMalloc(&device, host.size() * sizeof(T));
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

// In is the type of the factors, Out that of the result, W of the sums, S of alpha and beta.
template <class In, class Out, class W, class S>
bool one_program(cublasComputeType_t compute) {
  const bool small = below(3) != 0;
  const int most = small ? 40 : 330;
  const int m = 1 + below(most), n = 1 + below(most), k = below(8) == 0 ? 0 : 1 + below(most);
  const bool ta = below(2) != 0, tb = below(2) != 0;
  const int lda = (ta ? k : m) + below(3) + (k == 0 ? 1 : 0), ldb = (tb ? n : k) + below(3) + (k == 0 ? 1 : 0);
  const int ldc = m + below(3);
  const int batches = small ? 1 + below(4) : 1;
  const bool by_pointers = batches > 1 && below(2) != 0;
  const long long sa = static_cast<long long>(lda) * ((ta ? m : k) + 1);
  const long long sb = below(3) == 0 ? 0 : static_cast<long long>(ldb) * ((tb ? k : n) + 1);
  const long long sc = static_cast<long long>(ldc) * n + below(5);
  std::vector<In> a(sa * batches), b((sb != 0 ? sb * batches : static_cast<long long>(ldb) * ((tb ? k : n) + 1)));
  std::vector<Out> c(sc * batches);
  for (auto& x : a) x = draw<In>();
  for (auto& x : b) x = draw<In>();
  for (auto& x : c) x = draw<Out>();
  const S alpha = below(4) == 0 ? S(below(2)) : S(below(7) - 3), beta = below(2) == 0 ? S(0.0f) : S(below(5) - 2);
  In *da = to_device(a), *db = to_device(b);
  Out* dc = to_device(c);
  const auto opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  const void *pa = &alpha, *pb = &beta;
  S* scalars = nullptr;
  const bool on_device = below(4) == 0;
  if (on_device) {
    scalars = to_device(std::vector<S>{alpha, beta});
    pa = scalars;
    pb = scalars + 1;
  }
  cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
  cublasStatus_t status;
  void **la = nullptr, **lb = nullptr, **lc = nullptr;
  if (by_pointers) {
    std::vector<void*> ha, hb, hc;
    for (int i = 0; i < batches; ++i) ha.push_back(da + i * sa), hb.push_back(db + i * sb), hc.push_back(dc + i * sc);
    la = to_device(ha), lb = to_device(hb), lc = to_device(hc);
    status = cublasGemmBatchedEx(handle, opa, opb, m, n, k, pa, la, kType<In>, lda, lb, kType<In>, ldb, pb, lc,
                                 kType<Out>, ldc, batches, compute, CUBLAS_GEMM_DEFAULT);
  } else {
    status = cublasGemmStridedBatchedEx(handle, opa, opb, m, n, k, pa, da, kType<In>, lda, sa, db, kType<In>, ldb, sb,
                                        pb, dc, kType<Out>, ldc, sc, batches, compute, CUBLAS_GEMM_DEFAULT);
  }
  std::vector<Out> got(c.size());
  const cudaError_t e = cudaMemcpy(got.data(), dc, got.size() * sizeof(Out), cudaMemcpyDeviceToHost);
  for (void* p : {static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(dc), static_cast<void*>(scalars),
                  static_cast<void*>(la), static_cast<void*>(lb), static_cast<void*>(lc)})
    cudaFree(p);
  if (status != 0 || e != cudaSuccess) {
    std::printf("status %d, error %d\n", status, e);
    return false;
  }
  for (int batch = 0; batch < batches; ++batch) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        W sum = 0;
        if (static_cast<double>(alpha) != 0) {
          for (int q = 0; q < k; ++q) {
            const W x = as_multiplied(static_cast<W>(a[batch * sa + (ta ? q + i * lda : i + q * lda)]), compute);
            const W y = as_multiplied(static_cast<W>(b[batch * sb + (tb ? j + q * ldb : q + j * ldb)]), compute);
            sum = std::fma(x, y, sum);
          }
        }
        W x = static_cast<W>(static_cast<float>(alpha)) * sum;
        Out& was = c[batch * sc + i + static_cast<long long>(j) * ldc];
        if (static_cast<double>(beta) != 0) x += static_cast<W>(static_cast<float>(beta)) * static_cast<W>(was);
        was = Out(x);
      }
    }
  }
  if (std::memcmp(got.data(), c.data(), got.size() * sizeof(Out)) == 0) return true;
  for (size_t i = 0; i < c.size(); ++i) {
    if (std::memcmp(&got[i], &c[i], sizeof(Out)) == 0) continue;
    std::printf(
        "m %d n %d k %d ta %d tb %d lda %d ldb %d ldc %d batches %d pointers %d: element %zu is %g instead of %g\n", m,
        n, k, ta, tb, lda, ldb, ldc, batches, by_pointers, i, static_cast<double>(got[i]), static_cast<double>(c[i]));
    break;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const int programs = argc > 1 ? std::atoi(argv[1]) : 40;
  rng.seed(argc > 2 ? std::atoi(argv[2]) : 1);
  cublasCreate(&handle);
  using Program = bool (*)(cublasComputeType_t);
  struct Kind {
    const char* name;
    Program run;
    cublasComputeType_t compute;
  };
  const Kind kinds[] = {
      {"f32", one_program<float, float, float, float>, CUBLAS_COMPUTE_32F},
      {"f64", one_program<double, double, double, double>, CUBLAS_COMPUTE_64F},
      {"f16", one_program<__half, __half, float, float>, CUBLAS_COMPUTE_32F},
      {"f16 to f32", one_program<__half, float, float, float>, CUBLAS_COMPUTE_32F},
      {"f16 in f16", one_program<__half, __half, float, __half>, CUBLAS_COMPUTE_16F},
      {"bf16", one_program<__nv_bfloat16, __nv_bfloat16, float, float>, CUBLAS_COMPUTE_32F},
      {"bf16 to f32", one_program<__nv_bfloat16, float, float, float>, CUBLAS_COMPUTE_32F},
      {"int8", one_program<int8_t, int, double, int>, CUBLAS_COMPUTE_32I},
      {"tf32", one_program<float, float, float, float>, CUBLAS_COMPUTE_32F_FAST_TF32},
      {"f32 as bf16", one_program<float, float, float, float>, CUBLAS_COMPUTE_32F_FAST_16BF},
      {"f32 as f16", one_program<float, float, float, float>, CUBLAS_COMPUTE_32F_FAST_16F},
  };
  int wrong = 0;
  for (int p = 0; p < programs; ++p) {
    const Kind& kind = kinds[p % (sizeof kinds / sizeof *kinds)];
    if (kind.run(kind.compute)) continue;
    std::printf("FAIL program %d: %s\n", p, kind.name);
    ++wrong;
  }
  std::printf("%d programs, %d wrong\n", programs, wrong);
  cublasDestroy(handle);
  return wrong != 0;
}
