// Each rule of a race report, fired by the shortest sequence of events.

#include "virtual_node/race/report/report_rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "event_rig.h"

namespace fb::race {
namespace {

struct Scenario {
  const char* rule;
  RaceClass kind;
  void (*events)(EventRig& rig);
  const char* last_sync;  // part of it
  const char* change;
  bool strict = false;
};

// Data at line 20, flags at lines 30 (fence of the writer), 31 (write), 32 (read), data again at line 40.
void message(EventRig& rig, How write, How read, Thread writer, Thread reader) {
  const mem::Address data = rig.memory(), flag = rig.memory();
  write.line = 31;
  read.line = 32;
  rig.store(writer, data, {.line = 20});
  rig.store(writer, flag, write);
  rig.load(reader, flag, read);
  rig.load(reader, data, {.line = 40});
}

constexpr How kReleaseGpu{.order = MemoryOrder::release, .scope = Scope::gpu};
constexpr How kAcquireGpu{.order = MemoryOrder::acquire, .scope = Scope::gpu};

const Scenario kScenarios[] = {
    {"flag in a vector", RaceClass::in_band_flag,
     [](EventRig& rig) {
       const mem::Address word = rig.memory();
       rig.store(rig.thread(0), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 16, .element = 4});
       rig.load(rig.thread(1), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 16, .element = 4});
     },
     "one element of the vector", "in one scalar", true},
    {"strong accesses of different sizes", RaceClass::mixed_size,
     [](EventRig& rig) {
       const mem::Address word = rig.memory();
       rig.store(rig.thread(0), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 8});
       rig.load(rig.thread(1), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 4});
     },
     "one access has 8 bytes, the other 4", "the same size on both sides"},
    {"lanes of one store", RaceClass::in_one_warp,
     [](EventRig& rig) {
       simt::Block& block = rig.block();
       rig.access(*block.warps()[0], AccessKind::store, 0b11, std::vector<mem::Address>(simt::kLanes, rig.memory()),
                  {});
     },
     "lanes of the same store instruction", "let one lane write"},
    {"slot that the host takes", RaceClass::not_released,
     [](EventRig& rig) {
       simt::Block& block = rig.block();
       const mem::Address slot = rig.memory(mem::kHostMemory);
       rig.store({&block, 0}, slot, {.line = 20});
       rig.store({&block, 5}, slot, {.line = 40});
     },
     "was not released at system scope", "put __threadfence_system() between the data stored at test.cu:20"},
    {"lanes of one warp", RaceClass::in_one_warp,
     [](EventRig& rig) {
       simt::Block& block = rig.block();
       const mem::Address data = rig.memory();
       rig.store({&block, 0}, data, {.line = 20});
       rig.load({&block, 1}, data, {.line = 40});
     },
     "ordered by __syncwarp only", "put __syncwarp() between test.cu:20 and test.cu:40"},
    {"no proxy fence", RaceClass::proxy_crossed,
     [](EventRig& rig) {
       const Thread t = rig.thread();
       const mem::Address from = rig.memory(), to = rig.memory();
       rig.store(t, from, {.bytes = 16, .line = 20});
       rig.issue_copy(t, to, from, {.bytes = 16, .proxy = Proxy::async, .line = 40});
     },
     "the threads are ordered", "put fence.proxy.async after the store at test.cu:20"},
    {"scope of a strong access", RaceClass::narrow_scope,
     [](EventRig& rig) {
       const mem::Address word = rig.memory();
       rig.store(rig.thread(0), word, {.order = MemoryOrder::relaxed, .scope = Scope::gpu, .line = 20});
       rig.load(rig.thread(1), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .line = 40});
     },
     "the access at test.cu:20 has device scope only", "give the access at test.cu:20 system scope"},
    {"update that is not atomic", RaceClass::not_atomic,
     [](EventRig& rig) {
       const mem::Address counter = rig.memory();
       for (const Thread t : {rig.thread(0), rig.thread(1)}) {
         rig.load(t, counter, {.line = 20});
         rig.store(t, counter, {.line = 20});
       }
     },
     "one of the changes can be lost", "use atomicAdd_system"},
    {"flag without release", RaceClass::not_released,
     [](EventRig& rig) { message(rig, kRelaxedSys, kAcquireSys, rig.thread(0), rig.thread(1)); },
     "neither that store nor a fence before it releases", "make the store at test.cu:31 a release"},
    {"flag without acquire", RaceClass::not_acquired,
     [](EventRig& rig) { message(rig, kReleaseSys, kRelaxedSys, rig.thread(0), rig.thread(1)); },
     "neither that load nor a fence after it acquires", "make the load at test.cu:32 an acquire"},
    {"scope of the fence before a flag", RaceClass::narrow_scope,
     [](EventRig& rig) {
       const Thread writer = rig.thread(0), reader = rig.thread(1);
       const mem::Address data = rig.memory(), flag = rig.memory();
       rig.store(writer, data, {.line = 20});
       rig.fence(writer, Scope::gpu, MemoryOrder::acq_rel, 30);
       rig.store(writer, flag, kRelaxedSys);
       rig.load(reader, flag, kAcquireSys);
       rig.load(reader, data, {.line = 40});
     },
     "the writer's side has device scope only (test.cu:30)",
     "use system scope at test.cu:30 (__threadfence_system() instead of __threadfence())"},
    {"scope of the write of a flag", RaceClass::narrow_scope,
     [](EventRig& rig) {
       const Thread writer = rig.thread(0), reader = rig.thread(1);
       message(rig, kReleaseGpu, kAcquireSys, writer, reader);
     },
     "the writer's side has device scope only (test.cu:31)", "use system scope at test.cu:31"},
    {"scope of the read of a flag", RaceClass::narrow_scope,
     [](EventRig& rig) { message(rig, kReleaseSys, kAcquireGpu, rig.thread(0), rig.thread(1)); },
     "the reader's side has device scope only (test.cu:32)", "use system scope at test.cu:32"},
    {"flag of different sizes", RaceClass::mixed_size,
     [](EventRig& rig) {
       How wide = kAcquireSys;
       wide.bytes = 8;
       message(rig, kReleaseSys, wide, rig.thread(0), rig.thread(1));
     },
     "accesses of different sizes", "use the same size at test.cu:31 and test.cu:32"},
    {"acquire by another thread", RaceClass::not_acquired,
     [](EventRig& rig) {
       const Thread writer = rig.thread(0);
       simt::Block& block = rig.block(1);
       const mem::Address data = rig.memory(), flag = rig.memory();
       rig.store(writer, data, {.line = 20});
       rig.store(writer, flag, {.order = MemoryOrder::release, .scope = Scope::sys, .line = 31});
       rig.load({&block, 0}, flag, {.order = MemoryOrder::acquire, .scope = Scope::sys, .line = 32});
       rig.load({&block, 40}, data, {.line = 40});
     },
     "has not synchronised with that one since (no __syncthreads)", "between test.cu:32 and test.cu:40"},
    {"release by another thread", RaceClass::foreign_fence,
     [](EventRig& rig) {
       simt::Block& block = rig.block(0);
       const Thread reader = rig.thread(1);
       const mem::Address data = rig.memory(), flag = rig.memory();
       rig.store({&block, 40}, data, {.line = 20});
       rig.store({&block, 0}, flag, {.order = MemoryOrder::release, .scope = Scope::sys, .line = 31});
       rig.load(reader, flag, kAcquireSys);
       rig.load(reader, data, {.line = 40});
     },
     "did not synchronise with the releasing thread", "between test.cu:20 and the fence or release at test.cu:31"},
    {"threads of one block", RaceClass::write_read,
     [](EventRig& rig) {
       simt::Block& block = rig.block();
       const mem::Address data = rig.memory();
       rig.store({&block, 0}, data, {.line = 20});
       rig.load({&block, 40}, data, {.line = 40});
     },
     "no __syncthreads() since", "put __syncthreads() between test.cu:20 and test.cu:40"},
    {"release before the access", RaceClass::not_released,
     [](EventRig& rig) {
       const Thread writer = rig.thread(0), reader = rig.thread(0);
       const mem::Address data = rig.memory(), flag = rig.memory();
       rig.fence(writer, Scope::gpu, MemoryOrder::acq_rel, 30);
       rig.store(writer, data, {.line = 20});
       rig.store(writer, flag, {.order = MemoryOrder::relaxed, .scope = Scope::gpu, .line = 31});
       rig.load(reader, flag, {.order = MemoryOrder::acquire, .scope = Scope::gpu, .line = 32});
       rig.load(reader, data, {.line = 40});
     },
     "at test.cu:30, comes before the access at test.cu:20", "put __threadfence() between test.cu:20 and it"},
    {"operations of streams", RaceClass::write_read,
     [](EventRig& rig) {
       const mem::Address data = rig.memory();
       rig.store(rig.thread(0), data, {.line = 20});
       rig.detector().access(rig.copy(0), AccessKind::load, rig.allocation(data), 0, 4);
     },
     "no event", "cudaStreamWaitEvent"},
    {"flag with a weak access", RaceClass::read_write,
     [](EventRig& rig) {
       const mem::Address flag = rig.memory();
       const Thread reader = rig.thread(0), writer = rig.thread(0);  // the writer's operation is the later one
       rig.load(reader, flag, {.order = MemoryOrder::volatile_, .scope = Scope::sys, .line = 20});
       rig.store(writer, flag, {.line = 40});
     },
     "the access at test.cu:20 is strong, that at test.cu:40 is weak", "st.relaxed.gpu, or st.release.gpu"},
    {"buffer of the call before", RaceClass::reused_early,
     [](EventRig& rig) {
       const mem::Address data = rig.memory();
       const Thread reader = rig.thread(0), writer = rig.thread(1);  // the writer's operation is the later one
       rig.load(reader, data, {.line = 20});
       rig.store(writer, data, {.line = 40});
     },
     "no synchronisation", "an exit barrier"},
    {"flag that is not read", RaceClass::write_read,
     [](EventRig& rig) {
       const Thread writer = rig.thread(0), waits = rig.thread(1), does_not = rig.thread(2);
       const mem::Address data = rig.memory(), flag = rig.memory();
       rig.store(writer, data, {.line = 20});
       rig.store(writer, flag, {.order = MemoryOrder::release, .scope = Scope::sys, .line = 31});
       rig.load(waits, flag, kAcquireSys);
       rig.load(does_not, data, {.line = 40});
     },
     "sets a flag at test.cu:31 behind the first access",
     "wait before test.cu:40 for the flag that is set at test.cu:31"},
    {"before the call has begun", RaceClass::read_write,
     [](EventRig& rig) {
       const mem::Address data = rig.memory();
       OperationInfo judge;
       judge.name = "end of the call";
       judge.rank = 3;
       judge.host = 77;
       judge.of_judge = true;
       judge.number = 1000;
       judge.stream_epoch = {500, 1};
       const uint32_t operation = rig.detector().begin_operation(std::move(judge), nullptr);
       rig.detector().access(operation, AccessKind::load, rig.allocation(data), 0, 4);
       rig.store(rig.thread(1), data, {.line = 40});
     },
     "no synchronisation", "let rank 3 say by a flag that it has begun its call"},
    {"read too early", RaceClass::read_write,
     [](EventRig& rig) {
       const mem::Address data = rig.memory();
       rig.call = 1;
       const Thread reader = rig.thread(0), writer = rig.thread(1);
       rig.load(reader, data, {.line = 20});
       rig.store(writer, data, {.line = 40});
     },
     "both are of one call", "the read is too early: wait before it for a flag"},
    {"no synchronisation", RaceClass::write_read,
     [](EventRig& rig) {
       const mem::Address data = rig.memory();
       rig.store(rig.thread(0), data, {.line = 20});
       rig.load(rig.thread(1), data, {.line = 40});
     },
     "no synchronisation", "publish the data with a flag"},
};

