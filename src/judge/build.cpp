#include "judge/build.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "base/strings.h"
#include "judge/build_cache.h"
#include "judge/build_sandbox.h"
#include "toolchain/compile_both.h"
#include "toolchain/diagnostics.h"
#include "toolchain/identity.h"
#include "toolchain/locate.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::string_view kExports =
    "{ global: fabricbench_args_words; fabricbench_construct; fabricbench_run; fabricbench_destroy; local: *; };\n";

void add(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error(), "build"));
  return std::move(*result);
}

// The folder that a compiler's program belongs to, where that is not the system's.
std::string toolkit_of(const std::string& program) {
  std::error_code failed;
  const fs::path folder = fs::canonical(program, failed).parent_path().parent_path();
  return failed || folder.string().starts_with("/usr") ? "" : folder.string();
}

toolchain::DeviceCompile unit_of(const BuildRequest& request) {
  toolchain::DeviceCompile unit;
  unit.extra_flags = {"-fno-crash-diagnostics"};
  if (!request.line_tables) unit.extra_flags.emplace_back("-g0");
  unit.time_limits = time_limits(request.limits);
  unit.shared = true;
  // Every candidate has the entry. Of the others those that are slow to read: answers name all kinds of headers.
  unit.ahead = {"fabricbench/entry.h", "fabricbench/peer_memory.h",
                "algorithm",           "cooperative_groups.h",
                "cuda/atomic",         "cuda_bf16.h",
                "cuda_fp16.h"};
  return unit;
}

Result<void> link(const Workplace& place, const std::string& object, const toolchain::Wrapper& wrapper,
                  const toolchain::Locations& where, const std::string& libraries, const BuildLimits& limits) {
  const std::string exports = place.sources() + "/exports.map";
  write_file(exports, kExports);
  const Words command = {where.compiler,
                         "-shared",
                         "-fuse-ld=lld",
                         "-pthread",
                         "-Wl,-z,defs,-z,now,-z,noexecstack,--hash-style=both",
                         "-Wl,--version-script=" + exports,
                         "-o",
                         place.object(),
                         object,
                         "-L" + libraries,
                         "-lcudart",
                         "-lcuda"};
  const toolchain::Invocation invocation{command, {place.sources(), libraries}, {place.outputs()}};
  return run_compiler(wrapper, invocation, limits, [](std::string_view output) {
    // "ld.lld: error: undefined symbol: f()" and lines that say where.
    Errors errors;
    for (const auto line : split(output, '\n')) {
      constexpr std::string_view kError = "ld.lld: error: ";
      if (line.starts_with(kError)) errors.list.push_back({{}, fmt::format("link: {}", line.substr(kError.size()))});
    }
    return errors.list.empty() ? toolchain::parse_diagnostics(output, "") : errors;
  });
}

}  // namespace

Result<Built> build_candidate(const BuildRequest& request) {
  const auto where = or_throw(toolchain::locate());
  const auto libraries = or_throw(toolchain::locate_libraries());
  const std::string identity = toolchain::identity_of(where);
  toolchain::DeviceCompile unit = unit_of(request);
  Words words = {"candidate 1", identity, request.source, request.args_header, std::string(kExports)};
  add(words, toolchain::language_flags(unit, where.sdk));
  add(words, toolchain::device_flags(unit));
  add(words, toolchain::host_flags(unit));
  add(words, unit.extra_flags);
  return build_cached(request, words, [&](const Workplace& place, const toolchain::Cache& cache) -> Result<void> {
    unit.source = place.source();
    unit.reads = {place.sources()};
    unit.wrapper = build_wrapper(request, toolkit_of(where.compiler));
    const toolchain::BothCompile both{.unit = unit, .stem = place.outputs() + "/candidate"};
    if (auto done = toolchain::compile_both(both, cache, where, identity); !done) return done;
    return link(place, both.stem + ".o", unit.wrapper, where, libraries, request.limits);
  });
}

}  // namespace fb::judge
