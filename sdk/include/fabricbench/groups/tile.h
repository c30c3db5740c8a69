// thread_block_tile<N>: N neighbouring threads, N a power of two: of one warp up to 32, of several warps above.
#pragma once
#include "fabricbench/groups/block.h"
#include "fabricbench/groups/shuffle.h"

namespace fabricbench {

// A tile that names no parent is one of the block.
template <class T>
struct TileParent {
  using type = T;
  static constexpr bool kBlock = false;
};
template <>
struct TileParent<cooperative_groups::thread_block> {
  using type = cooperative_groups::thread_block;
  static constexpr bool kBlock = true;
};
template <>
struct TileParent<void> : TileParent<cooperative_groups::thread_block> {};

}  // namespace fabricbench

namespace cooperative_groups {

class coalesced_group;

template <unsigned int Size, class ParentT = void>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile is a power of two of threads");

  using Parent = typename fabricbench::TileParent<ParentT>::type;

 public:
  thread_block_tile() = default;
  // `thread_block_tile<32> warp = tiled_partition<32>(block)`: a tile of the block, whose parent goes without saying.
  template <class Other>
  FABRICBENCH_DEVICE thread_block_tile(const thread_block_tile<Size, Other>&) {
    static_assert(fabricbench::TileParent<Other>::kBlock, "a tile of a tile keeps its parent in its type");
  }

  FABRICBENCH_DEVICE operator thread_group() const { return thread_group(mask()); }

  // Tiles of several warps meet at the block's named barriers 1 to 15.
  static FABRICBENCH_DEVICE void sync() {
    if constexpr (Size <= 32) {
      __syncwarp(mask());
    } else {
      const unsigned int id = 1 + thread_block::thread_rank() / Size;
      if (id > 15) __trap();
      __barrier_sync_count(id, Size);
    }
  }
  static FABRICBENCH_DEVICE unsigned int thread_rank() {
    return Size <= 32 ? lane() & (Size - 1) : thread_block::thread_rank() & (Size - 1);
  }
  // Ours, for reduce: the part of the tile that is in this warp.
  static FABRICBENCH_DEVICE thread_block_tile<(Size < 32 ? Size : 32), thread_block> lanes_of_warp() { return {}; }
  static constexpr FABRICBENCH_DEVICE unsigned int num_threads() { return Size; }
  static constexpr FABRICBENCH_DEVICE unsigned int size() { return Size; }
  // Which of its parent's tiles this is, and how many there are.
  static FABRICBENCH_DEVICE unsigned int meta_group_rank() { return Parent::thread_rank() / Size; }
  static FABRICBENCH_DEVICE unsigned int meta_group_size() { return (Parent::num_threads() + Size - 1) / Size; }

  template <class T>
  FABRICBENCH_DEVICE T shfl(T value, int rank) const {
    return fabricbench::shuffle_words(
        value, [=](unsigned int w) FABRICBENCH_UNSEEN { return __shfl_sync(mask(), w, rank, Size); });
  }
  template <class T>
  FABRICBENCH_DEVICE T shfl_up(T value, unsigned int delta) const {
    return fabricbench::shuffle_words(
        value, [=](unsigned int w) FABRICBENCH_UNSEEN { return __shfl_up_sync(mask(), w, delta, Size); });
  }
  template <class T>
  FABRICBENCH_DEVICE T shfl_down(T value, unsigned int delta) const {
    return fabricbench::shuffle_words(
        value, [=](unsigned int w) FABRICBENCH_UNSEEN { return __shfl_down_sync(mask(), w, delta, Size); });
  }
  template <class T>
  FABRICBENCH_DEVICE T shfl_xor(T value, unsigned int lane_mask) const {
    return fabricbench::shuffle_words(value, [=](unsigned int w) FABRICBENCH_UNSEEN {
      return __shfl_xor_sync(mask(), w, static_cast<int>(lane_mask), Size);
    });
  }
  FABRICBENCH_DEVICE int any(int predicate) const { return __any_sync(mask(), predicate); }
  FABRICBENCH_DEVICE int all(int predicate) const { return __all_sync(mask(), predicate); }
  FABRICBENCH_DEVICE unsigned int ballot(int predicate) const { return to_ranks(__ballot_sync(mask(), predicate)); }
  template <class T>
  FABRICBENCH_DEVICE unsigned int match_any(T value) const {
    return to_ranks(__match_any_sync(mask(), value));
  }
  template <class T>
  FABRICBENCH_DEVICE unsigned int match_all(T value, int& predicate) const {
    return to_ranks(__match_all_sync(mask(), value, &predicate));
  }

  static FABRICBENCH_DEVICE unsigned int lanes() { return mask(); }  // ours, for the partitions in coalesced.h

 private:
  static FABRICBENCH_DEVICE unsigned int lane() { return __nvvm_read_ptx_sreg_laneid(); }
  static FABRICBENCH_DEVICE unsigned int first_lane() { return lane() & ~(Size - 1); }
  static FABRICBENCH_DEVICE unsigned int mask() {
    return Size >= 32 ? 0xffffffffu : ((1u << (Size & 31)) - 1) << first_lane();
  }
  // Masks of lanes to masks of ranks.
  static FABRICBENCH_DEVICE unsigned int to_ranks(unsigned int lanes) {
    return Size >= 32 ? lanes : lanes >> first_lane() & ((1u << (Size & 31)) - 1);
  }
};

template <unsigned int Size, class ParentT>
FABRICBENCH_DEVICE thread_block_tile<Size, ParentT> tiled_partition(const ParentT&) {
  return {};
}

// Memory that tiles of several warps need on older architectures; here it is enough to name it.
template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {
  char unused[1];
};
template <unsigned int MaxBlockSize>
FABRICBENCH_DEVICE thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
  return {};
}
namespace experimental {
using cooperative_groups::block_tile_memory;
using cooperative_groups::this_thread_block;
using cooperative_groups::tiled_partition;
}  // namespace experimental

}  // namespace cooperative_groups
