// Throughput of an instruction on one multiprocessor: one block of THREADS threads, each with several independent
// chains of it, unrolled to about 256 instructions in a loop.
//   lanes OP THREADS    lanes that execute it in a cycle of the multiprocessor
//   issue OP            cycles between two of them of one warp, which has its scheduler to itself
// A chain alternates between two registers where ptxas could otherwise merge its instructions.
#include "measure.h"

// A chain: `kCount` instructions for each apply().
struct Floats {
  using State = float;
  static constexpr int kCount = 1;
  static __device__ float start(int k) { return 1.0f + 0.001f * static_cast<float>(k); }
  static __device__ unsigned bits(float x) { return __float_as_uint(x); }
};
struct Words {
  using State = unsigned;
  static constexpr int kCount = 1;
  static __device__ unsigned start(int k) { return 0x3f800000u + static_cast<unsigned>(k); }
  static __device__ unsigned bits(unsigned x) { return x; }
};
struct Pairs {
  using State = uint2;
  static constexpr int kCount = 2;
  static __device__ uint2 start(int k) { return {static_cast<unsigned>(k), static_cast<unsigned>(k) * 7u + 1}; }
  static __device__ unsigned bits(uint2 x) { return x.x ^ x.y; }
};

struct FmaTwoSources : Floats {
  static __device__ void apply(float& x, float a, float) {
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(a));
  }
};
// All instructions have two sources in common, which stay in the operand caches.
struct FmaSharedSources : Floats {
  static __device__ void apply(float& x, float a, float b) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b));
  }
};
// No source is that of a neighbour.
struct FmaThreeSources {
  using State = float3;
  static constexpr int kCount = 1;
  static __device__ float3 start(int k) { return {Floats::start(k), Floats::start(k + 1), Floats::start(k + 2)}; }
  static __device__ unsigned bits(float3 x) { return __float_as_uint(x.x); }
  static __device__ void apply(float3& x, float, float) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x.x) : "f"(x.y), "f"(x.z));
  }
};
struct Mul : Floats {
  static __device__ void apply(float& x, float a, float) { asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(a)); }
};
struct FmaF64 {
  using State = double;
  static constexpr int kCount = 1;
  static __device__ double start(int k) { return 1.0 + 0.001 * k; }
  static __device__ unsigned bits(double x) { return static_cast<unsigned>(__double_as_longlong(x)); }
  static __device__ void apply(double& x, float a, float) {
    asm volatile("fma.rn.f64 %0, %0, %1, %0;" : "+d"(x) : "d"(static_cast<double>(a)));
  }
};
struct Add : Pairs {
  static __device__ void apply(uint2& x, float, float) {
    asm volatile("add.u32 %0, %0, %1;" : "+r"(x.x) : "r"(x.y));
    asm volatile("add.u32 %0, %0, %1;" : "+r"(x.y) : "r"(x.x));
  }
};
struct Lop3 : Pairs {
  static __device__ void apply(uint2& x, float a, float b) {
    asm volatile("lop3.b32 %0, %0, %1, %2, 0xe8;" : "+r"(x.x) : "r"(x.y), "r"(__float_as_uint(a)));
    asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x.y) : "r"(x.x), "r"(__float_as_uint(b)));
  }
};
struct Shf : Pairs {
  static __device__ void apply(uint2& x, float, float) {
    asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(x.x) : "r"(x.y));
    asm volatile("shf.l.wrap.b32 %0, %0, %1, 9;" : "+r"(x.y) : "r"(x.x));
  }
};
struct Mad : Words {
  static __device__ void apply(unsigned& x, float a, float b) {
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(__float_as_uint(a)), "r"(__float_as_uint(b)));
  }
};
struct Popc : Words {
  static __device__ void apply(unsigned& x, float, float) { asm volatile("popc.b32 %0, %0;" : "+r"(x)); }
};
struct Shuffle : Words {
  static __device__ void apply(unsigned& x, float, float) {
    asm volatile("shfl.sync.idx.b32 %0, %0, 5, 31, 0xffffffff;" : "+r"(x));
  }
};
struct Ex2 : Floats {
  static __device__ void apply(float& x, float, float) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Lg2 : Floats {
  static __device__ void apply(float& x, float, float) { asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Rsqrt : Floats {
  static __device__ void apply(float& x, float, float) { asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
// Without ftz, as measured: ptxas scales before and after.
struct Rcp : Floats {
  static __device__ void apply(float& x, float, float) { asm volatile("rcp.approx.f32 %0, %0;" : "+f"(x)); }
};
// __logf: lg2.approx and a multiplication count as one.
struct FastLog : Floats {
  static __device__ void apply(float& x, float, float) {
    asm volatile("lg2.approx.f32 %0, %0;\n\tmul.f32 %0, %0, 0f3F317218;" : "+f"(x));
  }
};
struct SqrtRn : Floats {
  static __device__ void apply(float& x, float, float) { asm volatile("sqrt.rn.f32 %0, %0;" : "+f"(x)); }
};
// Conversions to half a word and fewer: moves bring the result back.
struct ToBf16 : Floats {
  static __device__ void apply(float& x, float, float) {
    asm volatile("{\n\t.reg .b16 h;\n\tcvt.rn.bf16.f32 h, %0;\n\tmov.b32 %0, {h, h};\n\t}" : "+f"(x));
  }
};
struct ToE4m3 : Floats {
  static __device__ void apply(float& x, float a, float) {
    asm volatile("{\n\t.reg .b16 h;\n\tcvt.rn.satfinite.e4m3x2.f32 h, %0, %1;\n\tmov.b32 %0, {h, h};\n\t}"
                 : "+f"(x)
                 : "f"(a));
  }
};
struct FromE4m3 : Words {
  static __device__ void apply(unsigned& x, float, float) {
    asm volatile("{\n\t.reg .b16 l, h;\n\tmov.b32 {l, h}, %0;\n\tcvt.rn.f16x2.e4m3x2 %0, l;\n\t}" : "+r"(x));
  }
};

constexpr int kChains = 8;  // enough for one warp: a latency is at most eight intervals

template <class Op>
__global__ void __launch_bounds__(1024) repeat(int rounds, float a, float b, Span* spans, unsigned* sink) {
  constexpr int kTimes = 256 / kChains / Op::kCount;
  typename Op::State x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = Op::start(c + static_cast<int>(threadIdx.x));
  __syncthreads();
  const long long begin = now();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kTimes; ++k) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) Op::apply(x[c], a, b);
    }
  }
  const long long end = now();
  unsigned bits = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) bits ^= Op::bits(x[c]);
  sink[threadIdx.x] = bits;
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
}

