// coalesced_group: the lanes of one warp that a mask names, ranked by lane.
#pragma once
#include "fabricbench/groups/tile.h"

namespace cooperative_groups {

class coalesced_group : public thread_group {
 public:
  explicit FABRICBENCH_DEVICE coalesced_group(unsigned int mask) : thread_group(mask) {}

  FABRICBENCH_DEVICE void sync() const { __syncwarp(mask_); }
  FABRICBENCH_DEVICE unsigned int thread_rank() const { return rank_of(__nvvm_read_ptx_sreg_laneid()); }
  FABRICBENCH_DEVICE unsigned int num_threads() const { return __popc(mask_); }
  FABRICBENCH_DEVICE unsigned int size() const { return num_threads(); }
  FABRICBENCH_DEVICE unsigned int meta_group_rank() const { return 0; }
  FABRICBENCH_DEVICE unsigned int meta_group_size() const { return 1; }

  template <class T>
  FABRICBENCH_DEVICE T shfl(T value, unsigned int rank) const {
    return from_lane(value, lane_of(rank));
  }
  // Beyond either end a thread keeps its own value.
  template <class T>
  FABRICBENCH_DEVICE T shfl_up(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return from_lane(value, lane_of(rank >= delta ? rank - delta : rank));
  }
  template <class T>
  FABRICBENCH_DEVICE T shfl_down(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return from_lane(value, lane_of(rank + delta < num_threads() ? rank + delta : rank));
  }
  FABRICBENCH_DEVICE int any(int predicate) const { return __any_sync(mask_, predicate); }
  FABRICBENCH_DEVICE int all(int predicate) const { return __all_sync(mask_, predicate); }
  FABRICBENCH_DEVICE unsigned int ballot(int predicate) const { return to_ranks(__ballot_sync(mask_, predicate)); }
  template <class T>
  FABRICBENCH_DEVICE unsigned int match_any(T value) const {
    return to_ranks(__match_any_sync(mask_, value));
  }
  template <class T>
  FABRICBENCH_DEVICE unsigned int match_all(T value, int& predicate) const {
    return to_ranks(__match_all_sync(mask_, value, &predicate));
  }

  FABRICBENCH_DEVICE unsigned int lanes() const { return mask_; }  // ours, for the partitions below

 private:
  FABRICBENCH_DEVICE unsigned int rank_of(unsigned int lane) const { return __popc(mask_ & ((1u << lane) - 1)); }
  FABRICBENCH_DEVICE unsigned int lane_of(unsigned int rank) const {
    return mask_ == 0xffffffffu ? rank : __fns(mask_, 0, static_cast<int>(rank) + 1);
  }
  template <class T>
  FABRICBENCH_DEVICE T from_lane(T value, unsigned int lane) const {
    const unsigned int mask = mask_;
    return fabricbench::shuffle_words(
        value, [=](unsigned int w) FABRICBENCH_UNSEEN { return __shfl_sync(mask, w, static_cast<int>(lane)); });
  }
  FABRICBENCH_DEVICE unsigned int to_ranks(unsigned int lanes) const {
    if (mask_ == 0xffffffffu) return lanes;
    unsigned int ranks = 0;
    for (unsigned int rest = mask_, rank = 0; rest != 0; rest &= rest - 1, ++rank) {
      if (lanes & rest & -rest) ranks |= 1u << rank;
    }
    return ranks;
  }
};

FABRICBENCH_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// The threads of a group that gave the same predicate, or the same label. All threads of the group must call.
FABRICBENCH_DEVICE coalesced_group binary_partition(const coalesced_group& group, bool predicate) {
  const unsigned int yes = __ballot_sync(group.lanes(), predicate);
  return coalesced_group(predicate ? yes : group.lanes() & ~yes);
}
template <class Label>
FABRICBENCH_DEVICE coalesced_group labeled_partition(const coalesced_group& group, Label label) {
  return coalesced_group(__match_any_sync(group.lanes(), label));
}
template <unsigned int Size, class ParentT>
FABRICBENCH_DEVICE coalesced_group binary_partition(const thread_block_tile<Size, ParentT>& tile, bool predicate) {
  return binary_partition(coalesced_group(tile.lanes()), predicate);
}
template <unsigned int Size, class ParentT, class Label>
FABRICBENCH_DEVICE coalesced_group labeled_partition(const thread_block_tile<Size, ParentT>& tile, Label label) {
  return labeled_partition(coalesced_group(tile.lanes()), label);
}

// Tiles of a coalesced group, by rank, are coalesced groups again.
FABRICBENCH_DEVICE coalesced_group tiled_partition(const coalesced_group& group, unsigned int size) {
  const unsigned int tile = group.thread_rank() / size;
  unsigned int mask = 0;
  for (unsigned int rest = group.lanes(), rank = 0; rest != 0; rest &= rest - 1, ++rank) {
    if (rank / size == tile) mask |= rest & -rest;
  }
  return coalesced_group(mask);
}
template <unsigned int Size>
FABRICBENCH_DEVICE coalesced_group tiled_partition(const coalesced_group& group) {
  return tiled_partition(group, Size);
}

}  // namespace cooperative_groups
