#include "judge/session/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/base/check.h"

namespace fb::judge {
namespace {

constexpr uint64_t kAlign = 256;

}  // namespace

Arena::Arena(uint64_t bytes) : descriptor_(memfd_create("fabricbench-arena", MFD_CLOEXEC)), size_(bytes) {
  void* memory = MAP_FAILED;
  if (descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(size_)) == 0)
    memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "the judge's shared memory");
  memory_ = static_cast<std::byte*>(memory);
}

Arena::~Arena() {
  munmap(memory_, size_);
  close(descriptor_);
}

uint64_t Arena::take(uint64_t bytes) {
  const uint64_t offset = (used_ + kAlign - 1) / kAlign * kAlign;
  FB_CHECK(offset + bytes <= size_);
  used_ = offset + bytes;
  return offset;
}

}  // namespace fb::judge
