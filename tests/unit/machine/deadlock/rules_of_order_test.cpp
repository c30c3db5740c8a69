// Rules about barriers, work that can't begin, and ranks that do not take part: each one fired, and not fired.

#include <gtest/gtest.h>

#include "tests/unit/machine/deadlock/hand_built_graph.h"

namespace fb::machine {
namespace {

using rules::Found;

// Barriers

Wait& add_counted_barrier(HandBuiltGraph& b, size_t run) {
  Wait& wait = b.add_wait(WaitKind::block_barrier, run, 7);
  wait.counted = true;
  wait.barrier = 1;
  wait.arrived = 32;
  wait.expected = 64;
  return wait;
}

TEST(CountedBarrier, ThatAllThreadsHaveReachedExpectsTooMany) {
  HandBuiltGraph b;
  add_counted_barrier(b, b.add_run("k"));
  const Found found = rules::counted_barrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::barrier_expects_too_many);
  EXPECT_TRUE(has(found->sentence, "expects 64 threads at f.cu:7, 32 have arrived")) << found->sentence;
  EXPECT_TRUE(has(found->sentence, "all threads of the block have arrived")) << found->sentence;
}

TEST(CountedBarrier, NamesThreadsThatHaveExited) {
  HandBuiltGraph b;
  add_counted_barrier(b, b.add_run("k")).exited = 16;
  EXPECT_TRUE(has(rules::counted_barrier(b.graph)->sentence, "16 threads of the block have exited"));
}

TEST(CountedBarrier, NamesWhereTheOthersWait) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  add_counted_barrier(b, run).waits = {1};
  b.add_wait(WaitKind::block_barrier, run, 20);
  const Found found = rules::counted_barrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "the others wait at f.cu:20")) << found->sentence;
  EXPECT_EQ(found->waits, (std::vector<size_t>{0, 1}));
}

TEST(CountedBarrier, IsNotBlamedWhileOneOfItsThreadsWaitsForMemory) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  add_counted_barrier(b, run).waits = {1};
  b.add_memory_wait(run, 1, 0);
  EXPECT_FALSE(rules::counted_barrier(b.graph));
}

TEST(CountedBarrier, IsNotOneThatCountsTheWholeBlock) {
  HandBuiltGraph b;
  add_counted_barrier(b, b.add_run("k")).counted = false;
  EXPECT_FALSE(rules::counted_barrier(b.graph));
}

TEST(Barrier, ThreadsOfOneBlockAtTwoBarriersAreDivergent) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  Wait& first = b.add_wait(WaitKind::block_barrier, run, 5);
  first.arrived = 32;
  first.expected = 64;
  first.waits = {1};
  b.add_wait(WaitKind::block_barrier, run, 8);
  const Found found = rules::barrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::barrier_divergence);
  EXPECT_TRUE(has(found->sentence, "32 of 64 at f.cu:5, others at f.cu:8")) << found->sentence;
}

TEST(Barrier, LanesThatWaitForLanesElsewhereAreDivergent) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  Wait& lanes = b.add_wait(WaitKind::lanes, run, 5);
  lanes.missing_lanes = 0xffff0000;
  lanes.waits = {1};
  b.add_wait(WaitKind::block_barrier, run, 8);
  const Found found = rules::barrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "lanes 0xffff0000 of their warp, which wait at f.cu:8")) << found->sentence;
}

TEST(Barrier, IsNotDivergentWithoutOtherWaits) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_wait(WaitKind::block_barrier, run);
  b.add_wait(WaitKind::lanes, run);
  EXPECT_FALSE(rules::barrier(b.graph));
}

TEST(Barrier, IsNotDivergentWhileAThreadWaitsForMemory) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_wait(WaitKind::block_barrier, run).waits = {1};
  b.add_memory_wait(run, 1, 0);
  EXPECT_FALSE(rules::barrier(b.graph));
}

TEST(MbarrierRule, NamesMissingArrivalsAndBytes) {
  HandBuiltGraph b;
  Wait& wait = b.add_wait(WaitKind::mbarrier, b.add_run("k"), 3);
  wait.mbarrier = {.expected = 4, .pending = 2, .tx = 128};
  const Found found = rules::mbarrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::barrier_expects_too_many);
  EXPECT_TRUE(has(found->sentence, "2 of 4 arrivals and 128 bytes of copies")) << found->sentence;
}

TEST(MbarrierRule, TakesACompletePhaseForAWrongParity) {
  HandBuiltGraph b;
  b.add_wait(WaitKind::mbarrier, b.add_run("k")).mbarrier = {.expected = 4, .pending = 0};
  const Found found = rules::mbarrier(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::epochs_differ);
}

