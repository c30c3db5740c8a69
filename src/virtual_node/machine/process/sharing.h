#pragma once

// Memory and events of one process that others open: by CUDA's IPC tokens, and by descriptors of physical handles.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "common/wire/channel.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

struct SharedObject {
  Process* owner = nullptr;
  std::shared_ptr<mem::Allocation> allocation = {};  // or
  std::shared_ptr<Event> event = {};                 // or
  std::weak_ptr<Physical> physical = {};
};

class IpcTokens {
 public:
  // `secret`: the judge's, or the run's seed. Nothing that ranks are shown gives it away.
  explicit IpcTokens(uint64_t secret) : secret_(secret) {}

  // Return the token; unique on the node and the same in every run.
  uint64_t add(Process& owner, std::shared_ptr<mem::Allocation> allocation);
  uint64_t add(Process& owner, std::shared_ptr<Event> event);
  uint64_t add(Process& owner, std::weak_ptr<Physical> physical);
  // Null: no such token.
  const SharedObject* find(uint64_t token) const;
  void remove(uint64_t token) { objects_.erase(token); }
  // What a handle carries beside the token: 128 bits that only the process that exports it gets. The same in every run
  // of a seed.
  std::array<uint64_t, 2> proof_of(uint64_t token) const;
  // A handle as CUDA's programs pass it on; and back: 0 where it is no handle of this node.
  wire::IpcToken handle_of(uint64_t magic, uint64_t token) const;
  uint64_t token_of(uint64_t magic, const wire::IpcToken& handle) const;
  void remove_all_of(const Process& owner);

 private:
  SharedObject& add(Process& owner, uint64_t& token);

  const uint64_t secret_;
  std::unordered_map<uint64_t, SharedObject> objects_;
  size_t prune_at_ = 64;  // physical memory does not remove its token when it goes
};

// A descriptor of physical memory is the writing end of a pipe whose reading end the machine keeps: what it stands for
// lives as long as any process, or a message in flight, holds the descriptor, and the number of the pipe tells which it
// is. Only a process that was given the descriptor can show it.
class PhysicalExports {
 public:
  PhysicalExports();

  // Empty: the host has no descriptors left.
  UniqueFd write(const std::shared_ptr<Physical>& physical);
  // Null: the descriptor was not exported by this node.
  std::shared_ptr<Physical> find(int descriptor) const;
  // Releases what no descriptor stands for any more.
  void prune();

 private:
  struct Export {
    UniqueFd reader;
    std::shared_ptr<Physical> physical;
  };
  std::map<uint64_t, Export> by_pipe_;  // by inode
  size_t most_ = 0, prune_at_ = 64;
};

}  // namespace fb::machine
