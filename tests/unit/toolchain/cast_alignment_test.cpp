#include "toolchain/source/cast_alignment.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(CastAlignment, HidesWhatIsBehindACastToAPointer) {
  EXPECT_EQ(with_cast_alignment("*reinterpret_cast<uint4*>(&s[i]) = v;"), "*reinterpret_cast<uint4*>(+(&s[i])) = v;");
  EXPECT_EQ(with_cast_alignment("reinterpret_cast<const Pack<T, 8>* const>(f(a, b))->x"),
            "reinterpret_cast<const Pack<T, 8>* const>(+(f(a, b)))->x");
  EXPECT_EQ(with_cast_alignment("*(volatile int*)&s[4 * n]"), "*(volatile int*)+&s[4 * n]");
  EXPECT_EQ(with_cast_alignment("return (const ns::Vec<float, 4> *)s;"), "return (const ns::Vec<float, 4> *)+s;");
  EXPECT_EQ(with_cast_alignment("x = *(int4*)(s + (n & 3));"), "x = *(int4*)+(s + (n & 3));");
  EXPECT_EQ(with_cast_alignment("#define AT(p) (*(float4*)(&(p)))"), "#define AT(p) (*(float4*)+(&(p)))");
}

TEST(CastAlignment, MakesPointersOfReferences) {
  EXPECT_EQ(with_cast_alignment("reinterpret_cast<uint4&>(s[i]).x = 1;"),
            "(*reinterpret_cast<uint4*>(+&(s[i]))).x = 1;");
  EXPECT_EQ(with_cast_alignment("reinterpret_cast<const A&>(reinterpret_cast<B&>(x))"),
            "(*reinterpret_cast<const A*>(+&((*reinterpret_cast<B*>(+&(x))))))");
  EXPECT_EQ(with_cast_alignment("x = (const uint4 &)s[i];"), "x = *(const uint4 *)+&s[i];");
}

TEST(CastAlignment, LeavesWhatIsNoAccess) {
  for (const char* text : {
           "reinterpret_cast<uintptr_t>(p) + reinterpret_cast<T&&>(x)",
           "void f(float4*) const; int (*g)(const float*) = h; using F = void(T*);",
           "[](T*) { return sizeof(T*) * n; }",
           "auto o = (size_t)&((S*)0)->m; T* p = (T*)nullptr;",
           "if (a * (b)) c = (a * b) & d;",
           "// (T*)x\nconst char* s = \"(T*)x\";",
           "std::function<void(T*)> call; new (T*) X;",
           "bool operator==(const T&) const; X& operator=(T&) ATTRIBUTE; if (a & b) c = (a && b) ? (d) : e;",
       }) {
    EXPECT_EQ(with_cast_alignment(text), text);
  }
}

}  // namespace
}  // namespace fb::toolchain
