// Speed of the engine on one core: warp instructions per second, and for the copy its bytes per second beside memcpy's
// in the same run (the only figure that means something on a noisy machine).
//
//   build/release/tests/bench/fabricbench_bench

#include <benchmark/benchmark.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "virtual_node/machine/device/device.h"
#include "virtual_node/num/tensor/tensor_engine.h"

#if FB_HAS_OPENBLAS
#include <cblas.h>
#endif

namespace fb {
namespace {

constexpr const char* kHeader = ".version 8.6\n.target sm_90\n.address_size 64\n";

// A loop of 16 arithmetic instructions, as compilers mix them, and 3 for its control.
const std::string kArithmetic = std::string(kHeader) + R"(
.visible .entry arithmetic(.param .u64 out, .param .u32 iterations) {
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<8>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [iterations];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
  mov.u32 %r4, 12345;
  cvt.rn.f32.u32 %f1, %r2;
  mov.f32 %f2, 0f3F800000;
  cvt.u64.u32 %rd2, %r2;
LOOP:
  add.s32 %r5, %r4, %r2;
  mul.lo.s32 %r6, %r5, 1664525;
  xor.b32 %r7, %r6, %r5;
  shl.b32 %r8, %r7, 3;
  shr.u32 %r9, %r7, 5;
  or.b32 %r10, %r8, %r9;
  and.b32 %r11, %r10, 65535;
  sub.s32 %r4, %r10, %r11;
  fma.rn.f32 %f3, %f1, %f2, %f2;
  add.f32 %f4, %f3, %f1;
  mul.f32 %f5, %f4, 0f3F000000;
  max.f32 %f2, %f5, %f1;
  add.s64 %rd3, %rd2, %rd1;
  and.b64 %rd2, %rd3, 4095;
  mad.lo.s32 %r12, %r4, %r11, %r10;
  selp.b32 %r2, %r12, %r4, %p;
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p, %r3, %r1;
  @%p bra LOOP;
  cvt.rzi.s32.f32 %r13, %f2;
  add.s32 %r14, %r13, %r2;
  mov.u32 %r15, %tid.x;
  mul.wide.u32 %rd4, %r15, 4;
  add.s64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r14;
  ret;
})";

// Grid-stride copy, 16 bytes a lane, unrolled twice.
const std::string kCopy = std::string(kHeader) + R"(
.visible .entry copy16(.param .u64 to, .param .u64 from, .param .u32 count) {
  .reg .b32 %r<20>;
  .reg .b64 %rd<12>;
  .reg .pred %p;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x;
  mul.lo.s32 %r7, %r6, %r3;
LOOP:
  mul.wide.u32 %rd3, %r5, 16;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.v4.b32 {%r8, %r9, %r10, %r11}, [%rd4];
  add.s64 %rd5, %rd1, %rd3;
  st.global.v4.b32 [%rd5], {%r8, %r9, %r10, %r11};
  add.s32 %r5, %r5, %r7;
  setp.lt.u32 %p, %r5, %r1;
  @%p bra LOOP;
  ret;
})";

// Tree reduction of 256 values in shared memory, block after block.
const std::string kReduce = std::string(kHeader) + R"(
.visible .entry reduce(.param .u64 out, .param .u64 in) {
  .reg .b32 %r<12>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<10>;
  .reg .pred %p<3>;
  .shared .align 4 .b8 tile[1024];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r2, 8;
  add.s32 %r4, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mov.u32 %r5, tile;
  shl.b32 %r6, %r1, 2;
  add.s32 %r7, %r5, %r6;
  st.shared.f32 [%r7], %f1;
  bar.sync 0;
  mov.u32 %r8, 128;
LOOP:
  setp.ge.u32 %p1, %r1, %r8;
  @%p1 bra SKIP;
  shl.b32 %r9, %r8, 2;
  add.s32 %r10, %r7, %r9;
  ld.shared.f32 %f2, [%r10];
  ld.shared.f32 %f3, [%r7];
  add.f32 %f4, %f2, %f3;
  st.shared.f32 [%r7], %f4;
SKIP:
  bar.sync 0;
  shr.u32 %r8, %r8, 1;
  setp.ne.s32 %p2, %r8, 0;
  @%p2 bra LOOP;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra DONE;
  ld.shared.f32 %f5, [tile];
  mul.wide.u32 %rd5, %r2, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.f32 [%rd6], %f5;
DONE:
  ret;
})";

template <class... Args>
std::vector<std::byte> pack(const simt::FunctionInfo& kernel, Args... args) {
  std::vector<std::byte> params(kernel.param_bytes);
  size_t k = 0;
  (std::memcpy(params.data() + kernel.param_offsets.at(k++), &args, sizeof args), ...);
  return params;
}

class EmptyListener : public simt::Listener {
 public:
  void on_access(simt::Warp&, const simt::Access&) override { ++accesses; }
  uint64_t accesses = 0;
};

struct Setup {
  machine::Device device;
  machine::LoadedModule* module = nullptr;
  machine::LaunchRequest launch;
  machine::DeviceRunOptions options;
  EmptyListener listener;