class ReportRules : public testing::TestWithParam<Scenario> {};

TEST_P(ReportRules, IsFiredByItsScenario) {
  const Scenario& s = GetParam();
  EventRig rig({.strict = s.strict, .weak_lines = 0});
  s.events(rig);
  ASSERT_FALSE(rig.clean());
  const Report& report = rig.reports().back();
  EXPECT_EQ(report.rule, s.rule) << report.text;
  EXPECT_EQ(report.kind, s.kind) << report.text;
  EXPECT_TRUE(report.text.starts_with(name_of(s.kind))) << report.text;
  const size_t last = report.text.find("last synchronisation: "), change = report.text.find("smallest change: ");
  ASSERT_NE(last, std::string::npos);
  ASSERT_NE(change, std::string::npos);
  EXPECT_NE(report.text.substr(last, change - last).find(s.last_sync), std::string::npos) << report.text;
  EXPECT_NE(report.text.substr(change).find(s.change), std::string::npos) << report.text;
}

INSTANTIATE_TEST_SUITE_P(All, ReportRules, testing::ValuesIn(kScenarios), [](const auto& scenario) {
  std::string name;
  for (const char c : std::string(scenario.param.rule)) name += c == ' ' ? '_' : c;
  return name;
});

TEST(ReportRulesTable, EveryRuleHasAScenarioAndAUniqueName) {
  std::set<std::string_view> fired, rules;
  for (const Scenario& s : kScenarios) fired.insert(s.rule);
  for (const auto& table : {rules_of_accesses(), rules_of_flags(), rules_of_order()}) {
    for (const ReportRule& rule : table) EXPECT_TRUE(rules.insert(rule.name).second) << rule.name;
  }
  EXPECT_EQ(fired, rules);
}

