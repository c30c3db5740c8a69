// The wait-for graph in words.

#include "virtual_node/machine/deadlock/graph_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/machine/deadlock/hand_built_graph.h"

namespace fb::machine {
namespace {

std::string text_of(const HandBuiltGraph& b) { return describe(b.graph, find_cause(b.graph)); }

TEST(GraphText, OfOneWaitIsWholeAndInOrder) {
  HandBuiltGraph b;
  b.graph.facts.history = &b.history;
  b.add_memory_wait(b.add_run("k"), 5, 0, 8);
  EXPECT_EQ(
      text_of(b),
      "never signalled: rank 0, kernel k, block 0, warp 0 needs 5 and sees 0 at f.cu:8; no write to it was made.\n"
      "Look at: which agent should write this value, in which call, and why it did not.\n"
      "\n"
      "rank 0: kernel k, launch 1; blocks: 0 resident, 0 finished\n"
      "  block 0, warp 0, lanes 0x00000001, at f.cu:8 [PTX line 8: ld.acquire.sys.u32]\n"
      "    sees 0 in 4 bytes: byte 0 of flags; needs 5\n"
      "    never written\n"
      "    no remaining writer\n");
}

TEST(GraphText, NamesTheLastWriteAndItsTime) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k"), 5, 2);
  wait.writes = {HandBuiltGraph::store(2, 6)};
  wait.writes[0].time = 1'000'000;
  wait.since = 3'500'000;
  EXPECT_TRUE(has(text_of(b), "    last written by block 6, at f.cu:9: 2, 2.50 us before the last load\n"))
      << text_of(b);
}

TEST(GraphText, ListsRemainingWritersWithOtherKernelsFirst) {
  HandBuiltGraph b;
  const size_t run = b.add_run("k", 0, 1, 4), other = b.add_run("producer", 1);
  b.grid_run(run).next_block = 2;
  Wait& wait = b.add_memory_wait(run, 5, 0, 1);
  wait.waits = {1, 2};
  wait.unstarted = {run};
  wait.ops = {b.add_op("copy", 2)};
  wait.host = true;
  b.add_memory_wait(run, 5, 0, 2, 1);
  b.add_memory_wait(other, 5, 0, 3);
  const std::string text = text_of(b);
  EXPECT_TRUE(has(text,
                  "    could still write it: rank 1, kernel producer, block 0, warp 0, which waits; "
                  "rank 0, kernel k, block 1, warp 0, which waits; "
                  "blocks of rank 0, k that have not started; and 2 more\n"))
      << text;
  EXPECT_TRUE(has(text, ", 2 not started: there is no room for them")) << text;
}

TEST(GraphText, GroupsThreadsThatWaitAlike) {
  HandBuiltGraph b;
  Wait& wait = b.add_memory_wait(b.add_run("k", 0, 1, 4), 5, 0);
  for (uint64_t block = 1; block < 4; ++block) wait.threads.push_back({nullptr, nullptr, block, 0, 1});
  wait.words = 4;
  EXPECT_TRUE(has(text_of(b), "    the same: 3 more, blocks 1 to 3, warp 0, 4 words in all\n")) << text_of(b);
}

TEST(GraphText, OfEachKindOfWait) {
  HandBuiltGraph b;
  const size_t first = b.add_run("k"), second = b.add_run("m", 1);
  Wait& barrier = b.add_wait(WaitKind::block_barrier, first);
  barrier.arrived = 32;
  barrier.expected = 64;
  barrier.exited = 8;
  b.add_wait(WaitKind::cluster_barrier, first);
  b.add_wait(WaitKind::lanes, first).missing_lanes = 0xf0;
  b.add_wait(WaitKind::copies, first);
  b.add_wait(WaitKind::nothing, second);
  Wait& mbarrier = b.add_wait(WaitKind::mbarrier, second);
  mbarrier.address = 0x100000040;
  mbarrier.mbarrier = {.expected = 4, .pending = 1, .tx = 16};
  const std::string text = text_of(b);
  for (const char* line :
       {"waits at barrier 0: 32 of 64 threads have arrived, 8 have exited", "waits at the barrier of its cluster",
        "waits for lanes 0x000000f0 of its warp", "waits for its own asynchronous copies", "an endless loop",
        "waits for the mbarrier at 0x40 of shared memory: 1 of 4 arrivals and 16 bytes missing"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
}

TEST(GraphText, CutsManyWaitsAndManyLines) {
  HandBuiltGraph b;
  for (uint32_t k = 0; k < 20; ++k) {
    const size_t run = b.add_run("k" + std::to_string(k), k);
    for (uint32_t line = 1; line <= 6; ++line) b.add_memory_wait(run, 5, 0, line);
  }
  const std::string text = text_of(b);
  EXPECT_TRUE(has(text, "2 more waits of this kernel")) << text;
  EXPECT_TRUE(has(text, " more lines)\n")) << text;
  EXPECT_LE(std::ranges::count(text, '\n'), 45);
}

TEST(GraphText, NamesStreamsOperationsHostsAndRanksThatHaveEnded) {
  HandBuiltGraph b;
  b.add_stream_wait(b.add_op("wait value", 0), 1, 0);
  b.add_op("copy", 1);
  for (int k = 0; k < 3; ++k) b.add_op("kernel", 1);
  b.add_host(1, "rank 1: a host thread waits");
  b.add_rank(2).gone = true;
  const std::string text = text_of(b);
  for (const char* line :
       {"\nrank 0: a stream waits for a value\n", "\nrank 1: \"copy\" can't begin yet\n",
        "1 more operations of streams can't begin yet\n", "\nrank 1: a host thread waits\n", "rank 2 has ended"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
}

TEST(GraphText, NamesKernelsThatWaitForNothingKnown) {
  HandBuiltGraph b;
  b.add_run("idle", 3);
  b.graph.not_examined = 5;
  const std::string text = text_of(b);
  EXPECT_TRUE(has(text, "rank 3: kernel idle")) << text;
  EXPECT_TRUE(has(text, "5 more warps wait and were not examined")) << text;
}

}  // namespace
}  // namespace fb::machine