  Setup(const std::string& ptx, const char* kernel, bool observed) {
    auto loaded = device.load(ptx, {.observed = observed});
    if (!loaded) throw std::runtime_error(to_string(loaded.error(), kernel));
    module = *loaded;
    launch.kernel = kernel;
    if (observed) options.listener = &listener;
  }
  const simt::FunctionInfo& kernel() const { return *module->program().find(launch.kernel); }

  uint64_t run() {
    const auto outcome = device.run(*module, launch, options);
    if (!outcome) throw std::runtime_error(to_string(outcome.error(), launch.kernel));
    if (outcome->ending != machine::Ending::finished) throw std::runtime_error(describe(*outcome));
    return outcome->instructions;
  }
};

void count_instructions(benchmark::State& state, uint64_t instructions) {
  state.counters["warp_instructions"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void arithmetic(benchmark::State& state) {
  Setup s(kArithmetic, "arithmetic", false);
  const auto out = s.device.allocate(4 * 256);
  s.launch.grid = {4, 1, 1};
  s.launch.block = {256, 1, 1};
  s.launch.params = pack(s.kernel(), out, uint32_t{2000});
  uint64_t instructions = 0;
  for (auto _ : state) instructions += s.run();
  count_instructions(state, instructions);
}
BENCHMARK(arithmetic)->Unit(benchmark::kMillisecond);

constexpr uint64_t kCopyBytes = 16 << 20;

void copy_kernel(benchmark::State& state, bool observed) {
  Setup s(kCopy, "copy16", observed);
  const auto to = s.device.allocate(kCopyBytes), from = s.device.allocate(kCopyBytes);
  s.launch.grid = {132, 1, 1};
  s.launch.block = {256, 1, 1};
  s.launch.params = pack(s.kernel(), to, from, static_cast<uint32_t>(kCopyBytes / 16));
  uint64_t instructions = 0;
  for (auto _ : state) instructions += s.run();
  count_instructions(state, instructions);
  state.SetBytesProcessed(static_cast<int64_t>(kCopyBytes) * state.iterations());
}
void copy16(benchmark::State& state) { copy_kernel(state, false); }
void copy16_observed(benchmark::State& state) { copy_kernel(state, true); }
BENCHMARK(copy16)->Unit(benchmark::kMillisecond);
BENCHMARK(copy16_observed)->Unit(benchmark::kMillisecond);

void host_memcpy(benchmark::State& state) {
  std::vector<char> to(kCopyBytes), from(kCopyBytes, 1);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kCopyBytes);
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(kCopyBytes) * state.iterations());
}
BENCHMARK(host_memcpy)->Unit(benchmark::kMillisecond);

void reduce_kernel(benchmark::State& state, bool observed) {
  constexpr uint32_t kBlocks = 512;
  Setup s(kReduce, "reduce", observed);
  const auto out = s.device.allocate(kBlocks * 4), in = s.device.allocate(kBlocks * 256 * 4);
  s.launch.grid = {kBlocks, 1, 1};
  s.launch.block = {256, 1, 1};
  s.launch.params = pack(s.kernel(), out, in);
  uint64_t instructions = 0;
  for (auto _ : state) instructions += s.run();
  count_instructions(state, instructions);
}
void shared_reduction(benchmark::State& state) { reduce_kernel(state, false); }
void shared_reduction_observed(benchmark::State& state) { reduce_kernel(state, true); }
BENCHMARK(shared_reduction)->Unit(benchmark::kMillisecond);
BENCHMARK(shared_reduction_observed)->Unit(benchmark::kMillisecond);

// A warp multiplies 64 × 32 × 16 bf16 elements in a loop: four factors of each side, sixteen products. Beside it sgemm
// in the same run.
std::string make_products() {
  std::string text = std::string(kHeader) + R"(
.visible .entry products(.param .u64 out, .param .u32 iterations) {
  .reg .b32 %r<8>, %a<16>, %b<8>;
  .reg .f32 %f<64>;
  .reg .b64 %rd<4>;
  .reg .pred %p;
  ld.param.u32 %r1, [iterations];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
)";
  for (int k = 0; k < 16; ++k)
    text += "  mov.b32 %a" + std::to_string(k) + ", 0x3f803f0" + std::to_string(k % 8) + ";\n";
  for (int k = 0; k < 8; ++k) text += "  mov.b32 %b" + std::to_string(k) + ", 0xbf003f8" + std::to_string(k) + ";\n";
  for (int k = 0; k < 64; ++k) text += "  mov.f32 %f" + std::to_string(k) + ", 0f00000000;\n";
  text += "LOOP:\n";
  for (int k = 0; k < 64; k += 4) {
    const auto list = [](const std::string& name, int first, int count) {
      std::string names = "{";
      for (int r = 0; r < count; ++r) names += (r == 0 ? name : ", " + name) + std::to_string(first + r);
      return names + "}";
    };
    const std::string sums = list("%f", k, 4);
    text += "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + sums + ", " + list("%a", k / 16 * 4, 4) + ", " +
            list("%b", k / 4 % 4 * 2, 2) + ", " + sums + ";\n";
  }
  text += R"(  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p, %r3, %r1;
  @%p bra LOOP;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
)";
  for (int k = 0; k < 64; ++k)
    text += "  st.global.f32 [%rd1+" + std::to_string(128 * k) + "], %f" + std::to_string(k) + ";\n";
  return text + "  ret;\n}";
}

