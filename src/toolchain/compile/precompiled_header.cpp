#include "toolchain/compile/precompiled_header.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>

#include "common/base/checksum.h"
#include "common/base/content_hash.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/cccl.h"
#include "toolchain/compile/words.h"
#include "toolchain/source/user_files.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

// Macros that headers may test. Others are defined after the precompiled header, so that -DN=4 and -DN=8 share one.
bool concerns_headers(const std::string& define) {
  return define.starts_with('_') || define.starts_with("NDEBUG") || define.starts_with(kOwnDefaultStream);
}

bool is_whole(const Cache& cache, const std::string& file, const std::string& key) {
  const auto expected = cache.get(key);
  if (!expected) return false;
  try {
    return checksum(read_file(file)) == *expected;
  } catch (const std::system_error&) {
    return false;
  }
}

// The text of the header: headers that do not depend on macros defined before them, such as <vector> or <cuda/atomic>;
// others (<sys/socket.h>, a library's) may.
std::string prelude_text(const DeviceCompile& unit, const std::string& sdk) {
  std::string text = "#include <cuda_runtime.h>\n";
  std::optional<bool> own_setup;  // reads all of the user's files
  for (const auto& name : find_user_files(unit.source, unit.include_dirs).other_includes) {
    if (name.starts_with('/') || name.find("..") != std::string::npos) continue;
    if (!unit.ahead.empty() && std::ranges::find(unit.ahead, name) == unit.ahead.end()) continue;
    const bool standard = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    if (is_of_cccl(name)) {
      if (!own_setup) own_setup = sets_up_cccl(unit);
      if (!*own_setup) text += fmt::format("#if __has_include(<{0}>)\n#include <{0}>\n#endif\n", name);
    } else if (standard || access(fmt::format("{}/include/{}", sdk, name).c_str(), R_OK) == 0)
      text += fmt::format("#include <{}>\n", name);
  }
  return text;
}

// There are many sets of headers; the most recently used ones are kept.
void keep_the_latest(const std::string& folder) {
  constexpr size_t kMost = 40;
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code gone;
    if (entry.path().extension() == ".pch") all.emplace_back(entry.last_write_time(gone), entry.path());
  }
  std::ranges::sort(all, std::greater<>());
  for (size_t i = kMost; i < all.size(); ++i) fs::remove(all[i].second, failed);
}

}  // namespace

std::optional<PrecompiledHeader> precompiled_header(const Cache& cache, const Locations& where,
                                                    const std::string& identity, const DeviceCompile& unit, Side side) {
  if (!cache.keeps() || !unit.include_runtime) return std::nullopt;
  DeviceCompile prelude;
  prelude.standard = unit.standard;
  prelude.optimisation = unit.optimisation;
  prelude.gpu_arch = unit.gpu_arch;
  prelude.arithmetic = unit.arithmetic;
  prelude.shared = unit.shared;
  prelude.relocatable = unit.relocatable;
  prelude.cccl = unit.cccl;
  prelude.whole_libcudacxx = unit.whole_libcudacxx;
  prelude.include_runtime = false;
  for (const auto& define : unit.defines) {
    if (concerns_headers(define)) prelude.defines.push_back(define);
  }
  auto flags = language_flags(prelude, where.sdk);
  const auto of_side = side == Side::device ? device_flags(prelude) : host_flags(prelude);
  add(flags, of_side);
  add(flags, unit.extra_flags);
  flags.emplace_back("-fpch-instantiate-templates");  // once instead of in every file

  const std::string text = prelude_text(unit, where.sdk);
  auto words = flags;
  add(words, {"precompiled header 2", identity, text});
  const std::string key = hash_words(words);
  PrecompiledHeader header{cache.path_of(key + ".pch"), cache.path_of(fmt::format("prelude-{}.h", hash_bytes(text)))};
  if (is_whole(cache, header.file, key)) {
    utimensat(AT_FDCWD, header.file.c_str(), nullptr, 0);  // used now
    return header;
  }

  try {
    const TempDir scratch;
    const std::string made = scratch.path() + "/header.pch";
    const std::string fresh = fmt::format("{}.{}", header.file, getpid());
    write_once(header.text, text);
    keep_the_latest(cache.folder());
    Words command = {where.compiler};
    add(command, flags);
    add(command, {"-Xclang", "-emit-pch", side == Side::device ? "-S" : "-c", "-o", made, header.text});
    Invocation invocation{command, {where.sdk + "/include", header.text}, {scratch.path()}};
    if (!unit.cccl.empty()) invocation.reads.push_back(unit.cccl);
    const ProcessResult run = run_command(wrapped(unit.wrapper, invocation), unit.time_limits.wall);
    if (run.exit_code != 0) return std::nullopt;
    const std::string bytes = read_file(made);
    Cache writable = cache;
    writable.put(key, checksum(bytes));
    write_file(fresh, bytes);
    fs::rename(fresh, header.file);
  } catch (const std::system_error&) {
    return std::nullopt;  // no disk space: slower, not wrong
  }
  return header;
}

}  // namespace fb::toolchain
