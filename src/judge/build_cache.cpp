#include "judge/build_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/content_hash.h"
#include "base/process.h"
#include "base/strings.h"
#include "judge/build_sandbox.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

void write_candidate(const std::string& path, std::string_view bytes) {
  write_file(path, bytes);
  if (chmod(path.c_str(), 0755) != 0) throw std::system_error(errno, std::generic_category(), "chmod " + path);
}

}  // namespace

Workplace::Workplace(const BuildRequest& request) {
  fs::create_directory(sources());
  fs::create_directory(outputs());
  write_file(source(), request.source);
  write_file(sources() + "/args.h", request.args_header);
}

Result<Built> build_cached(const BuildRequest& request, const std::vector<std::string>& words,
                           const std::function<Result<void>(const Workplace&, const toolchain::Cache&)>& make) {
  const auto begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto cache = request.use_cache ? toolchain::Cache::of_user() : toolchain::Cache();
  const std::string key = hash_words(words);
  Built built{.path = request.folder + "/candidate.so"};
  if (const auto known = cache.get(key)) {
    write_candidate(built.path, *known);
    built.from_cache = true;
    built.seconds = since();
    return built;
  }
  const Workplace place(request);
  if (auto done = make(place, cache); !done) {
    return std::unexpected(explain(std::move(done.error()), {place.sources(), place.outputs()}, request.limits));
  }
  const std::string bytes = read_file(place.object());
  cache.put(key, bytes);
  cache.trim();
  write_candidate(built.path, bytes);
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
