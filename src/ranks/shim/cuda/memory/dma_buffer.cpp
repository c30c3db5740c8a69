#include "ranks/shim/cuda/memory/dma_buffer.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "common/base/unique_fd.h"

namespace fb::shim {
namespace {

struct Range {
  uint64_t address = 0, bytes = 0;
};

// A descriptor, and copies of it, is known by the number of its file.
using FileNumber = std::pair<uint64_t, uint64_t>;
struct Buffers {
  std::mutex mutex;
  std::map<FileNumber, Range> by_file;
};
Buffers& buffers() {
  static auto* const made = new Buffers;
  return *made;
}

bool number_of(int descriptor, FileNumber& number) {
  struct stat file{};
  if (::fstat(descriptor, &file) != 0) return false;
  number = {file.st_dev, file.st_ino};
  return true;
}

}  // namespace

Error make_dma_buffer(uint64_t address, uint64_t bytes, int& descriptor) {
  UniqueFd made(::memfd_create("dmabuf", MFD_CLOEXEC));
  FileNumber number;
  if (!made || !number_of(made.get(), number)) return cudaErrorOperatingSystem;
  // Programs ask for its size by lseek.
  if (::ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) return cudaErrorOperatingSystem;
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  all.by_file[number] = {address, bytes};
  descriptor = made.release();
  return cudaSuccess;
}

bool find_dma_buffer(int descriptor, uint64_t& address, uint64_t& bytes) {
  FileNumber number;
  if (!number_of(descriptor, number)) return false;
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_file.find(number);
  if (found == all.by_file.end()) return false;
  address = found->second.address;
  bytes = found->second.bytes;
  return true;
}

}  // namespace fb::shim
