#include "toolchain/mpi_library.h"

#include <fmt/format.h>

#include <chrono>

#include "base/content_hash.h"
#include "base/process.h"
#include "base/strings.h"
#include "toolchain/cache.h"
#include "toolchain/locate.h"

namespace fb::toolchain {

Result<void> build_mpi_library(const std::string& output, bool use_cache) {
  const auto where = locate();
  if (!where) return std::unexpected(where.error());
  const auto libraries = locate_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  const std::string mpicxx = find_program("mpicxx");
  if (mpicxx.empty()) return error("mpicxx not found in PATH: install it (apt install openmpi-bin libopenmpi-dev)");
  const std::string source = where->sdk + "/mpi/device_pointers.cpp";
  // Open MPI's wrapper and MPICH's are told by different variables which compiler to call.
  const std::vector<std::string> command = {"/usr/bin/env",
                                            "OMPI_CXX=" + where->compiler,
                                            "MPICH_CXX=" + where->compiler,
                                            mpicxx,
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
  std::string words = hash_bytes(read_file(source));
  for (size_t k = 0; k + 1 < command.size(); ++k) words += '\n' + command[k];
  const std::string key = hash_bytes(words) + ".mpi.so";
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
