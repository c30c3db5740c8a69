#include "judge/build/build_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "common/base/content_hash.h"
#include "common/base/numbers.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "judge/build/build_sandbox.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 5> kOutputs = {"candidate.so", "candidate.ptx", "driver.so", "driver.ptx",
                                                      "unsupported.txt"};

Built deliver(const Files& files, const std::string& folder) {
  Built built{.path = folder + "/candidate.so"};
  for (const auto& [name, content] : files) {
    if (name == "unsupported.txt") {
      for (const auto line : split(content, '\n')) {
        if (!line.empty()) built.unsupported.emplace_back(line);
      }
      continue;
    }
    const std::string path = fmt::format("{}/{}", folder, name);
    write_file(path, content);
    if (!name.ends_with(".so")) continue;
    if (chmod(path.c_str(), 0755) != 0) throw std::system_error(errno, std::generic_category(), "chmod " + path);
    if (name == "driver.so") built.driver = path;
  }
  return built;
}

}  // namespace

std::string pack(const Files& files) {
  std::string bytes;
  for (const auto& [name, content] : files) bytes += fmt::format("{} {}\n", name, content.size()).append(content);
  return bytes;
}

std::optional<Files> unpack(std::string_view bytes) {
  Files files;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n'), blank = bytes.find(' ');
    if (end == std::string_view::npos || blank > end) return std::nullopt;
    const std::string_view name = bytes.substr(0, blank);
    const auto length = as_number<size_t>(bytes.substr(blank + 1, end - blank - 1));
    bytes.remove_prefix(end + 1);
    // Names become files of a folder: no others than what builds make.
    if (std::ranges::find(kOutputs, name) == kOutputs.end() || !length || *length > bytes.size()) return std::nullopt;
    if (!files.try_emplace(std::string(name), bytes.substr(0, *length)).second) return std::nullopt;
    bytes.remove_prefix(*length);
  }
  return files;
}

Workplace::Workplace(const BuildRequest& request) {
  fs::create_directory(sources());
  fs::create_directory(outputs());
  write_file(source("candidate"), request.sources.candidate);
  if (!request.sources.driver.empty()) write_file(source("driver"), request.sources.driver);
  write_file(sources() + "/args.h", request.args_header);
}

Result<Built> build_cached(const BuildRequest& request, const std::vector<std::string>& words,
                           const std::function<Result<void>(const Workplace&, const toolchain::Cache&)>& make) {
  const auto begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto cache = request.use_cache ? toolchain::Cache::of_user() : toolchain::Cache();
  const std::string key = hash_words(words);
  if (const auto known = cache.get(key)) {
    if (const auto files = unpack(*known); files && files->contains("candidate.so")) {
      Built built = deliver(*files, request.folder);
      built.from_cache = true;
      built.seconds = since();
      return built;
    }
  }
  const Workplace place(request);
  if (auto done = make(place, cache); !done) {
    return std::unexpected(explain(std::move(done.error()), {place.sources(), place.outputs()}, request.limits));
  }
  Files files;
  for (const std::string unit : {"candidate", "driver"}) {
    for (const std::string& path : {place.object(unit), place.ptx(unit)}) {
      if (fs::exists(path)) files[fs::path(path).filename().string()] = read_file(path);
    }
  }
  if (fs::exists(place.unsupported())) files["unsupported.txt"] = read_file(place.unsupported());
  cache.put(key, pack(files));
  cache.trim();
  Built built = deliver(files, request.folder);
  built.seconds = since();
  return built;
}

Result<void> run_compiler(const toolchain::Wrapper& wrapper, const toolchain::Invocation& invocation,
                          const BuildLimits& limits, const std::function<Errors(std::string_view)>& parse) {
  const auto finished = toolchain::run_limited(wrapper(invocation), time_limits(limits));
  if (!finished) return std::unexpected(finished.error());
  if (finished->exit_code != 0) return std::unexpected(parse(finished->output));
  return {};
}

std::string file_facts(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  return fmt::format("{} {} {}", real.string(), fs::file_size(real, failed),
                     fs::last_write_time(real, failed).time_since_epoch().count());
}

}  // namespace fb::judge