TEST(MbarrierRule, BlamesNoCountWhileAnotherThreadCouldArrive) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  Wait& wait = b.add_wait(WaitKind::mbarrier, run);
  wait.mbarrier = {.expected = 4, .pending = 2};
  wait.waits = {1};
  b.add_memory_wait(run, 1, 0);
  EXPECT_FALSE(rules::mbarrier(b.graph));
}

TEST(MbarrierRule, CountsWaitersOfTheSameMbarrierAsNoHelp) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  Wait& wait = b.add_wait(WaitKind::mbarrier, run);
  wait.mbarrier = {.expected = 4, .pending = 2};
  wait.waits = {1};
  b.add_wait(WaitKind::mbarrier, run);
  EXPECT_TRUE(rules::mbarrier(b.graph));
}

// Work that can't begin

TEST(NotResident, NamesTheBlocksOfTheOwnGridThatHaveNoRoom) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k", 0, 1, 200);
  b.grid_run(run).next_block = 132;
  b.add_memory_wait(run, 200, 132).unstarted = {run};
  const Found found = rules::surely_not_resident(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::not_resident);
  EXPECT_TRUE(has(found->sentence, "68 of 200 blocks of its own grid")) << found->sentence;
  EXPECT_TRUE(has(found->sentence, "room for 132")) << found->sentence;
}

TEST(NotResident, NamesTheOtherKernel) {
  HandBuiltGraph b;
  const size_t run = b.add_run("consumer"), other = b.add_run("producer", 1, 1, 8);
  b.grid_run(other).next_block = 0;
  b.add_memory_wait(run, 1, 0).unstarted = {other};
  EXPECT_TRUE(has(rules::surely_not_resident(b.graph)->sentence, "8 of 8 blocks of rank 1's kernel producer"));
}

TEST(NotResident, IsUncertainWhileAnotherKernelCouldWrite) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k", 0, 1, 2), other = b.add_run("other", 1);
  Wait& wait = b.add_memory_wait(run, 1, 0);
  wait.unstarted = {run};
  wait.waits = {1};
  b.add_memory_wait(other, 1, 0);
  EXPECT_FALSE(rules::surely_not_resident(b.graph));
  EXPECT_TRUE(rules::perhaps_not_resident(b.graph));
}

TEST(NotResident, NeedsBlocksThatHaveNotStarted) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 1, 0);
  EXPECT_FALSE(rules::surely_not_resident(b.graph));
  EXPECT_FALSE(rules::perhaps_not_resident(b.graph));
}

TEST(StreamOrder, AWriterBehindTheWaitingKernelIsNamed) {
  HandBuiltGraph b;
  const size_t run = b.add_run("consumer"), op = b.add_kernel_op("producer");
  b.graph.facts.ops[op].after_runs = {run};
  b.add_memory_wait(run, 1, 0).ops = {op};
  const Found found = rules::stream_order(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::stream_order);
  EXPECT_TRUE(has(found->sentence, "\"producer\" of rank 0")) << found->sentence;
}

TEST(StreamOrder, HoldsForAStreamThatWaitsForAValue) {
  HandBuiltGraph b;
  const size_t waiting = b.add_op("wait value"), writer = b.add_op("write value");
  b.graph.facts.ops[writer].after_ops = {waiting};
  b.add_stream_wait(waiting, 1, 0).ops = {writer};
  const Found found = rules::stream_order(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "a stream of rank 0")) << found->sentence;
}

TEST(StreamOrder, TheNextLaunchOfTheSameKernelIsNoSignal) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k"), op = b.add_kernel_op("k");
  b.graph.facts.ops[op].after_runs = {run};
  b.add_memory_wait(run, 1, 0).ops = {op};
  EXPECT_FALSE(rules::stream_order(b.graph));
}

TEST(StreamOrder, AWriterOfAnIndependentStreamIsNotBlamed) {
  HandBuiltGraph b;
  const size_t run = b.add_run("consumer"), op = b.add_kernel_op("producer");
  b.add_memory_wait(run, 1, 0).ops = {op};
  EXPECT_FALSE(rules::stream_order(b.graph));
}

TEST(StreamOrder, IsNotBlamedWhileAnotherKernelCouldWrite) {
  HandBuiltGraph b;
  const size_t run = b.add_run("consumer"), other = b.add_run("other", 1), op = b.add_kernel_op("producer");
  b.graph.facts.ops[op].after_runs = {run};
  Wait& wait = b.add_memory_wait(run, 1, 0);
  wait.ops = {op};
  wait.waits = {1};
  b.add_memory_wait(other, 1, 0);
  EXPECT_FALSE(rules::stream_order(b.graph));
}

TEST(HostAndDevice, AHostThatWaitsForTheKernelThatWaitsForItIsNamed) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_memory_wait(run, 1, 0).host = true;
  b.add_host(0, "rank 0: a host thread waits").runs = {run};
  const Found found = rules::host_and_device(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::host_and_device);
  EXPECT_TRUE(has(found->sentence, "rank 0: a host thread waits")) << found->sentence;
}

