#pragma once

// Tensor memory of tcgen05: 128 lanes of 512 columns of 32 bits. Here each block has its own; on hardware the resident
// blocks of a multiprocessor share one, and an allocation waits until there is room.

#include <bitset>
#include <cstdint>
#include <vector>

namespace fb::simt {

class TensorMemory {
 public:
  static constexpr uint32_t kLanes = 128, kColumns = 512;
  static constexpr uint32_t kUnit = 32;  // columns are allocated in multiples of this

  // An address has the lane in its upper half, the column in its lower one.
  struct Place {
    uint32_t lane = 0, column = 0;
  };
  static Place place(uint32_t address) { return {address >> 16, address & 0xffff}; }

  // The first column, or kColumns: there is no room.
  uint32_t allocate(uint32_t columns);
  // False: these columns are not what one allocation returned.
  bool free(uint32_t column, uint32_t columns);
  void relinquish() { relinquished_ = true; }
  bool relinquished() const { return relinquished_; }
  // All of these columns are allocated.
  bool holds(uint32_t column, uint32_t columns) const;

  uint32_t& at(uint32_t lane, uint32_t column) { return cells_[lane * kColumns + column]; }

 private:
  std::vector<uint32_t> cells_ = std::vector<uint32_t>(kLanes * kColumns);
  uint32_t sizes_[kColumns / kUnit] = {};  // of the allocation that begins in a unit
  std::bitset<kColumns / kUnit> used_;
  bool relinquished_ = false;
};

}  // namespace fb::simt
