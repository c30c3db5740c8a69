// Device code of several files, linked when it is loaded.

#include <gtest/gtest.h>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using wire::Kind;
using wire::Status;

constexpr std::string_view kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

// Names and texts as a client sends them.
std::string files(std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
  std::string all;
  for (const auto& [name, body] : list) {
    all += std::string(name) + '\0';
    all += std::string(kHead) + std::string(body) + '\0';
  }
  return all;
}

constexpr std::string_view kKernel =
    ".extern .func (.param .b32 result) five();\n"
    ".extern .global .u32 word;\n"
    ".visible .entry put(.param .u64 to) {\n"
    "  .reg .b64 %p; .reg .b32 %a, %b;\n"
    "  ld.param.u64 %p, [to];\n"
    "  ld.global.u32 %a, [word];\n"
    "  { .param .b32 r; call (r), five; ld.param.b32 %b, [r]; }\n"
    "  add.u32 %a, %a, %b;\n"
    "  st.global.u32 [%p], %a;\n"
    "  ret;\n}\n";
constexpr std::string_view kFive = ".visible .func (.param .b32 result) five() { st.param.b32 [result], 5; ret; }\n";
constexpr std::string_view kWord = ".visible .global .u32 word = 30;\n";

TEST(NodeLink, AKernelUsesFunctionAndVariableOfOtherFiles) {
  NodeHost host;
  Rank a(host, 0);
  a.module = a.load(files({{"a.cu", kKernel}, {"", kFive}, {"c.cu", kWord}}));
  const uint64_t memory = a.allocate(0, 64);
  ASSERT_EQ(a.launch({}, "put", {memory}), Status::ok);
  EXPECT_EQ(a.read(memory), 35u);
  const std::string_view name = "word";
  EXPECT_EQ(a.ask<Kind::variable_find>({.module = a.module, .device = 0}, std::as_bytes(std::span(name))).bytes, 4u);
}

TEST(NodeLink, WhatDoesNotLinkIsNamed) {
  NodeHost host;
  Rank a(host, 0);
  const auto said = [&](const std::string& text) {
    EXPECT_EQ(a.status<Kind::module_load>({}, std::as_bytes(std::span(text))), Status::invalid_ptx);
    EXPECT_FALSE(host.incidents.empty());
    EXPECT_EQ(host.incidents.back().reason, record::IncidentReason::module_not_linked);
    return host.incidents.back().text;
  };
  const std::string missing = said(files({{"a.cu", kKernel}, {"b.cu", kWord}}));
  EXPECT_NE(missing.find("undefined symbol five: a.cu uses it"), std::string::npos) << missing;
  const std::string twice = said(files({{"a.cu", kKernel}, {"b.cu", kWord}, {"c.cu", kWord}, {"d.cu", kFive}}));
  EXPECT_NE(twice.find("duplicate symbol word: defined in b.cu and in c.cu"), std::string::npos) << twice;
}

TEST(NodeLink, WrongTextIsNamedByItsFile) {
  NodeHost host;
  Rank a(host, 0);
  const std::string text = files({{"a.cu", kKernel}, {"b.cu", ".visible .nonsense"}});
  EXPECT_EQ(a.status<Kind::module_load>({}, std::as_bytes(std::span(text))), Status::invalid_ptx);
  ASSERT_EQ(host.incidents.size(), 1u);
  EXPECT_NE(host.incidents[0].text.find("b.cu:4"), std::string::npos) << host.incidents[0].text;
}

// Sets without a text, without a name's end, with NULs only.
TEST(NodeLink, UnfinishedSetsAreRefusedOrEmpty) {
  NodeHost host;
  Rank a(host, 0);
  for (const std::string& text : {std::string("\0", 1), std::string("\0\0\0", 3), std::string("a\0b", 3),
                                  std::string("a.cu\0", 5), std::string("x\0\0y\0\0", 6)}) {
    const auto status = a.status<Kind::module_load>({}, std::as_bytes(std::span(text)));
    EXPECT_TRUE(status == Status::ok || status == Status::invalid_ptx || status == Status::invalid_image);
  }
}

}  // namespace
}  // namespace fb::machine
