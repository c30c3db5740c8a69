#include "toolchain/driver/nvcc.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/base/installed.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "toolchain/compile/cccl.h"
#include "toolchain/compile/compile_both.h"
#include "toolchain/compile/locate.h"
#include "toolchain/compile/object_builder.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/device_link.h"
#include "toolchain/driver/mpi.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

// NCCL's largest kernels take minutes on a busy computer.
constexpr std::chrono::seconds kTimeLimit{1800};

std::string quoted(const Words& command) {
  std::string line;
  for (const std::string& word : command) {
    const bool plain = word.find_first_of(" \"'\\()$*;") == std::string::npos;
    line += (line.empty() ? "" : " ") + (plain ? word : fmt::format("\"{}\"", word));
  }
  return line;
}

// The parts of a name in a rule of make.
std::string for_make(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

class Driver {
 public:
  Driver(const NvccCommand& command, const NvccStreams& streams, Locations where)
      : command_(command), build_(with_limit(command.build)), streams_(streams), objects_(build_, std::move(where)) {}

  Result<void> run() {
    if (command_.verbose || command_.dry_run) say_environment();
    if (build_.sources.empty()) return error("no input files");
    if (auto good = check_files(build_); !good) return good;
    for (const std::string& source : build_.sources) {
      if (access(source.c_str(), R_OK) != 0) return error(fmt::format("{}: no such file", source));
    }
    if (build_.mpi) {
      auto flags = ask_mpi(build_.mpi_compiler, "compile");
      if (!flags) return std::unexpected(std::move(flags.error()));
      objects_.add_flags(*flags);
    }
    if (command_.verbose || command_.dry_run) say_commands();
    if (command_.dry_run) return {};
    switch (command_.phase) {
      case NvccPhase::link:
        return link();
      case NvccPhase::compile:
        return compile();
      case NvccPhase::device_link:
        return link_device();
      case NvccPhase::library:
        return make_library();
      case NvccPhase::ptx:
        return write_ptx();
      case NvccPhase::preprocess:
        return preprocess({"-E"});
      case NvccPhase::dependencies:
        return preprocess({command_.system_dependencies ? "-M" : "-MM"});
    }
    return {};
  }

 private:
  static ProgramBuild with_limit(ProgramBuild build) {
    build.time_limit = kTimeLimit;
    return build;
  }

  bool is_source(const std::string& file) const { return kind_of_file(file, build_.language) != FileKind::linked; }
  Words sources() const {
    Words list;
    for (const std::string& file : build_.sources) {
      if (is_source(file)) list.push_back(file);
    }
    return list;
  }

  // -o, or the source's name with another ending, in -odir.
  std::string output_for(const std::string& source, const std::string& ending) const {
    if (!command_.output.empty()) return in_folder(command_.output);
    return in_folder(fs::path(source).stem().string() + ending);
  }
  std::string output_or(const std::string& name) const {
    return in_folder(command_.output.empty() ? name : command_.output);
  }
  std::string in_folder(const std::string& name) const {
    if (command_.output_dir.empty() || fs::path(name).is_absolute()) return name;
    return (fs::path(command_.output_dir) / name).string();
  }

  Result<void> check_one_output() const {
    if (sources().empty()) return error("no source file");
    if (command_.output.empty() || sources().size() == 1) return {};
    return error(fmt::format("-o {}: there are {} sources, and each has an output", command_.output, sources().size()));
  }

  // What build systems look for: the toolkit, its headers and its libraries.
  void say_environment() const {
    const std::string top = locate_toolkit();
    const auto say = [&](std::string_view name, std::string_view value) {
      streams_.log(fmt::format("#$ {}={}", name, value));
    };
    say("_NVVM_BRANCH_", "nvvm");
    say("_SPACE_", " ");
    say("_CUDART_", "cudart");
    say("_HERE_", top + "/bin");
    say("_THERE_", top + "/bin");
    say("_TARGET_SIZE_", "");
    say("_TARGET_DIR_", "");
    say("TOP", top);
    say("NVVMIR_LIBRARY_DIR", top + "/nvvm/libdevice");
    say("LD_LIBRARY_PATH", top + "/lib64:" + environment("LD_LIBRARY_PATH"));
    say("PATH", top + "/bin:" + environment("PATH"));
    say("INCLUDES", fmt::format("\"-I{}/include\"  ", top));
    say("LIBRARIES", "  " + library_words());
  }
  static std::string library_words() { return fmt::format("\"-L{}/lib64\"", locate_toolkit()); }

  void say_commands() const {
    for (const std::string& source : sources()) {
      const DeviceCompile unit = objects_.unit_of(source);
      if (unit.kernels) {
        Words device = {objects_.where().compiler};
        add(device, language_flags(unit, objects_.where().sdk));
        add(device, device_flags(unit));
        add(device, unit.extra_flags);
        std::string arch = unit.gpu_arch;
        if (arch.starts_with("sm_")) arch = "compute_" + arch.substr(3);
        // CMake reads the architecture from these words of cicc.
        streams_.log(fmt::format("#$ : -arch {} ; {} -S {}", arch, quoted(device), source));
      }
      Words host = {objects_.where().compiler};
      add(host, language_flags(unit, objects_.where().sdk));
      add(host, host_flags(unit));
      add(host, unit.extra_flags);
      add(host, build_.extra_flags);
      streams_.log(fmt::format("#$ {} -c {}", quoted(host), source));
    }
    if (command_.phase != NvccPhase::link) return;
    Words command = {objects_.where().compiler, "-pthread"};
    for (const std::string& file : build_.sources) {
      command.push_back(is_source(file) ? fs::path(file).stem().string() + ".o" : file);
    }
    for (const std::string& dir : build_.library_dirs) command.push_back("-L" + dir);
    for (const std::string& library : build_.libraries) command.push_back("-l" + library);
    streams_.log(fmt::format("#$ {} {}{} -lrt -lpthread -ldl -o \"{}\"", quoted(command), library_words(),
                             build_.runtime ? " -lcudadevrt -lcudart_static" : "", output_or("a.out")));
  }

  Result<std::string> object_of(const std::string& source) {
    auto key = objects_.object_of(source);
    if (!key) return std::unexpected(named_errors(key.error(), source));
    return key;
  }
  Result<std::string> file_of(const std::string& key, const std::string& source) {
    auto file = objects_.file_of(key, source);
    if (!file) return std::unexpected(named_errors(file.error(), source));
    return file;
  }

  Result<void> compile() {
    if (auto good = check_one_output(); !good) return good;
    for (const std::string& source : sources()) {
      auto key = object_of(source);
      if (!key) return std::unexpected(std::move(key.error()));
      auto file = file_of(*key, source);
      if (!file) return std::unexpected(std::move(file.error()));
      const std::string output = output_for(source, ".o");
      write_file(output, read_file(*file));
      if (command_.write_dependencies) write_rule(output, objects_.dependencies_of(*key));
    }
    return note_cache();
  }

  void write_rule(const std::string& output, const Words& files) const {
    const std::string target = command_.dependency_target.empty() ? output : command_.dependency_target;
    std::string rule = for_make(target) + ":";
    for (const std::string& file : files) rule += " \\\n  " + for_make(file);
    rule += "\n";
    if (command_.phony_targets) {
      for (size_t k = 1; k < files.size(); ++k) rule += fmt::format("\n{}:\n", for_make(files[k]));
    }
    write_file(
        command_.dependency_file.empty() ? fs::path(output).replace_extension(".d").string() : command_.dependency_file,
        rule);
  }

  // Files of the command line as objects; sources are compiled.
  Result<Words> all_objects() {
    Words files;
    for (const std::string& file : build_.sources) {
      auto key = object_of(file);
      if (!key) return std::unexpected(std::move(key.error()));
      auto object = file_of(*key, file);
      if (!object) return std::unexpected(std::move(object.error()));
      files.push_back(std::move(*object));
    }
    return files;
  }

  Result<void> link() {
    auto built = build_program(build_, output_or("a.out"));
    if (!built) return std::unexpected(std::move(built.error()));
    if (!built->note.empty()) streams_.log(built->note);
    return {};
  }

  Result<void> link_device() {
    const std::string output = output_or("a_dlink.o");
    auto files = all_objects();
    if (!files) return std::unexpected(std::move(files.error()));
    const auto linked = link_device_code({.files = *files,
                                          .library_dirs = build_.library_dirs,
                                          .libraries = build_.libraries,
                                          .compiler = objects_.where().compiler,
                                          .time_limit = kTimeLimit},
                                         output);
    if (!linked) return std::unexpected(linked.error());
    if (*linked) return {};
    // Nothing to be linked: an object all the same, for the linker's command.
    return run_tool({objects_.where().compiler, "-x", "c", "-c", "-o", output, "/dev/null"});
  }

  Result<void> make_library() {
    auto files = all_objects();
    if (!files) return std::unexpected(std::move(files.error()));
    const std::string archiver = find_program("ar");
    if (archiver.empty()) return error("ar not found in PATH: install it (apt install binutils)");
    const std::string output = output_or("a.a");
    // Members are known by the names of their sources.
    const TempDir scratch;
    Words command = {archiver, "rcs"};
    add(command, command_.archiver_options);
    command.push_back(output);
    for (size_t k = 0; k < files->size(); ++k) {
      if (!is_source(build_.sources[k])) {
        command.push_back((*files)[k]);
        continue;
      }
      const std::string named = fmt::format("{}/{}.o", scratch.path(), fs::path(build_.sources[k]).stem().string());
      write_file(named, read_file((*files)[k]));
      command.push_back(named);
    }
    std::error_code ignored;
    fs::remove(output, ignored);
    return run_tool(command);
  }

  Result<void> write_ptx() {
    if (auto good = check_one_output(); !good) return good;
    for (const std::string& source : sources()) {
      DeviceCompile unit = objects_.unit_of(source);
      if (!unit.kernels) return error(fmt::format("{}: no CUDA source (-x cu makes it one)", source));
      unit.unique_id = "0";
      auto ptx = ptx_of(unit);
      if (!ptx) return std::unexpected(named_errors(ptx.error(), source));
      write_file(output_for(source, command_.fatbin ? ".fatbin" : ".ptx"), *ptx);
    }
    return {};
  }

  Result<void> preprocess(const Words& flags) {
    if (auto good = check_one_output(); !good) return good;
    for (const std::string& source : sources()) {
      DeviceCompile unit = objects_.unit_of(source);
      const TempDir scratch;
      choose_cccl(unit, objects_.where().sdk, scratch.path());
      const std::string made = scratch.path() + "/text";
      Words command = {objects_.where().compiler};
      add(command, language_flags(unit, objects_.where().sdk));
      add(command, host_flags(unit));
      add(command, unit.extra_flags);
      add(command, build_.extra_flags);
      add(command, flags);
      if (!command_.dependency_target.empty()) add(command, {"-MT", command_.dependency_target});
      add(command, {"-o", made, "--", source});
      if (auto done = run_tool(command); !done) return done;
      std::string target = command_.output;
      if (target.empty() && command_.phase == NvccPhase::dependencies) target = command_.dependency_file;
      if (target.empty()) {
        streams_.out(read_file(made));
      } else {
        write_file(in_folder(target), read_file(made));
      }
    }
    return {};
  }

  Result<void> run_tool(const Words& command) const {
    const ProcessResult run = run_command(command, kTimeLimit);
    if (run.succeeded()) return {};
    return error(fmt::format("{} failed:\n{}", command[0], trim(run.output)));
  }

  Result<void> note_cache() {
    objects_.cache().trim();
    if (!objects_.cache().problem().empty())
      streams_.log(fmt::format("nothing is cached: {}", objects_.cache().problem()));
    return {};
  }

  const NvccCommand& command_;
  const ProgramBuild build_;
  const NvccStreams& streams_;
  ObjectBuilder objects_;
};

}  // namespace

