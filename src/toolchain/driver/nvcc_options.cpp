#include "toolchain/driver/nvcc_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "common/base/strings.h"
#include "toolchain/compile/object_builder.h"
#include "toolchain/compile/words.h"

namespace fb::toolchain {
namespace {

using Command = NvccCommand;
using Act = std::function<std::string(Command&, const std::string&)>;

// Libraries that the client library replaces or makes unnecessary.
constexpr std::array<std::string_view, 4> kOurLibraries = {"cuda", "cudart", "cudart_static", "cudadevrt"};

// "a,b\,c" as {"a", "b,c"}.
Words split_list(const std::string& text) {
  Words list(1);
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\\' && k + 1 < text.size() && text[k + 1] == ',') {
      list.back() += text[++k];
    } else if (text[k] == ',') {
      list.emplace_back();
    } else {
      list.back() += text[k];
    }
  }
  std::erase(list, "");
  return list;
}

// Words of a response file, or of a value that a shell would split: separated by spaces, with quotes and backslashes as
// in a shell.
Words split_words(std::string_view text) {
  Words words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      open = true;
    } else if (c == '\\' && quote != '\'' && k + 1 < text.size()) {
      word += text[++k];
      open = true;
    } else if (quote == 0 && std::string_view(" \t\r\n").find(c) != std::string_view::npos) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

// The kinds of rows.
// -E, -M and -MM are done instead of what the rest of the command asks for.
void enter(Command& c, NvccPhase phase) {
  if (c.phase != NvccPhase::preprocess && c.phase != NvccPhase::dependencies) c.phase = phase;
}
Act set_phase(NvccPhase phase) {
  return [phase](Command& c, const std::string&) {
    enter(c, phase);
    return "";
  };
}
Act set_flag(bool Command::* flag) {
  return [flag](Command& c, const std::string&) {
    c.*flag = true;
    return "";
  };
}
Act set_text(std::string Command::* text) {
  return [text](Command& c, const std::string& value) {
    c.*text = value;
    return "";
  };
}
Act add_each(Words ProgramBuild::* list, const std::string& prefix = "") {
  return [list, prefix](Command& c, const std::string& value) {
    for (const std::string& words : split_list(value)) {
      for (const std::string& word : split_words(words)) (c.build.*list).push_back(prefix + word);
    }
    return "";
  };
}
Act add_paths(Words ProgramBuild::* list) {
  return [list](Command& c, const std::string& value) {
    for (const std::string& path : split_list(value)) (c.build.*list).push_back(path);
    return "";
  };
}
Act add_whole(Words ProgramBuild::* list) {
  return [list](Command& c, const std::string& value) {
    (c.build.*list).push_back(value);
    return "";
  };
}
// For both sides, before each value its flag.
Act add_flagged(const std::string& flag) {
  return [flag](Command& c, const std::string& value) {
    for (const std::string& word : split_list(value)) {
      c.build.compile_flags.push_back(flag);
      c.build.compile_flags.push_back(word);
    }
    return "";
  };
}
Act nothing() {
  return [](Command&, const std::string&) { return ""; };
}
Act refuse(const std::string& why) {
  return [why](Command&, const std::string&) { return why; };
}
// A choice among words; `act` gets the one that was chosen.
Act choose(const Words& words, const std::function<void(Command&, const std::string&)>& act) {
  return [words, act](Command& c, const std::string& value) -> std::string {
    if (std::ranges::find(words, value) == words.end())
      return fmt::format("{} is not one of {}", value.empty() ? "an empty value" : value, fmt::join(words, ", "));
    act(c, value);
    return "";
  };
}
Act set_arithmetic(bool Arithmetic::* exact) {
  return choose({"true", "false"},
                [exact](Command& c, const std::string& value) { c.build.arithmetic.*exact = value == "true"; });
}

