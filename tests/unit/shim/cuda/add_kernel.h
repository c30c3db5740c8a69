#pragma once

namespace fb {

// A kernel `add(to, value)`: every thread adds `value` to the word at `to`. And a variable, `counter`, which is 5.
inline constexpr const char* kAddKernel = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry add(.param .u64 to, .param .u32 value)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  atom.global.add.u32 %r2, [%rd1], %r1;
  ret;
}
)";

}  // namespace fb
