#pragma once

// Memory and events of one process that others open: by CUDA's IPC tokens, and by descriptors of physical handles.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "machine/node/process.h"
#include "wire/channel.h"

namespace fb::machine {

struct SharedObject {
  Process* owner = nullptr;
  std::shared_ptr<mem::Allocation> allocation = {};  // or
  std::shared_ptr<Event> event = {};
};

class IpcTokens {
 public:
  // Return the token; unique on the node and the same in every run.
  uint64_t add(Process& owner, std::shared_ptr<mem::Allocation> allocation);
  uint64_t add(Process& owner, std::shared_ptr<Event> event);
  // Null: no such token.
  const SharedObject* find(uint64_t token) const;
  void remove(uint64_t token) { objects_.erase(token); }
  void remove_all_of(const Process& owner);

 private:
  SharedObject& add(Process& owner, uint64_t& token);

  std::unordered_map<uint64_t, SharedObject> objects_;
};

// A descriptor of physical memory is a small sealed file that holds an unguessable number, so the machine need not keep
// it open.
class PhysicalExports {
 public:
  // Empty: the host has no memory for it.
  UniqueFd write(const std::shared_ptr<Physical>& physical);
  // Null: the descriptor was not exported by this node.
  std::shared_ptr<Physical> find(int descriptor) const;

 private:
  std::map<std::array<uint64_t, 2>, std::weak_ptr<Physical>> by_secret_;
  size_t prune_at_ = 64;
};

}  // namespace fb::machine