// A toolkit's include/cccl, or a folder that is laid out like it.
std::string read_cccl(Command& c, const std::string& folder) {
  std::error_code failed;
  if (!std::filesystem::is_directory(folder + "/cuda/std", failed))
    return fmt::format("--cccl {}: there is no folder cuda/std in it", folder);
  c.build.cccl = std::filesystem::absolute(folder).lexically_normal().string();
  return {};
}

std::string read_standard(Command& c, const std::string& standard) {
  // The SDK's headers are C++17: an older standard means that one, which accepts nearly all that the older one does.
  constexpr std::array<std::string_view, 7> kKnown = {"03", "11", "14", "17", "20", "23", "2a"};
  const bool gnu = standard.starts_with("gnu++");
  const std::string year = gnu || standard.starts_with("c++") ? standard.substr(gnu ? 5 : 3) : "";
  if (std::ranges::find(kKnown, year) == kKnown.end())
    return "not supported (c++11, c++14, c++17, c++20 and c++23 are)";
  const bool old = year == "03" || year == "11" || year == "14";
  c.build.standard = (gnu ? "gnu++" : "c++") + (old ? std::string("17") : year);
  return "";
}

std::string read_optimisation(Command& c, const std::string& level) {
  if (level == "fast") {
    c.build.optimisation = 3;
  } else if (level == "s" || level == "z" || level == "g") {
    c.build.optimisation = level == "g" ? 1 : 2;
  } else if (level.size() == 1 && level[0] >= '0' && level[0] <= '9') {
    c.build.optimisation = std::min(level[0] - '0', 3);
  } else {
    return "expected 0 to 3";
  }
  return "";
}

// "sm_90a" → {90, 'a'}.
struct Architecture {
  int number = 0;
  char feature = 0;
};
std::optional<Architecture> read_architecture(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_", "lto_"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    Architecture found;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), found.number);
    if (code != std::errc() || found.number < 20) return std::nullopt;
    const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
    if (!rest.empty() && rest != "a" && rest != "f") return std::nullopt;
    found.feature = rest.empty() ? '\0' : 'a';
    return found;
  }
  return std::nullopt;
}

// The virtual GPUs run any PTX; it is made for sm_90 at least, since older targets would hide instructions. Of several
// targets the one of the default platform is taken if it is named, else the newest.
void choose_architecture(Command& c) {
  std::optional<Architecture> best;
  const auto rank = [](const Architecture& a) {
    return (a.number == 90 ? 10'000 : a.number) * 2 + (a.feature ? 1 : 0);
  };
  for (const std::string& word : c.architectures) {
    const auto one = read_architecture(word);
    if (one && (!best || rank(*one) > rank(*best))) best = one;
  }
  if (!best) return;
  c.build.gpu_arch = best->number < 100 ? "sm_90" : best->number < 103 ? "sm_100" : "sm_103";
  if (best->feature && best->number >= 90) c.build.gpu_arch += 'a';
}

std::string read_architectures(Command& c, const std::string& text) {
  // arch=compute_90,code=[compute_90,sm_90], or sm_90, or a list
  std::string plain;
  for (const char ch : text) plain += ch == '[' || ch == ']' || ch == '"' || ch == '\'' ? ',' : ch;
  for (std::string word : split_list(plain)) {
    for (const std::string_view key : {"arch=", "code="}) {
      if (word.starts_with(key)) word.erase(0, key.size());
    }
    constexpr std::array<std::string_view, 3> kAny = {"native", "all", "all-major"};
    if (word.empty() || std::ranges::find(kAny, word) != kAny.end()) continue;
    if (!read_architecture(word)) return fmt::format("{} is no architecture (as sm_90 or compute_90)", word);
    c.architectures.push_back(word);
  }
  return "";
}

std::string read_max_registers(Command& c, const std::string& text) {
  constexpr uint32_t kLeast = 16, kMost = 255;  // ptxas takes smaller numbers for this one
  uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc() || end != text.data() + text.size()) return "expected a number of registers";
  c.build.max_registers = count == 0 ? 0 : std::clamp(count, kLeast, kMost);
  return "";
}

