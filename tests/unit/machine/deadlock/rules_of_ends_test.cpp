// Rules about cycles, agents that have ended, and the last resorts; and the order in which rules are tried.

#include <gtest/gtest.h>

#include "tests/unit/machine/deadlock/hand_built_graph.h"
#include "virtual_node/machine/deadlock/causes.h"

namespace fb::machine {
namespace {

using rules::Found;

// Cycles

TEST(Cycle, TwoRanksThatWaitForEachOtherAreNamed) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0), 1, 0, 5).waits = {1};
  b.add_memory_wait(b.add_run("k", 1), 1, 0, 6).waits = {0};
  const Found found = rules::cycle(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::cycle);
  EXPECT_TRUE(has(found->sentence, "at f.cu:5 waits for rank 1")) << found->sentence;
  EXPECT_TRUE(has(found->sentence, "which waits for the first")) << found->sentence;
  EXPECT_EQ(found->waits, (std::vector<size_t>{0, 1}));
}

TEST(Cycle, TheShortestOneIsTaken) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0), 1, 0).waits = {1};
  b.add_memory_wait(b.add_run("k", 1), 1, 0).waits = {2};
  b.add_memory_wait(b.add_run("k", 2), 1, 0).waits = {0, 3};
  b.add_memory_wait(b.add_run("k", 3), 1, 0).waits = {2};
  EXPECT_EQ(rules::cycle(b.graph)->waits, (std::vector<size_t>{2, 3}));
}

TEST(Cycle, OneAcrossBlocksIsPreferred) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k", 0, 1, 2);
  b.add_memory_wait(run, 1, 0, 1, 0).waits = {1};
  b.add_memory_wait(run, 1, 0, 2, 0).waits = {0, 2};
  b.add_memory_wait(run, 1, 0, 3, 1).waits = {3};
  b.add_memory_wait(b.add_run("k", 1), 1, 0, 4).waits = {2};
  EXPECT_EQ(rules::cycle(b.graph)->waits, (std::vector<size_t>{2, 3}));
}

TEST(Cycle, OneWithinABlockIsBetterThanNone) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_memory_wait(run, 1, 0, 1).waits = {1};
  b.add_memory_wait(run, 1, 0, 2).waits = {0};
  EXPECT_TRUE(rules::cycle(b.graph));
}

TEST(Cycle, LongOnesAreCutShort) {
  HandBuiltGraph b;
  for (uint32_t k = 0; k < 6; ++k) b.add_memory_wait(b.add_run("k", k), 1, 0).waits = {(k + 1) % 6};
  const Found found = rules::cycle(b.graph);
  EXPECT_EQ(found->waits.size(), 6u);
  EXPECT_FALSE(has(found->sentence, "rank 4")) << found->sentence;
}

TEST(Cycle, AChainIsNone) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0), 1, 0).waits = {1};
  b.add_memory_wait(b.add_run("k", 1), 1, 0);
  EXPECT_FALSE(rules::cycle(b.graph));
}

TEST(Cycle, IsNotTheCauseWhereABlockHasEndedThatCouldHaveWritten) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0), 1, 0).waits = {1};
  Wait& second = b.add_memory_wait(b.add_run("k", 1), 1, 0);
  second.waits = {0};
  second.ended_blocks = {"blocks 0 to 3"};
  EXPECT_FALSE(rules::cycle(b.graph));
  const Found found = rules::early_exit_of_blocks(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::early_exit);
  EXPECT_TRUE(has(found->sentence, "blocks 0 to 3 could have written it and have ended")) << found->sentence;
}

TEST(SelfCycle, ThreadsThatWaitForEachOtherAtOneLine) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k", 0, 1, 2), 1, 0);
  wait.itself = true;
  wait.words = 2;
  wait.threads.push_back({nullptr, nullptr, 1, 0, 1});
  const Found found = rules::self_cycle(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::cycle);
}

TEST(SelfCycle, NeedsTwoWordsAndTwoWarps) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 1, 0);
  wait.itself = true;
  wait.words = 2;
  EXPECT_FALSE(rules::self_cycle(b.graph));
  wait.threads.push_back({nullptr, nullptr, 1, 0, 1});
  wait.words = 1;
  EXPECT_FALSE(rules::self_cycle(b.graph));
  wait.words = 2;
  wait.itself = false;
  EXPECT_FALSE(rules::self_cycle(b.graph));
}

// Agents that have ended

TEST(EarlyExit, ThreadsOrKernelsThatCouldHaveWrittenAreNamed) {
  HandBuiltGraph threads, kernels;
  threads.add_memory_wait(threads.add_run("k"), 1, 0).ended_threads = {"threads 32 to 63"};
  EXPECT_TRUE(has(rules::early_exit(threads.graph)->sentence, "threads 32 to 63 could have written it and have ended"));
  kernels.add_memory_wait(kernels.add_run("k"), 1, 0).ended_kernels = {"kernel producer"};
  EXPECT_TRUE(has(rules::early_exit(kernels.graph)->sentence, "kernel producer could have written it and has ended"));
}

TEST(EarlyExit, IsNotTheCauseWhileAWriterRemains) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 1, 0);
  wait.ended_threads = {"threads 32 to 63"};
  wait.ops = {b.add_op("copy")};
  EXPECT_FALSE(rules::early_exit(b.graph));
  EXPECT_FALSE(rules::early_exit_of_blocks(b.graph));
}

