#pragma once

// Who does something: operations of streams, blocks of kernels; and the instructions with which they do it.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "race/clock.h"
#include "race/mark.h"
#include "simt/block.h"

namespace fb::race {

// Something that a host has put on a stream: a kernel, a copy, …
struct OperationInfo {
  std::string name;
  int32_t rank = -1;  // -1: of a program of one process
  uint32_t host = 0;  // the process
  uint32_t device = 0;
  StreamPlace place;
  bool kernel = false;
  bool of_judge = false;
  uint32_t number = 0;  // among those of its process
};

struct BlockInfo {
  uint32_t operation = 0;
  uint64_t index = 0;    // in its grid
  uint64_t cluster = 0;  // unique; 0: none
  uint32_t device = 0;
  bool async = false;  // the copies that the block has issued
  StreamPlace place;
};

// What the checker must know of an instruction besides what it is told.
struct SiteTraits {
  bool red = false;              // a reduction: reads nothing that could be acquired
  bool small_async = false;      // cp.async: a copy in the generic proxy
  bool waits_for_reads = false;  // … and not for what the copies write
  bool proxy_fence = false;      // between the generic and the asynchronous proxy
};

// A block has several numbers, one behind the other: its threads, and what its asynchronous copies write and read.
inline constexpr BlockId kNumbersOfBlock = 4, kAsyncWrites = 1, kAsyncReads = 2;
inline constexpr bool same_block(BlockId a, BlockId b) { return a / kNumbersOfBlock == b / kNumbersOfBlock; }

class Agents {
 public:
  Agents();

  uint32_t add_operation(OperationInfo info);
  const OperationInfo& operation(uint32_t number) const { return operations_[number]; }
  // The first of the block's numbers.
  BlockId add_block(uint32_t operation, uint64_t index, uint64_t cluster);
  const BlockInfo& block(BlockId id) const { return blocks_[id]; }
  const OperationInfo& operation_of(BlockId id) const { return operations_[blocks_[id].operation]; }

  // The number of a program's first instruction; the others follow by Inst::origin.
  Site first_site(const simt::Program& program);
  // Of its instructions, by Inst::origin; stays where it is.
  const SiteTraits* traits(const simt::Program& program) const;
  // Where an instruction is. Null: its module has gone.
  struct Origin {
    const simt::Program* program = nullptr;
    uint32_t origin = 0;
  };
  Origin origin(Site site) const;
  void forget(const simt::Program& program);

 private:
  struct Sites {
    Site first = 0;
    uint32_t count = 0;
    const simt::Program* program = nullptr;
    std::vector<SiteTraits> traits;
  };
  std::vector<OperationInfo> operations_;
  std::vector<BlockInfo> blocks_;
  std::vector<Sites> sites_;
  std::unordered_map<const simt::Program*, size_t> by_program_;
};

}  // namespace fb::race
