#pragma once

// A copy, or a matrix product, that completes later (virtual_node/simt/async/async.h), and the groups that threads wait
// for.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

class Block;
class Warp;

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

// Sync::id of commits and waits: which kind of groups, and how many of the newest may be pending.
inline constexpr uint32_t kGroupsMask = 0xffffff;
inline constexpr uint32_t group_word(GroupKind kind, uint32_t newest) {
  return static_cast<uint32_t>(kind) << 24 | (newest & kGroupsMask);
}

}  // namespace fb::simt
