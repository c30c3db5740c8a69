// Which texels a texture read combines, against the formulas of the programming guide written down once more.

#include "virtual_node/simt/tensor/texture_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace fb::simt {
namespace {

Texture example() {
  Texture t;
  t.width = 8;
  t.height = 4;
  t.depth = 2;
  t.levels = 3;
  t.address = 0x10'0000'0000;
  t.normalized_coordinates = true;
  t.largest_level = 10;
  abi::lay_out_array(t);
  return t;
}

TEST(TextureDescriptor, SurvivesItsBytes) {
  Texture t = example();
  t.border = {1, 2, 3, 4};
  t.kind = ChannelKind::signed_int;
  t.channels = 4;
  t.channel_bytes = 2;
  t.address_modes = {AddressMode::mirror, AddressMode::border, AddressMode::clamp};
  std::array<std::byte, abi::kTextureBytes> bytes;
  encode(t, bytes);
  Texture back;
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_EQ(back, t);
  bytes = {};
  EXPECT_FALSE(decode(bytes, back));
}

TEST(TextureDescriptor, NamesWhatIsWrong) {
  const auto wrong = [](auto change) {
    Texture t = example();
    change(t);
    return !find_problem(t).empty();
  };
  EXPECT_EQ(find_problem(example()), "");
  EXPECT_TRUE(wrong([](Texture& t) { t.channels = 3; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.channel_bytes = 8; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.channel_bytes = 1; }));  // floats
  EXPECT_TRUE(wrong([](Texture& t) { t.width = 0; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.height = 1u << 31; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.levels = 17; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.levels = 0; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.address += 2; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.pitch = uint64_t{1} << 40; }));
  EXPECT_TRUE(wrong([](Texture& t) { t.address_modes[2] = static_cast<AddressMode>(4); }));
}

TEST(TextureLevels, FollowEachOtherAndDoNotOverlap) {
  const Texture t = example();
  uint64_t end = 0;
  for (uint32_t k = 0; k < t.levels; ++k) {
    const TextureLevel level = level_of(t, k);
    EXPECT_EQ(level.width, std::max(8u >> k, 1u));
    EXPECT_EQ(level.height, std::max(4u >> k, 1u));
    EXPECT_GE(level.offset, end);
    end = level.offset + level.plane * level.depth;
  }
  EXPECT_EQ(array_bytes(t), end);
}

TEST(Neighbours, HaveWeightsOfEightBits) {
  const Neighbours n = find_neighbours(2.5 + 1.0 / 3, 8, AddressMode::clamp, false, true);
  EXPECT_EQ(n.index[0], 2);
  EXPECT_EQ(n.index[1], 3);
  EXPECT_EQ(n.weight[1], 85.0 / 256);
  EXPECT_EQ(n.weight[0], 171.0 / 256);
}

struct Row {
  double x;
  AddressMode mode;
  int64_t index;
};

TEST(Neighbours, ObeyTheAddressMode) {
  using enum AddressMode;
  const Row rows[] = {{-0.25, wrap, 6},  {1.25, wrap, 2},   {-0.25, clamp, 0},   {1.25, clamp, 7},  {-0.25, mirror, 2},
                      {1.25, mirror, 6}, {2.25, mirror, 2}, {-0.25, border, -1}, {1.0, border, -1}, {0.99, border, 7},
                      {-1e30, clamp, 0}, {NAN, wrap, 0},    {INFINITY, clamp, 7}};
  for (const Row& row : rows) EXPECT_EQ(find_neighbours(row.x, 8, row.mode, true, false).index[0], row.index) << row.x;
}

TEST(Taps, AddUpToOne) {
  Texture t = example();
  t.filter = t.mip_filter = Filter::linear;
  for (double lod = -1; lod < 4; lod += 0.3) {
    for (double x = -1.3; x < 2; x += 0.17) {
      Taps taps;
      find_taps(t, TextureShape::d3, {x, 1 - x, x * x, 0, false}, lod, taps);
      double sum = 0;
      for (uint32_t k = 0; k < taps.count; ++k) {
        sum += taps.list[k].weight;
        EXPECT_LT(taps.list[k].address - t.address, array_bytes(t));
      }
      EXPECT_EQ(sum, 1) << lod << " " << x;
    }
  }
}

TEST(Faces, AreThoseOfTheGuide) {
  const CubePoint right = find_face(2, 1, -1);
  EXPECT_EQ(right.face, 0u);
  EXPECT_EQ(right.x, 0.75);
  EXPECT_EQ(right.y, 0.25);
  EXPECT_EQ(find_face(-2, 1, 1).face, 1u);
  EXPECT_EQ(find_face(0, 3, 1).face, 2u);
  EXPECT_EQ(find_face(0, -3, 1).face, 3u);
  EXPECT_EQ(find_face(0, 0, 1).face, 4u);
  EXPECT_EQ(find_face(0, 0, -1).face, 5u);
  EXPECT_EQ(find_face(0, 0, 0).x, 0.5);
}

}  // namespace
}  // namespace fb::simt
