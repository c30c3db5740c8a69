#include "toolchain/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "base/content_hash.h"
#include "base/process.h"
#include "base/strings.h"
#include "base/temp_dir.h"
#include "toolchain/cache.h"
#include "toolchain/compile.h"
#include "toolchain/compile_both.h"
#include "toolchain/identity.h"
#include "toolchain/locate.h"

namespace fb::toolchain {
namespace {

using Words = std::vector<std::string>;

constexpr std::chrono::seconds kTimeLimit{120};

void add(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

// "mpicxx --showme:compile" and the like.
Result<Words> ask_mpi(const std::string& what) {
  const std::string program = find_program("mpicxx");
  if (program.empty()) return error("mpicxx not found in PATH: install it (apt install openmpi-bin libopenmpi-dev)");
  const ProcessResult run = run_command({program, "--showme:" + what}, kTimeLimit);
  if (run.exit_code != 0) return error(fmt::format("{} --showme:{} failed: {}", program, what, trim(run.output)));
  Words words;
  for (const auto word : split(trim(run.output), ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

// Errors of one source, with its name in every message.
Errors named(const Errors& errors, const std::string& source) {
  Errors result;
  for (const auto& [at, message] : errors.list) {
    if (at.line != 0) {
      result.list.push_back({{}, fmt::format("{}:{}:{}: {}", source, at.line, at.column, message)});
    } else {
      result.list.push_back(
          {{}, message.find(':') == std::string::npos ? fmt::format("{}: {}", source, message) : message});
    }
  }
  return result;
}

// The names in a dependency file of clang: "target: a.cu b\ c.h \".
std::vector<std::string> read_dependencies(const std::string& path) {
  std::vector<std::string> names;
  if (access(path.c_str(), R_OK) != 0) return names;
  const std::string text = read_file(path);
  std::string name;
  const auto finish = [&] {
    if (!name.empty()) names.push_back(name);
    name.clear();
  };
  for (size_t i = text.find(": ") + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      if (text[++i] != '\n') name += text[i];
    } else if (c == '$' && i + 1 < text.size()) {
      name += text[++i];
    } else if (c == ' ' || c == '\n') {
      finish();
    } else {
      name += c;
    }
  }
  finish();
  return names;
}

class Builder {
 public:
  Builder(const ProgramBuild& request, Locations where, std::string libraries)
      : request_(request), where_(std::move(where)), libraries_(std::move(libraries)) {
    if (request.use_cache) cache_ = Cache::of_user();
    identity_ = identity_of(where_);
  }

  Result<BuiltProgram> build(const std::string& output) {
    if (request_.mpi) {
      auto compile = ask_mpi("compile");
      auto link = compile ? ask_mpi("link") : compile;
      if (!link) return std::unexpected(link.error());
      mpi_compile_ = std::move(*compile);
      mpi_link_ = std::move(*link);
    }
    Words objects;  // keys
    for (const auto& source : request_.sources) {
      auto object = object_of(source);
      if (!object) return std::unexpected(named(object.error(), source));
      objects.push_back(std::move(*object));
    }
    return link(objects, output);
  }

 private:
  DeviceCompile unit_of(const std::string& source) const {
    DeviceCompile unit;
    unit.source = source;
    unit.include_dirs = request_.include_dirs;
    unit.defines = request_.defines;
    unit.gpu_arch = request_.gpu_arch;
    unit.standard = request_.standard;
    unit.optimisation = request_.optimisation;
    unit.kernels = unit.include_runtime = source.ends_with(".cu");
    unit.extra_flags = mpi_compile_;
    unit.time_limits.wall = kTimeLimit;
    return unit;
  }

  // The key under which the source's object is in objects_ or in the cache.
  Result<std::string> object_of(const std::string& source) {
    if (access(source.c_str(), R_OK) != 0) return error(std::generic_category().message(errno));
    const std::string text = read_file(source);
    if (source.ends_with(".o") || source.ends_with(".a")) {
      std::string key = hash_bytes(text) + source.substr(source.rfind('.'));
      ready_[key] = source;
      return key;
    }
    const DeviceCompile unit = unit_of(source);
    Words words = {"object", identity_, source, text};
    add(words, language_flags(unit, where_.sdk));
    add(words, device_flags(unit));
    add(words, host_flags(unit));
    add(words, unit.extra_flags);
    add(words, request_.extra_flags);
    const std::string key = hash_words(words);
    if (const auto manifest = cache_.get(key)) {
      if (auto object = read_manifest(*manifest)) return *object;
    }
    return compile(unit, key);
  }

  // First line: the object's key; then "hash path" of the files that were read.
  std::optional<std::string> read_manifest(const std::string& manifest) const {
    const auto lines = split(manifest, '\n');
    for (size_t i = 1; i < lines.size(); ++i) {
      const size_t space = lines[i].find(' ');
      if (space == std::string_view::npos) continue;
      const std::string path(lines[i].substr(space + 1));
      if (access(path.c_str(), R_OK) != 0 || hash_bytes(read_file(path)) != lines[i].substr(0, space))
        return std::nullopt;
    }
    std::string object(lines[0]);
    if (access(cache_.path_of(object).c_str(), R_OK) != 0) return std::nullopt;
    return object;
  }

  Result<std::string> compile(const DeviceCompile& unit, const std::string& key) {
    compiled_ = true;
    const std::string stem = fmt::format("{}/unit{}", scratch_.path(), ready_.size());
    const BothCompile both{.unit = unit, .host_only_flags = request_.extra_flags, .stem = stem};
    auto done = compile_both(both, cache_, where_, identity_);
    if (!done) return std::unexpected(std::move(done.error()));

    const std::string object = read_file(stem + ".o");
    std::string object_key = hash_bytes(object) + ".o";
    ready_[object_key] = stem + ".o";
    std::string manifest = object_key;
    std::set<std::string> read = {unit.source};
    for (const auto* side : {".device.d", ".host.d"}) {
      for (const auto& path : read_dependencies(stem + side)) {
        if (path.starts_with(cache_.folder() + "/") && cache_.keeps()) continue;
        if (read.insert(path).second) manifest += fmt::format("\n{} {}", hash_bytes(read_file(path)), path);
      }
    }
    cache_.put(object_key, object);
    cache_.put(key, manifest);
    return object_key;
  }

  Result<BuiltProgram> link(const Words& objects, const std::string& output) {
    Words flags = {"-fuse-ld=lld", "-pthread"};
    for (const auto& dir : request_.library_dirs) flags.push_back("-L" + dir);
    add(flags, request_.extra_flags);
    Words libraries;
    for (const auto& library : request_.libraries) libraries.push_back("-l" + library);
    add(libraries, mpi_link_);
    add(libraries, {"-L" + libraries_, "-lcudart", "-lcuda", "-Wl,-rpath," + libraries_, "-lpthread", "-ldl", "-lrt"});

    Words words = {"program", identity_};
    add(words, objects);
    add(words, flags);
    add(words, libraries);
    const std::string key = hash_words(words);
    BuiltProgram built;
    if (const auto program = cache_.get(key)) {
      write_program(output, *program);
      built.from_cache = !compiled_;
      return built;
    }
    Words command = {where_.compiler};
    add(command, flags);
    add(command, {"-o", output});
    for (size_t i = 0; i < objects.size(); ++i) {
      auto path = path_of(objects[i], request_.sources[i]);
      if (!path) return std::unexpected(named(path.error(), request_.sources[i]));
      command.push_back(std::move(*path));
    }
    add(command, libraries);
    const ProcessResult run = run_command(command, kTimeLimit);
    if (run.timed_out) return error(fmt::format("the linker was stopped after {} s", kTimeLimit.count()));
    if (run.exit_code != 0) return error(fmt::format("the program does not link:\n{}", trim(run.output)));
    cache_.put(key, read_file(output));
    cache_.trim();
    if (!cache_.problem().empty()) built.note = fmt::format("nothing is cached: {}", cache_.problem());
    return built;
  }

  // The file of an object that is only in the cache; compiled again if the entry is damaged.
  Result<std::string> path_of(const std::string& key, const std::string& source) {
    if (const auto found = ready_.find(key); found != ready_.end()) return found->second;
    if (const auto object = cache_.get(key)) {
      std::string path = fmt::format("{}/{}", scratch_.path(), key);
      write_file(path, *object);
      return path;
    }
    auto again = object_of(source);
    if (!again) return again;
    return ready_.at(*again);
  }

  static void write_program(const std::string& output, std::string_view program) {
    write_file(output, program);
    if (chmod(output.c_str(), 0700) != 0) throw std::system_error(errno, std::generic_category(), "chmod " + output);
  }

  const ProgramBuild& request_;
  Locations where_;
  std::string libraries_;
  std::string identity_;
  Cache cache_;
  TempDir scratch_;
  Words mpi_compile_, mpi_link_;
  std::map<std::string, std::string> ready_;  // an object's key → its file
  bool compiled_ = false;
};

}  // namespace

Result<BuiltProgram> build_program(const ProgramBuild& request, const std::string& output) {
  if (request.sources.empty()) return error("no source file");
  auto where = locate();
  if (!where) return std::unexpected(where.error());
  auto libraries = locate_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  return Builder(request, std::move(*where), std::move(*libraries)).build(output);
}

}  // namespace fb::toolchain
