#include "judge/build/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <filesystem>
#include <stdexcept>

#include "common/base/strings.h"
#include "judge/answer/border.h"
#include "judge/build/build_cache.h"
#include "judge/build/build_sandbox.h"
#include "judge/catalog/libraries.h"
#include "toolchain/compile/compile_both.h"
#include "toolchain/compile/diagnostics.h"
#include "toolchain/compile/identity.h"
#include "toolchain/compile/locate.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/check_ptx.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using toolchain::add;
using toolchain::Words;

// A linker's version script: what an object shows, and nothing else.
std::string exports_of(const Words& symbols) {
  return fmt::format("{{ global: {}; local: *; }};\n", fmt::join(symbols, "; "));
}

const Words kEntry = {"fabricbench_args_words", "fabricbench_construct", "fabricbench_run", "fabricbench_destroy"};

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
  unit.extra_flags = {"-fno-crash-diagnostics", "-D__FABRICBENCH_JUDGED__"};
  unit.gpu_arch = request.gpu_arch;
  unit.device_compiler = request.device_compiler;
  if (!request.line_tables) unit.extra_flags.emplace_back("-g0");
  unit.time_limits = time_limits(request.limits);
  unit.shared = true;
  unit.observed = std::ranges::find(request.libraries, "verbs") != request.libraries.end();
  // Every candidate has the entry. Of the others those that are slow to read: answers name all kinds of headers.
  unit.ahead = {"fabricbench/entry.h", "fabricbench/peer_memory.h",
                "algorithm",           "cooperative_groups.h",
                "cuda/atomic",         "cuda_bf16.h",
                "cuda_fp16.h"};
  return unit;
}

// Why a function of a library that the problem does not allow is not there; empty: it is another one.
std::string library_of(std::string_view undefined) {
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (!undefined.starts_with(kUndefined)) return {};
  const catalog::Library* library = catalog::library_of_symbol(undefined.substr(kUndefined.size()));
  return library == nullptr ? "" : fmt::format(" (this problem does not allow the library {})", library->name);
}

Result<void> link(const Workplace& place, const std::string& unit, const Words& symbols,
                  const toolchain::Wrapper& wrapper, const toolchain::Locations& where, const std::string& libraries,
                  const BuildRequest& request) {
  const std::string exports = place.sources() + "/" + unit + ".map";
  write_file(exports, exports_of(symbols));
  Words command = {where.compiler,
                   "-shared",
                   "-fuse-ld=lld",
                   "-pthread",
                   "-Wl,-z,defs,-z,now,-z,noexecstack,--hash-style=both",
                   "-Wl,--version-script=" + exports,
                   "-o",
                   place.object(unit),
                   place.outputs() + "/" + unit + ".o",
                   "-L" + libraries,
                   "-lcudart",
                   "-lcuda"};
  for (const std::string& name : request.libraries) command.emplace_back(catalog::find_library(name)->link);
  const toolchain::Invocation invocation{command, {place.sources(), libraries}, {place.outputs()}};
  return run_compiler(wrapper, invocation, request.limits, [](std::string_view output) {
    // "ld.lld: error: undefined symbol: f()" and lines that say where.
    Errors errors;
    for (const auto line : split(output, '\n')) {
      constexpr std::string_view kError = "ld.lld: error: ";
      if (!line.starts_with(kError)) continue;
      const std::string_view what = line.substr(kError.size());
      errors.list.push_back({{}, fmt::format("link: {}{}", what, library_of(what))});
    }
    return errors.list.empty() ? toolchain::parse_diagnostics(output, "") : errors;
  });
}

}  // namespace

Result<Built> build_candidate(const BuildRequest& request) {
  const auto where = or_throw(toolchain::locate(request.device_compiler));
  const auto libraries = or_throw(toolchain::locate_libraries());
  const std::string identity = toolchain::identity_of(where);
  toolchain::DeviceCompile unit = unit_of(request);
  const bool driven = !request.sources.driver.empty();
  Words words = {"candidate 5", identity, request.sources.candidate, request.sources.driver, request.args_header};
  add(words, toolchain::all_flags(unit, where.sdk));
  add(words, request.libraries);
  return build_cached(request, words, [&](const Workplace& place, const toolchain::Cache& cache) -> Result<void> {
    unit.reads = {place.sources()};
    unit.wrapper = build_wrapper(request, toolkit_of(where.compiler));
    const auto make = [&](const std::string& name, const Words& defines, const Words& symbols) -> Result<std::string> {
      toolchain::BothCompile both{.unit = unit, .stem = place.outputs() + "/" + name};
      both.unit.source = place.source(name);
      both.unit.defines = defines;
      auto ptx = toolchain::compile_both(both, cache, where, identity);
      if (!ptx) return ptx;
      fs::remove(place.ptx(name));  // the pipe by which the host side got it
      write_file(place.ptx(name), *ptx);
      const auto unknown = toolchain::check_ptx(*ptx);
      if (!unknown) return std::unexpected(unknown.error());
      if (!unknown->empty()) write_file(place.unsupported(), fmt::format("{}\n", fmt::join(*unknown, "\n")));
      if (auto done = link(place, name, symbols, unit.wrapper, where, libraries, request); !done)
        return std::unexpected(std::move(done.error()));
      return ptx;
    };
    const auto candidate = make("candidate", {}, driven ? border_symbols(request.interface) : kEntry);
    if (!candidate) return std::unexpected(candidate.error());
    if (!driven || fs::exists(place.unsupported())) return {};
    Words defines;
    for (const std::string& object : request.interface.objects()) {
      const auto size = toolchain::words_of_variable(*candidate, size_variable(object));
      if (size.size() != 2) return error(fmt::format("the class {} is not in the device code", object));
      add(defines, object_macros(object, size[0], size[1]));
    }
    Words symbols = kEntry;
    symbols.emplace_back("fabricbench_bind");
    const auto driver = make("driver", defines, symbols);
    // The driver is ours: what does not compile there is not the candidate's fault.
    if (!driver) throw std::runtime_error(to_string(driver.error(), "driver"));
    return toolchain::check_link(*candidate, *driver);
  });
}

}  // namespace fb::judge