// Cycles of `instructions` of each warp.
struct Measured {
  double cycles, instructions;
};
template <class Op>
Measured measure(int threads) {
  constexpr int kRounds = 4;
  auto* const sink = device_memory<unsigned>(1024);
  const auto spans = spans_of(static_cast<size_t>(threads / 32), [&](Span* all) {
    repeat<Op><<<1, static_cast<unsigned>(threads)>>>(kRounds, 1.0001f, 0.5f, all, sink);
  });
  return {whole_span(spans), static_cast<double>(kRounds * (256 / kChains / Op::kCount) * kChains * Op::kCount)};
}

template <class Op>
void report_rate(bool lanes, Arguments& arguments) {
  if (lanes) {
    const int threads = arguments.number();
    if (threads % 32 != 0 || threads > 1024) fail("%d threads are no block of whole warps", threads);
    const Measured m = measure<Op>(threads);
    return report(m.instructions * threads / m.cycles, "lanes/cycle/SM");
  }
  const Measured m = measure<Op>(32);
  report(m.cycles / m.instructions, "cycles");
}

int main(int count, char** values) {
  Arguments arguments(count, values, "pipe_rate lanes OP THREADS | issue OP");
  const std::string form = arguments.text(), op = arguments.text();
  if (form != "lanes" && form != "issue") arguments.refuse(form);
  const auto report_op = [&]<class Op>(Op) { report_rate<Op>(form == "lanes", arguments); };
  if (op == "fma2") return report_op(FmaTwoSources{}), 0;
  if (op == "fma") return report_op(FmaSharedSources{}), 0;
  if (op == "fma3") return report_op(FmaThreeSources{}), 0;
  if (op == "mul") return report_op(Mul{}), 0;
  if (op == "fma_f64") return report_op(FmaF64{}), 0;
  if (op == "add") return report_op(Add{}), 0;
  if (op == "lop3") return report_op(Lop3{}), 0;
  if (op == "shf") return report_op(Shf{}), 0;
  if (op == "mad") return report_op(Mad{}), 0;
  if (op == "popc") return report_op(Popc{}), 0;
  if (op == "shuffle") return report_op(Shuffle{}), 0;
  if (op == "ex2") return report_op(Ex2{}), 0;
  if (op == "lg2") return report_op(Lg2{}), 0;
  if (op == "rsqrt") return report_op(Rsqrt{}), 0;
  if (op == "rcp") return report_op(Rcp{}), 0;
  if (op == "log") return report_op(FastLog{}), 0;
  if (op == "sqrt_rn") return report_op(SqrtRn{}), 0;
  if (op == "to_bf16") return report_op(ToBf16{}), 0;
  if (op == "to_e4m3") return report_op(ToE4m3{}), 0;
  if (op == "from_e4m3") return report_op(FromE4m3{}), 0;
  arguments.refuse(op);
}
