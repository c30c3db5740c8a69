#pragma once

// One source after the other becomes an object, through the cache.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/compile.h"
#include "toolchain/compile/locate.h"
#include "toolchain/compile/program_build.h"

namespace fb::toolchain {

// What is done with a file of the command line.
enum class FileKind : uint8_t { cuda, cpp, c, linked, unknown };
FileKind kind_of_file(const std::string& path, const std::string& language);

class ObjectBuilder {
 public:
  // `request` outlives this.
  ObjectBuilder(const ProgramBuild& request, Locations where);

  // Further flags of every compiler run; MPI's.
  void add_flags(const std::vector<std::string>& flags);
  // The key of the source's object: the same inputs and flags give the same key. Files to be linked have one, too.
  Result<std::string> object_of(const std::string& source);
  // The file of an object; compiled again if the cache's entry is damaged.
  Result<std::string> file_of(const std::string& key, const std::string& source);
  // The user's files that the source's object was made from, the source first. After object_of.
  std::vector<std::string> dependencies_of(const std::string& key) const;

  DeviceCompile unit_of(const std::string& source) const;
  bool compiled() const { return compiled_; }
  Cache& cache() { return cache_; }
  const Locations& where() const { return where_; }
  const std::string& identity() const { return identity_; }
  const std::string& scratch() const { return scratch_.path(); }

 private:
  struct Manifest {
    std::string object;
    std::vector<std::string> files;
  };
  std::optional<Manifest> read_manifest(const std::string& text) const;
  Result<std::string> compile(const DeviceCompile& unit, const std::string& key);

  const ProgramBuild& request_;
  Locations where_;
  std::string identity_;
  Cache cache_;
  TempDir scratch_;
  std::vector<std::string> more_flags_;
  std::map<std::string, std::string> ready_;                      // an object's key → its file
  std::map<std::string, std::vector<std::string>> dependencies_;  // an object's key → files
  bool compiled_ = false;
};

// Errors of one source, with its name in every message.
Errors named_errors(const Errors& errors, const std::string& source);

}  // namespace fb::toolchain
