#include "toolchain/driver/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/base/content_hash.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "toolchain/compile/locate.h"
#include "toolchain/compile/object_builder.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/device_link.h"
#include "toolchain/driver/mpi.h"

namespace fb::toolchain {
namespace {

void write_program(const std::string& output, std::string_view program) {
  write_file(output, program);
  if (chmod(output.c_str(), 0755) != 0) throw std::system_error(errno, std::generic_category(), "chmod " + output);
}

class ProgramBuilder {
 public:
  ProgramBuilder(const ProgramBuild& request, Locations where, std::string libraries)
      : request_(request), objects_(request, std::move(where)), libraries_(std::move(libraries)) {}

  Result<BuiltProgram> build(const std::string& output) {
    if (request_.mpi) {
      auto compile = ask_mpi(request_.mpi_compiler, "compile");
      auto link = compile ? ask_mpi(request_.mpi_compiler, "link") : compile;
      if (!link) return std::unexpected(link.error());
      objects_.add_flags(*compile);
      mpi_link_ = std::move(*link);
    }
    Words keys;
    for (const auto& source : request_.sources) {
      auto object = objects_.object_of(source);
      if (!object) return std::unexpected(named_errors(object.error(), source));
      keys.push_back(std::move(*object));
    }
    return link(keys, output);
  }

 private:
  // Libraries may need each other, as nvcc allows.
  Words libraries() const {
    Words words;
    if (observes(request_)) words.emplace_back("-lfabricbench_contact");
    for (const auto& library : request_.libraries) words.push_back("-l" + library);
    add(words, mpi_link_);
    words.push_back("-L" + libraries_);
    if (request_.runtime) add(words, {"-lcudart", "-lcuda"});
    add(words, {"-Wl,-rpath," + libraries_, "-lpthread", "-ldl", "-lrt"});
    return words;
  }

  Result<BuiltProgram> link(const Words& keys, const std::string& output) {
    Words flags = {"-fuse-ld=lld", "-pthread"};
    if (request_.shared) flags.push_back("-shared");
    for (const auto& dir : request_.library_dirs) flags.push_back("-L" + dir);
    add(flags, request_.extra_flags);
    add(flags, request_.link_flags);

    Words words = {"program 2", objects_.identity()};
    add(words, keys);
    add(words, flags);
    add(words, libraries());
    add(words, hashes_of_static_libraries());
    const std::string key = hash_words(words);
    BuiltProgram built;
    if (const auto program = objects_.cache().get(key)) {
      write_program(output, *program);
      built.from_cache = !objects_.compiled();
      return built;
    }
    Words files;
    for (size_t i = 0; i < keys.size(); ++i) {
      auto path = objects_.file_of(keys[i], request_.sources[i]);
      if (!path) return std::unexpected(named_errors(path.error(), request_.sources[i]));
      files.push_back(std::move(*path));
    }
    if (auto linked = link_device(files); !linked) return std::unexpected(std::move(linked.error()));
    Words command = {objects_.where().compiler};
    add(command, flags);
    add(command, {"-o", output, "-Wl,--start-group"});
    add(command, files);
    add(command, libraries());
    command.emplace_back("-Wl,--end-group");
    const ProcessResult run = run_command(command, request_.time_limit);
    if (run.timed_out) return error(fmt::format("the linker was stopped after {} s", request_.time_limit.count()));
    if (run.exit_code != 0) return error(fmt::format("the program does not link:\n{}", trim(run.output)));
    objects_.cache().put(key, read_file(output));
    objects_.cache().trim();
    if (!objects_.cache().problem().empty())
      built.note = fmt::format("nothing is cached: {}", objects_.cache().problem());
    return built;
  }

  // Shared ones may change without the program.
  Words hashes_of_static_libraries() const {
    Words hashes;
    for (const auto& library : request_.libraries) {
      for (const auto& dir : request_.library_dirs) {
        const std::string path = fmt::format("{}/lib{}.a", dir, library);
        if (access(path.c_str(), R_OK) == 0) hashes.push_back(hash_bytes(read_file(path)));
      }
    }
    return hashes;
  }

  // Adds the object that registers device code of several files, if there is any.
  Result<void> link_device(Words& files) {
    if (!request_.device_link) return {};
    const DeviceLink request{.files = files,
                             .library_dirs = request_.library_dirs,
                             .libraries = request_.libraries,
                             .compiler = objects_.where().compiler,
                             .time_limit = request_.time_limit};
    const std::string object = objects_.scratch() + "/device_link.o";
    const auto linked = link_device_code(request, object);
    if (!linked) {
      Errors errors("the device code does not link:");
      errors.list.insert(errors.list.end(), linked.error().list.begin(), linked.error().list.end());
      return std::unexpected(std::move(errors));
    }
    if (*linked) files.insert(files.begin(), object);
    return {};
  }

  const ProgramBuild& request_;
  ObjectBuilder objects_;
  std::string libraries_;
  Words mpi_link_;
};

}  // namespace

Result<BuiltProgram> build_program(const ProgramBuild& request, const std::string& output) {
  if (request.sources.empty()) return error("no source file");
  auto where = locate(request.device_compiler);
  if (!where) return std::unexpected(where.error());
  auto libraries = locate_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  return ProgramBuilder(request, std::move(*where), std::move(*libraries)).build(output);
}

}  // namespace fb::toolchain