Result<void> run_nvcc(const NvccCommand& command, const NvccStreams& streams) {
  auto where = locate(command.build.device_compiler);
  if (!where) return std::unexpected(std::move(where.error()));
  return Driver(command, streams, std::move(*where)).run();
}

std::string nvcc_version_text(const std::string& own_version) {
  // CMake looks for the first line's words, other build systems for "release 13.0" and "V13.0.88".
  return fmt::format(
      "nvcc: NVIDIA (R) Cuda compiler driver: its command line, by fabricbench {0}, for virtual GPUs\n"
      "Cuda compilation tools, release 13.0, V13.0.88\n"
      "Build fabricbench_{0}\n",
      own_version);
}

std::string nvcc_help_text() {
  constexpr size_t kColumn = 52;
  std::string text =
      "Usage: fabricbench dev nvcc [OPTIONS] FILE...\n"
      "Makes objects, libraries and programs for the virtual node, from nvcc's command line. Sources: .cu (or any "
      "with\n"
      "-x cu), .cpp .cc .cxx .c; .o .a .so are linked. `fabricbench exec PROGRAM` runs what was made.\n\n"
      "Options (value: =V or the next word):\n";
  for (const NvccOption& option : nvcc_options()) {
    std::string names = fmt::format("  {}", option.name);
    if (!option.brief.empty()) names += fmt::format(", {}", option.brief);
    if (option.value != NvccValue::none) names += option.value == NvccValue::list ? " V,..." : " V";
    text += fmt::format("{:<{}} {}\n", names, kColumn, option.effect);
  }
  return text;
}

}  // namespace fb::toolchain
