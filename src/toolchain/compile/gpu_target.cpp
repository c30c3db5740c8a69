#include "toolchain/compile/gpu_target.h"

#include <fmt/format.h>

#include <string_view>

namespace fb::toolchain {
namespace {

constexpr std::string_view kNewestOfClang = "sm_90";
constexpr std::string_view kPtxVersion = "8.7";  // knows sm_100a

bool known_to_clang(const std::string& architecture) { return architecture.starts_with(kNewestOfClang); }

// The rest of the line behind `directive`, which begins a line, becomes `value`.
void replace_value(std::string& ptx, std::string_view directive, std::string_view value) {
  const size_t at = ptx.find(fmt::format("\n{} ", directive));
  if (at == std::string::npos) return;
  const size_t begin = at + directive.size() + 2;
  ptx.replace(begin, ptx.find('\n', begin) - begin, value);
}

}  // namespace

std::string architecture_of(uint32_t capability_major, uint32_t capability_minor) {
  return fmt::format("sm_{}{}a", capability_major, capability_minor);
}

std::string clang_architecture(const std::string& architecture) {
  return known_to_clang(architecture) ? architecture : std::string(kNewestOfClang);
}

// What makes clang 19 unroll as nvcc 13.4 does. nvcc compiles architectures behind sm_90 by a newer LLVM, which unrolls
// loops whose count takes a division. Blocks stay in the order of the source, so that lanes that part meet again where
// their branches join.
Words optimisation_flags(const std::string& architecture) {
  const int cheap_expansion = known_to_clang(architecture) ? 8 : 20;
  Words flags = {"-O3"};
  for (const std::string& option : {std::string("-unroll-threshold=1000"), std::string("-unroll-partial-threshold=250"),
                                    std::string("-unroll-max-count=4"), std::string("-disable-block-placement"),
                                    fmt::format("-scev-cheap-expansion-budget={}", cheap_expansion)})
    add(flags, {"-mllvm", option});
  return flags;
}

std::string architecture_number(const std::string& architecture) {
  std::string digits;
  for (const char c : architecture) {
    if (c >= '0' && c <= '9') digits += c;
  }
  return digits + '0';
}

Words architecture_macros(const std::string& architecture) {
  const std::string number = architecture_number(architecture);
  Words macros;
  if (!known_to_clang(architecture)) macros = {"-U__CUDA_ARCH__", "-D__CUDA_ARCH__=" + number};
  if (!architecture.ends_with('a')) return macros;
  add(macros, {"-D__CUDA_ARCH_SPECIFIC__=" + number, "-D__CUDA_ARCH_FAMILY_SPECIFIC__=" + number});
  if (!known_to_clang(architecture))
    macros.push_back(fmt::format("-D__CUDA_ARCH_FEAT_SM{}_ALL", number.substr(0, number.size() - 1)));
  return macros;
}

std::string with_architecture(std::string ptx, const std::string& architecture) {
  if (known_to_clang(architecture)) return ptx;
  replace_value(ptx, ".version", kPtxVersion);
  replace_value(ptx, ".target", architecture);
  return ptx;
}

}  // namespace fb::toolchain
