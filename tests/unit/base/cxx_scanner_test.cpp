#include "common/base/cxx_scanner.h"

#include <gtest/gtest.h>

#include <string>

namespace fb {
namespace {

// Every piece but blanks, as "kind:text", separated by " | ".
std::string pieces(std::string_view code) {
  constexpr std::string_view kKinds[] = {"blank", "comment", "literal", "number", "word", "sign"};
  std::string all;
  for (size_t at = 0; at < code.size();) {
    const CxxPiece piece = piece_at(code, at);
    EXPECT_EQ(piece.begin, at);
    EXPECT_GT(piece.end, at);
    EXPECT_LE(piece.end, code.size());
    at = piece.end;
    if (piece.kind == CxxPiece::Kind::blank) continue;
    all += (all.empty() ? "" : " | ") + std::string(kKinds[static_cast<size_t>(piece.kind)]) + ":" +
           std::string(piece.text(code));
  }
  return all;
}

TEST(CxxScanner, TellsWordsNumbersAndSignsApart) {
  EXPECT_EQ(pieces("int a1 = b[0x1F]; "),
            "word:int | word:a1 | sign:= | word:b | sign:[ | number:0x1F | sign:] | sign:;");
  EXPECT_EQ(pieces("1'000 1.5e-3f .5 0x1p-2 1e5-x"),
            "number:1'000 | number:1.5e-3f | number:.5 | number:0x1p-2 | number:1e5 | sign:- | word:x");
  EXPECT_EQ(pieces("0xe-1"), "number:0xe | sign:- | number:1") << "an e is a digit there, not an exponent";
}

TEST(CxxScanner, SkipsComments) {
  EXPECT_EQ(pieces("a // b \"c\nd"), "word:a | comment:// b \"c | word:d");
  EXPECT_EQ(pieces("a /* b\n * 'c */ d"), "word:a | comment:/* b\n * 'c */ | word:d");
  EXPECT_EQ(pieces("a / b"), "word:a | sign:/ | word:b");
  EXPECT_EQ(pieces("/* open"), "comment:/* open");
}

TEST(CxxScanner, SkipsLiterals) {
  EXPECT_EQ(pieces(R"("a // b" 'x' '\'' "\\")"), R"(literal:"a // b" | literal:'x' | literal:'\'' | literal:"\\")");
  EXPECT_EQ(pieces(R"(u8"a" L'x' name"a")"), R"(literal:u8"a" | literal:L'x' | word:name | literal:"a")");
}

TEST(CxxScanner, SkipsRawStrings) {
  EXPECT_EQ(pieces("R\"(a \" // )\" x"), "literal:R\"(a \" // )\" | word:x");
  EXPECT_EQ(pieces("LR\"ptx(a )\" \n)ptx\" x"), "literal:LR\"ptx(a )\" \n)ptx\" | word:x");
  EXPECT_EQ(pieces("R\"(open"), "literal:R\"(open");
  EXPECT_EQ(pieces("XR\"(a)\" x"), "word:XR | literal:\"(a)\" | word:x");
}

TEST(CxxScanner, EndsAnUnterminatedLiteralWithItsLine) {
  EXPECT_EQ(pieces("#error don't\nx"), "sign:# | word:error | word:don | sign:' | word:t | word:x");
  EXPECT_EQ(pieces("'t \"\nx"), "literal:'t \" | word:x");
  EXPECT_EQ(pieces("\"a\\\nb\" x"), "literal:\"a\\\nb\" | word:x") << "a backslash continues the line";
}

TEST(CxxScanner, TakesBytesAboveAsciiAsLetters) { EXPECT_EQ(pieces("größe=1"), "word:größe | sign:= | number:1"); }

}  // namespace
}  // namespace fb
