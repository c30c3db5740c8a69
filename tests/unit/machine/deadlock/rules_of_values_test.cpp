// Rules about the values that were written, seen and needed: each one fired, and not fired.

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "tests/unit/machine/deadlock/hand_built_graph.h"
#include "tests/unit/machine/deadlock/small_warp.h"

namespace fb::machine {
namespace {

using rules::Found;

// A wait for 1 of a word to which 1 and then `over` were written.
Wait& add_overwritten(HandBuiltGraph& b, const PastWrite& over) {
  Wait& wait = b.add_memory_wait(b.add_run("k"), 1, over.value.value_or(0));
  wait.writes = {HandBuiltGraph::store(1, 3), over};
  return wait;
}

TEST(Overwritten, ByZeroIsAReset) {
  HandBuiltGraph b;
  add_overwritten(b, HandBuiltGraph::store(0, 4));
  const Found found = rules::overwritten(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::reset);
  EXPECT_TRUE(has(found->sentence, "needs 1 and sees 0")) << found->sentence;
  EXPECT_TRUE(has(found->sentence, "overwritten with 0 by block 4")) << found->sentence;
}

TEST(Overwritten, ByTheNextSignalOfTheSameWarpIsAnEpochTooFar) {
  HandBuiltGraph b;
  add_overwritten(b, HandBuiltGraph::store(2, 3));
  EXPECT_EQ(rules::overwritten(b.graph)->cause, Cause::epochs_differ);
}

TEST(Overwritten, ByAnotherAgentsSignalIsALostSignal) {
  HandBuiltGraph b;
  add_overwritten(b, HandBuiltGraph::store(2, 4));
  EXPECT_EQ(rules::overwritten(b.graph)->cause, Cause::lost_signal);
}

TEST(Overwritten, ByAFillIsAResetToAnUnknownValue) {
  HandBuiltGraph b;
  PastWrite fill = HandBuiltGraph::store(0);
  fill.kind = WriteHistory::Kind::operation;
  fill.value.reset();
  add_overwritten(b, fill);
  const Found found = rules::overwritten(b.graph);
  EXPECT_EQ(found->cause, Cause::reset);
  EXPECT_TRUE(has(found->sentence, "something else")) << found->sentence;
}

TEST(Overwritten, IsFineAfterEveryWaitingWarpHasSeenTheSignal) {
  HandBuiltGraph b;
  Wait& wait = add_overwritten(b, HandBuiltGraph::store(0, 4));
  wait.reader_bits = 0b11;
  wait.writes[0].seen_by = 0b11;
  EXPECT_FALSE(rules::overwritten(b.graph));
  wait.writes[0].seen_by = 0b01;
  EXPECT_TRUE(rules::overwritten(b.graph));
}

TEST(Overwritten, IsNotAValueThatWasNeverNeeded) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 5, 2);
  wait.writes = {HandBuiltGraph::store(1), HandBuiltGraph::store(2)};
  EXPECT_FALSE(rules::overwritten(b.graph));
}

TEST(Overwritten, IsNotAFillThatWroteTheNeededValue) {
  HandBuiltGraph b;
  Wait& wait = add_overwritten(b, HandBuiltGraph::store(0, 4));
  wait.writes[0].kind = WriteHistory::Kind::operation;
  EXPECT_FALSE(rules::overwritten(b.graph));
}

TEST(LostCount, TwoWarpsThatStoreTheSameCountLoseOne) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 2, 1);
  wait.writes = {HandBuiltGraph::store(1, 0), HandBuiltGraph::store(1, 1)};
  const Found found = rules::lost_count(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::lost_signal);
  EXPECT_TRUE(has(found->sentence, "1 was stored twice, by block 0, at f.cu:9 and by block 1")) << found->sentence;
}

TEST(LostCount, IsNotOneWarpThatStoresTwice) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 2, 1);
  wait.writes = {HandBuiltGraph::store(1, 0), HandBuiltGraph::store(1, 0)};
  EXPECT_FALSE(rules::lost_count(b.graph));
}

