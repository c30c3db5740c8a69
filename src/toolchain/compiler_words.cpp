#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "toolchain/program.h"

namespace fb::toolchain {
namespace {

// Flags of nvcc without effect here: clang does the same by default, or there is nothing to do.
constexpr std::array<std::string_view, 14> kNothingToDo = {"-g",
                                                           "-G",
                                                           "-lineinfo",
                                                           "--generate-line-info",
                                                           "--expt-relaxed-constexpr",
                                                           "-extended-lambda",
                                                           "--extended-lambda",
                                                           "-expt-relaxed-constexpr",
                                                           "--expt-extended-lambda",
                                                           "-expt-extended-lambda",
                                                           "-use_fast_math",
                                                           "-w",
                                                           "-Wall",
                                                           "-Wextra"};
// Libraries that the shim replaces or makes unnecessary.
constexpr std::array<std::string_view, 4> kOurLibraries = {"cuda", "cudart", "cudart_static", "cudadevrt"};

bool is_source(std::string_view word) {
  constexpr std::array<std::string_view, 6> kEndings = {".cu", ".cpp", ".cc", ".cxx", ".o", ".a"};
  return std::ranges::any_of(kEndings, [&](auto ending) { return word.ends_with(ending); });
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  Result<ProgramBuild> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!word.starts_with('-')) {
        if (!is_source(word)) {
          return error(fmt::format("{}: not a source file (expected .cu, .cpp, .cc, .cxx, .o or .a)", word));
        }
        build_.sources.push_back(word);
      } else if (!read_flag(word)) {
        return error(problem_.empty() ? unknown(word) : problem_);
      }
    }
    return std::move(build_);
  }

 private:
  static std::string unknown(const std::string& word) {
    if (word.starts_with("-rdc") || word == "-dc" || word == "--relocatable-device-code=true") {
      return fmt::format("{}: device code of several files is not linked here; include one file in the other", word);
    }
    return fmt::format(
        "{}: unknown option (options of the program itself follow --; of nvcc's, -I -D -O -std -l -L -arch -Xcompiler "
        "are "
        "understood)",
        word);
  }

  // "-Ifoo" or "-I foo"; "-std=c++20" or "-std c++20".
  std::optional<std::string> value_of(std::string_view word, std::string_view flag, bool joined) {
    if (word == flag) {
      if (at_ < words_.size()) return words_[at_++];
      problem_ = fmt::format("{}: a value must follow", flag);
      return std::nullopt;
    }
    if (!word.starts_with(flag)) return std::nullopt;
    word.remove_prefix(flag.size());
    if (word.starts_with('=')) return std::string(word.substr(1));
    if (joined) return std::string(word);
    return std::nullopt;
  }

  bool read_flag(const std::string& word) {
    if (std::ranges::find(kNothingToDo, word) != kNothingToDo.end()) return true;
    if (auto dir = value_of(word, "-I", true)) return keep(build_.include_dirs, *dir);
    if (auto define = value_of(word, "-D", true)) return keep(build_.defines, *define);
    if (auto dir = value_of(word, "-L", true)) return keep(build_.library_dirs, *dir);
    if (auto standard = value_of(word, "-std", false)) return read_standard(*standard);
    if (auto standard = value_of(word, "--std", false)) return read_standard(*standard);
    for (const auto* flag : {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}) {
      if (auto arch = value_of(word, flag, false)) return read_arch(*arch);
    }
    for (const auto* flag : {"-Xcompiler", "--compiler-options", "-Xlinker"}) {
      if (auto words = value_of(word, flag, false)) return read_host_flags(flag, *words);
    }
    if (auto library = value_of(word, "-l", true)) {
      if (std::ranges::find(kOurLibraries, *library) == kOurLibraries.end()) build_.libraries.push_back(*library);
      return true;
    }
    if (word.size() == 3 && word.starts_with("-O") && word[2] >= '0' && word[2] <= '3') {
      build_.optimisation = word[2] - '0';
      return true;
    }
    return false;
  }

  static bool keep(std::vector<std::string>& list, std::string value) {
    list.push_back(std::move(value));
    return true;
  }

  bool read_standard(const std::string& standard) {
    // The SDK's headers are C++17: an older standard means that one, which accepts nearly all that the older
    // one does.
    constexpr std::array<std::string_view, 7> kKnown = {"03", "11", "14", "17", "20", "23", "2a"};
    const bool gnu = standard.starts_with("gnu++");
    const std::string year = gnu || standard.starts_with("c++") ? standard.substr(gnu ? 5 : 3) : "";
    if (std::ranges::find(kKnown, year) == kKnown.end()) {
      problem_ = fmt::format("-std={}: not supported (c++11, c++14, c++17, c++20 and c++23 are)", standard);
      return false;
    }
    const bool old = year == "03" || year == "11" || year == "14";
    build_.standard = (gnu ? "gnu++" : "c++") + (old ? std::string("17") : year);
    return true;
  }

  // sm_90, compute_90, native, or arch=compute_90,code=sm_90. The virtual GPUs run any PTX; it is compiled for sm_90 at
  // least, since older targets would hide instructions.
  bool read_arch(const std::string& text) {
    const size_t at = text.rfind('_');
    if (at == std::string::npos) return true;
    const std::string number = text.substr(at + 1);
    if (number.starts_with("90a") || number.starts_with("100a")) build_.gpu_arch = "sm_" + number;
    if (number == "100") build_.gpu_arch = "sm_100";
    return true;
  }

  bool read_host_flags(std::string_view flag, const std::string& words) {
    for (const auto word : split(words, ',')) {
      build_.extra_flags.push_back(flag == "-Xlinker" ? fmt::format("-Wl,{}", word) : std::string(word));
    }
    return true;
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  ProgramBuild build_;
  std::string problem_;
};

}  // namespace

Result<ProgramBuild> parse_compiler_words(const std::vector<std::string>& words) { return Reader(words).read(); }

}  // namespace fb::toolchain