std::string read_libraries(Command& c, const std::string& text) {
  for (const std::string& library : split_list(text)) {
    if (std::ranges::find(kOurLibraries, library) == kOurLibraries.end()) c.build.libraries.push_back(library);
  }
  return "";
}

std::string read_host_compiler(Command& c, const std::string& path) {
  c.host_compiler = path;
  // clang compiles the host side all the same; from MPI's wrappers come their flags.
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.starts_with("mpi")) {
    c.build.mpi = true;
    c.build.mpi_compiler = path;
  }
  return "";
}

std::string read_relocatable(Command& c, const std::string& value) {
  if (value != "true" && value != "false") return "expected true or false";
  c.build.relocatable = value == "true";
  return "";
}

constexpr const char* kAsIs = "accepted; nothing to do here";
constexpr const char* kMachineCode = "the virtual GPUs run PTX: there is no machine code (use -ptx)";

std::vector<NvccOption> make_options() {
  using enum NvccValue;
  const auto to_linker = add_each(&ProgramBuild::link_flags, "-Wl,");
  return {
      // What is made
      {"--link", "-link", none, set_phase(NvccPhase::link), "make a program (the default)"},
      {"--compile", "-c", none, set_phase(NvccPhase::compile), "make an object of each source"},
      {"--device-c", "-dc", none,
       [](Command& c, const std::string&) {
         enter(c, NvccPhase::compile);
         c.build.relocatable = true;
         return "";
       },
       "-c with device code that may refer to other files"},
      {"--device-w", "-dw", none,
       [](Command& c, const std::string&) {
         enter(c, NvccPhase::compile);
         c.build.relocatable = false;
         return "";
       },
       "-c with device code that stands alone"},
      {"--device-link", "-dlink", none, set_phase(NvccPhase::device_link),
       "link the device code of objects and libraries; makes an object for the host's linker"},
      {"--lib", "-lib", none, set_phase(NvccPhase::library), "make a static library"},
      {"--shared", "-shared", none,
       [](Command& c, const std::string&) {
         c.build.shared = true;
         return "";
       },
       "make a shared object"},
      {"--ptx", "-ptx", none, set_phase(NvccPhase::ptx), "write the device side as PTX"},
      {"--fatbin", "-fatbin", none,
       [](Command& c, const std::string&) {
         c.phase = NvccPhase::ptx;
         c.fatbin = true;
         return "";
       },
       "the same under the ending .fatbin; cuModuleLoad takes it"},
      {"--preprocess", "-E", none, set_phase(NvccPhase::preprocess), "preprocess the host side"},
      {"--generate-dependencies", "-M", none,
       [](Command& c, const std::string&) {
         c.phase = NvccPhase::dependencies;
         c.system_dependencies = true;
         return "";
       },
       "write a rule for make, and nothing else"},
      {"--generate-nonsystem-dependencies", "-MM", none, set_phase(NvccPhase::dependencies),
       "-M without the headers of the system"},
      {"--generate-dependencies-with-compile", "-MD", none, set_flag(&Command::write_dependencies),
       "write a rule for make besides the object; the user's files only"},
      {"--generate-nonsystem-dependencies-with-compile", "-MMD", none, set_flag(&Command::write_dependencies),
       "the same"},
      {"--dependency-output", "-MF", one, set_text(&Command::dependency_file), "the file of the rule"},
      {"--dependency-target-name", "-MT", one, set_text(&Command::dependency_target), "the target of the rule"},
      {"-MQ", "", one, set_text(&Command::dependency_target), "the same"},
      {"--generate-dependency-targets", "-MP", none, set_flag(&Command::phony_targets),
       "an empty rule for each header"},
      {"--no-device-link", "-nodlink", none,
       [](Command& c, const std::string&) {
         c.build.device_link = false;
         return "";
       },
       "do not link device code"},
      {"--cubin", "-cubin", none, refuse(kMachineCode), "refused"},
      {"--optix-ir", "-optix-ir", none, refuse("there is no OptiX here"), "refused"},
      {"--ltoir", "-ltoir", none, refuse(kMachineCode), "refused"},
      {"--cuda", "-cuda", none, refuse("the host side is compiled by clang, without a file in between"), "refused"},
      {"--run", "-run", none, refuse("programs run with `fabricbench exec`"), "refused"},
      {"--run-args", "-run-args", list, refuse("programs run with `fabricbench exec`"), "refused"},
      {"--relocatable-link", "-r", none, refuse("objects are not merged"), "refused"},
      {"--relocatable-ptx", "-reloc-ptx", none, refuse("PTX is linked as the objects of -dc"), "refused"},

      // Files and folders
      {"--output-file", "-o", one, set_text(&Command::output), "the output"},
      {"--output-directory", "-odir", one, set_text(&Command::output_dir), "the folder of the outputs"},
      {"--pre-include", "-include", list, add_flagged("-include"), "include a header first"},
      {"--include-path", "-I", glued, add_paths(&ProgramBuild::include_dirs), "a folder of headers"},
      {"--system-include", "-isystem", list, add_flagged("-isystem"), "a folder of system headers"},
      {"--library", "-l", glued, read_libraries, "a library; the CUDA runtime is always linked"},
      {"--library-path", "-L", glued, add_paths(&ProgramBuild::library_dirs), "a folder of libraries"},
      {"--define-macro", "-D", glued, add_whole(&ProgramBuild::defines), "a macro"},
      {"--undefine-macro", "-U", glued, add_flagged("-U"), "no macro"},
      {"--x", "-x", one,
       choose({"c", "c++", "cu"}, [](Command& c, const std::string& value) { c.build.language = value; }),
       "the language of all sources: cu, c++ or c"},
      {"--options-file", "-optf", list, nothing(), "more options from a file; also @FILE"},

      // The language
      {"--device-compiler", "", one,
       choose({"clang", "nvcc"},
              [](Command& c, const std::string& value) {
                c.build.device_compiler = value == "nvcc" ? DeviceCompiler::nvcc : DeviceCompiler::clang;
              }),
       "not nvcc's: clang, or NVIDIA's nvcc where it is installed, makes the device code"},
      {"--cccl", "", one, read_cccl, "not nvcc's: cub, thrust and libcu++ of this folder, in place of the system's"},
      {"--std", "-std", one, read_standard, "c++11 to c++23; older ones mean C++17"},
      {"--relocatable-device-code", "-rdc", one, read_relocatable,
       "true: device code may refer to that of other files"},
      {"--expt-relaxed-constexpr", "-expt-relaxed-constexpr", none, nothing(), "always on"},
      {"--extended-lambda", "-extended-lambda", none, nothing(), "always on"},
      {"--expt-extended-lambda", "-expt-extended-lambda", none, nothing(), "always on"},
      {"--default-stream", "-default-stream", one,
       [](Command& c, const std::string& value) -> std::string {
         if (value == "per-thread") c.build.defines.emplace_back(std::string(kOwnDefaultStream) + "=1");
         return value == "legacy" || value == "null" || value == "per-thread" ? "" : "expected legacy or per-thread";
       },
       "legacy, or per-thread: each host thread has a default stream of its own"},
      {"--no-host-device-initializer-list", "-nohdinitlist", none, nothing(), kAsIs},
      {"--no-host-device-move-forward", "-nohdmoveforward", none, nothing(), kAsIs},
      {"--no-exceptions", "-noeh", none,
       [](Command& c, const std::string&) {
         c.build.extra_flags.emplace_back("-fno-exceptions");
         return "";
       },
       "no exceptions in host code"},
      {"--ftemplate-depth", "-ftemplate-depth", one,
       [](Command& c, const std::string& value) {
         c.build.compile_flags.push_back("-ftemplate-depth=" + value);
         return "";
       },
       "the depth of templates"},
      {"--ftemplate-backtrace-limit", "-ftemplate-backtrace-limit", one, nothing(), kAsIs},
      {"--static-global-template-stub", "-static-global-template-stub", one, nothing(), kAsIs},
      {"--device-entity-has-hidden-visibility", "-device-entity-has-hidden-visibility", one, nothing(), kAsIs},
      {"--keep-device-functions", "-keep-device-functions", none, nothing(), kAsIs},
      {"--restrict", "-restrict", none, nothing(), kAsIs},

      // The target
      {"--gpu-architecture", "-arch", one, read_architectures,
       "sm_90, sm_100 or sm_103, also with an a; others mean the next older one of them, or sm_90"},
      {"--gpu-code", "-code", list, read_architectures, "the same"},
      {"--generate-code", "-gencode", one, read_architectures, "the same; of several, 90 or else the newest"},
      {"--machine", "-m", glued, choose({"64"}, [](Command&, const std::string&) {}), "64"},
      {"--maxrregcount", "-maxrregcount", one, read_max_registers,
       "registers of a thread, for kernels without __launch_bounds__"},
      {"--entries", "-e", list, nothing(), kAsIs},
      {"--target-directory", "-target-dir", one, nothing(), kAsIs},
      {"--libdevice-directory", "-ldir", one, nothing(), kAsIs},

      // Optimisation and arithmetic
      {"--optimize", "-O", glued, read_optimisation,
       "0 to 3, of the host's side; 2 is the default. Device code is always optimised"},
      {"--Ofast-compile", "-Ofc", one, nothing(), kAsIs},
      {"--dopt", "-dopt", one, nothing(), kAsIs},
      {"--use_fast_math", "-use_fast_math", none,
       [](Command& c, const std::string&) {
         c.build.arithmetic = {
             .flush_subnormals = true, .exact_division = false, .exact_roots = false, .fast_functions = true};
         return "";
       },
       "-ftz=true -prec-div=false -prec-sqrt=false, and sinf means __sinf"},
      {"--ftz", "-ftz", one, set_arithmetic(&Arithmetic::flush_subnormals),
       "true: subnormal numbers of single precision become 0"},
      {"--prec-div", "-prec-div", one, set_arithmetic(&Arithmetic::exact_division),
       "false: division of single precision is off by 2 units at most"},
      {"--prec-sqrt", "-prec-sqrt", one, set_arithmetic(&Arithmetic::exact_roots),
       "false: square roots of single precision are off by 1 unit at most"},
      {"--fmad", "-fmad", one, set_arithmetic(&Arithmetic::contract),
       "false: multiplications and additions stay apart"},
      {"--extra-device-vectorization", "-extra-device-vectorization", none, nothing(), kAsIs},
      {"--dlink-time-opt", "-dlto", none, nothing(), "accepted: device code is linked without it"},
      {"--lto", "-lto", none, nothing(), "accepted: device code is linked without it"},
      {"--gen-opt-lto", "-gen-opt-lto", none, nothing(), kAsIs},
      {"--extensible-whole-program", "-ewp", none, nothing(), kAsIs},
      {"--jump-table-density", "-jtd", one, nothing(), kAsIs},

      // Debugging
      {"--debug", "-g", none,
       [](Command& c, const std::string&) {
         c.build.extra_flags.emplace_back("-g");
         return "";
       },
       "debug information of the host side"},
      {"--device-debug", "-G", none, nothing(), "accepted: the device side always has line tables"},
      {"--generate-line-info", "-lineinfo", none, nothing(), "always on"},
      {"--profile", "-pg", none, nothing(), kAsIs},
      {"--optimization-info", "-opt-info", list, nothing(), kAsIs},
      {"--source-in-ptx", "-src-in-ptx", none, nothing(), kAsIs},
      {"--device-stack-protector", "-device-stack-protector", one, nothing(), kAsIs},
      {"--sanitize", "-sanitize", one, refuse("`fabricbench exec --check` looks for races"), "refused"},

      // Other tools
      {"--compiler-options", "-Xcompiler", list, add_each(&ProgramBuild::extra_flags),
       "for the compiler of the host side, clang"},
      {"--linker-options", "-Xlinker", list, to_linker, "for the linker"},
      {"--archive-options", "-Xarchive", list,
       [](Command& c, const std::string& value) {
         for (const std::string& word : split_list(value)) c.archiver_options.push_back(word);
         return "";
       },
       "for ar"},
      {"--ptxas-options", "-Xptxas", list, nothing(), "there is no ptxas"},
      {"--nvlink-options", "-Xnvlink", list, nothing(), "there is no nvlink"},
      {"-Xfatbin", "", list, nothing(), "there is no fatbinary"},
      {"-Xcudafe", "", list, nothing(), "there is no cudafe"},
      {"-Xcicc", "", list, nothing(), "there is no cicc"},
      {"--compiler-bindir", "-ccbin", one, read_host_compiler,
       "clang compiles the host side; from mpicxx and the like come MPI's flags"},
      {"--allow-unsupported-compiler", "-allow-unsupported-compiler", none, nothing(), kAsIs},
      {"--archiver-binary", "-arbin", one, nothing(), kAsIs},
      {"--cudart", "-cudart", one,
       choose({"none", "shared", "static"},
              [](Command& c, const std::string& value) { c.build.runtime = value != "none"; }),
       "none; the runtime is a shared library in any other case"},
      {"--cudadevrt", "-cudadevrt", one, nothing(), kAsIs},
      {"--forward-unknown-to-host-compiler", "-forward-unknown-to-host-compiler", none,
       set_flag(&Command::forward_to_compiler), "unknown options are the host compiler's"},
      {"--forward-unknown-to-host-linker", "-forward-unknown-to-host-linker", none,
       set_flag(&Command::forward_to_linker), "unknown options are the linker's"},
      {"--forward-unknown-opts", "-forward-unknown-opts", none,
       [](Command& c, const std::string&) {
         c.forward_to_compiler = c.forward_to_linker = true;
         return "";
       },
       "both"},
      {"-pthread", "", none, nothing(), "always on"},

      // Warnings
      {"--disable-warnings", "-w", none, nothing(), "warnings are not shown"},
      {"--Werror", "-Werror", list, nothing(), "warnings are not shown"},
      {"--Wreorder", "-Wreorder", none, nothing(), "warnings are not shown"},
      {"--Wdefault-stream-launch", "-Wdefault-stream-launch", none, nothing(), "warnings are not shown"},
      {"--Wmissing-launch-bounds", "-Wmissing-launch-bounds", none, nothing(), "warnings are not shown"},
      {"--Wext-lambda-captures-this", "-Wext-lambda-captures-this", none, nothing(), "warnings are not shown"},
      {"--Wno-deprecated-declarations", "-Wno-deprecated-declarations", none, nothing(), "warnings are not shown"},
      {"--Wno-deprecated-gpu-targets", "-Wno-deprecated-gpu-targets", none, nothing(), "warnings are not shown"},
      {"-Wall", "", none, nothing(), "warnings are not shown"},
      {"-Wextra", "", none, nothing(), "warnings are not shown"},
      {"--display-error-number", "-err-no", none, nothing(), kAsIs},
      {"--no-display-error-number", "-no-err-no", none, nothing(), kAsIs},
      {"--diag-error", "-diag-error", list, nothing(), "warnings are not shown"},
      {"--diag-suppress", "-diag-suppress", list, nothing(), "warnings are not shown"},
      {"--diag-warn", "-diag-warn", list, nothing(), "warnings are not shown"},
      {"--brief-diagnostics", "-brief-diag", one, nothing(), kAsIs},
      {"--resource-usage", "-res-usage", none, nothing(), "there is no ptxas"},

      // The command itself
      {"--verbose", "-v", none, set_flag(&Command::verbose), "print the commands"},
      {"--dryrun", "-dryrun", none, set_flag(&Command::dry_run), "print them, and run none"},
      {"--version", "-V", none, set_flag(&Command::version), "the version"},
      {"--help", "-h", none, set_flag(&Command::help), "this list"},
      {"--list-gpu-arch", "-arch-ls", none, set_flag(&Command::list_architectures),
       "compute_90, compute_100 and compute_103"},
      {"--list-gpu-code", "-code-ls", none, set_flag(&Command::list_code), "sm_90, sm_100 and sm_103"},
      {"--threads", "-t", glued, nothing(), kAsIs},
      {"--split-compile", "-split-compile", one, nothing(), kAsIs},
      {"--split-compile-extended", "-split-compile-extended", one, nothing(), kAsIs},
      {"--jobserver", "-jobserver", none, nothing(), kAsIs},
      {"--keep", "-keep", none, nothing(), "no file is kept: there are few"},
      {"--keep-dir", "-keep-dir", one, nothing(), "no file is kept"},
      {"--save-temps", "-save-temps", none, nothing(), "no file is kept"},
      {"--objdir-as-tempdir", "-objtemp", none, nothing(), kAsIs},
      {"--clean-targets", "-clean", none, refuse("outputs are not removed"), "refused"},
      {"--time", "-time", one, nothing(), kAsIs},
      {"--fdevice-time-trace", "-fdevice-time-trace", one, nothing(), kAsIs},
      {"--fdevice-syntax-only", "-fdevice-syntax-only", none, refuse("use -ptx"), "refused"},
      {"--dont-use-profile", "-noprof", none, nothing(), kAsIs},
      {"--no-compress", "-no-compress", none, nothing(), kAsIs},
      {"--compress-mode", "-compress-mode", one, nothing(), kAsIs},
      {"--qpp-config", "-qpp-config", one, nothing(), kAsIs},
      {"--frandom-seed", "-frandom-seed", one, nothing(), kAsIs},
      {"--compile-as-tools-patch", "-astoolspatch", none, nothing(), kAsIs},
      {"--host-linker-script", "-hls", one, nothing(), kAsIs},
      {"--augment-host-linker-script", "-aug-hls", none, nothing(), kAsIs},
      {"--use-local-env", "-use-local-env", none, nothing(), kAsIs},
      {"--force-cl-env-setup", "-force-cl-env-setup", none, nothing(), kAsIs},
      {"--no-align-double", "", none, nothing(), kAsIs},
      {"--input-drive-prefix", "-idp", one, nothing(), kAsIs},
      {"--dependency-drive-prefix", "-ddp", one, nothing(), kAsIs},
      {"--drive-prefix", "-dp", one, nothing(), kAsIs},
  };
}

