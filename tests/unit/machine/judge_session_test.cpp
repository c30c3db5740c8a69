// What the judge and the ranks of a judgement may ask, and in which order things happen.

#include "virtual_node/machine/judging/judge_session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using testing::HasSubstr;
using wire::Direction;
using wire::Kind;
using wire::Status;
using wire::StepKind;

constexpr uint64_t kArena = 4096;

class JudgeSessionTest : public testing::Test {
 protected:
  JudgeSessionTest() : session(host.node.services(), 2, 77), judge(session.judge()), a(host, 0), b(host, 1) {
    host.node.set_judge(session);
    file.reset(memfd_create("arena", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(file.get(), kArena), 0);
    arena = static_cast<uint32_t*>(mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
    for (Rank* rank : {&a, &b}) streams[rank->process.rank] = rank->stream(false, device(*rank));
  }
  ~JudgeSessionTest() override { munmap(arena, kArena); }

  static uint32_t device(const Rank& rank) { return static_cast<uint32_t>(rank.process.rank); }

  // The rank has returned.
  void ask_for_next(Rank& rank) {
    host.say<Kind::step_next>(rank.thread, {streams[rank.process.rank].stream, device(rank), 0});
  }
  std::optional<wire::StepReady> told(Rank& rank) {
    if (!host.is_answered(rank.thread)) return std::nullopt;
    wire::StepReady ready;
    EXPECT_EQ(host.answer(rank.thread).status, Status::ok);
    std::memcpy(&ready, host.answer(rank.thread).body.data(), sizeof ready);
    return ready;
  }
  bool end_step() { return host.settle() && session.end_step(); }
  void begin() {
    host.say<Kind::judge_begin>(judge, {kArena}, {}, fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    ask_for_next(a);
    ask_for_next(b);
    ASSERT_TRUE(end_step());
    ASSERT_EQ(host.answer(judge).status, Status::ok);
  }
  uint64_t tensor(uint32_t rank, uint64_t bytes) {
    wire::Address reply;
    EXPECT_EQ(host.call<Kind::judge_tensor>(judge, {rank, -1, bytes}, &reply), Status::ok);
    return reply.address;
  }
  void step(StepKind kind, uint32_t calls = 1, const std::vector<wire::Transfer>& transfers = {}, uint32_t first = 0) {
    host.say<Kind::judge_step>(judge, {kind, calls, first, 2}, std::as_bytes(std::span(transfers)));
  }
  Status refusal(const std::vector<wire::Transfer>& transfers) {
    step(StepKind::run, 2, transfers);
    return host.is_answered(judge) ? host.answer(judge).status : Status::ok;
  }

  NodeHost host;
  JudgeSession session;
  HostThread& judge;
  Rank a, b;
  std::map<int32_t, wire::StreamRef> streams;
  UniqueFd file;
  uint32_t* arena = nullptr;
};

TEST_F(JudgeSessionTest, RanksAreNoJudgesAndTheJudgeIsNoRank) {
  begin();
  EXPECT_EQ(host.call<Kind::judge_tensor>(b.thread, {0, 0, 64}), Status::not_permitted);
  EXPECT_EQ(host.call<Kind::judge_step>(b.thread, {StepKind::leave, 1, 0, 2}), Status::not_permitted);
  EXPECT_EQ(host.call<Kind::step_next>(judge, {}), Status::not_permitted);
  EXPECT_EQ(host.call<Kind::allocate>(judge, {}), Status::not_permitted);
  NodeHost other;
  Rank alone(other, 0);
  EXPECT_EQ(alone.status<Kind::step_next>({}), Status::not_permitted);
  EXPECT_EQ(alone.status<Kind::exchange>({}), Status::not_permitted);
}

TEST_F(JudgeSessionTest, TheJudgeIsAnsweredWhenAllRanksHaveCome) {
  host.say<Kind::judge_begin>(judge, {kArena}, {}, fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  ask_for_next(a);
  EXPECT_FALSE(end_step());
  EXPECT_FALSE(session.frozen());
  ask_for_next(b);
  EXPECT_TRUE(end_step());
  EXPECT_TRUE(session.frozen());
  EXPECT_FALSE(end_step());
}

TEST_F(JudgeSessionTest, TransfersStayInTheArenaAndInTheirTensor) {
  begin();
  const uint64_t t = tensor(0, 64);
  EXPECT_EQ(refusal({{0, 0, Direction::load, 0, t, 64, kArena - 60}}), Status::invalid_value);
  EXPECT_EQ(refusal({{0, 0, Direction::load, 0, t, 64, UINT64_MAX - 8}}), Status::invalid_value);
  EXPECT_EQ(refusal({{0, 0, Direction::load, 0, t, UINT64_MAX, 0}}), Status::invalid_value);
  EXPECT_EQ(refusal({{0, 0, Direction::store, 0, t + 4, 64, 0}}), Status::invalid_value);
  EXPECT_EQ(refusal({{1, 0, Direction::store, 0, t + (1 << 20), 64, 0}}), Status::invalid_value);
  EXPECT_EQ(refusal({{2, 0, Direction::load, 0, t, 4, 0}}), Status::invalid_value);
  EXPECT_EQ(refusal({{0, 2, Direction::load, 0, t, 4, 0}}), Status::invalid_value);
  EXPECT_EQ(refusal({{0, 0, static_cast<Direction>(2), 0, t, 4, 0}}), Status::invalid_value);
  EXPECT_TRUE(session.frozen());
  EXPECT_FALSE(told(a));
  EXPECT_EQ(refusal({{0, 0, Direction::load, 0, t, 64, kArena - 64}}), Status::ok);
  EXPECT_TRUE(told(a));
}

TEST_F(JudgeSessionTest, AnInstanceGetsItsFieldsByRank) {
  begin();
  const uint64_t words[] = {1, 2, 3, 4};
  host.say<Kind::judge_step>(judge, {StepKind::construct, 1, 0, 2}, std::as_bytes(std::span(words)));
  ASSERT_TRUE(told(b));
  EXPECT_EQ(told(b)->kind, StepKind::construct);
  uint64_t got[2];
  ASSERT_EQ(host.answer(b.thread).blob.size(), sizeof got);
  std::memcpy(got, host.answer(b.thread).blob.data(), sizeof got);
  EXPECT_EQ(got[0], 3u);
  EXPECT_EQ(got[1], 4u);
}

TEST_F(JudgeSessionTest, StoresAndLoadsHappenInTheOrderOfTheStream) {
  begin();
  const uint64_t in = tensor(0, 4), out = tensor(0, 4);
  const uint64_t gate = a.allocate(0, 4);
  arena[0] = 10;
  arena[1] = 20;
  step(StepKind::run, 2,
       {{0, 0, Direction::load, 0, in, 4, 0},
        {0, 0, Direction::store, 0, out, 4, 400},
        {0, 1, Direction::load, 0, in, 4, 4},
        {0, 1, Direction::load, 0, out, 4, 800},
        {0, 1, Direction::store, 0, out, 4, 404}});
  arena[200] = 0xDEAD;
  // Call 0: out = in, once the gate is open. The host returns long before.
  const auto copy = [&] {
    wire::Copy m;
    m.stream = streams[0];
    m.to = out;
    m.from = in;
    m.width = 4;
    ASSERT_EQ(a.status<Kind::copy>(m), Status::ok);
  };
  ASSERT_EQ(a.status<Kind::stream_wait_value>({streams[0], gate, 1, 4, wire::Compare::equal}), Status::ok);
  copy();
  ask_for_next(a);
  ASSERT_TRUE(told(a));
  EXPECT_EQ(told(a)->call, 1u);
  ask_for_next(b);
  ask_for_next(b);
  EXPECT_FALSE(end_step());
  EXPECT_EQ(arena[100], 0u);
  // Call 1 of a: does not write, so that its output is what was loaded.
  const auto other = a.stream(true);
  ASSERT_EQ(a.status<Kind::stream_write_value>({other, gate, 1, 4, {}}), Status::ok);
  ask_for_next(a);
  EXPECT_FALSE(told(a));
  ASSERT_TRUE(end_step());
  EXPECT_EQ(arena[100], 10u);
  EXPECT_EQ(arena[101], 0xDEADu);
  EXPECT_EQ(a.read(in), 20u);
  wire::CallTimes times[4];
  ASSERT_GT(host.answer(judge).blob.size(), sizeof times);
  std::memcpy(times, host.answer(judge).blob.data(), sizeof times);
  EXPECT_EQ(times[0].begun, times[2].begun);
  EXPECT_GT(times[0].ended, times[0].returned);
  EXPECT_EQ(times[1].begun, times[0].returned);
  EXPECT_GE(times[1].ended, times[0].ended);
}

TEST_F(JudgeSessionTest, WhatIsLoadedWakesWhoSleepsThere) {
  begin();
  const uint64_t in = tensor(0, 4);
  arena[0] = 1;
  arena[1] = 2;
  step(StepKind::run, 2, {{0, 0, Direction::load, 0, in, 4, 0}, {0, 1, Direction::load, 0, in, 4, 4}});
  const auto other = a.stream(true);
  const uint64_t seen = a.allocate(0, 4);
  ASSERT_EQ(a.status<Kind::stream_wait_value>({other, in, 2, 4, wire::Compare::equal}), Status::ok);
  ASSERT_EQ(a.launch(other, "store", {seen, 5}), Status::ok);
  ASSERT_TRUE(host.settle());
  ask_for_next(b);
  ask_for_next(b);
  EXPECT_FALSE(end_step());
  ask_for_next(a);
  ask_for_next(a);
  ASSERT_TRUE(end_step());
  EXPECT_EQ(a.read(seen), 5u);
}

TEST_F(JudgeSessionTest, AStepBeginsAtOneMoment) {
  begin();
  a.thread.now += 5'000'000;
  const Time latest = a.thread.now;
  step(StepKind::run);
  EXPECT_EQ(a.thread.now, latest);
  EXPECT_EQ(b.thread.now, latest);
}

TEST_F(JudgeSessionTest, AFullQueueDoesNotKeepARankFromReturning) {
  begin();
  step(StepKind::run);
  const uint64_t gate = a.allocate(0, 4);
  ASSERT_EQ(a.status<Kind::stream_wait_value>({streams[0], gate, 1, 4, wire::Compare::equal}), Status::ok);
  for (int k = 0; k < (1 << 16) - 1; ++k)
    ASSERT_EQ(a.status<Kind::stream_write_value>({streams[0], gate, 2, 4, {}}), Status::ok);
  ask_for_next(a);
  ask_for_next(b);
  EXPECT_FALSE(end_step());
  EXPECT_EQ(session.explain_wait(a.thread), "rank 0 has returned from call 0 of run");
}

TEST_F(JudgeSessionTest, OneThreadOfARankAsksForSteps) {
  begin();
  HostThread& second = host.add_thread(a.process);
  EXPECT_EQ(host.call<Kind::step_next>(second, {streams[0].stream, 0, 0}), Status::not_permitted);
  step(StepKind::run);
  EXPECT_EQ(host.call<Kind::step_next>(second, {streams[0].stream, 0, 0}), Status::not_permitted);
  EXPECT_TRUE(session.needs(a.thread));
  EXPECT_FALSE(session.needs(second));
}

TEST_F(JudgeSessionTest, AnExchangeGivesEverybodyEverything) {
  begin();
  step(StepKind::construct);
  const uint32_t mine = 5, yours = 6;
  a.thread.now += 1'000'000;
  host.say<Kind::exchange>(a.thread, {}, std::as_bytes(std::span(&mine, 1)));
  EXPECT_FALSE(host.is_answered(a.thread));
  EXPECT_EQ(session.explain_wait(a.thread), "rank 0 waits in all_gather for rank 1");
  host.say<Kind::exchange>(b.thread, {}, std::as_bytes(std::span(&yours, 1)));
  for (Rank* rank : {&a, &b}) {
    uint32_t all[2];
    ASSERT_EQ(host.answer(rank->thread).blob.size(), sizeof all);
    std::memcpy(all, host.answer(rank->thread).blob.data(), sizeof all);
    EXPECT_EQ(all[0], 5u);
    EXPECT_EQ(all[1], 6u);
  }
  EXPECT_EQ(a.thread.now, b.thread.now);
}

TEST_F(JudgeSessionTest, RanksThatDoNotAgreeAreAllTold) {
  begin();
  step(StepKind::construct);
  const std::vector<std::byte> four(4), eight(8), huge(wire::kLargestBlob);
  EXPECT_EQ(host.call<Kind::exchange>(a.thread, {}, nullptr, huge), Status::invalid_value);
  host.say<Kind::exchange>(a.thread, {}, four);
  EXPECT_EQ(host.call<Kind::exchange>(b.thread, {}, nullptr, eight), Status::invalid_value);
  EXPECT_EQ(host.answer(a.thread).status, Status::invalid_value);
  host.say<Kind::exchange>(a.thread, {}, four);
  EXPECT_EQ(host.call<Kind::exchange_descriptor>(b.thread, {0, 0}), Status::invalid_value);
  EXPECT_EQ(host.answer(a.thread).status, Status::invalid_value);
}

TEST_F(JudgeSessionTest, DescriptorsStandForTheMachinesMemoryOnly) {
  begin();
  step(StepKind::construct);
  const wire::Id physical = a.ask<Kind::physical_create>({wire::kGranularity, 0, 1}).handle;
  a.ask<Kind::physical_export>({physical});
  const int exported = host.answer(a.thread).owned.release();
  host.say<Kind::exchange_descriptor>(a.thread, {0, 0}, {}, exported);
  EXPECT_EQ(host.call<Kind::exchange_descriptor>(b.thread, {0, 0}), Status::ok);
  const int shared = host.answer(b.thread).owned.release();
  ASSERT_GE(shared, 0);
  EXPECT_EQ(b.status<Kind::physical_import>({}, {}, shared), Status::ok);

  host.say<Kind::exchange_descriptor>(a.thread, {0, 0}, {}, memfd_create("mine", MFD_CLOEXEC));
  EXPECT_EQ(host.call<Kind::exchange_descriptor>(b.thread, {0, 0}), Status::invalid_value);
  EXPECT_EQ(host.answer(a.thread).status, Status::invalid_value);
  EXPECT_LT(host.answer(b.thread).owned.get(), 0);
}

TEST_F(JudgeSessionTest, WhatRunAsksForIsCounted) {
  begin();
  const uint64_t tensor = this->tensor(0, 4);
  step(StepKind::construct);
  a.read(a.allocate(0, 4));
  ask_for_next(a);
  ask_for_next(b);
  ASSERT_TRUE(end_step());
  step(StepKind::run);
  // A graph of two fills is two fills.
  wire::GraphNodeHeader node;
  node.kind = Kind::memset;
  node.body = sizeof(wire::Memset);
  wire::Memset fill;
  fill.to = tensor;
  fill.width = fill.height = fill.depth = fill.element = 1;
  std::vector<std::byte> nodes;
  for (int k = 0; k < 2; ++k) {
    std::ranges::copy(std::as_bytes(std::span(&node, 1)), std::back_inserter(nodes));
    std::ranges::copy(std::as_bytes(std::span(&fill, 1)), std::back_inserter(nodes));
  }
  const wire::Id graph = a.ask<Kind::graph_create>({.graph = 0, .nodes = 2, .last = 1}, nodes).handle;
  ASSERT_EQ(a.status<Kind::graph_launch>({streams[0], graph}), Status::ok);
  ASSERT_EQ(a.launch(streams[0], "store", {tensor, 3}), Status::ok);
  EXPECT_EQ(a.status<Kind::exchange>({}), Status::not_permitted);
  EXPECT_EQ(a.status<Kind::exchange_descriptor>({}), Status::not_permitted);
  record::RunRecord record;
  host.node.fill(record);
  const std::map<std::string, uint64_t> expected = {
      {"launch", 1},       {"function_find", 1}, {"exchange", 1}, {"exchange_descriptor", 1},
      {"graph_create", 1}, {"graph_launch", 1},  {"memset", 2}};
  EXPECT_EQ(record.calls_in_run, expected);
}

TEST_F(JudgeSessionTest, AnExceptionEndsTheRun) {
  begin();
  step(StepKind::run, 3, {}, 4);
  ask_for_next(a);
  std::string text = "bad\x01\n" + std::string(5000, 'x');
  host.say<Kind::step_next>(a.thread, {streams[0].stream, 0, 1}, std::as_bytes(std::span(text)));
  ASSERT_EQ(host.incidents.size(), 1u);
  const record::Incident& incident = host.incidents.front();
  EXPECT_EQ(incident.reason, record::IncidentReason::rank_threw);
  EXPECT_EQ(incident.rank, 0);
  EXPECT_TRUE(incident.fatal);
  EXPECT_THAT(incident.text, HasSubstr("run, call 5 threw: bad\\x01\\nxxx"));
  EXPECT_LT(incident.text.size(), 2100u);
}

TEST_F(JudgeSessionTest, ATensorIsTheJudgesToFree) {
  begin();
  const uint64_t t = tensor(0, 64);
  EXPECT_EQ(host.call<Kind::judge_free>(judge, {1, 0, t + (1 << 22)}), Status::invalid_value);
  step(StepKind::construct);
  EXPECT_EQ(host.call<Kind::judge_free>(judge, {0, 0, t}), Status::illegal_state);
  EXPECT_EQ(a.status<Kind::free>({t, wire::MemoryKind::device, 0}), Status::invalid_value);
  EXPECT_EQ(a.status<Kind::free_ordered>({streams[0], t}), Status::invalid_value);
  EXPECT_EQ(a.status<Kind::ipc_export>({t}), Status::ok);
}

TEST_F(JudgeSessionTest, AfterTheyWereToldToLeaveRanksMayGo) {
  begin();
  EXPECT_EQ(session.explain_loss(a.process), "rank 0 ended between steps");
  step(StepKind::run, 2, {}, 3);
  EXPECT_EQ(session.explain_loss(a.process), "rank 0 ended during run, call 3");
  for (int k = 0; k < 2; ++k) {
    ask_for_next(a);
    ask_for_next(b);
  }
  ASSERT_TRUE(end_step());
  step(StepKind::leave);
  EXPECT_EQ(told(b)->kind, StepKind::leave);
  EXPECT_TRUE(host.is_answered(judge));
  EXPECT_EQ(session.explain_loss(a.process), std::nullopt);
}

}  // namespace
}  // namespace fb::machine
