#include "toolchain/compile/object_builder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "common/base/content_hash.h"
#include "common/base/installed.h"
#include "common/base/strings.h"
#include "toolchain/compile/cccl.h"
#include "toolchain/compile/compile_both.h"
#include "toolchain/compile/identity.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/kernel_names.h"
#include "toolchain/device/relocatable.h"

namespace fb::toolchain {
namespace {

constexpr const char* kDefaultStandard = "c++17";  // nvcc's

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

struct Ending {
  std::string_view text;
  FileKind kind;
};
constexpr std::array<Ending, 12> kEndings = {{{".cu", FileKind::cuda},
                                              {".cup", FileKind::cuda},
                                              {".cpp", FileKind::cpp},
                                              {".cc", FileKind::cpp},
                                              {".cxx", FileKind::cpp},
                                              {".c++", FileKind::cpp},
                                              {".C", FileKind::cpp},
                                              {".c", FileKind::c},
                                              {".o", FileKind::linked},
                                              {".obj", FileKind::linked},
                                              {".a", FileKind::linked},
                                              {".so", FileKind::linked}}};

}  // namespace

FileKind kind_of_file(const std::string& path, const std::string& language) {
  FileKind kind = FileKind::unknown;
  for (const Ending& ending : kEndings) {
    if (path.ends_with(ending.text)) kind = ending.kind;
  }
  if (path.find(".so.") != std::string::npos) kind = FileKind::linked;
  if (kind == FileKind::linked || language.empty()) return kind;
  if (language == "cu") return FileKind::cuda;
  return language == "c" ? FileKind::c : FileKind::cpp;
}

Errors named_errors(const Errors& errors, const std::string& source) {
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

ObjectBuilder::ObjectBuilder(const ProgramBuild& request, Locations where)
    : request_(request), where_(std::move(where)), identity_(identity_of(where_)) {
  if (request.use_cache) cache_ = Cache::of_user();
}

void ObjectBuilder::add_flags(const std::vector<std::string>& flags) { add(more_flags_, flags); }

DeviceCompile ObjectBuilder::unit_of(const std::string& source) const {
  DeviceCompile unit;
  const FileKind kind = kind_of_file(source, request_.language);
  unit.source = source;
  unit.include_dirs = request_.include_dirs;
  unit.defines = request_.defines;
  if (!request_.gpu_arch.empty()) unit.gpu_arch = request_.gpu_arch;
  unit.max_registers = request_.max_registers;
  unit.device_compiler = request_.device_compiler;
  unit.arithmetic = request_.arithmetic;
  unit.standard = request_.standard.empty() ? kDefaultStandard : request_.standard;
  unit.cccl = request_.cccl.empty() ? environment("FABRICBENCH_CCCL") : request_.cccl;
  unit.optimisation = request_.optimisation;
  unit.kernels = unit.include_runtime = kind == FileKind::cuda;
  unit.plain_c = kind == FileKind::c;
  unit.observed = observes(request_);
  unit.relocatable = request_.relocatable && unit.kernels;
  unit.extra_flags = more_flags_;
  add(unit.extra_flags, request_.compile_flags);
  unit.time_limits.wall = request_.time_limit;
  return unit;
}

Result<std::string> ObjectBuilder::object_of(const std::string& source) {
  if (access(source.c_str(), R_OK) != 0) return error(std::generic_category().message(errno));
  const std::string text = read_file(source);
  if (kind_of_file(source, request_.language) == FileKind::linked) {
    std::string key = hash_bytes(text) + source.substr(source.rfind('.'));
    ready_[key] = source;
    return key;
  }
  DeviceCompile unit = unit_of(source);
  Words words = {"object 3", identity_, source, text};
  if (!unit.cccl.empty()) words.push_back(cccl_facts(unit.cccl));
  add(words, all_flags(unit, where_.sdk));
  add(words, request_.extra_flags);
  if (unit.relocatable) {
    // Two files of the same name may be linked, and the same file twice, with other macros.
    words.push_back(std::filesystem::absolute(source).lexically_normal().string());
    unit.unique_id = hash_words(words).substr(0, 32);
  }
  const std::string key = hash_words(words);
  if (const auto manifest = cache_.get(key)) {
    if (auto known = read_manifest(*manifest)) {
      known->files.insert(known->files.begin(), source);
      dependencies_[known->object] = std::move(known->files);
      return known->object;
    }
  }
  return compile(unit, key);
}

// First line: the object's key; then "hash path" of the files that were read.
std::optional<ObjectBuilder::Manifest> ObjectBuilder::read_manifest(const std::string& text) const {
  Manifest manifest;
  const auto lines = split(text, '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t space = lines[i].find(' ');
    if (space == std::string_view::npos) continue;
    const std::string path(lines[i].substr(space + 1));
    if (access(path.c_str(), R_OK) != 0 || hash_bytes(read_file(path)) != lines[i].substr(0, space))
      return std::nullopt;
    manifest.files.push_back(path);
  }
  manifest.object = lines[0];
  if (access(cache_.path_of(manifest.object).c_str(), R_OK) != 0) return std::nullopt;
  return manifest;
}

Result<std::string> ObjectBuilder::compile(const DeviceCompile& unit, const std::string& key) {
  compiled_ = true;
  const std::string stem = fmt::format("{}/unit{}", scratch_.path(), ready_.size());
  const BothCompile both{.unit = unit, .host_only_flags = request_.extra_flags, .stem = stem};
  auto done = compile_both(both, cache_, where_, identity_);
  if (!done) return std::unexpected(std::move(done.error()));

  const std::string made = read_file(stem + ".o");
  std::string object = unit.kernels ? with_kernel_names(made) : made;
  if (unit.relocatable) object = with_unique_module_id(std::move(object), unit.unique_id);
  if (object != made) write_file(stem + ".o", object);
  std::string object_key = hash_bytes(object) + ".o";
  ready_[object_key] = stem + ".o";
  std::string manifest = object_key;
  std::set<std::string> read = {unit.source};
  auto& files = dependencies_[object_key] = {unit.source};
  for (const auto* side : {".device.d", ".host.d"}) {
    for (const auto& path : read_dependencies(stem + side)) {
      if (path.starts_with(cache_.folder() + "/") && cache_.keeps()) continue;
      if (!read.insert(path).second) continue;
      manifest += fmt::format("\n{} {}", hash_bytes(read_file(path)), path);
      files.push_back(path);
    }
  }
  cache_.put(object_key, object);
  cache_.put(key, manifest);
  return object_key;
}

Result<std::string> ObjectBuilder::file_of(const std::string& key, const std::string& source) {
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

std::vector<std::string> ObjectBuilder::dependencies_of(const std::string& key) const {
  const auto found = dependencies_.find(key);
  return found == dependencies_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace fb::toolchain
