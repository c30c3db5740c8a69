#pragma once

// Proves a problem: that its reference is right, that its oracle depends on what it should, and that no impostor
// passes.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/catalog/pack.h"
#include "toolchain/compile/device_compiler.h"

namespace fb::prove {

struct Check {
  std::string name = {};  // "reference passes"
  bool good = false;
  bool skipped = false;     // good, because nothing speaks against it: it could not be made here
  std::string detail = {};  // what went wrong, or what was measured
  double seconds = 0;
};

struct Report {
  std::string problem = {};
  std::vector<Check> checks = {};
  bool good() const;
};

enum class Form : uint8_t {
  quick,  // a quick judgement of the reference and one impostor, chosen by the problem's name: at most 4 CPU seconds
  usual,  // one full judgement of reference and alternative, two impostors
  full,   // eight full judgements, every impostor
};

struct Options {
  Form form = Form::usual;
  bool with_nvcc = true;  // compile the reference with nvcc, if it is installed; not in the quick form
  toolchain::DeviceCompiler device_compiler = toolchain::DeviceCompiler::clang;
  bool use_sandbox = true;
  uint64_t seed = 1;
  std::function<void(const std::string& name)> on_begin = {};  // before each check
  std::function<void(const Check&)> on_check = {};             // as they end
};

Report prove(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options);

}  // namespace fb::prove
