#pragma once

// Identities of agents: operations of streams, blocks of kernels; and of the instructions that they execute. Kept for
// the whole run, because reports name agents that have ended.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "virtual_node/race/clocks/clock.h"
#include "virtual_node/race/shadow/shadow_cell.h"
#include "virtual_node/simt/block.h"

namespace fb::race {

// What a network card does for a work request. Each part is an agent of its own.
enum class CardRole : uint8_t {
  none,
  gather,   // reads what it sends
  land,     // writes what was sent to it
  fetch,    // reads for another card
  update,   // an atomic operation for another card
  scatter,  // writes what it has fetched
};
struct CardPart {
  CardRole role = CardRole::none;
  uint64_t pair = 0;     // the requester's queue pair
  uint64_t request = 0;  // the number of the work request in its send queue
  bool relaxed = false;  // it lands in memory that is registered for relaxed ordering
  // What a strong load acquires that reads a word of it: everything that happens before it, and, where the message is
  // a word, itself.
  ClockRef release = nullptr;
  bool releases_itself = false;
};

// An operation that a host has put on a stream: a kernel, a copy, …; a part of a work request; or accesses of a host.
struct OperationInfo {
  std::string name;
  int32_t rank = -1;  // -1: a program of one process
  uint32_t host = 0;  // the process
  uint32_t device = 0;
  StreamEpoch stream_epoch;
  bool kernel = false;
  bool of_judge = false;
  uint32_t number = 0;  // among the operations of its process
  uint64_t call = 0;    // of run, from 1; 0: not judged, or of no call
  // The host's call, where it is known.
  std::string file;
  uint32_t line = 0;
  CardPart card = {};  // `device` is the card's number then
  bool of_host = false;

  bool of_card() const { return card.role != CardRole::none; }
};

struct BlockInfo {
  uint32_t operation = 0;
  uint64_t index = 0;    // in its grid
  uint64_t cluster = 0;  // unique in the run; 0: none
  uint32_t device = 0;
  bool async = false;  // stands for the copies that the block has issued
  StreamEpoch stream_epoch;
};

// Properties of an instruction that events do not carry.
struct SiteTraits {
  bool red = false;               // a reduction: reads nothing that could be acquired
  bool asynchronous = false;      // a copy that is performed later
  bool waits_for_reads = false;   // … and not for the writes of the copies
  bool proxy_fence = false;       // between the generic and the asynchronous proxy
  bool fences_mbarriers = false;  // orders the initialisation of mbarriers and nothing else
  bool passes_barrier = false;    // arrives at a block's barrier and does not wait
};

// A line of host code, instead of an instruction: the highest bit of a Site is set.
inline constexpr Site kHostLine = Site{1} << 31;

// A block has consecutive ids: for its threads, and for the writes and the reads of its asynchronous copies.
inline constexpr BlockId kIdsPerBlock = 4, kAsyncWrites = 1, kAsyncReads = 2;
inline constexpr bool same_block(BlockId a, BlockId b) { return a / kIdsPerBlock == b / kIdsPerBlock; }

class Agents {
 public:
  Agents();

  uint32_t add_operation(OperationInfo info);
  const OperationInfo& operation(uint32_t number) const { return operations_[number]; }
  // Returns the first of the ids of the block.
  BlockId add_block(uint32_t operation, uint64_t index, uint64_t cluster);
  const BlockInfo& block(BlockId id) const { return blocks_[id]; }
  const OperationInfo& operation_of(BlockId id) const { return operations_[blocks_[id].operation]; }
  // Whether `scope`, used by an agent of block `own`, includes the agents of block `other`.
  bool in_scope(Scope scope, BlockId own, BlockId other) const;

  // The site of the first instruction of a program; the others follow by Inst::origin.
  Site first_site(const simt::Program& program);
  // Of its instructions, by Inst::origin. The address is stable.
  const SiteTraits* traits(const simt::Program& program) const;
  // Which instruction a site is. Null: its module has been unloaded.
  struct Origin {
    const simt::Program* program = nullptr;
    uint32_t origin = 0;
  };
  Origin origin(Site site) const;
  void forget(const simt::Program& program);
  // "file.cu:12", of host code.
  Site host_site(const std::string& line);
  // Empty: the site is an instruction.
  std::string host_line(Site site) const {
    const Site number = site & ~kHostLine;
    return (site & kHostLine) != 0 && number < host_lines_.size() ? host_lines_[number] : std::string();
  }

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
  std::vector<std::string> host_lines_;
  std::unordered_map<std::string, Site> host_sites_;
};

}  // namespace fb::race
