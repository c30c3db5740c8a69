// Regions and memory windows.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

TEST(Regions, WhatCanBeRegistered) {
  World w;
  End a(w, 0);
  Region* made = nullptr;
  const auto make = [&](uint64_t address, uint64_t bytes, uint32_t rights) {
    return w.cards.make_region(*a.domain, address, bytes, address, rights, made);
  };
  EXPECT_EQ(make(World::kBase, 0, access::local_write), EINVAL);
  EXPECT_EQ(make(~uint64_t{0} - 8, 64, access::local_write), EINVAL) << "the sum overflows";
  EXPECT_EQ(make(World::kBase, 64, access::remote_write), EINVAL) << "needs local_write";
  EXPECT_EQ(make(World::kBase, 64, access::remote_atomic), EINVAL);
  EXPECT_EQ(make(World::kBase, 64, access::on_demand), EINVAL);
  EXPECT_EQ(make(World::kBase, 64, 1 << 12), EINVAL);
  EXPECT_EQ(make(World::kBase, 64, access::remote_read), 0);
  EXPECT_EQ(make(World::kBase, 64, access::local_write | access::relaxed_ordering), 0);
}

TEST(Regions, KeysAreAllDifferentAndLeaveTheLowByteFree) {
  World w;
  End a(w, 0);
  std::map<uint32_t, int> seen;
  for (int i = 0; i < 1000; ++i) {
    Region* region = nullptr;
    Window* window = nullptr;
    ASSERT_EQ(w.cards.make_region(*a.domain, World::kBase, 64, World::kBase, 0, region), 0);
    ASSERT_EQ(w.cards.make_window(*a.domain, 2, window), 0);
    EXPECT_EQ(++seen[region->key], 1);
    EXPECT_EQ(++seen[window->key], 1);
    EXPECT_EQ((region->key | window->key) & 0xff, 0u);
  }
}

TEST(Regions, NamesOfTheProgramsChoice) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  Region *moved = nullptr, *from_zero = nullptr;
  constexpr uint32_t kRights = access::local_write | access::remote_write;
  ASSERT_EQ(w.cards.make_region(*b.domain, World::kBase + 512, 64, 0x7000'0000, kRights, moved), 0);
  ASSERT_EQ(w.cards.make_region(*b.domain, World::kBase + 640, 64, 1, kRights | access::zero_based, from_zero), 0);
  w.put(0, 0, "named");
  SendWork write = work(1, Opcode::write, {a.piece(0, 5)});
  write.remote_address = 0x7000'0008;
  write.remote_key = moved->key;
  ASSERT_EQ(a.send(write), 0);
  write.remote_address = 3;
  write.remote_key = from_zero->key;
  ASSERT_EQ(a.send(write), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 1:0");
  EXPECT_EQ(w.get(1, 520, 5) + w.get(1, 643, 5), "namednamed");
}

TEST(Regions, ADeregisteredRegionIsGoneAtOnce) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  const SendWork write = one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0);
  ASSERT_EQ(a.send(write), 0);
  ASSERT_EQ(w.cards.destroy(*b.region), 0);  // before it arrives
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:10");
}

TEST(Regions, MemoryThatIsGoneFails) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  w.memory.erase(1);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:10");
}

struct Windowed : testing::Test {
  World w;
  End a{w, 0}, b{w, 1};
  Window* window = nullptr;

  void SetUp() override {
    connect(a, b);
    w.put(0, 0, "through");
  }
  SendWork bind(uint64_t id, uint64_t offset, uint64_t bytes, uint32_t rights, uint32_t key) const {
    SendWork bind = work(id, Opcode::bind_window, {});
    bind.bind = {.window = window->id,
                 .region = b.region->id,
                 .address = World::kBase + offset,
                 .bytes = bytes,
                 .access = rights,
                 .key = key};
    return bind;
  }
  std::string write(uint64_t offset, uint32_t key) {
    SendWork write = one_sided(1, Opcode::write, {a.piece(0, 7)}, b, offset);
    write.remote_key = key;
    EXPECT_EQ(a.send(write), 0);
    w.run();
    return summary(a.poll());
  }
};

TEST_F(Windowed, TypeOneIsBoundAndBoundAgain) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 1, window), 0);
  const uint32_t first = window->key + 1, second = window->key + 2;
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_write, first)), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:0");
  EXPECT_EQ(write(64, first), "1:0");
  EXPECT_EQ(w.get(1, 64, 7), "through");
  EXPECT_EQ(w.cards.destroy(*b.region), EBUSY) << "a window is on it";
  ASSERT_EQ(b.send(bind(2, 256, 64, access::remote_write, second)), 0);
  w.run();
  EXPECT_EQ(write(256, second), "1:0");
  EXPECT_EQ(write(64, first), "1:10") << "the old key is void";
}

TEST_F(Windowed, OnlyItsPartWithItsRights) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 1, window), 0);
  ASSERT_EQ(b.send(bind(1, 64, 7, access::remote_write, window->key)), 0);
  w.run();
  EXPECT_EQ(write(64, window->key), "1:0");
  EXPECT_EQ(write(63, window->key), "1:10");
}

