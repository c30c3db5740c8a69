#include "ranks/rank/own_pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace fb::rank {
namespace {

struct Mapping {
  char* begin;
  size_t bytes;
  int protection;
};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::vector<Mapping> mappings_of_files() {
  std::vector<Mapping> found;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  if (!maps) fail("/proc/self/maps");
  char line[4352];  // a path has at most 4096 bytes
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uint64_t begin = 0, end = 0, inode = 0;
    char rights[5] = {};
    // "begin-end rwxp offset device inode path"
    if (std::sscanf(line, "%lx-%lx %4s %*s %*s %lu", &begin, &end, rights, &inode) != 4)
      throw std::runtime_error("/proc/self/maps: a line is not understood");
    if (inode == 0) continue;
    const int protection =
        (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
    found.push_back({reinterpret_cast<char*>(begin), end - begin, protection});
  }
  return found;
}

// The copy takes the place of the pages in one system call, which may be the one that is executed from them. Nothing is
// written between the copy and that call, but stack and errno.
void own(const Mapping& mapping) {
  const auto& [begin, bytes, protection] = mapping;
  constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
  if (protection == PROT_NONE) {
    if (mmap(begin, bytes, PROT_NONE, kPrivate | MAP_FIXED, -1, 0) == MAP_FAILED) fail("mmap");
    return;
  }
  void* const copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kPrivate | MAP_POPULATE, -1, 0);
  if (copy == MAP_FAILED) fail("mmap");
  if ((protection & PROT_READ) == 0 && mprotect(begin, bytes, protection | PROT_READ) != 0) fail("mprotect");
  std::memcpy(copy, begin, bytes);
  if (mprotect(copy, bytes, protection) != 0) fail("mprotect");
  if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED) fail("mremap");
}

}  // namespace

void own_all_pages() {
  for (const Mapping& mapping : mappings_of_files()) own(mapping);
  if (!mappings_of_files().empty()) throw std::runtime_error("a page of a file is left");
}

}  // namespace fb::rank
