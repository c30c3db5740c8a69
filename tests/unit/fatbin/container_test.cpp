#include "ranks/fatbin/container.h"

#include <gtest/gtest.h>

#include "ranks/fatbin/expand.h"
#include "tests/unit/fatbin/hand_made.h"

namespace fb::fatbin {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string problem_of(const std::string& image) {
  const auto entries = read_container(bytes_of(image));
  return entries ? "" : in_one_line(entries.error());
}

TEST(Container, EntriesAreReadWithTheirOptionsAndNames) {
  const std::string image =
      container(entry_bytes({.kind = kCodeKind, .architecture = 100, .flags = 0x11 | kFamilyFlag, .payload = "code"}) +
                entry_bytes({.architecture = 90,
                             .flags = 0x11 | kExactFlag,
                             .payload = ".version 8.0\n",
                             .options = "-O3 ",
                             .name = "a.cu"}));
  EXPECT_EQ(container_bytes(image.data()), image.size());
  const auto entries = read_container(bytes_of(image));
  ASSERT_TRUE(entries) << in_one_line(entries.error());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].kind, Kind::machine_code);
  EXPECT_EQ(architecture_name((*entries)[0]), "sm_100f");
  EXPECT_EQ(architecture_name((*entries)[1]), "compute_90a");
  EXPECT_EQ((*entries)[1].options, "-O3 ");
  EXPECT_EQ((*entries)[1].name, "a.cu");
  EXPECT_EQ(expand_text((*entries)[1]).value(), ".version 8.0\n");
}

TEST(Container, WhatFollowsIsIgnored) {
  const std::string image = container(entry_bytes({.payload = ".version 8.0"})) + "rubbish";
  EXPECT_EQ(read_container(bytes_of(image))->size(), 1u);
  EXPECT_EQ(read_container(bytes_of(container("")))->size(), 0u);
}

TEST(Container, CompressedTextIsExpanded) {
  std::string text = ".version 8.0\n";
  for (int k = 0; k < 1000; ++k) text += "// line " + std::to_string(k % 7) + "\n";
  const std::string image =
      container(entry_bytes({.flags = 0x11 | kZstdFlag, .payload = zstd_of(text), .expanded_bytes = text.size()}) +
                entry_bytes({.flags = 0x11 | kLz4Flag, .payload = lz4_of(text), .expanded_bytes = text.size()}) +
                // By hand: "abc", a match of nine at distance three, and letters to the end
                entry_bytes({.flags = 0x11 | kLz4Flag,
                             .payload = std::string("\x35"
                                                    "abc\x03\0"
                                                    "\xc0"
                                                    "defghijklmno",
                                                    19),
                             .expanded_bytes = 24}));
  const auto entries = read_container(bytes_of(image));
  ASSERT_TRUE(entries);
  EXPECT_EQ(expand_text((*entries)[0]).value(), text);
  EXPECT_EQ(expand_text((*entries)[1]).value(), text);
  EXPECT_EQ(expand_text((*entries)[2]).value(), "abcabcabcabcdefghijklmno");
}

Result<std::string> expanded(uint64_t flag, const std::string& packed, uint64_t said) {
  const std::string image = container(entry_bytes({.flags = 0x11 | flag, .payload = packed, .expanded_bytes = said}));
  return expand_text(read_container(bytes_of(image)).value().front());
}

TEST(Container, DataThatDoesNotExpandIsAnError) {
  const std::string text = "some text that is long enough";
  for (const uint64_t said : {uint64_t{1}, uint64_t{28}, uint64_t{30}, uint64_t{1} << 40}) {
    EXPECT_FALSE(expanded(kZstdFlag, zstd_of(text), said)) << said;
    EXPECT_FALSE(expanded(kLz4Flag, lz4_of(text), said)) << said;
  }
}

TEST(Container, DamagedLz4IsAnError) {
  const std::string text = "abcabcabcabcabcabcabcabcabcabcabc, and an end without repetition";
  const std::string good = lz4_of(text);
  ASSERT_LT(good.size(), text.size()) << "has a match";
  ASSERT_EQ(expanded(kLz4Flag, good, text.size()).value(), text);
  for (size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_FALSE(expanded(kLz4Flag, good.substr(0, bytes), text.size())) << bytes;
  const size_t distance = good.find("abc") + 3;
  for (const char other : {'\x09', '\xff'}) {  // places before the beginning
    std::string bad = good;
    bad[distance] = other;
    EXPECT_FALSE(expanded(kLz4Flag, bad, text.size())) << static_cast<int>(other);
  }
  EXPECT_FALSE(expanded(kLz4Flag, std::string(200, '\xff'), 600)) << "a length without an end";
}

TEST(Container, MalformedContainersAreErrors) {
  const std::string good = container(entry_bytes({.payload = ".version 8.0"}));
  EXPECT_EQ(problem_of(""), "not a container of device code");
  EXPECT_EQ(problem_of("\x7f"
                       "ELF and more than sixteen bytes"),
            "not a container of device code");
  // Every cut is noticed.
  for (size_t n = 16; n < good.size(); ++n) EXPECT_EQ(problem_of(good.substr(0, n)), "the container is cut off") << n;
  std::string other = good;
  other[4] = 2;
  EXPECT_EQ(problem_of(other), "container version 2 is not known");
  std::string longer = good;
  longer[16 + 8] = 100;  // the entry says that it goes on behind the container
  EXPECT_EQ(problem_of(longer), "entry 0 of the container is cut off");
  std::string endless = good;
  for (int k = 0; k < 8; ++k) endless[static_cast<size_t>(16 + 8 + k)] = '\xff';
  EXPECT_EQ(problem_of(endless), "entry 0 of the container is cut off");
  std::string empty = good;
  empty[16 + 4] = 0;  // an entry without a header would be read for ever
  EXPECT_EQ(problem_of(empty), "entry 0 of the container is cut off");
  const std::string more = container(entry_bytes({.flags = kLz4Flag, .payload = "12345678"}));
  std::string packed = more;
  packed[16 + 16] = 100;
  EXPECT_EQ(problem_of(packed), "an entry of 8 bytes says that 100 of them are compressed");
}

TEST(Container, PlacesOutsideTheHeaderGiveNoText) {
  std::string image = container(entry_bytes({.payload = "text", .options = "-O3", .name = "a.cu"}));
  image[16 + 33] = 0x7f;  // the name's place
  image[16 + 21] = 0x7f;  // the options' place
  const auto entries = read_container(bytes_of(image));
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->front().name, "");
  EXPECT_EQ(entries->front().options, "");
}

}  // namespace
}  // namespace fb::fatbin
