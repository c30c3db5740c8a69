// fabricbench-confine [--filter NAME] [--data BYTES] … -- COMMAND…: becomes COMMAND (a path), under limits and a filter
// of system calls. `--list` prints the table of calls.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "common/base/numbers.h"
#include "common/sandbox/confine.h"

namespace {

using fb::sandbox::Filter;
using fb::sandbox::Limits;

constexpr int kCannot = 126;

int complain(const char* what, std::string_view about) {
  std::fprintf(stderr, "fabricbench-confine: %s: %.*s\n", what, static_cast<int>(about.size()), about.data());
  return kCannot;
}

bool read_option(std::string_view name, std::string_view value, Limits& limits, Filter& filter) {
  if (name == "--filter") {
    const auto named = fb::sandbox::filter_named(value);
    if (named) filter = *named;
    return named.has_value();
  }
  if (name == "--data") return fb::read_number(value, limits.data_bytes);
  if (name == "--file") return fb::read_number(value, limits.file_bytes);
  if (name == "--cpu") return fb::read_number(value, limits.cpu_seconds);
  if (name == "--processes") return fb::read_number(value, limits.processes);
  if (name == "--open-files") return fb::read_number(value, limits.open_files);
  return false;
}

int list() {
  for (const auto& row : fb::sandbox::call_table()) {
    std::printf("%-24s %-12s %-12s %-12s %s\n", row.name, row.rank, row.machine, row.build, row.why);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Limits limits;
  Filter filter = Filter::none;
  int at = 1;
  if (argc == 2 && std::string_view(argv[1]) == "--list") return list();
  for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
    if (at + 1 >= argc || !read_option(argv[at], argv[at + 1], limits, filter))
      return complain("wrong option", argv[at]);
  }
  if (++at >= argc)
    return complain("usage",
                    "[--filter NAME] [--data BYTES] [--file BYTES] [--cpu SECONDS] "
                    "[--processes N] [--open-files N] -- COMMAND…");
  try {
    fb::sandbox::confine(limits, filter);
  } catch (const std::exception& e) {
    return complain("cannot confine", e.what());
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that gets too long is an error that compilers report
  execv(argv[at], argv + at);
  return complain(argv[at], std::strerror(errno));
}