void mma_bf16(benchmark::State& state, const char* engine) {
  if (!num::tensor::use_engine(engine)) return state.SkipWithError("not on this CPU");
  constexpr uint32_t kIterations = 20'000;
  Setup s(make_products(), "products", false);
  const auto out = s.device.allocate(64 * 128);
  s.launch.block = {32, 1, 1};
  s.launch.params = pack(s.kernel(), out, kIterations);
  for (auto _ : state) s.run();
  state.counters["flop"] = benchmark::Counter(4096.0 * 16 * kIterations * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  num::tensor::use_engine("");
}
BENCHMARK_CAPTURE(mma_bf16, amx, "amx")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mma_bf16, avx512, "avx512")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mma_bf16, avx2, "avx2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mma_bf16, portable, "portable")->Unit(benchmark::kMillisecond);

// A warp group multiplies 64 × 128 × 64 bf16 elements in shared memory, swizzled by 128 bytes, in a loop.
std::string make_group_products() {
  constexpr int kSums = 64;
  std::string text = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry group_products(.param .u64 out, .param .u32 iterations) {
  .reg .b32 %r<12>;
  .reg .f32 %f<64>;
  .reg .b64 %rd<8>, %a<4>, %b<4>;
  .reg .pred %p, %add;
  .shared .align 1024 .b8 factors[24576];
  ld.param.u32 %r1, [iterations];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, factors;
  shl.b32 %r4, %r2, 2;
  add.s32 %r5, %r3, %r4;
  mov.u32 %r6, 0;
FILL:
  st.shared.b32 [%r5], 0x3f803f00;
  add.s32 %r5, %r5, 512;
  add.s32 %r6, %r6, 1;
  setp.lt.u32 %p, %r6, 48;
  @%p bra FILL;
  fence.proxy.async;
  bar.sync 0;
  and.b32 %r7, %r3, 0x3ffff;
  shr.u32 %r7, %r7, 4;
  cvt.u64.u32 %rd1, %r7;
  or.b64 %a0, %rd1, 0x4000004000010000;
  setp.eq.u32 %add, %r2, %r2;
)";
  for (int k = 0; k < 4; ++k) {
    if (k > 0) text += "  add.s64 %a" + std::to_string(k) + ", %a0, " + std::to_string(2 * k) + ";\n";
    text += "  add.s64 %b" + std::to_string(k) + ", %a0, " + std::to_string(512 + 2 * k) + ";\n";
  }
  std::string list = "{";
  for (int k = 0; k < kSums; ++k) {
    text += "  mov.f32 %f" + std::to_string(k) + ", 0f00000000;\n";
    list += (k == 0 ? "%f" : ", %f") + std::to_string(k);
  }
  list += "}";
  text += "  mov.u32 %r6, 0;\nLOOP:\n  wgmma.fence.sync.aligned;\n";
  for (int k = 0; k < 4; ++k) {
    text += "  wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " + list + ", %a" + std::to_string(k) + ", %b" +
            std::to_string(k) + ", %add, 1, 1, 0, 0;\n";
  }
  text += R"(  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.s32 %r6, %r6, 1;
  setp.lt.u32 %p, %r6, %r1;
  @%p bra LOOP;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
)";
  for (int k = 0; k < kSums; ++k)
    text += "  st.global.f32 [%rd1+" + std::to_string(512 * k) + "], %f" + std::to_string(k) + ";\n";
  return text + "  ret;\n}";
}

void wgmma_bf16(benchmark::State& state, const char* engine) {
  if (!num::tensor::use_engine(engine)) return state.SkipWithError("not on this CPU");
  constexpr uint32_t kIterations = 500;
  Setup s(make_group_products(), "group_products", false);
  const auto out = s.device.allocate(64 * 512);
  s.launch.block = {128, 1, 1};
  s.launch.params = pack(s.kernel(), out, kIterations);
  for (auto _ : state) s.run();
  state.counters["flop"] = benchmark::Counter(
      2.0 * 64 * 128 * 64 * kIterations * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  num::tensor::use_engine("");
}
BENCHMARK_CAPTURE(wgmma_bf16, amx, "amx")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma_bf16, avx512, "avx512")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma_bf16, avx2, "avx2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmma_bf16, portable, "portable")->Unit(benchmark::kMillisecond);

#if FB_HAS_OPENBLAS
void sgemm(benchmark::State& state) {
  constexpr int kSize = 1024;
  openblas_set_num_threads(1);
  std::vector<float> a(kSize * kSize, 0.5f), b(kSize * kSize, 0.25f), c(kSize * kSize);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, a.data(), kSize, b.data(), kSize, 0,
                c.data(), kSize);
  }
  state.counters["flop"] = benchmark::Counter(2.0 * kSize * kSize * kSize * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
}
BENCHMARK(sgemm)->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace fb
