// Operations of cuBLAS as ranks ask for them, without libraries and sockets.

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using wire::BlasKind;
using wire::ElementType;
using wire::Kind;
using wire::Status;

constexpr int64_t kSize = 8;
constexpr uint64_t kBytes = kSize * kSize * 4;

class NodeBlas : public testing::Test {
 protected:
  NodeBlas() : a(host, 0), x(a.allocate(0, kBytes)), y(a.allocate(0, kBytes)), z(a.allocate(0, kBytes)) {
    for (uint64_t i = 0; i < kBytes; i += 4) {
      a.write(x + i, 0);
      a.write(y + i, 0);
      a.write(z + i, 0);
    }
  }

  static wire::BlasOperand matrix(uint64_t address) { return {address, 1, kSize, 0, ElementType::f32, 0}; }
  static wire::BlasScalar number(float value) {
    return {std::bit_cast<uint32_t>(value), wire::ScalarFrom::request, ElementType::f32};
  }
  wire::Blas product() const {
    wire::Blas m;
    m.kind = BlasKind::gemm;
    m.m = m.n = m.k = kSize;
    m.a = matrix(x);
    m.b = matrix(y);
    m.c = m.d = matrix(z);
    m.alpha = number(1);
    m.beta = number(0);
    return m;
  }
  Status wait() { return *a.status<Kind::device_wait>({0, 0}); }
  void put(uint64_t at, float value) { a.write(at, std::bit_cast<uint32_t>(value)); }
  float get(uint64_t at) { return std::bit_cast<float>(static_cast<uint32_t>(a.read(at))); }

  NodeHost host;
  Rank a;
  uint64_t x, y, z;
};

TEST_F(NodeBlas, AProductMultipliesAndTakesTime) {
  put(x, 3);
  put(y, 5);
  put(y + 4, 9);
  put(x + kSize * 4, 2);
  EXPECT_EQ(a.status<Kind::blas>(product()), Status::ok);
  EXPECT_EQ(wait(), Status::ok);
  EXPECT_EQ(get(z), 3 * 5 + 2 * 9);
}

TEST_F(NodeBlas, WhatIsOutOfRangeIsRefused) {
  const auto refused = [this](auto change) {
    wire::Blas m = product();
    change(m);
    return a.status<Kind::blas>(m) == Status::invalid_value;
  };
  EXPECT_TRUE(refused([](wire::Blas& m) { m.kind = static_cast<BlasKind>(99); }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.math = static_cast<wire::BlasMath>(99); }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.epilogue = static_cast<wire::BlasEpilogue>(9); }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.a.type = static_cast<ElementType>(99); }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.d.type = ElementType::u64; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.alpha.from = static_cast<wire::ScalarFrom>(9); }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.beta.type = ElementType::u8; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.m = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.batches = uint64_t{1} << 40; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.b.row_stride = INT64_MIN; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.c.by_pointers = 2; }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.bias_batch_stride = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](wire::Blas& m) {
    m.m = uint64_t{1} << 31;
    m.a.row_stride = int64_t{1} << 40;
  }));
  EXPECT_TRUE(refused([](wire::Blas& m) { m.a.column_stride = 0; }));
  EXPECT_TRUE(refused([](wire::Blas& m) {
    m.kind = BlasKind::dot;
    m.n = 2;
  }));
}

TEST_F(NodeBlas, MemoryThatIsNotThereIsAFaultOfTheContext) {
  wire::Blas m = product();
  m.b.column_stride = kSize + 1;
  EXPECT_EQ(a.status<Kind::blas>(m), Status::ok);
  EXPECT_EQ(wait(), Status::illegal_address);
}

TEST_F(NodeBlas, PointersThatLeadNowhereAreAFault) {
  wire::Blas m = product();
  m.a.address = z;
  m.a.by_pointers = 1;
  EXPECT_EQ(a.status<Kind::blas>(m), Status::ok);
  EXPECT_EQ(wait(), Status::illegal_address);
}

TEST_F(NodeBlas, OperationsOfAStreamAreInOrder) {
  put(x, 1);
  wire::Blas m;
  m.kind = BlasKind::add_scaled;
  m.m = 1;
  m.n = 1;
  m.a = matrix(x);
  m.d = matrix(x);
  m.alpha = number(1);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(a.status<Kind::blas>(m), Status::ok);
  EXPECT_EQ(wait(), Status::ok);
  EXPECT_EQ(get(x), 1024);
}

TEST_F(NodeBlas, WithoutWorkOnlyTheResultIsWritten) {
  put(z, 7);
  wire::Blas m = product();
  m.alpha = number(0);
  m.a.address = m.b.address = 0;
  m.beta = number(3);
  EXPECT_EQ(a.status<Kind::blas>(m), Status::ok);
  EXPECT_EQ(wait(), Status::ok);
  EXPECT_EQ(get(z), 21);
}

}  // namespace
}  // namespace fb::machine