// Blocks of one device: its scope is enough.
TEST(Reports, NameTheNarrowestScopeThatSuffices) {
  EventRig rig;
  const Thread writer = rig.thread(0), reader = rig.thread(0);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data, {.line = 20});
  rig.fence(writer, Scope::cta, MemoryOrder::acq_rel, 30);
  rig.store(writer, flag, kRelaxedSys);
  rig.load(reader, flag, kAcquireSys);
  rig.load(reader, data, {.line = 40});
  ASSERT_FALSE(rig.clean());
  const std::string& text = rig.reports().back().text;
  EXPECT_NE(text.find("use device scope at test.cu:30 (__threadfence() instead of __threadfence_block())"),
            std::string::npos)
      << text;
}

TEST(Reports, NameBothSidesOfAFlagThatAreRelaxed) {
  EventRig rig;
  message(rig, kRelaxedSys, kRelaxedSys, rig.thread(0), rig.thread(1));
  ASSERT_FALSE(rig.clean());
  const std::string& text = rig.reports().back().text;
  EXPECT_NE(text.find("make the store at test.cu:31 a release"), std::string::npos) << text;
  EXPECT_NE(text.find("the load at test.cu:32 is relaxed, too: make it an acquire"), std::string::npos) << text;
}

TEST(Reports, DoNotAskForAnAcquireWhereAFenceIsBehindTheLoad) {
  EventRig rig;
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data, {.line = 20});
  rig.store(writer, flag, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .line = 31});
  rig.load(reader, flag, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .line = 32});
  rig.fence(reader, Scope::sys);
  rig.load(reader, data, {.line = 40});
  ASSERT_FALSE(rig.clean());
  EXPECT_NE(rig.text().find("make the store at test.cu:31 a release"), std::string::npos) << rig.text();
  EXPECT_EQ(rig.text().find("is relaxed, too"), std::string::npos) << rig.text();
}

