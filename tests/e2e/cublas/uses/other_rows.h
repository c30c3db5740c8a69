// Handles, modes, vectors, streams and graphs.
#pragma once

#include <cmath>
#include <cstring>

#include "row.h"

__global__ inline void set_number(float* at, float x) { *at = x; }

inline std::vector<float> counted(int n, float step = 1) {
  std::vector<float> v(n);
  for (int i = 0; i < n; ++i) v[i] = step * static_cast<float>(i + 1);
  return v;
}

inline Rows handle_rows(cublasHandle_t destroyed) {
  auto& f = fixture();
  const cublasHandle_t h = f.handle;
  constexpr int kInvalid = CUBLAS_STATUS_INVALID_VALUE, kNone = CUBLAS_STATUS_NOT_INITIALIZED;
  return {
      {"cublasCreate: nowhere to put it", kInvalid, [] { return cublasCreate(nullptr); }},
      {"cublasDestroy: no handle", kNone, [] { return cublasDestroy(nullptr); }},
      {"cublasDestroy: twice", kNone, [=] { return cublasDestroy(destroyed); }},
      {"cublasDestroy: a pointer to nothing of cuBLAS", kNone,
       [] { return cublasDestroy(reinterpret_cast<cublasHandle_t>(0x1234)); }},
      {"cublasGetVersion", 0,
       [=] {
         int v = 0;
         cublasGetVersion(h, &v);
         return v == CUBLAS_VERSION ? 0 : kWrongValue;
       }},
      {"cublasGetVersion: nowhere", kInvalid, [=] { return cublasGetVersion(h, nullptr); }},
      {"cublasGetProperty", 0,
       [] {
         int major = 0;
         cublasGetProperty(MAJOR_VERSION, &major);
         return major == 13 && cublasGetProperty(static_cast<libraryPropertyType>(9), &major) == kInvalid ? 0
                                                                                                          : kWrongValue;
       }},
      {"cublasSetStream: destroyed handle", kNone, [=] { return cublasSetStream(destroyed, nullptr); }},
      {"cublasGetStream", 0,
       [=] {
         cudaStream_t s = nullptr;
         cublasGetStream(h, &s);
         return s == fixture().stream ? 0 : kWrongValue;
       }},
      {"cublasSetPointerMode: none", kInvalid,
       [=] { return cublasSetPointerMode(h, static_cast<cublasPointerMode_t>(2)); }},
      {"cublasSetMathMode: none", kInvalid, [=] { return cublasSetMathMode(h, static_cast<cublasMath_t>(7)); }},
      {"cublasSetMathMode: tf32 and back", 0,
       [=] {
         cublasMath_t mode = CUBLAS_DEFAULT_MATH;
         cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH);
         cublasGetMathMode(h, &mode);
         cublasSetMathMode(h, CUBLAS_DEFAULT_MATH);
         return mode == CUBLAS_TF32_TENSOR_OP_MATH ? 0 : kWrongValue;
       }},
      {"cublasSetAtomicsMode: none", kInvalid,
       [=] { return cublasSetAtomicsMode(h, static_cast<cublasAtomicsMode_t>(5)); }},
      {"cublasSetWorkspace: not aligned", kInvalid,
       [=] { return cublasSetWorkspace(h, as<char>(fixture().a) + 8, 4096); }},
      {"cublasSetWorkspace: size without memory", kInvalid, [=] { return cublasSetWorkspace(h, nullptr, 4096); }},
      {"cublasSetWorkspace: back to the default", 0, [=] { return cublasSetWorkspace(h, nullptr, 0); }},
      {"cublasSetSmCountTarget: negative", kInvalid, [=] { return cublasSetSmCountTarget(h, -1); }},
      {"cublasGetStatusName", 0,
       [] { return std::strcmp(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED"); }},
      {"declared: cublasStrsm", CUBLAS_STATUS_NOT_SUPPORTED,
       [=] {
         const float one = 1;
         return cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 4, &one,
                            as<float>(fixture().a), 4, as<float>(fixture().b), 4);
       }},
      {"declared: cublasCgemm", CUBLAS_STATUS_NOT_SUPPORTED,
       [=] {
         return cublasCgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1);
       }},
  };
}

