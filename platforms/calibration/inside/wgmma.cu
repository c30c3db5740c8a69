// wgmma of one warp group whose sums the next one adds to; operands are zero.
//   TYPE N SOURCE       rate, FLOP/cycle/SM; TYPE f16|e4m3|tf32|s8, SOURCE of A: ss (shared memory) or rs (registers)
//   interval TYPE N SOURCE   cycles from one to the next
#include "measure.h"

#define TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"
#define NUMBERS_4 "%0, %1, %2, %3"
#define NUMBERS_16 TEN("") ", %10, %11, %12, %13, %14, %15"
#define SIXTY TEN("") ", " TEN("1") ", " TEN("2") ", " TEN("3") ", " TEN("4") ", " TEN("5")
#define NUMBERS_64 SIXTY ", %60, %61, %62, %63"
#define NUMBERS_120 SIXTY ", " TEN("6") ", " TEN("7") ", " TEN("8") ", " TEN("9") ", " TEN("10") ", " TEN("11")
#define NUMBERS_128 NUMBERS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define OUT_4(c, k) c(d[k]), c(d[k + 1]), c(d[k + 2]), c(d[k + 3])
#define OUT_16(c, k) OUT_4(c, k), OUT_4(c, k + 4), OUT_4(c, k + 8), OUT_4(c, k + 12)
#define OUT_64(c, k) OUT_16(c, k), OUT_16(c, k + 16), OUT_16(c, k + 32), OUT_16(c, k + 48)

// One shape: `sums` registers of accumulators, A and B as operands `a` and `b` of the text.
#define SHAPE(name, Number, sums, text, outs, inputs)                                                          \
  struct name {                                                                                                \
    using Type = Number;                                                                                       \
    static constexpr int kSums = sums;                                                                         \
    static __device__ void apply(Number (&d)[sums], const unsigned (&a)[4], uint64_t rows, uint64_t columns) { \
      asm volatile("wgmma.mma_async.sync.aligned." text : outs : inputs : "memory");                           \
    }                                                                                                          \
  };
#define FROM_SHARED "l"(rows), "l"(columns)
#define FROM_REGISTERS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns)
#define LIST(...) __VA_ARGS__

SHAPE(F16N256, float, 128, "m64n256k16.f32.f16.f16 {" NUMBERS_128 "}, %128, %129, 1, 1, 1, 0, 0;",
      LIST(OUT_64("+f", 0), OUT_64("+f", 64)), LIST(FROM_SHARED))
SHAPE(F16N128, float, 64, "m64n128k16.f32.f16.f16 {" NUMBERS_64 "}, %64, %65, 1, 1, 1, 0, 0;", LIST(OUT_64("+f", 0)),
      LIST(FROM_SHARED))
SHAPE(F16N32, float, 16, "m64n32k16.f32.f16.f16 {" NUMBERS_16 "}, %16, %17, 1, 1, 1, 0, 0;", LIST(OUT_16("+f", 0)),
      LIST(FROM_SHARED))
SHAPE(F16N32Rs, float, 16, "m64n32k16.f32.f16.f16 {" NUMBERS_16 "}, {%16, %17, %18, %19}, %20, 1, 1, 1, 0;",
      LIST(OUT_16("+f", 0)), LIST(FROM_REGISTERS))
SHAPE(F16N8, float, 4, "m64n8k16.f32.f16.f16 {" NUMBERS_4 "}, %4, %5, 1, 1, 1, 0, 0;", LIST(OUT_4("+f", 0)),
      LIST(FROM_SHARED))
SHAPE(E4m3N256, float, 128, "m64n256k32.f32.e4m3.e4m3 {" NUMBERS_128 "}, %128, %129, 1, 1, 1;",
      LIST(OUT_64("+f", 0), OUT_64("+f", 64)), LIST(FROM_SHARED))
SHAPE(Tf32N256, float, 128, "m64n256k8.f32.tf32.tf32 {" NUMBERS_128 "}, %128, %129, 1, 1, 1;",
      LIST(OUT_64("+f", 0), OUT_64("+f", 64)), LIST(FROM_SHARED))
SHAPE(S8N256, int, 128, "m64n256k32.s32.s8.s8 {" NUMBERS_128 "}, %128, %129, 1;",
      LIST(OUT_64("+r", 0), OUT_64("+r", 64)), LIST(FROM_SHARED))

// Rows of 128 bytes, swizzled; groups of eight rows 1024 bytes apart.
__device__ uint64_t describe_rows(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

constexpr int kUnrolled = 16;
constexpr int kRowBytes = 128, kRowsOfA = 64, kRowsOfB = 256;

template <class Shape>
__global__ void __launch_bounds__(128) repeat(int rounds, Span* spans, typename Shape::Type* sink) {
  __shared__ alignas(1024) unsigned char memory[(kRowsOfA + kRowsOfB) * kRowBytes];
  for (size_t k = threadIdx.x; k < sizeof memory / 4; k += 128) reinterpret_cast<unsigned*>(memory)[k] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint64_t rows = describe_rows(memory), columns = describe_rows(memory + kRowsOfA * kRowBytes);
  typename Shape::Type d[Shape::kSums] = {};
  const unsigned a[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  const long long begin = now();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) Shape::apply(d, a, rows, columns);
  }
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
  const long long end = now();
  typename Shape::Type sum = 0;
#pragma unroll
  for (int k = 0; k < Shape::kSums; ++k) sum += d[k];
  sink[threadIdx.x] = sum;
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
}

// Many small ones, so that the last one's latency does not count.
template <class Shape>
double cycles_of(int n) {
  const int rounds = n >= 128 ? 12 : 48;
  auto* const sink = device_memory<typename Shape::Type>(128);
  const auto spans = spans_of(4, [&](Span* all) { repeat<Shape><<<1, 128>>>(rounds, all, sink); });
  return whole_span(spans) / (rounds * kUnrolled);
}

int main(int count, char** values) {
  Arguments arguments(count, values, "wgmma [interval] f16|e4m3|tf32|s8 N ss|rs");
  std::string type = arguments.text();
  const bool interval = type == "interval";
  if (interval) type = arguments.text();
  const int n = arguments.number();
  const std::string shape = type + " " + std::to_string(n) + " " + arguments.text();
  double cycles = 0;
  if (shape == "f16 256 ss")
    cycles = cycles_of<F16N256>(n);
  else if (shape == "f16 128 ss")
    cycles = cycles_of<F16N128>(n);
  else if (shape == "f16 32 ss")
    cycles = cycles_of<F16N32>(n);
  else if (shape == "f16 32 rs")
    cycles = cycles_of<F16N32Rs>(n);
  else if (shape == "f16 8 ss")
    cycles = cycles_of<F16N8>(n);
  else if (shape == "e4m3 256 ss")
    cycles = cycles_of<E4m3N256>(n);
  else if (shape == "tf32 256 ss")
    cycles = cycles_of<Tf32N256>(n);
  else if (shape == "s8 256 ss")
    cycles = cycles_of<S8N256>(n);
  else
    arguments.refuse(shape);
  if (interval) {
    report(cycles, "cycles");
  } else {
    const int k = type == "f16" ? 16 : type == "tf32" ? 8 : 32;
    report(2.0 * 64 * n * k / cycles, "FLOP/cycle/SM");
  }
}