Result<void> add_expanded(const Words& words, Words& out, int depth) {
  constexpr int kDeepest = 10;
  const auto add_file = [&](const std::string& path) -> Result<void> {
    if (depth > kDeepest) return error(fmt::format("{}: files of options include each other", path));
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return error(fmt::format("{}: no such file of options", path));
    return add_expanded(split_words(read_file(path)), out, depth + 1);
  };
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string& word = words[k];
    std::optional<std::string> files;
    if (word.size() > 1 && word[0] == '@') files = word.substr(1);
    for (const std::string_view name : {"--options-file", "-optf"}) {
      if (word == name && k + 1 < words.size()) files = words[++k];
      if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
        files = word.substr(name.size() + 1);
    }
    if (!files) {
      out.push_back(word);
      continue;
    }
    for (const std::string& file : split_list(*files)) {
      if (auto added = add_file(file); !added) return added;
    }
  }
  return {};
}

class Reader {
 public:
  using Explain = std::function<std::string(const std::string& word)>;
  explicit Reader(const Words& words, Explain unknown = {}) : words_(words), explain_unknown_(std::move(unknown)) {}

  Result<NvccCommand> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      const std::string problem = word.starts_with('-') && word.size() > 1 ? read_option(word) : read_file_name(word);
      if (!problem.empty()) return error(problem);
    }
    choose_architecture(command_);
    return std::move(command_);
  }

 private:
  std::string read_file_name(const std::string& word) {
    command_.build.sources.push_back(word);
    return "";
  }

  std::string read_option(const std::string& word) {
    const NvccOption* glued = nullptr;
    std::string rest;
    for (const NvccOption& option : nvcc_options()) {
      for (const std::string_view name : {option.name, option.brief}) {
        if (name.empty() || !word.starts_with(name)) continue;
        if (word.size() == name.size()) return act(option, std::string(name));
        const std::string value = word.substr(name.size());
        if (option.value != NvccValue::none && value[0] == '=') return say(option, std::string(name), value.substr(1));
        // -lineinfo is no library: other rows may match the word as a whole.
        if (option.value == NvccValue::glued && name.size() == 2 && !glued) {
          glued = &option;
          rest = value;
        }
      }
    }
    if (glued) return say(*glued, std::string(glued->brief), rest);
    return unknown(word);
  }

  std::string act(const NvccOption& option, const std::string& name) {
    if (option.value == NvccValue::none) return say(option, name, "");
    if (at_ >= words_.size()) return fmt::format("{}: a value must follow", name);
    return say(option, name, words_[at_++]);
  }

  std::string say(const NvccOption& option, const std::string& name, const std::string& value) {
    const std::string problem = option.act(command_, value);
    if (problem.empty()) return "";
    return value.empty() ? fmt::format("{}: {}", name, problem) : fmt::format("{}={}: {}", name, value, problem);
  }

  std::string unknown(const std::string& word) {
    if (command_.forward_to_compiler || forwards("-forward-unknown-to-host-compiler")) {
      command_.build.extra_flags.push_back(word);
      return "";
    }
    if (command_.forward_to_linker || forwards("-forward-unknown-to-host-linker")) {
      command_.build.link_flags.push_back(word);
      return "";
    }
    if (explain_unknown_) return explain_unknown_(word);
    return fmt::format("{}: unknown option (`fabricbench dev nvcc --help` lists them; -Xcompiler passes one on)", word);
  }
  // The option counts for words before it, too.
  bool forwards(std::string_view option) const {
    return std::ranges::any_of(words_, [&](const std::string& word) {
      return word == option || word == "-" + std::string(option) || word.ends_with("-forward-unknown-opts");
    });
  }

  const Words& words_;
  Explain explain_unknown_;
  size_t at_ = 0;
  NvccCommand command_;
};

}  // namespace