TEST(LostCount, IsNotAnAtomicOperation) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 2, 1);
  wait.writes = {HandBuiltGraph::store(1, 0), HandBuiltGraph::store(1, 1)};
  wait.writes[1].kind = WriteHistory::Kind::atomic;
  EXPECT_FALSE(rules::lost_count(b.graph));
}

// Launch 2 waits for 0; launch `launch` of `kernel` wrote 1.
void add_left_over(HandBuiltGraph& b, const std::string& kernel, uint64_t launch) {
  Wait& wait = b.add_memory_wait(b.add_run("k", 0, 2), 0, 1);
  wait.writes = {HandBuiltGraph::store(1)};
  wait.writes[0].kernel = kernel;
  wait.writes[0].launch = launch;
}

TEST(NotCleared, AFlagOfTheLaunchBeforeIsNamed) {
  HandBuiltGraph b;
  add_left_over(b, "k", 1);
  const Found found = rules::not_cleared(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::epochs_differ);
  EXPECT_TRUE(has(found->sentence, "in launch 2; launch 1 has left it there")) << found->sentence;
}

TEST(NotCleared, IsNotAFlagOfThisLaunch) {
  HandBuiltGraph b;
  add_left_over(b, "k", 2);
  EXPECT_FALSE(rules::not_cleared(b.graph));
}

TEST(NotCleared, IsNotAFlagOfAnotherKernel) {
  HandBuiltGraph b;
  add_left_over(b, "other", 1);
  EXPECT_FALSE(rules::not_cleared(b.graph));
}

TEST(NotCleared, IsNotAWaitForAnotherValueThanZero) {
  HandBuiltGraph b;
  add_left_over(b, "k", 1);
  b.graph.waits[0].need->value = 3;
  EXPECT_FALSE(rules::not_cleared(b.graph));
}

TEST(EpochsDiffer, TheLastSignalWasAnotherNumber) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 4, 3).writes = {HandBuiltGraph::store(3)};
  const Found found = rules::epochs_differ(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::epochs_differ);
  EXPECT_TRUE(has(found->sentence, "the last signal was 3, by block 0")) << found->sentence;
}

TEST(EpochsDiffer, IsNotBlamedWhileAWriterRemains) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 4, 3);
  wait.writes = {HandBuiltGraph::store(3)};
  wait.itself = true;
  EXPECT_FALSE(rules::epochs_differ(b.graph));
}

TEST(EpochsDiffer, IsNotASignalOfTheLaunchBefore) {
  HandBuiltGraph b;
  add_left_over(b, "k", 1);
  b.graph.waits[0].need->value = 2;
  EXPECT_FALSE(rules::epochs_differ(b.graph));
}

TEST(EpochsDiffer, IsNotAWordThatWasNeverSignalled) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k"), 4, 0).writes = {HandBuiltGraph::store(0)};
  EXPECT_FALSE(rules::epochs_differ(b.graph));
}

TEST(EpochsDiffer, TwoRanksNeedDifferentNumbersAtOneLine) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0, 3), 3, 0);
  b.add_memory_wait(b.add_run("k", 1, 3), 2, 0);
  const Found found = rules::epochs_differ(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "rank 0 (launch 3) needs 3 and rank 1 (launch 3) needs 2")) << found->sentence;
  EXPECT_EQ(found->waits, (std::vector<size_t>{0, 1}));
}

TEST(EpochsDiffer, ARankThatIsACallAheadNeedsTheNextNumber) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0, 3), 3, 0);
  b.add_memory_wait(b.add_run("k", 1, 2), 2, 0);
  EXPECT_FALSE(rules::epochs_differ(b.graph));
}

TEST(EpochsDiffer, ASignalOfALaterCallHasOverwrittenTheOneOfThisCall) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 1, uint64_t{2} << 32 | 99);
  b.graph.facts.runs[0].call = 4;
  wait.bytes = 8;
  wait.need->offset = 4;
  wait.writes = {HandBuiltGraph::store(wait.seen)};
  wait.writes[0].call = 5;
  wait.itself = true;  // it could still be written, but never with a smaller number
  const Found found = rules::epochs_differ(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "needs 1 and sees 2")) << found->sentence;
  EXPECT_TRUE(has(found->sentence, "the signal of this call was overwritten before it was seen")) << found->sentence;
}

