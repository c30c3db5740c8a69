// Latency of an instruction whose result the next one needs: cycles of one in a chain of 256, by one warp and without a
// loop. Functions (exp, log) and instructions that ptxas expands (div, rcp without ftz) count as one.
#include "measure.h"

constexpr int kLength = 256;

struct FmaF32 {
  using Type = float;
  static __device__ void apply(float& x, float a) { asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(a)); }
};
struct FmaF64 {
  using Type = double;
  static __device__ void apply(double& x, double a) { asm volatile("fma.rn.f64 %0, %0, %1, %0;" : "+d"(x) : "d"(a)); }
};
// Not flushed to zero: ptxas scales denormal numbers before and after.
struct Rcp {
  using Type = float;
  static __device__ void apply(float& x, float) { asm volatile("rcp.approx.f32 %0, %0;" : "+f"(x)); }
};
struct Rsqrt {
  using Type = float;
  static __device__ void apply(float& x, float) { asm volatile("rsqrt.approx.f32 %0, %0;" : "+f"(x)); }
};
struct Sin {
  using Type = float;
  static __device__ void apply(float& x, float) { asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Exp {
  using Type = float;
  static __device__ void apply(float& x, float) { x = expf(x); }
};
struct Log {
  using Type = float;
  static __device__ void apply(float& x, float) { x = logf(x); }
};
struct DivS32 {
  using Type = int;
  static __device__ void apply(int& x, int a) { asm volatile("div.s32 %0, %1, %0;" : "+r"(x) : "r"(a)); }
};
struct ReduxAdd {
  using Type = unsigned;
  static __device__ void apply(unsigned& x, unsigned) {
    asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(x));
  }
};
struct ReduxMin {
  using Type = unsigned;
  static __device__ void apply(unsigned& x, unsigned) {
    asm volatile("redux.sync.min.u32 %0, %0, 0xffffffff;" : "+r"(x));
  }
};

template <class Op>
__global__ void chain(typename Op::Type start, typename Op::Type a, Span* span, typename Op::Type* sink) {
  typename Op::Type x = start;
  // The second pass is measured: its instructions are there.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const long long begin = now();
#pragma unroll
    for (int k = 0; k < kLength; ++k) Op::apply(x, a);
    const long long end = now();
    if (threadIdx.x == 0) *span = {begin, end};
  }
  sink[threadIdx.x] = x;
}

template <class Op>
double cycles_of(double start, double a) {
  using Type = typename Op::Type;
  auto* const sink = device_memory<Type>(32);
  const auto launch = [&](Span* span) {
    chain<Op><<<1, 32>>>(static_cast<Type>(start), static_cast<Type>(a), span, sink);
  };
  return whole_span(spans_of(1, launch)) / kLength;
}

int main(int count, char** values) {
  Arguments arguments(count, values,
                      "dependent_chain fma_f32|fma_f64|rcp|rsqrt|sin|exp|log|div_s32|redux_add|redux_min");
  const std::string op = arguments.text();
  double cycles = 0;
  if (op == "fma_f32")
    cycles = cycles_of<FmaF32>(1, 1e-3);
  else if (op == "fma_f64")
    cycles = cycles_of<FmaF64>(1, 1e-3);
  else if (op == "rcp")
    cycles = cycles_of<Rcp>(3, 0);
  else if (op == "rsqrt")
    cycles = cycles_of<Rsqrt>(3, 0);
  else if (op == "sin")
    cycles = cycles_of<Sin>(1, 0);
  else if (op == "exp")
    cycles = cycles_of<Exp>(-3, 0);
  else if (op == "log")
    cycles = cycles_of<Log>(1e30, 0);
  else if (op == "div_s32")
    cycles = cycles_of<DivS32>(3, 1000000);
  else if (op == "redux_add")
    cycles = cycles_of<ReduxAdd>(1, 0);
  else if (op == "redux_min")
    cycles = cycles_of<ReduxMin>(1, 0);
  else
    arguments.refuse(op);
  report(cycles, "cycles");
}
