#pragma once

// Copies that complete later: cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async.
//
// Order: an instruction resolves and checks both ends when it is issued and hands the copy to the machine, which
// performs it when it likes, in any order: code that does not wait reads old bytes. A copy reads its source when it is
// performed, so code that changes the source too early is found out as well. Reading and writing are one step, so that
// wait_group.read waits for the whole copy.
//
// Lifetime: the machine keeps `block` and `other` of every pending copy alive (a block whose threads have exited may
// not be destroyed), and performs all copies of a grid before the grid counts as finished, because they hold host
// addresses of global memory.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

class Block;
class Warp;
struct SharedRef;

// Commit groups of one thread. A group is pending until each copy in it is done.
struct AsyncGroups {
  struct Group {
    uint32_t id = 0;
    uint32_t pending = 0;
  };
  // cp.async.mbarrier.arrive: arrives when the copies issued before it are done.
  struct Arrival {
    uint64_t before = 0;  // copies with a smaller sequence number
    uint32_t remaining = 0;
    std::byte* mbarrier = nullptr;
    Block* owner = nullptr;
    const Inst* inst = nullptr;
    Warp* warp = nullptr;
  };
  std::deque<Group> committed;  // oldest first; the first is pending, later ones may be done already
  Group open;                   // collects copies until commit_group
  uint32_t next_id = 1;
  uint32_t outstanding = 0;  // copies not done, of all groups
  std::vector<Arrival> arrivals;
};

// The kinds of groups do not mix: cp.async.*, cp.async.bulk.* and wgmma.*. Those of wgmma belong to a whole warp: its
// first lane stands for it.
enum class GroupKind : uint8_t { none, plain, bulk, wgmma };

// A matrix product that tensor cores compute meanwhile: rows and columns of the result in one multiprocessor, with 32
// bytes of each factor along K.
struct Product {
  uint32_t rows = 0;  // 0: none
  uint32_t columns = 0;
  bool a_in_shared = false;
  uint32_t shared_rows = 0;  // of A, that are read from shared memory together with these
};

struct AsyncCopy {
  // Performs the copy (or reduction), wakes the watchers of the bytes, and signals its mbarrier if it has one. May
  // throw Trap: an mbarrier can become unusable after the copy was issued.
  std::function<void()> perform;
  uint64_t bytes = 0;
  const Inst* inst = nullptr;
  Block* block = nullptr;  // that issued it
  Block* other = nullptr;  // of the cluster, whose shared memory it touches as well
  Warp* warp = nullptr;
  // The commit groups that it belongs to: those of these lanes with number `group`.
  GroupKind kind = GroupKind::none;
  Mask lanes = 0;
  uint32_t group = 0;
  uint64_t sequence = 0;  // order of issue in its block
  uint64_t number = 0;    // order of issue in the engine, which sets it
  Product product = {};
  bool behind_products = false;  // takes effect when the products that its warp has issued are complete
};

// Performs `copy` and does the accounting of its groups.
void complete(const AsyncCopy& copy);

// For instructions

// Hands a copy of the given lanes to the machine; all these lanes must have the same open group (see same_group).
// `other`: the block whose shared memory is touched, if it is not the warp's own.
void start_copy(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                std::function<void()> perform);
// A product, whose reads of shared memory are under way until it is complete.
void start_product(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                   const Product& product);
// Something that happens when the warp's products are complete.
void start_behind_products(Warp& w, const Inst& i, Mask lanes, Block* other, std::function<void()> perform);
// Those of `lanes` whose open group has the same number as the first one's.
Mask same_group(Warp& w, GroupKind kind, Mask lanes);

// Closes the open group of each lane. `told`: the lanes that the listener hears of, if not the same.
void commit_group(Warp& w, GroupKind kind, Mask lanes, Mask told = 0);
// A lane has a pending group older than its `newest` most recent ones.
bool must_wait(Warp& w, GroupKind kind, Mask lanes, uint32_t newest);

// Sync::id of commits and waits: which kind of groups, and how many of the newest may be pending.
inline constexpr uint32_t kGroupsMask = 0xffffff;
inline constexpr uint32_t group_word(GroupKind kind, uint32_t newest) {
  return static_cast<uint32_t>(kind) << 24 | (newest & kGroupsMask);
}
// The executing lanes have waited for all but their newest groups: reported to the listener.
void tell_waited(Warp& w, const Inst& i, GroupKind kind, uint32_t newest);

// cp.async.mbarrier.arrive of one lane.
void arrive_after_copies(Warp& w, const Inst& i, uint32_t lane, const SharedRef& mbarrier);

}  // namespace fb::simt
