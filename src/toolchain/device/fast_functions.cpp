#include "toolchain/device/fast_functions.h"

#include <fmt/format.h>

#include <array>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

// The body of a function of one or two arguments, %x and %y, as lines of IR. {} stands for a call of an instruction.
struct FastFunction {
  std::string_view name;
  std::string_view parameters;
  std::string_view body;
};

// log2(e), ln(2), log10(2) and log2(10), as doubles that are exact in single precision.
#define FB_ASM(instruction) "call float asm \"" instruction " $0, $1;\", \"=f,f\""
constexpr std::array<FastFunction, 13> kFunctions = {{
    {"sinf", "float %x", "  %r = " FB_ASM("sin.approx.ftz.f32") "(float %x)\n  ret float %r\n"},
    {"cosf", "float %x", "  %r = " FB_ASM("cos.approx.ftz.f32") "(float %x)\n  ret float %r\n"},
    {"tanf", "float %x",
     "  %s = " FB_ASM("sin.approx.ftz.f32") "(float %x)\n  %c = " FB_ASM(
         "cos.approx.ftz.f32") "(float %x)\n  %i = " FB_ASM("rcp.approx.ftz.f32") "(float %c)\n  %r = fmul float %s, "
                                                                                  "%i\n  ret float %r\n"},
    {"sincosf", "float %x, ptr %s, ptr %c",
     "  %a = " FB_ASM("sin.approx.ftz.f32") "(float %x)\n  %b = " FB_ASM(
         "cos.approx.ftz.f32") "(float %x)\n  store float %a, ptr %s, align 4\n  store float %b, ptr %c, align 4\n  "
                               "ret void\n"},
    {"tanhf", "float %x", "  %r = " FB_ASM("tanh.approx.f32") "(float %x)\n  ret float %r\n"},
    {"exp2f", "float %x", "  %r = " FB_ASM("ex2.approx.ftz.f32") "(float %x)\n  ret float %r\n"},
    {"expf", "float %x",
     "  %m = fmul float %x, 0x3FF7154760000000\n  %r = " FB_ASM("ex2.approx.ftz.f32") "(float %m)\n  ret float %r\n"},
    {"exp10f", "float %x",
     "  %m = fmul float %x, 0x400A934F00000000\n  %r = " FB_ASM("ex2.approx.ftz.f32") "(float %m)\n  ret float %r\n"},
    {"log2f", "float %x", "  %r = " FB_ASM("lg2.approx.ftz.f32") "(float %x)\n  ret float %r\n"},
    {"logf", "float %x",
     "  %m = " FB_ASM("lg2.approx.ftz.f32") "(float %x)\n  %r = fmul float %m, 0x3FE62E4300000000\n  ret float %r\n"},
    {"log10f", "float %x",
     "  %m = " FB_ASM("lg2.approx.ftz.f32") "(float %x)\n  %r = fmul float %m, 0x3FD3441360000000\n  ret float %r\n"},
    {"powf", "float %x, float %y",
     "  %l = " FB_ASM("lg2.approx.ftz.f32") "(float %x)\n  %m = fmul float %y, %l\n  %r = " FB_ASM(
         "ex2.approx.ftz.f32") "(float %m)\n  ret float %r\n"},
    {"fdividef", "float %x, float %y",
     "  %i = " FB_ASM("rcp.approx.ftz.f32") "(float %y)\n  %r = fmul float %x, %i\n  ret float %r\n"},
}};
#undef FB_ASM

// "declare float @sinf(float noundef) #3" → the function; null: another line.
const FastFunction* declared_in(std::string_view line) {
  if (!line.starts_with("declare ")) return nullptr;
  for (const FastFunction& f : kFunctions) {
    if (line.find(fmt::format(" @{}(", f.name)) != std::string_view::npos) return &f;
  }
  return nullptr;
}

}  // namespace

std::string with_fast_functions(std::string_view llvm_ir) {
  std::string text;
  text.reserve(llvm_ir.size());
  while (!llvm_ir.empty()) {
    const size_t end = std::min(llvm_ir.find('\n'), llvm_ir.size() - 1) + 1;
    const auto line = llvm_ir.substr(0, end);
    llvm_ir.remove_prefix(end);
    const FastFunction* f = declared_in(line);
    if (f == nullptr) {
      text += line;
      continue;
    }
    const char* type = f->body.ends_with("ret void\n") ? "void" : "float";
    text += fmt::format("define internal {} @{}({}) alwaysinline {{\n{}}}\n", type, f->name, f->parameters, f->body);
  }
  return text;
}

}  // namespace fb::toolchain