TEST(Reports, NameBothScopesThatAreTooNarrow) {
  EventRig flags;
  message(flags, kReleaseGpu, kAcquireGpu, flags.thread(0), flags.thread(1));
  ASSERT_FALSE(flags.clean());
  EXPECT_NE(flags.text().find("use system scope at test.cu:31 (.sys), and at test.cu:32"), std::string::npos)
      << flags.text();
  EventRig words;
  const mem::Address word = words.memory();
  words.store(words.thread(0), word, {.order = MemoryOrder::relaxed, .scope = Scope::gpu, .line = 20});
  words.load(words.thread(1), word, {.order = MemoryOrder::relaxed, .scope = Scope::gpu, .line = 40});
  ASSERT_FALSE(words.clean());
  EXPECT_NE(words.text().find("give the accesses at test.cu:20 and test.cu:40 system scope"), std::string::npos)
      << words.text();
}

// Other warps access what the block shares as well.
TEST(Reports, NameTheBarrierOfTheBlockForSharedMemory) {
  EventRig rig;
  simt::Block& block = rig.block();
  rig.store({&block, 0}, EventRig::shared(0), {.line = 20});
  rig.load({&block, 1}, EventRig::shared(0), {.line = 40});
  ASSERT_FALSE(rig.clean());
  EXPECT_NE(rig.text().find("put __syncthreads() between test.cu:20 and test.cu:40"), std::string::npos) << rig.text();
}