inline Rows vector_rows(cublasHandle_t destroyed) {
  const cublasHandle_t h = fixture().handle;
  constexpr int kInvalid = CUBLAS_STATUS_INVALID_VALUE, kNone = CUBLAS_STATUS_NOT_INITIALIZED;
  const auto x = [] { return as<float>(fixture().a); };
  const auto y = [] { return as<float>(fixture().b); };
  const auto prepare = [] {
    put(fixture().a, counted(kSize));
    put(fixture().b, counted(kSize, 2));
  };
  return {
      {"cublasSaxpy", 0,
       [=] {
         prepare();
         const float alpha = 3;
         if (cublasSaxpy(h, kSize, &alpha, x(), 1, y(), 1) != 0) return kCudaFailed;
         return compare(fixture().b, counted(kSize, 5));
       }},
      {"cublasSaxpy: backwards", 0,
       [=] {
         prepare();
         const float alpha = 1;
         if (cublasSaxpy(h, kSize, &alpha, x(), -1, y(), 1) != 0) return kCudaFailed;
         auto expected = counted(kSize, 2);
         for (int i = 0; i < kSize; ++i) expected[i] += static_cast<float>(kSize - i);
         return compare(fixture().b, expected);
       }},
      {"cublasSaxpy: alpha on the device", 0,
       [=] {
         prepare();
         put(fixture().c, std::vector<float>{4});
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
         const int s = cublasSaxpy(h, kSize, as<float>(fixture().c), x(), 1, y(), 1);
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
         return s != 0 ? s : compare(fixture().b, counted(kSize, 6));
       }},
      {"cublasSaxpy: no alpha", kInvalid, [=] { return cublasSaxpy(h, kSize, nullptr, x(), 1, y(), 1); }},
      {"cublasSaxpy: no handle", kNone, [=] { return cublasSaxpy(destroyed, kSize, nullptr, x(), 1, y(), 1); }},
      {"cublasSaxpy: of nothing", 0,
       [=] {
         const float alpha = 1;
         return cublasSaxpy(h, -3, &alpha, nullptr, 1, nullptr, 1);
       }},
      {"cublasSscal, every second", 0,
       [=] {
         prepare();
         const float alpha = 10;
         if (cublasSscal(h, kSize / 2, &alpha, x(), 2) != 0) return kCudaFailed;
         auto expected = counted(kSize);
         for (int i = 0; i < kSize; i += 2) expected[i] *= 10;
         return compare(fixture().a, expected);
       }},
      {"cublasScopy", 0,
       [=] {
         prepare();
         cublasScopy(h, kSize, x(), 1, y(), 1);
         return compare(fixture().b, counted(kSize));
       }},
      {"cublasSswap", 0,
       [=] {
         prepare();
         cublasSswap(h, kSize, x(), 1, y(), 1);
         return compare(fixture().b, counted(kSize)) + compare(fixture().a, counted(kSize, 2));
       }},
      {"cublasSdot", 0,
       [=] {
         prepare();
         float r = 0;
         cublasSdot(h, 4, x(), 1, y(), 1, &r);
         return r == 60 ? 0 : kWrongValue;
       }},
      {"cublasSdot: result on the device", 0,
       [=] {
         prepare();
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
         cublasSdot(h, 4, x(), 1, y(), 1, as<float>(fixture().c));
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
         return compare(fixture().c, std::vector<float>{60});
       }},
      {"cublasSdot: no result", kInvalid, [=] { return cublasSdot(h, 4, x(), 1, y(), 1, nullptr); }},
      {"cublasSdot: of nothing is 0", 0,
       [=] {
         float r = 7;
         cublasSdot(h, 0, x(), 1, y(), 1, &r);
         return r == 0 ? 0 : kWrongValue;
       }},
      {"cublasSnrm2", 0,
       [=] {
         put(fixture().a, std::vector<float>{3, 4});
         float r = 0;
         cublasSnrm2(h, 2, x(), 1, &r);
         return r == 5 ? 0 : kWrongValue;
       }},
      {"cublasDnrm2 does not overflow", 0,
       [=] {
         put(fixture().a, std::vector<double>{3e200, 4e200});
         double r = 0;
         cublasDnrm2(h, 2, fixture().a, 1, &r);
         return std::abs(r / 5e200 - 1) < 1e-15 ? 0 : kWrongValue;
       }},
      {"cublasSasum", 0,
       [=] {
         put(fixture().a, std::vector<float>{-3, 4, -5});
         float r = 0;
         cublasSasum(h, 3, x(), 1, &r);
         return r == 12 ? 0 : kWrongValue;
       }},
      {"cublasIsamax: the first, from 1", 0,
       [=] {
         put(fixture().a, std::vector<float>{1, -9, 9, 2});
         int r = 0;
         cublasIsamax(h, 4, x(), 1, &r);
         return r == 2 ? 0 : kWrongValue;
       }},
      {"cublasIsamin", 0,
       [=] {
         put(fixture().a, std::vector<float>{5, -9, -1, 1});
         int r = 0;
         cublasIsamin(h, 4, x(), 1, &r);
         return r == 3 ? 0 : kWrongValue;
       }},
      {"cublasIsamax: a step that is not positive gives 0", 0,
       [=] {
         int r = 5;
         cublasIsamax(h, 4, x(), 0, &r);
         return r == 0 ? 0 : kWrongValue;
       }},
      {"cublasIsamax_64", 0,
       [=] {
         put(fixture().a, std::vector<float>{1, -9, 9, 2});
         int64_t r = -1;
         cublasIsamax_64(h, 4, x(), 1, &r);
         return r == 2 ? 0 : kWrongValue;
       }},
      {"cublasSgemv: transposed", 0,
       [=] {
         put(fixture().a, std::vector<float>{1, 2, 3, 4, 5, 6});  // 2 x 3
         put(fixture().b, std::vector<float>{1, 10});
         const float one = 1, zero = 0;
         cublasSgemv(h, CUBLAS_OP_T, 2, 3, &one, x(), 2, y(), 1, &zero, as<float>(fixture().c), 1);
         return compare(fixture().c, std::vector<float>{21, 43, 65});
       }},
      {"cublasSgemv: step 0", kInvalid,
       [=] {
         const float one = 1;
         return cublasSgemv(h, CUBLAS_OP_N, 2, 2, &one, x(), 2, y(), 0, &one, as<float>(fixture().c), 1);
       }},
      {"cublasSgemv: lda too small", kInvalid,
       [=] {
         const float one = 1;
         return cublasSgemv(h, CUBLAS_OP_N, 4, 2, &one, x(), 3, y(), 1, &one, as<float>(fixture().c), 1);
       }},
      {"cublasSger", 0,
       [=] {
         put(fixture().a, std::vector<float>{1, 2});
         put(fixture().b, std::vector<float>{3, 4});
         put(fixture().c, std::vector<float>{100, 100, 100, 100});
         const float one = 1;
         cublasSger(h, 2, 2, &one, x(), 1, y(), 1, as<float>(fixture().c), 2);
         return compare(fixture().c, std::vector<float>{103, 106, 104, 108});
       }},
      {"cublasSgeam: a transposition", 0,
       [=] {
         put(fixture().a, std::vector<float>{1, 2, 3, 4, 5, 6});  // 2 x 3
         const float one = 1, zero = 0;
         cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, x(), 2, &zero, nullptr, 3, as<float>(fixture().c), 3);
         return compare(fixture().c, std::vector<float>{1, 3, 5, 2, 4, 6});
       }},
      {"cublasSgeam: transposed in place", kInvalid,
       [=] {
         const float one = 1, zero = 0;
         return cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, &one, x(), 2, &zero, y(), 2, x(), 2);
       }},
      {"cublasSetMatrix: leading dimension too small", kInvalid,
       [=] {
         float host[16] = {};
         return cublasSetMatrix(4, 4, 4, host, 3, x(), 4);
       }},
      {"cublasSetVector and cublasGetVector, every second", 0,
       [=] {
         const float host[4] = {1, 2, 3, 4};
         float back[2] = {};
         cublasSetVector(4, sizeof(float), host, 1, x(), 1);
         cublasGetVector(2, sizeof(float), x(), 2, back, 1);
         return back[0] == 1 && back[1] == 3 ? 0 : kWrongValue;
       }},
      {"cublasScalEx: f16 by f32", 0,
       [=] {
         put(fixture().a, std::vector<__half>{__half(1.5f), __half(2.0f)});
         const float two = 2;
         if (cublasScalEx(h, 2, &two, CUDA_R_32F, fixture().a, CUDA_R_16F, 1, CUDA_R_32F) != 0) return kCudaFailed;
         return compare(fixture().a, std::vector<__half>{__half(3.0f), __half(4.0f)});
       }},
      {"cublasScalEx: f16 in f16", CUBLAS_STATUS_NOT_SUPPORTED,
       [=] {
         const float two = 2;
         return cublasScalEx(h, 2, &two, CUDA_R_32F, fixture().a, CUDA_R_16F, 1, CUDA_R_16F);
       }},
      {"in a graph: three launches add three times", 0,
       [=] {
         prepare();
         cudaGraph_t graph = nullptr;
         cudaGraphExec_t exec = nullptr;
         const float alpha = 1;
         cudaStreamBeginCapture(fixture().stream, cudaStreamCaptureModeGlobal);
         const int s = cublasSaxpy(h, kSize, &alpha, x(), 1, y(), 1);
         if (cudaStreamEndCapture(fixture().stream, &graph) != cudaSuccess || s != 0) return kCudaFailed;
         cudaGraphInstantiate(&exec, graph, 0);
         for (int k = 0; k < 3; ++k) cudaGraphLaunch(exec, fixture().stream);
         const int result = compare(fixture().b, counted(kSize, 5));
         cudaGraphExecDestroy(exec);
         cudaGraphDestroy(graph);
         return result;
       }},
      {"alpha on the device, set by a kernel before", 0,
       [=] {
         prepare();
         set_number<<<1, 1, 0, fixture().stream>>>(as<float>(fixture().c), 2);
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
         cublasSaxpy(h, kSize, as<float>(fixture().c), x(), 1, y(), 1);
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
         return compare(fixture().b, counted(kSize, 4));
       }},
  };
}