TEST_F(Windowed, RightsOfTheWindowCount) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 1, window), 0);
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_read, window->key)), 0);
  w.run();
  EXPECT_EQ(write(64, window->key), "1:10");
}

TEST_F(Windowed, TypeTwoIsInvalidatedBeforeItIsBoundAgain) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 2, window), 0);
  const uint32_t key = window->key + 9;
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_write, key)), 0);
  w.run();
  EXPECT_EQ(write(64, key), "1:0");
  SendWork invalidate = work(2, Opcode::local_invalidate, {});
  invalidate.immediate = key;
  ASSERT_EQ(b.send(invalidate), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:0 2:0");
  ASSERT_EQ(b.send(bind(3, 64, 64, access::remote_write, key + 1)), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "3:0");
  EXPECT_EQ(write(64, key + 1), "1:0");
  EXPECT_EQ(write(64, key), "1:10");
}

TEST_F(Windowed, TypeTwoBoundTwiceIsAnError) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 2, window), 0);
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_write, window->key)), 0);
  ASSERT_EQ(b.send(bind(2, 64, 64, access::remote_write, window->key + 1)), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:0 2:6");
  EXPECT_EQ(b.pair->state(), QpState::err);
}

TEST_F(Windowed, TypeTwoBelongsToTheQueuePairThatBoundIt) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 2, window), 0);
  QueuePair wanted, *second = nullptr;
  wanted.send_cq = wanted.receive_cq = b.cq;
  wanted.limits.sends = 4;
  ASSERT_EQ(w.cards.make_queue_pair(*b.domain, wanted, second), 0);
  End other = b, c(w, 0);
  other.pair = second;
  connect(other, c);
  ASSERT_EQ(other.send(bind(1, 64, 64, access::remote_write, window->key)), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:0");
  EXPECT_EQ(write(64, window->key), "1:10");
  ASSERT_EQ(w.cards.destroy(*second), 0);
  EXPECT_EQ(window->region, nullptr);
}

TEST_F(Windowed, APeerInvalidates) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 2, window), 0);
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_write, window->key)), 0);
  w.run();
  b.poll();
  ASSERT_EQ(b.receive(9, {b.piece(0, 8)}), 0);
  SendWork send = work(2, Opcode::send_invalidate, {a.piece(0, 4)});
  send.immediate = window->key;
  ASSERT_EQ(a.send(send), 0);
  w.run();
  const auto got = b.poll();
  ASSERT_EQ(summary(got), "9:0");
  EXPECT_EQ(got[0].flags, completion_flags::invalidated);
  EXPECT_EQ(got[0].immediate, window->key);
  EXPECT_EQ(summary(a.poll()), "2:0");
  // It is not bound any more.
  ASSERT_EQ(b.receive(10, {b.piece(0, 8)}), 0);
  send.id = 3;
  ASSERT_EQ(a.send(send), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "3:10");
}

TEST_F(Windowed, WhatCanNotBeBound) {
  struct Row {
    uint64_t offset, bytes;
    uint32_t rights, key, region_rights;
  };
  constexpr uint32_t kBindable = access::local_write | access::bind;
  for (const Row& row : {Row{World::kBytes - 8, 64, access::remote_write, 0, kBindable},
                         Row{0, 64, access::remote_write, 0, access::local_write},  // not made for windows
                         Row{0, 64, access::remote_write, 0, access::bind},         // not writable
                         Row{0, 64, access::remote_write, 0x100, kBindable}}) {     // another object's key
    World world;
    End x(world, 0), y(world, 1);
    connect(x, y);
    Window* made = nullptr;
    Region* region = nullptr;
    ASSERT_EQ(world.cards.make_window(*y.domain, 2, made), 0);
    ASSERT_EQ(world.cards.make_region(*y.domain, World::kBase, World::kBytes, World::kBase, row.region_rights, region),
              0);
    SendWork bind = work(1, Opcode::bind_window, {});
    bind.bind = {.window = made->id,
                 .region = region->id,
                 .address = World::kBase + row.offset,
                 .bytes = row.bytes,
                 .access = row.rights,
                 .key = made->key + row.key};
    ASSERT_EQ(y.send(bind), 0);
    world.run();
    EXPECT_EQ(summary(y.poll()), "1:6");
  }
  Window* none = nullptr;
  EXPECT_EQ(w.cards.make_window(*b.domain, 3, none), EINVAL);
}

TEST_F(Windowed, AWindowThatWasFreedMeanwhileCanNotBeBound) {
  ASSERT_EQ(w.cards.make_window(*b.domain, 2, window), 0);
  ASSERT_EQ(b.send(bind(1, 64, 64, access::remote_write, window->key)), 0);
  ASSERT_EQ(w.cards.destroy(*window), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:6");
}

}  // namespace
}  // namespace fb::rdma