// A wait of call 2 for a word that the store at f.cu:9 writes.
Wait& add_left_out(HandBuiltGraph& b, StoreEvidence evidence) {
  b.graph.facts.history = &b.history;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 2, 0);
  b.graph.facts.runs[0].call = 2;
  wait.stores = {{{"send", 7}, evidence, "f.cu:9"}};
  b.add_rank(0).call = 2;
  b.add_rank(1).call = 2;
  return wait;
}

TEST(LeftOut, AWordThatNoKernelWritesWhileOtherRanksAreSignalled) {
  HandBuiltGraph b;
  add_left_out(b, StoreEvidence::other_ranks);
  const Found found = rules::left_out(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::never_signalled);
  EXPECT_TRUE(has(found->sentence, "the store at f.cu:9 writes the same word of other ranks")) << found->sentence;
}

TEST(LeftOut, AWordBetweenOthersThatWereWritten) {
  HandBuiltGraph b;
  add_left_out(b, StoreEvidence::neighbours);
  const Found found = rules::left_out(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "has written the words on both sides of it")) << found->sentence;
  EXPECT_TRUE(has(found->look_at, "the condition under which the store at f.cu:9 is executed")) << found->look_at;
}

TEST(LeftOut, AWordThatWasWrittenInTheCallBeforeOnly) {
  HandBuiltGraph b;
  Wait& wait = add_left_out(b, StoreEvidence::this_word);
  wait.writes = {HandBuiltGraph::store(1)};
  wait.writes[0].call = 1;
  wait.writes[0].process = 1;
  wait.writes[0].kernel = "send";
  EXPECT_FALSE(rules::left_out(b.graph)) << "the writer has not come to this call";
  KnownGrid grid;
  grid.kernel = "send";
  grid.process = 1;
  grid.call = 2;
  b.history.note_grid(std::move(grid));
  const Found found = rules::left_out(b.graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(found->sentence, "has written it in an earlier call, and has not in this one")) << found->sentence;
}

TEST(LeftOut, IsNotBlamedWhileARankIsBehindOrAWriterRemains) {
  HandBuiltGraph b;
  add_left_out(b, StoreEvidence::neighbours);
  b.graph.facts.ranks[1].call = 1;
  EXPECT_FALSE(rules::left_out(b.graph));
  b.graph.facts.ranks[1].call = 2;
  b.graph.waits[0].itself = true;
  EXPECT_FALSE(rules::left_out(b.graph));
}

TEST(EpochsDiffer, TwoRanksMayNeedDifferentNumbersAtDifferentLines) {
  HandBuiltGraph b;
  b.add_memory_wait(b.add_run("k", 0, 3), 3, 0, 1);
  b.add_memory_wait(b.add_run("k", 1, 3), 2, 0, 2);
  EXPECT_FALSE(rules::epochs_differ(b.graph));
}

// The needed value at another address: the history has the writes of a real warp.

class Elsewhere : public testing::Test {
 protected:
  Elsewhere() {
    b.graph.facts.history = &b.history;
    b.add_memory_wait(b.add_run("k"), 7, 0);
  }
  // Stores to byte 16 of a buffer of the same size and name as the flags that are waited for.
  void store(uint32_t value, bool strong = true) { warp.note_store(b.history, 16, value, strong); }

  HandBuiltGraph b;
  SmallWarp warp{"", mem::allocate(2, 1, 256, "flags")};
};

TEST_F(Elsewhere, ASignalThatNoWarpReadsIsNamedWithItsAddress) {
  store(7);
  const Found found = rules::elsewhere(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::elsewhere);
  EXPECT_TRUE(has(found->sentence, "7 was written at byte 16 of flags instead")) << found->sentence;
}

TEST_F(Elsewhere, AnotherValueIsNoSignal) {
  store(8);
  EXPECT_FALSE(rules::elsewhere(b.graph));
}