const std::vector<NvccOption>& nvcc_options() {
  static const std::vector<NvccOption> options = make_options();
  return options;
}

Result<std::vector<std::string>> expand_words(const std::vector<std::string>& words, const std::string& prepended,
                                              const std::string& appended) {
  Words all = split_words(prepended), out;
  add(all, words);
  const Words last = split_words(appended);
  add(all, last);
  if (auto added = add_expanded(all, out, 0); !added) return std::unexpected(std::move(added.error()));
  return out;
}

Result<void> check_files(const ProgramBuild& build) {
  for (const std::string& source : build.sources) {
    if (kind_of_file(source, build.language) == FileKind::unknown)
      return error(fmt::format("{}: not a source file (expected .cu, .cpp, .cc, .cxx, .c, .o, .a or .so)", source));
  }
  return {};
}

Result<NvccCommand> parse_nvcc_words(const std::vector<std::string>& words) { return Reader(words).read(); }

Result<ProgramBuild> parse_compiler_words(const std::vector<std::string>& words,
                                          const std::function<std::string(const std::string&)>& unknown) {
  auto expanded = expand_words(words, "", "");
  if (!expanded) return std::unexpected(std::move(expanded.error()));
  auto command = Reader(*expanded, unknown).read();
  if (!command) return std::unexpected(std::move(command.error()));
  if (auto good = check_files(command->build); !good) return std::unexpected(std::move(good.error()));
  if (command->phase != NvccPhase::link || command->build.shared)
    return error("exec makes a program and runs it; `fabricbench dev nvcc` makes objects and libraries");
  if (!command->output.empty())
    return error(fmt::format("-o {}: exec keeps no program; use `fabricbench dev nvcc`", command->output));
  return std::move(command->build);
}

}  // namespace fb::toolchain
