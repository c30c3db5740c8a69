#include "toolchain/compile/compile_both.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include "common/base/temp_dir.h"
#include "toolchain/compile/cccl.h"
#include "toolchain/compile/diagnostics.h"
#include "toolchain/compile/identity.h"
#include "toolchain/compile/precompiled_header.h"
#include "toolchain/compile/words.h"

namespace fb::toolchain {
namespace {

// Writes `content` to the FIFO `path` once a reader has opened it; gives up when `reader_ended`.
void feed(const std::string& path, std::string_view content, const std::future<Result<void>>& reader) {
  const auto reader_ended = [&] { return reader.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
  int fd = -1;
  while ((fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO && !reader_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (fd < 0) return;
  while (!content.empty() && !reader_ended()) {
    const ssize_t wrote = write(fd, content.data(), content.size());
    if (wrote > 0) content.remove_prefix(static_cast<size_t>(wrote));
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) break;
    pollfd room{fd, POLLOUT, 0};
    poll(&room, 1, 10);
  }
  close(fd);
}

class Sides {
 public:
  Sides(BothCompile request, const Cache& cache, const Locations& where, const std::string& identity)
      : request_(std::move(request)), cache_(cache), where_(where), identity_(identity) {
    choose_cccl(request_.unit, where.sdk, cache.keeps() ? cache.folder() : scratch_.path());
  }

  Result<std::string> compile() {
    auto done = compile_with(Headers::precompiled);
    return !done && blames_header(done.error()) ? compile_with(Headers::as_text) : done;
  }

  // What clang says of a device's lambda that a concept asks about in host code.
  static bool blames_lambda(const Errors& errors) {
    return std::ranges::any_of(errors.list, [](const Diagnostic& d) {
      return d.message.find("constraints not satisfied") != std::string::npos;
    });
  }
  // What clang says of a class that converts to a pointer in two ways, or of an overloaded function, behind a plus.
  static bool blames_plus(const Errors& errors) {
    return std::ranges::any_of(errors.list, [](const Diagnostic& d) {
      return d.message.find("to unary expression") != std::string::npos ||
             d.message.find("cannot take the address of an rvalue") != std::string::npos ||
             d.message.find("address of bit-field") != std::string::npos ||
             d.message.find("overloaded function could not be resolved") != std::string::npos ||
             d.message.find("use of overloaded operator '+' is ambiguous") != std::string::npos;
    });
  }
  void keep_declared_casts() { request_.unit.declared_casts = true; }

  void let_lambdas_be_hosts() { request_.unit.host_lambdas = true; }

  // Whether clang refuses forms that can be put otherwise at their places: shared variables with a constructor or
  // destructor (nvcc warns and runs neither), and names of types without "typename".
  bool blames_places(const Errors& errors) {
    bool found = false;
    for (const Diagnostic& d : errors.list) {
      if (d.message.find("initialization is not supported for __shared__ variables") == std::string::npos &&
          d.message.find("missing 'typename' prior to dependent type name") == std::string::npos)
        continue;
      found |= request_.unit.refused_places.insert(place_of(d, request_.unit.source)).second;
    }
    return found;
  }

 private:
  enum class Headers : uint8_t { precompiled, as_text };

  // The host side reads the PTX last, from a FIFO; by then it is usually complete.
  Result<std::string> compile_with(Headers headers) {
    DeviceCompile unit = request_.unit;
    const bool device = unit.kernels;
    HostCompile host{.unit = unit, .ptx = device ? request_.stem + ".ptx" : "", .object = request_.stem + ".o"};
    add(host.unit.extra_flags, request_.host_only_flags);
    host.unit.dependencies = request_.stem + ".host.d";
    unit.dependencies = request_.stem + ".device.d";
    if (device) {
      unlink(host.ptx.c_str());
      if (mkfifo(host.ptx.c_str(), 0600) != 0) {
        throw std::system_error(errno, std::generic_category(), "mkfifo " + host.ptx);
      }
    }
    headers_ = {};
    auto of_host = std::async(std::launch::async, [&]() -> Result<void> {
      if (headers == Headers::precompiled) use_header(host.unit, Side::host, headers_.host);
      return compile_host(host);
    });
    if (!device) {
      if (auto done = of_host.get(); !done) return std::unexpected(std::move(done.error()));
      return std::string();
    }
    Result<std::string> ptx = error("");
    try {
      const bool by_clang = unit.device_compiler == DeviceCompiler::clang;
      if (headers == Headers::precompiled && by_clang) use_header(unit, Side::device, headers_.device);
      ptx = compile_to_ptx(unit);
    } catch (...) {
      feed(host.ptx, "", of_host);
      throw;
    }
    // The runtime reads the text as a C string.
    feed(host.ptx, ptx ? *ptx + '\0' : "", of_host);
    auto done = of_host.get();
    if (ptx && !done) return std::unexpected(std::move(done.error()));
    return ptx;
  }

  // A precompiled header that clang rejects or crashes on is not the user's error: compile without it.
  bool blames_header(const Errors& errors) const {
    const auto names = [](const Diagnostic& d, const std::string& file) {
      return !file.empty() && d.message.find(file) != std::string::npos;
    };
    const bool found = std::ranges::any_of(errors.list, [&](const Diagnostic& d) {
      return names(d, headers_.host) || names(d, headers_.device) || d.message.starts_with("the compiler failed");
    });
    if (!found || !cache_.keeps()) return false;
    std::error_code ignored;
    for (const auto& used : {headers_.host, headers_.device}) {
      if (!used.empty()) std::filesystem::remove(used, ignored);
    }
    return true;
  }

  void use_header(DeviceCompile& unit, Side side, std::string& used) const {
    const auto header = precompiled_header(cache_, where_, identity_, unit, side);
    if (!header) return;
    used = unit.precompiled_header = header->file;
    unit.reads.push_back(header->text);
  }

  BothCompile request_;
  const TempDir scratch_;
  const Cache& cache_;
  const Locations& where_;
  const std::string& identity_;
  struct {
    std::string host, device;
  } headers_;
};

}  // namespace

Result<std::string> compile_both(const BothCompile& request, const Cache& cache, const Locations& where,
                                 const std::string& identity) {
  Sides sides(request, cache, where, identity);
  auto done = sides.compile();
  if (!done && Sides::blames_plus(done.error())) {
    sides.keep_declared_casts();
    done = sides.compile();
  }
  if (!done && sides.blames_places(done.error())) {
    auto again = sides.compile();
    if (again) return again;
    if (Sides::blames_lambda(again.error())) done = std::move(again);
  }
  if (!done && Sides::blames_lambda(done.error())) {
    sides.let_lambdas_be_hosts();
    // The first messages are about the source as it is.
    auto again = sides.compile();
    if (again) return again;
  }
  return done;
}

Result<std::string> ptx_of(const DeviceCompile& unit) {
  const auto where = locate(unit.device_compiler);
  if (!where) return std::unexpected(where.error());
  const TempDir scratch;
  return compile_both({.unit = unit, .stem = scratch.path() + "/unit"}, Cache(), *where, identity_of(*where));
}

}  // namespace fb::toolchain