// rank 0 → a counter, with a fence of its device only → rank 1 → a flag → rank 2, which reads what rank 0 wrote.
TEST(Reports, NameTheLinkOfAChainThatOrdersNothing) {
  EventRig rig;
  const Thread first = rig.thread(0), middle = rig.thread(1), last = rig.thread(2);
  const mem::Address data = rig.memory(), counter = rig.memory(), flag = rig.memory();
  rig.store(first, data, {.line = 20});
  rig.fence(first, Scope::gpu, MemoryOrder::acq_rel, 30);
  rig.atomic(first, counter, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .line = 31});
  rig.load(middle, counter, kAcquireSys);
  rig.store(middle, flag, kReleaseSys);
  rig.load(last, flag, kAcquireSys);
  rig.load(last, data, {.line = 40});
  ASSERT_FALSE(rig.clean());
  const std::string& text = rig.reports().back().text;
  EXPECT_NE(text.find("on the way between them"), std::string::npos) << text;
  EXPECT_NE(text.find("__threadfence_system() instead of __threadfence()"), std::string::npos) << text;
}

TEST(Reports, NameBothAccessesTheBytesAndTheRank) {
  EventRig rig;
  const mem::Address data = rig.memory();
  rig.store({&rig.block(0), 33}, data + 132, {.line = 20});
  rig.load(rig.thread(1), data + 132, {.line = 40});
  ASSERT_EQ(rig.reports().size(), 1u);
  const std::string& text = rig.reports()[0].text;
  EXPECT_NE(text.find("first:  device 0, kernel, block 0, thread 33 writes: test.cu:20 (ptx)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("then:   device 1, kernel, block 0, thread 0 reads: test.cu:40 (ptx)"), std::string::npos);
  EXPECT_NE(text.find("byte 132 of memory #1 of device 0 (4096 bytes), address m1+0x84"), std::string::npos);
}

TEST(Reports, APairOfLinesIsReportedOnce) {
  EventRig rig;
  const mem::Address data = rig.memory();
  for (int k = 0; k < 3; ++k) {
    rig.store(rig.thread(0), data, {.line = 20});
    rig.load(rig.thread(1), data, {.line = 40});
  }
  size_t of_pair = 0;
  for (const Report& r : rig.reports()) of_pair += r.kind == RaceClass::write_read;
  EXPECT_EQ(of_pair, 1u) << rig.text();
}

TEST(Reports, ManyReadersAreRemembered) {
  EventRig rig;
  const mem::Address data = rig.memory();
  const Thread writer = rig.thread(0);
  for (uint32_t k = 0; k < 40; ++k) rig.load(rig.thread(1), data, {.line = 20 + k});
  rig.store(writer, data, {.line = 90});
  EXPECT_EQ(rig.reports().size(), 40u);
}

}  // namespace
}  // namespace fb::race
