#include "audit/mutate/code.h"

#include <gtest/gtest.h>

#include "audit/mutate/synchronization.h"

namespace fb::mutate {
namespace {

std::vector<std::string> tokens_of(const Code& code) {
  std::vector<std::string> all;
  for (size_t i = 0; i < code.size(); ++i) all.emplace_back(code.text(i));
  return all;
}

TEST(Code, CommentsAreNoTokensAndLiteralsAreOne) {
  const Code code("a /* b; */ += \"c; // d\" // e\n+ 1'000u;");
  EXPECT_EQ(tokens_of(code), (std::vector<std::string>{"a", "+=", "\"c; // d\"", "+", "1'000u", ";"}));
}

TEST(Code, DirectivesAreOneTokenWithTheirContinuation) {
  const Code code("#define F(x) \\\n  g(x)\nint a;");
  ASSERT_EQ(code.size(), 4u);
  EXPECT_EQ(code.token(0).kind, Token::Kind::directive);
}

TEST(Code, FindsFunctionsInClassesAndBehindMemberLists) {
  const Code code(R"(
struct alignas(16) Line { int half[2]; };
constexpr int kAll[] = {1, 2};
template <class T> class Box {
 public:
  Box(int a) : a_(a), list_{1, 2} { use(a); }
  __device__ int get() const { return a_; }
  int a_;
};
__global__ void __launch_bounds__(256) work(int* to) { *to = 1; }
)");
  ASSERT_EQ(code.functions().size(), 3u);
  EXPECT_EQ(code.functions()[0].name, "Box");
  EXPECT_FALSE(code.functions()[0].device);
  EXPECT_EQ(code.functions()[1].name, "get");
  EXPECT_TRUE(code.functions()[1].device);
  EXPECT_FALSE(code.functions()[1].kernel);
  EXPECT_EQ(code.functions()[2].name, "work");
  EXPECT_TRUE(code.functions()[2].kernel);
}

std::vector<std::string> statements_of(const Code& code, const std::vector<Statement>& sequence) {
  std::vector<std::string> all;
  for (const auto& statement : sequence) all.emplace_back(code.text(statement.tokens));
  return all;
}

TEST(Code, StatementsEndWhereTheirBodiesDo) {
  const Code code(
      "void f() { if (a) b(); else { c(); } do { d(); } while (e()); for (;;) g();\n#pragma unroll\nwhile (h) {} i = "
      "{1, 2}; }");
  EXPECT_EQ(statements_of(code, code.functions().front().body.parts),
            (std::vector<std::string>{"if (a) b(); else { c(); }", "do { d(); } while (e());", "for (;;) g();",
                                      "#pragma unroll\nwhile (h) {}", "i = {1, 2};"}));
}

TEST(Code, StatementsOfLambdasAreInsideTheirs) {
  const Code code("void f() { each([=](int q) { a(q); b(q); }); c(); }");
  const auto& body = code.functions().front().body;
  ASSERT_EQ(body.parts.size(), 2u);
  ASSERT_EQ(body.parts[0].parts.size(), 1u);
  EXPECT_EQ(statements_of(code, body.parts[0].parts[0].parts), (std::vector<std::string>{"a(q);", "b(q);"}));
}

TEST(Synchronization, GoesThroughTheSolutionsOwnFunctions) {
  const Code code(R"(
__device__ void post(uint32_t& flag, uint32_t call) { Flag(flag).store(call, cuda::memory_order_release); }
__device__ void wait(uint32_t& flag, uint32_t call) { while (Flag(flag).load(cuda::memory_order_acquire) < call) {} }
__global__ void work() { post(a, 1); batch.load(b); wait(a, 1); other(); }
)");
  const Synchronization known(code);
  const auto& parts = code.functions()[2].body.parts;
  EXPECT_TRUE(known.signals(parts[0].tokens));
  EXPECT_FALSE(known.waits(parts[0].tokens));
  EXPECT_FALSE(known.waits(parts[1].tokens)) << "no atomic";
  EXPECT_TRUE(known.waits(parts[2].tokens));
  EXPECT_FALSE(known.waits(parts[3].tokens) || known.signals(parts[3].tokens));
  EXPECT_EQ(known.exit_wait(code.functions()[2]), nullptr) << "it does not end with the wait";
}

TEST(Synchronization, FindsTheWaitAtTheEndOfAKernel) {
  const Code code(R"(
__device__ void wait(uint32_t& flag, uint32_t call) { while (Flag(flag).load(cuda::memory_order_acquire) < call) {} }
__global__ void work() { wait(a, 1); if (threadIdx.x == 0) { use(); wait(b, 1); } }
)");
  const Synchronization known(code);
  const Statement* exit = known.exit_wait(code.functions()[1]);
  ASSERT_NE(exit, nullptr);
  EXPECT_EQ(code.text(exit->tokens), "wait(b, 1);");
}

}  // namespace
}  // namespace fb::mutate
