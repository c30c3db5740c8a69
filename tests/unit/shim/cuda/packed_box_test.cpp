#include "ranks/shim/cuda/memory/packed_box.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ranks/shim/cuda/memory/copy.h"

namespace fb::shim {
namespace {

// 3 × 2 × 2 bytes in rows of 5 and planes of 12, to rows of 4 and planes of 9.
struct Boxes {
  std::vector<std::byte> from = std::vector<std::byte>(24), to = std::vector<std::byte>(18);
  CopyWork box;

  Boxes() {
    for (size_t k = 0; k < from.size(); ++k) from[k] = static_cast<std::byte>(k + 1);
    box = {.to = to.data(),
           .to_pitch = 4,
           .to_plane = 9,
           .from = from.data(),
           .from_pitch = 5,
           .from_plane = 12,
           .width = 3,
           .height = 2,
           .depth = 2};
  }
  void expect_copied() const {
    for (size_t z = 0; z < 2; ++z)
      for (size_t y = 0; y < 2; ++y)
        for (size_t x = 0; x < 3; ++x) EXPECT_EQ(to[z * 9 + y * 4 + x], from[z * 12 + y * 5 + x]);
    EXPECT_EQ(to[3], std::byte{0});  // between rows
    EXPECT_EQ(to[7], std::byte{0});
  }
};

TEST(PackedBox, GoesThroughPackedBytesAndBack) {
  Boxes b;
  std::vector<std::byte> packed(box_bytes(b.box));
  ASSERT_EQ(packed.size(), 12u);
  pack(b.box, packed.data());
  EXPECT_EQ(packed[3], b.from[5]);
  unpack(b.box, packed.data());
  b.expect_copied();
}

TEST(PackedBox, SplitsIntoPiecesThatAreTheWhole) {
  for (const size_t most : {1, 2, 3, 5, 6, 100}) {
    Boxes b;
    size_t bytes = 0;
    for (const CopyWork& piece : split(b.box, most)) {
      EXPECT_LE(box_bytes(piece), most);
      bytes += box_bytes(piece);
      copy_box(piece);
    }
    EXPECT_EQ(bytes, 12u);
    b.expect_copied();
  }
}

TEST(PackedBox, FlattensWhatHasNoGaps) {
  Boxes b;
  EXPECT_EQ(flatten(b.box).height, 2u);
  b.box.to_pitch = b.box.from_pitch = 3;
  EXPECT_EQ(flatten(b.box).depth, 2u);
  b.box.to_plane = b.box.from_plane = 6;
  EXPECT_EQ(flatten(b.box).width, 12u);
  EXPECT_EQ(flatten(b.box).depth, 1u);
}

TEST(Registry, NeverGivesAHandleTwice) {
  Registry<cudaStream_t, int> registry;
  const auto first = registry.add(std::make_shared<int>(1));
  EXPECT_EQ(*registry.take(first), 1);
  EXPECT_NE(registry.add(std::make_shared<int>(2)), first);
  EXPECT_EQ(registry.find(first), nullptr);
}

}  // namespace
}  // namespace fb::shim
