#pragma once

// Small kernels for tests that drive a node without a compiler. All take up to three 64-bit parameters.

namespace fb::node_kernels {

inline constexpr const char* kText = R"(
.version 8.6
.target sm_90
.address_size 64

.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 result) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);

.global .align 4 .u32 counter = 5;
.const .align 4 .u32 constant[4] = {7, 8, 9, 10};
.global .align 1 .b8 greeting[7] = {104, 101, 108, 108, 111, 10, 0};

// to[thread] = value
.visible .entry store(.param .u64 to, .param .u64 value)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.u32 %r2, %r3, %r4, %r2;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r1;
  ret;
}

// *to = *from, after *flag has become what is awaited
.visible .entry copy_after(.param .u64 to, .param .u64 from, .param .u64 flag)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u64 %rd3, [flag];
AGAIN:
  ld.acquire.sys.global.u32 %r1, [%rd3];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ld.global.u32 %r2, [%rd2];
  st.global.u32 [%rd1], %r2;
  ret;
}

// *to += 1, without a fence and not atomic: unordered increments are lost
.visible .entry add_one(.param .u64 to)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

// waits until the clock has gone on
.visible .entry wait_clock(.param .u64 nanoseconds)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
  add.u64 %rd2, %rd2, %rd1;
AGAIN:
  mov.u64 %rd3, %globaltimer;
  setp.lt.u64 %p1, %rd3, %rd2;
  @%p1 bra AGAIN;
  ret;
}

// counts for ever
.visible .entry run_away(.param .u64 to)
{
  .reg .b32 %r<4>;
AGAIN:
  add.u32 %r1, %r1, 1;
  bra AGAIN;
}

.visible .entry greet()
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u64 %rd1, greeting;
  cvta.global.u64 %rd1, %rd1;
  mov.u64 %rd2, 0;
  {
  .param .b64 param0;
  st.param.b64 [param0], %rd1;
  .param .b64 param1;
  st.param.b64 [param1], %rd2;
  .param .b32 retval0;
  call.uni (retval0), vprintf, (param0, param1);
  ld.param.b32 %r1, [retval0];
  }
  ret;
}

.visible .entry stop()
{
  trap;
}

// takes memory, keeps it where an odd number is given, writes where it lies
.visible .entry take(.param .u64 to, .param .u64 bytes)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [bytes];
  {
  .param .b64 param0;
  st.param.b64 [param0], %rd2;
  .param .b64 retval0;
  call.uni (retval0), malloc, (param0);
  ld.param.b64 %rd3, [retval0];
  }
  st.global.u64 [%rd1], %rd3;
  and.b64 %rd4, %rd2, 1;
  setp.eq.u64 %p1, %rd4, 1;
  @%p1 bra DONE;
  {
  .param .b64 param0;
  st.param.b64 [param0], %rd3;
  call.uni free, (param0);
  }
DONE:
  ret;
}

// to = from, 256 bytes, by copies beside the threads; the second one is not waited for
.visible .entry bulk(.param .u64 to, .param .u64 from)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 buffer[512];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, buffer;
  mbarrier.init.shared::cta.b64 [barrier], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 256, [barrier];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0;
  @!%p1 bra WAIT;
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 256;
  cp.async.bulk.commit_group;
  ret;
}

// the same value in the memory of all members
.visible .entry spread(.param .u64 to, .param .u64 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  multimem.st.relaxed.sys.global.u32 [%rd1], %r1;
  ret;
}

// *to = counter + constant[1]; counter = value
.visible .entry variables(.param .u64 to, .param .u64 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [counter];
  ld.const.u32 %r3, [constant+4];
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%rd1], %r2;
  st.global.u32 [counter], %r1;
  ret;
}

// memory of its own for each thread
.visible .entry locals(.param .u64 to)
{
  .local .align 16 .b8 depot[4096];
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u64 %rd1, depot;
  st.local.u32 [%rd1+4000], 3;
  ret;
}

.visible .entry together(.param .u64 to) .explicitcluster .reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<4>;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";

// Loads, and does not run: there is no memory for its last variable.
inline constexpr const char* kTooLarge = R"(
.version 8.6
.target sm_90
.address_size 64
.global .align 4 .u32 small[256];
.global .align 4 .b8 large[4000000000];
.visible .entry nothing()
{
  ret;
}
)";

}  // namespace fb::node_kernels