TEST_F(Elsewhere, ASignalThatWasSeenHasArrived) {
  store(7);
  warp.note_load(b.history, 16);
  EXPECT_FALSE(rules::elsewhere(b.graph));
}

TEST_F(Elsewhere, ASignalThatWasOverwrittenIsNoSignal) {
  store(7);
  store(9);
  EXPECT_FALSE(rules::elsewhere(b.graph));
}

TEST_F(Elsewhere, AWeakStoreToUnlikeMemoryIsData) {
  SmallWarp other{"", mem::allocate(3, 1, 4096, "tensor")};
  other.note_store(b.history, 16, 7, false);
  EXPECT_FALSE(rules::elsewhere(b.graph));
}

TEST_F(Elsewhere, IsNotBlamedWhileAWriterRemains) {
  store(7);
  b.graph.waits[0].itself = true;
  EXPECT_FALSE(rules::elsewhere(b.graph));
}

// A wait for anything but 7, where another block has written 7 in this launch.
Wait& add_taken_for_empty(HandBuiltGraph& b) {
  Wait& wait = b.add_memory_wait(b.add_run("k"), 7, 7);
  wait.need->relation = Relation::not_equal;
  wait.writes = {HandBuiltGraph::store(7, 3)};
  wait.writes[0].launch = 1;
  return wait;
}

TEST(TakenForEmpty, ADataValueThatMeansNothing) {
  HandBuiltGraph b;
  add_taken_for_empty(b);
  const Found found = rules::taken_for_empty(b.graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::taken_for_empty);
  EXPECT_TRUE(has(found->sentence, "block 3, at f.cu:9 has written 7")) << found->sentence;
}

TEST(TakenForEmpty, IsNotAWordThatTheWaitingWarpClearedItself) {
  HandBuiltGraph b;
  add_taken_for_empty(b).writes[0].block = 0;
  EXPECT_FALSE(rules::taken_for_empty(b.graph));
}

TEST(TakenForEmpty, IsNotWhatAnEarlierLaunchOrAFillHasLeft) {
  HandBuiltGraph b;
  Wait& wait = add_taken_for_empty(b);
  wait.writes[0].launch = 0;
  EXPECT_FALSE(rules::taken_for_empty(b.graph));
  wait.writes[0].launch = 1;
  wait.writes[0].kind = WriteHistory::Kind::operation;
  EXPECT_FALSE(rules::taken_for_empty(b.graph));
}

TEST(TakenForEmpty, IsNotAWaitForOneValue) {
  HandBuiltGraph b;
  add_taken_for_empty(b).need->relation = Relation::equal;
  EXPECT_FALSE(rules::taken_for_empty(b.graph));
}

// A wait that sees the signal of this launch, 1, and needs 2, by comparison `relation` with `number`.
Wait& add_wait_ahead(HandBuiltGraph& b, Relation relation, uint64_t number) {
  Wait& wait = b.add_memory_wait(b.add_run("k"), number, 1);
  wait.need->relation = relation;
  wait.writes = {HandBuiltGraph::store(1, 3)};
  wait.writes[0].launch = 1;
  wait.writes[0].kernel = "k";
  return wait;
}

TEST(WaitsAhead, HoweverTheNumberIsCompared) {
  for (const auto& [relation, number] :
       {std::pair{Relation::equal, 2}, std::pair{Relation::at_least, 2}, std::pair{Relation::more, 1}}) {
    HandBuiltGraph b;
    add_wait_ahead(b, relation, static_cast<uint64_t>(number));
    const Found found = rules::waits_ahead(b.graph);
    ASSERT_TRUE(found) << static_cast<int>(relation);
    EXPECT_EQ(found->cause, Cause::epochs_differ);
  }
}

TEST(WaitsAhead, IsNotACountThatABlockHasLeftOut) {
  HandBuiltGraph b;
  add_wait_ahead(b, Relation::at_least, 2).writes[0].kind = WriteHistory::Kind::atomic;
  EXPECT_TRUE(rules::waits_ahead(b.graph));
  b.grid_run(0).finished_blocks = 1;
  EXPECT_FALSE(rules::waits_ahead(b.graph));
}

}  // namespace
}  // namespace fb::machine