TEST(RankHasLeft, IsNamedWhereNoWriterRemains) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 1, 0);
  b.add_rank(1).gone = true;
  const Found found = rules::rank_has_left(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::missing_rank);
  EXPECT_TRUE(has(found->sentence, "rank 1 has ended")) << found->sentence;
}

TEST(RankHasLeft, IsNotTheCauseWhereAllRanksAreThereOrAWriterRemains) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 1, 0);
  b.add_rank(1);
  EXPECT_FALSE(rules::rank_has_left(b.graph));
  b.graph.facts.ranks[0].gone = true;
  wait.itself = true;
  EXPECT_FALSE(rules::rank_has_left(b.graph));
}

// Last resorts

TEST(NeverSignalled, SaysThatNothingWasWritten) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 5, 0, 8);
  const Found found = rules::never_signalled(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::never_signalled);
  EXPECT_TRUE(has(found->sentence, "needs 5 and sees 0 at f.cu:8; no write to it was made")) << found->sentence;
}

TEST(NeverSignalled, NamesTheLastWrite) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 5, 2).writes = {HandBuiltGraph::store(1, 1), HandBuiltGraph::store(2, 6)};
  EXPECT_TRUE(has(rules::never_signalled(b.graph)->sentence, "the last write was by block 6, at f.cu:9"));
}

TEST(NeverSignalled, PrefersAWaitWithoutRemainingWriter) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_memory_wait(run, 5, 0).waits = {1};
  b.add_memory_wait(run, 6, 0);
  EXPECT_EQ(rules::never_signalled(b.graph)->waits, (std::vector<size_t>{1}));
}

TEST(NeverSignalled, IsNotTheCauseOfBarriers) {
  HandBuiltGraph b;
  b.add_wait(WaitKind::block_barrier, b.add_run("k"));
  EXPECT_FALSE(rules::never_signalled(b.graph));
}

TEST(EndlessLoop, IsALoopThatReadsNothing) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_wait(WaitKind::block_barrier, run);
  EXPECT_FALSE(rules::endless_loop(b.graph));
  b.add_wait(WaitKind::nothing, run, 12);
  const Found found = rules::endless_loop(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::endless_loop);
  EXPECT_EQ(found->waits, (std::vector<size_t>{1}));
}

TEST(BarriersAtLast, AnyWaitThatIsLeftIsADivergence) {
  HandBuiltGraph b;
  EXPECT_FALSE(rules::barriers_at_last(b.graph));
  b.add_wait(WaitKind::cluster_barrier, b.add_run("k"), 4);
  EXPECT_EQ(rules::barriers_at_last(b.graph)->cause, Cause::barrier_divergence);
}

TEST(Hosts, ThatWaitForEachOther) {
  HandBuiltGraph b;
  b.add_rank(0);
  EXPECT_EQ(rules::hosts(b.graph)->cause, Cause::hosts);
}

TEST(Hosts, WaitForARankThatHasEnded) {
  HandBuiltGraph b;
  b.add_rank(0);
  b.add_rank(1).gone = true;
  const Found found = rules::hosts(b.graph);
  EXPECT_EQ(found->cause, Cause::missing_rank);
  EXPECT_TRUE(has(found->sentence, "rank 1 has ended")) << found->sentence;
}

TEST(Hosts, WaitForARankThatHasReturned) {
  HandBuiltGraph b;
  b.add_rank(0);
  b.add_rank(1).returned = true;
  b.add_host(0, "rank 0 waits in all_gather");
  EXPECT_EQ(rules::hosts(b.graph)->cause, Cause::hosts);
  b.graph.facts.hosts[0].for_peers = true;
  const Found found = rules::hosts(b.graph);
  EXPECT_EQ(found->cause, Cause::missing_rank);
  EXPECT_TRUE(has(found->sentence, "rank 0 waits in all_gather, and rank 1 has returned")) << found->sentence;
}

// The order of rules

TEST(FindCause, AnEmptyGraphIsAboutHosts) {
  HandBuiltGraph b;
  EXPECT_EQ(find_cause(b.graph).cause, Cause::hosts);
}

TEST(FindCause, TakesTheMostSpecificRule) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  Wait& wait = b.add_memory_wait(run, 1, 0);
  wait.writes = {HandBuiltGraph::store(1, 0), HandBuiltGraph::store(0, 1)};
  wait.waits = {1};
  b.add_memory_wait(b.add_run("k", 1), 1, 0).waits = {0};
  EXPECT_EQ(find_cause(b.graph).cause, Cause::reset);  // although there is a cycle
  b.graph.waits[0].writes.clear();
  EXPECT_EQ(find_cause(b.graph).cause, Cause::cycle);
  b.graph.waits[1].waits.clear();
  EXPECT_EQ(find_cause(b.graph).cause, Cause::never_signalled);
}

TEST(FindCause, EveryCauseHasAName) {
  for (int cause = 0; cause <= static_cast<int>(Cause::endless_loop); ++cause)
    EXPECT_NE(to_string(static_cast<Cause>(cause)), "?");
}

}  // namespace
}  // namespace fb::machine
