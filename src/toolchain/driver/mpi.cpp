#include "toolchain/driver/mpi.h"

#include <fmt/format.h>

#include <chrono>

#include "common/base/content_hash.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/identity.h"
#include "toolchain/compile/locate.h"

namespace fb::toolchain {
namespace {

Result<std::string> find_wrapper(const std::string& program) {
  std::string path = find_program(program);
  if (path.empty())
    return error(fmt::format("{} not found in PATH: install it (apt install openmpi-bin libopenmpi-dev)", program));
  return path;
}

}  // namespace

Result<Words> ask_mpi(const std::string& program, const std::string& what) {
  constexpr std::chrono::seconds kTimeLimit{60};
  const auto path = find_wrapper(program);
  if (!path) return std::unexpected(path.error());
  const ProcessResult run = run_command({*path, "--showme:" + what}, kTimeLimit);
  if (run.exit_code != 0) return error(fmt::format("{} --showme:{} failed: {}", *path, what, trim(run.output)));
  Words words;
  // Ours comes first: it says that device pointers may be passed.
  if (const auto where = locate(); where && what == "compile") words.push_back("-I" + where->sdk + "/mpi/include");
  for (const auto word : split(trim(run.output), ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

Result<void> build_mpi_library(const std::string& output, bool use_cache) {
  const auto where = locate();
  if (!where) return std::unexpected(where.error());
  const auto libraries = locate_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  const auto mpicxx = find_wrapper("mpicxx");
  if (!mpicxx) return std::unexpected(mpicxx.error());
  const std::string source = where->sdk + "/mpi/device_pointers.cpp";
  // Open MPI's wrapper and MPICH's are told by different variables which compiler to call.
  const Words command = {"/usr/bin/env",
                         "OMPI_CXX=" + where->compiler,
                         "MPICH_CXX=" + where->compiler,
                         *mpicxx,
                         "-std=c++17",
                         "-O1",
                         "-fPIC",
                         "-shared",
                         "-DOMPI_SKIP_MPICXX",
                         "-DMPICH_SKIP_MPICXX",
                         "-I" + where->sdk + "/include",
                         source,
                         "-L" + *libraries,
                         "-lcudart",
                         "-Wl,-rpath," + *libraries,
                         "-o",
                         output};
  Words words(command.begin(), command.end() - 1);  // without the output's name
  // Another installation of MPI needs another library.
  add(words, {read_file(source), file_facts(*mpicxx)});
  const std::string key = hash_words(words) + ".mpi.so";
  Cache cache = use_cache ? Cache::of_user() : Cache();
  if (const auto kept = cache.get(key)) {
    write_file(output, *kept);
    return {};
  }
  constexpr std::chrono::seconds kTimeLimit{120};
  const ProcessResult run = run_command(command, kTimeLimit);
  if (run.exit_code != 0)
    return error(fmt::format("MPI's calls with device pointers do not compile:\n{}", trim(run.output)));
  cache.put(key, read_file(output));
  return {};
}

}  // namespace fb::toolchain
