#include "judge/session/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>

namespace fb::judge {
namespace {

TEST(Arena, HandsOutPiecesThatDoNotOverlap) {
  Arena arena(4096);
  uint64_t end = 0;
  for (const uint64_t bytes : {1u, 255u, 256u, 257u, 0u, 8u}) {
    const uint64_t at = arena.take(bytes);
    EXPECT_GE(at, end);
    EXPECT_EQ(at % 256, 0u);
    end = at + bytes;
  }
  EXPECT_LE(end, arena.size());
}

TEST(Arena, IsTakenBackAllAtOnce) {
  Arena arena(1024);
  EXPECT_EQ(arena.take(1024), 0u);
  arena.reset();
  EXPECT_EQ(arena.take(1024), 0u);
}

TEST(Arena, IsSeenByWhoMapsItsDescriptor) {
  Arena arena(4096);
  const uint64_t at = arena.take(300), other = arena.take(8);
  std::ranges::fill(arena.at(at, 300), std::byte{7});
  void* memory = mmap(nullptr, arena.size(), PROT_READ, MAP_SHARED, arena.descriptor(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto* bytes = static_cast<const std::byte*>(memory);
  EXPECT_EQ(std::count(bytes + at, bytes + at + 300, std::byte{7}), 300);
  EXPECT_EQ(bytes[other], std::byte{0});
  munmap(memory, arena.size());
}

TEST(Arena, IsNotInheritedByPrograms) {
  const Arena arena(1);
  EXPECT_NE(fcntl(arena.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  struct stat facts{};
  ASSERT_EQ(fstat(arena.descriptor(), &facts), 0);
  EXPECT_EQ(facts.st_size, 1);
}

TEST(Arena, TooMuchIsOurMistake) {
  Arena arena(512);
  arena.take(1);
  EXPECT_DEATH(arena.take(257), "arena");
}

TEST(Arena, MoreThanThereIsThrows) { EXPECT_THROW(Arena(uint64_t{1} << 62), std::system_error); }

}  // namespace
}  // namespace fb::judge
