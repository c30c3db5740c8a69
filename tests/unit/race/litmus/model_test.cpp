// The model against what the PTX manual says of its own litmus tests, and against rules of
// docs/reference/memory_model.md.

#include "litmus/model.h"

#include <gtest/gtest.h>

#include <set>

#include "litmus/generate.h"

namespace fb::litmus {
namespace {

constexpr int16_t x = 0, y = 1;
constexpr Place kHere{}, kSameBlock{.warp = 1}, kOtherBlock{.block = 1}, kOtherDevice{.device = 1};

Op load(MemoryOrder order, Scope scope, int16_t location, int16_t reg) {
  return {.kind = OpKind::load, .order = order, .scope = scope, .location = location, .reg = reg};
}
Op store(MemoryOrder order, Scope scope, int16_t location, uint32_t value) {
  return {.kind = OpKind::store, .order = order, .scope = scope, .location = location, .value = value};
}
Op weak_load(int16_t location, int16_t reg) { return load(MemoryOrder::weak, Scope::none, location, reg); }
Op weak_store(int16_t location, uint32_t value) { return store(MemoryOrder::weak, Scope::none, location, value); }
Op fence(MemoryOrder order, Scope scope) { return {.kind = OpKind::fence, .order = order, .scope = scope}; }
Op guard(int16_t reg, uint32_t value) { return {.kind = OpKind::guard, .reg = reg, .value = value}; }
Op add(Scope scope) {
  return {.kind = OpKind::add, .order = MemoryOrder::relaxed, .scope = scope, .location = x, .reg = 0, .value = 1};
}

Expectation of(std::vector<Thread> threads) {
  return evaluate({.family = "test", .locations = {{'x'}, {'y'}}, .threads = std::move(threads)});
}

using Outcomes = std::set<Outcome>;

// "IF r0 == 1 THEN r1 == 1"
TEST(LitmusModel, MessagePassingWithFences) {
  const auto with = [](Scope first, Scope second, const Place& place) {
    return of(
        {{kHere, {weak_store(x, 1), fence(MemoryOrder::acq_rel, first), store(MemoryOrder::relaxed, Scope::sys, y, 1)}},
         {place,
          {load(MemoryOrder::relaxed, Scope::sys, y, 0), fence(MemoryOrder::acq_rel, second), guard(0, 1),
           weak_load(x, 1)}}});
  };
  const Outcome stale{1, 0};
  EXPECT_FALSE(with(Scope::sys, Scope::sys, kOtherDevice).allowed.contains(stale));
  EXPECT_FALSE(with(Scope::sys, Scope::sys, kOtherDevice).racy);
  // Both fences must reach the other's thread.
  for (const auto& [first, second] : {std::pair{Scope::gpu, Scope::sys}, {Scope::sys, Scope::gpu}}) {
    EXPECT_TRUE(with(first, second, kOtherDevice).allowed.contains(stale));
    EXPECT_TRUE(with(first, second, kOtherDevice).racy);
    EXPECT_FALSE(with(first, second, kOtherBlock).racy);
  }
  EXPECT_TRUE(with(Scope::cta, Scope::gpu, kOtherBlock).racy);
  EXPECT_FALSE(with(Scope::cta, Scope::gpu, kSameBlock).racy);
}

// "r0 == 1 OR r1 == 1", and both may be 0 with fence.acq_rel.
TEST(LitmusModel, StoreBuffering) {
  const auto with = [](MemoryOrder order) {
    return of({{kHere, {weak_store(x, 1), fence(order, Scope::sys), weak_load(y, 0)}},
               {kOtherDevice, {weak_store(y, 1), fence(order, Scope::sys), weak_load(x, 0)}}});
  };
  EXPECT_FALSE(with(MemoryOrder::sc).allowed.contains({0, 0}));
  EXPECT_TRUE(with(MemoryOrder::acq_rel).allowed.contains({0, 0}));
  // Whichever fence comes first, one load and one store are left unordered.
  EXPECT_TRUE(with(MemoryOrder::sc).racy);
}

// "IF r0 == 1 THEN r1 == 1"
TEST(LitmusModel, CoherentReads) {
  const auto with = [](MemoryOrder order, Scope scope) {
    return of(
        {{kHere, {store(order, scope, x, 1)}}, {kOtherDevice, {load(order, scope, x, 0), load(order, scope, x, 1)}}});
  };
  EXPECT_EQ(with(MemoryOrder::relaxed, Scope::sys).allowed, (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_FALSE(with(MemoryOrder::relaxed, Scope::sys).racy);
  EXPECT_TRUE(with(MemoryOrder::weak, Scope::none).allowed.contains({1, 0}));
  EXPECT_TRUE(with(MemoryOrder::relaxed, Scope::gpu).racy);
  EXPECT_FALSE(with(MemoryOrder::volatile_, Scope::none).racy);  // volatile reaches the whole system
}

// "FINAL STATE: x == 2", and "x == 1 OR x == 2" where the scopes do not reach.
TEST(LitmusModel, AtomicAdditions) {
  const auto last = [](const Expectation& e) {
    std::set<uint32_t> values;
    for (const Outcome& o : e.allowed) values.insert(o.back());
    return values;
  };
  EXPECT_EQ(last(of({{kHere, {add(Scope::sys)}}, {kOtherBlock, {add(Scope::sys)}}})), std::set<uint32_t>{2});
  EXPECT_EQ(last(of({{kHere, {add(Scope::cta)}}, {kOtherBlock, {add(Scope::gpu)}}})), (std::set<uint32_t>{1, 2}));
}

TEST(LitmusModel, LoadBufferingIsAllowedUnlessValuesWouldComeFromNowhere) {
  const auto with = [](bool copies) {
    const auto second = [&](int16_t location) {
      Op op = weak_store(location, 1);
      if (copies) op.reg = 0;
      return op;
    };
    return of({{kHere, {weak_load(x, 0), second(y)}}, {kOtherDevice, {weak_load(y, 0), second(x)}}});
  };
  EXPECT_TRUE(with(false).allowed.contains({1, 1}));
  EXPECT_EQ(with(true).allowed, Outcomes({{0, 0}}));
}

// "r1 == 0 AND flag == 2" is possible with red, not with atom.
TEST(LitmusModel, ReductionsAreNoAcquirePattern) {
  const auto with = [](OpKind kind) {
    const Op count{.kind = kind,
                   .order = MemoryOrder::relaxed,
                   .scope = Scope::sys,
                   .location = y,
                   .reg = kind == OpKind::add ? int16_t{1} : kNone,
                   .value = 1};
    return of({{kHere, {weak_store(x, 42), store(MemoryOrder::release, Scope::gpu, y, 1)}},
               {kOtherBlock, {count, fence(MemoryOrder::acq_rel, Scope::gpu), weak_load(x, 0)}}});
  };
  EXPECT_TRUE(with(OpKind::reduce).allowed.contains({0, 2}));
  // The addition saw 1, so that it came after the flag.
  EXPECT_FALSE(with(OpKind::add).allowed.contains({0, 1, 2}));
}

// A relaxed load orders the write that it saw before later accesses of the same place, and nothing else of its thread.
TEST(LitmusModel, WhatWasSeenIsOrderedAtItsOwnLocation) {
  const auto with = [](std::vector<Op> before, int16_t location) {
    before.push_back(store(MemoryOrder::relaxed, Scope::sys, y, 1));
    return of({{kHere, std::move(before)},
               {kOtherDevice, {load(MemoryOrder::relaxed, Scope::sys, y, 0), guard(0, 1), weak_store(location, 2)}}});
  };
  EXPECT_FALSE(with({}, y).racy);
  EXPECT_TRUE(with({weak_store(x, 1)}, x).racy);
  EXPECT_TRUE(with({weak_load(y, 0)}, y).racy);
}

TEST(LitmusModel, MulticastNeedsAProxyFenceWhereItIsAProxy) {
  const auto with = [](bool fenced, bool strict) {
    std::vector<Op> reader{load(MemoryOrder::acquire, Scope::sys, y, 0), guard(0, 1), weak_load(x, 1)};
    if (fenced) reader.insert(reader.begin() + 2, {.kind = OpKind::fence_alias});
    const Program p{.family = "test",
                    .locations = {{'x', Memory::multicast}, {'y'}},
                    .threads = {{kHere,
                                 {{.kind = OpKind::multimem_store, .location = x, .value = 1},
                                  store(MemoryOrder::release, Scope::sys, y, 1)}},
                                {kOtherDevice, reader}}};
    return evaluate(p, {.multimem_is_a_proxy = strict}).racy;
  };
  EXPECT_TRUE(with(false, true));
  EXPECT_FALSE(with(true, true));
  EXPECT_FALSE(with(false, false));
}

// The whole family: the model accepts all that interleaving gives (evaluate() throws otherwise), and a race that exists
// at all exists in an interleaving, so that a detector that follows interleavings can find it.
TEST(LitmusModel, EveryRaceOfTheFamilyShowsInAnInterleaving) {
  const std::vector<Program> family = generate();
  EXPECT_GE(family.size(), 1500u);
  for (const Program& p : family) {
    const Expectation e = evaluate(p);
    EXPECT_FALSE(e.sequential.empty()) << text_of(p);
    EXPECT_EQ(e.racy, e.racy_sequential) << text_of(p) << e.race;
  }
}

}  // namespace
}  // namespace fb::litmus
