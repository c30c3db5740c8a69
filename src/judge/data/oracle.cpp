#include "judge/data/oracle.h"

#include <dlfcn.h>
#include <fabricbench/oracle.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "common/base/content_hash.h"
#include "common/base/interruption.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

// Compiles into `output`; from the cache where it was compiled before.
Result<void> build(const catalog::Problem& problem, const std::string& output) {
  const auto where = toolchain::locate();
  if (!where) return std::unexpected(where.error());
  const std::string headers = where->sdk + "/include/fabricbench/";
  toolchain::Cache cache = toolchain::Cache::of_user();
  const std::vector<std::string> flags = {
      "-std=c++20", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"};
  std::vector<std::string> identity = {"oracle 2",
                                       where->compiler,
                                       read_file(problem.oracle),
                                       problem.mathematics,
                                       read_file(headers + "oracle.h"),
                                       read_file(headers + "products.h")};
  identity.insert(identity.end(), flags.begin(), flags.end());
  const std::string key = hash_words(identity);
  if (const auto kept = cache.get(key)) {
    write_file(output, *kept);
    return {};
  }
  // The compiler's own temporary files go into the folder, which is removed even where the compiler is killed.
  const std::string scratch = "TMPDIR=" + std::filesystem::path(output).parent_path().string();
  std::vector<std::string> command = {"/usr/bin/env", scratch, where->compiler};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-I" + where->sdk + "/include", problem.oracle, "-o", output});
  const auto compiled = run_command(command, std::chrono::seconds(60));
  if (compiled.exit_code != 0) return error(fmt::format("oracle.cpp does not compile:\n{}", compiled.output));
  cache.put(key, read_file(output));
  return {};
}

}  // namespace

Result<Oracle> Oracle::load(const catalog::Problem& problem) {
  const InterruptionGuard guard;
  const TempDir folder;
  const std::string path = folder.path() + "/oracle.so";
  if (auto built = build(problem, path); !built) return std::unexpected(std::move(built.error()));
  Oracle oracle;
  oracle.name_ = problem.name;
  oracle.library_ = std::shared_ptr<void>(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* library) {
    if (library != nullptr) dlclose(library);
  });
  if (!oracle.library_) return error(fmt::format("the oracle can't be loaded: {}", dlerror()));
  oracle.function_ = reinterpret_cast<Function>(dlsym(oracle.library_.get(), "fabricbench_oracle"));
  if (oracle.function_ == nullptr) return error("oracle.cpp has no FABRICBENCH_ORACLE(…)");
  return oracle;
}

void Oracle::call(uint32_t task, fabricbench::oracle::RawCase& raw) const {
  std::array<char, 512> message{};
  if (function_(task, &raw, message.data(), message.size()) != 0)
    throw std::runtime_error(fmt::format("the oracle of {} failed: {}", name_, message.data()));
}

void Oracle::fill(fabricbench::oracle::RawCase& raw) const {
  call(static_cast<uint32_t>(fabricbench::oracle::Task::fill), raw);
}

void Oracle::expect(fabricbench::oracle::RawCase& raw) const {
  call(static_cast<uint32_t>(fabricbench::oracle::Task::expect), raw);
}

}  // namespace fb::judge