TEST(HostAndDevice, HoldsForStreams) {
  HandBuiltGraph b;
  const size_t op = b.add_op("wait value"), behind = b.add_op("record");
  b.graph.facts.ops[behind].after_ops = {op};
  b.add_stream_wait(op, 1, 0).host = true;
  b.add_host(0, "rank 0: a host thread waits").ops = {behind};
  EXPECT_TRUE(rules::host_and_device(b.graph));
}

TEST(HostAndDevice, AHostThatWaitsForOtherWorkIsNotBlamed) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k"), other = b.add_run("other");
  b.add_memory_wait(run, 1, 0).host = true;
  b.add_host(0, "rank 0: a host thread waits").runs = {other};
  EXPECT_FALSE(rules::host_and_device(b.graph));
}

TEST(HostAndDevice, NeedsMemoryOfTheHost) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k");
  b.add_memory_wait(run, 1, 0);
  b.add_host(0, "rank 0: a host thread waits").runs = {run};
  EXPECT_FALSE(rules::host_and_device(b.graph));
}

// Ranks

// Rank 0 waits in launch 3 of the kernel; rank 1 has launched it `launches` times.
void add_two_ranks(HandBuiltGraph& b, uint64_t launches) {
  b.add_rank(0);
  b.add_rank(1);
  b.add_memory_wait(b.add_run("k", 0, 3), 1, 0);
  b.note_launch("k", 0, 3);
  b.note_launch("k", 1, launches);
}

TEST(MissingRank, HasLaunchedTheKernelLessOften) {
  HandBuiltGraph b;
  add_two_ranks(b, 2);
  const Found found = rules::missing_rank(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::missing_rank);
  EXPECT_TRUE(has(found->sentence, "in launch 3 of the kernel, and rank 1 has launched it 2 times")) << found->sentence;
}

TEST(MissingRank, IsSaidToHaveEndedOrReturned) {
  HandBuiltGraph gone, returned;
  add_two_ranks(gone, 1);
  gone.graph.facts.ranks[1].gone = true;
  EXPECT_TRUE(has(rules::missing_rank(gone.graph)->sentence, "1 time and has ended"));
  add_two_ranks(returned, 0);
  returned.graph.facts.ranks[1].returned = true;
  EXPECT_TRUE(has(rules::missing_rank(returned.graph)->sentence, "0 times and has returned from its call"));
}

TEST(MissingRank, IsNotOneWithAsManyLaunches) {
  HandBuiltGraph b;
  add_two_ranks(b, 3);
  EXPECT_FALSE(rules::missing_rank(b.graph));
}

TEST(MissingRank, IsNotOneThatHasWorkLeft) {
  HandBuiltGraph b;
  add_two_ranks(b, 2);
  b.add_op("copy", 1);
  EXPECT_FALSE(rules::missing_rank(b.graph));
}

TEST(MissingRank, IsNotOneWithAnotherPartToPlay) {
  HandBuiltGraph b;
  add_two_ranks(b, 0);
  b.note_launch("producer", 1);
  EXPECT_FALSE(rules::missing_rank(b.graph));
}

TEST(MissingRank, NeedsAHistory) {
  HandBuiltGraph b;
  add_two_ranks(b, 2);
  b.graph.facts.history = nullptr;
  EXPECT_FALSE(rules::missing_rank(b.graph));
  EXPECT_FALSE(rules::different_collectives(b.graph));
}

// Rank 0 waits in "first", rank 1 in "second".
void add_two_collectives(HandBuiltGraph& b) {
  b.add_memory_wait(b.add_run("first", 0, 1), 1, 0, 3);
  b.add_memory_wait(b.add_run("second", 1, 1), 1, 0, 6);
  b.note_launch("first", 0);
  b.note_launch("second", 1);
}

TEST(DifferentCollectives, AreNamedWithTheirRanks) {
  HandBuiltGraph b;
  add_two_collectives(b);
  const Found found = rules::different_collectives(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::different_collectives);
  EXPECT_TRUE(has(found->sentence, "rank 0 waits in first (launch 1) at f.cu:3")) << found->sentence;
  EXPECT_EQ(found->waits, (std::vector<size_t>{0, 1}));
}

TEST(DifferentCollectives, AreFineWhereOneRankHasLaunchedBoth) {
  HandBuiltGraph b;
  add_two_collectives(b);
  b.note_launch("second", 0);
  EXPECT_FALSE(rules::different_collectives(b.graph));
}

TEST(DifferentCollectives, AreNotTwoWaitsOfOneKernel) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0, 1), 1, 0);
  b.add_memory_wait(b.add_run("k", 1, 1), 1, 0);
  b.note_launch("other", 0);
  EXPECT_FALSE(rules::different_collectives(b.graph));
}

}  // namespace
}  // namespace fb::machine
