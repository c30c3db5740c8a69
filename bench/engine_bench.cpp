// Speed of the engine on one core: warp instructions per second, and for the copy its bytes per second beside memcpy's
// in the same run (the only figure that means something on a noisy machine).
//
//   build/release/bench/fabricbench_bench

#include <benchmark/benchmark.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/device.h"

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

}  // namespace
}  // namespace fb
