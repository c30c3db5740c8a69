#include "machine/node/sharing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace fb::machine {
namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr std::array<uint64_t, 2> kNoSecret = {};

UniqueFd write_secret(const std::array<uint64_t, 2>& secret) {
  UniqueFd file(memfd_create("fabricbench-handle", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || pwrite(file.get(), secret.data(), sizeof secret, 0) != sizeof secret ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    return {};
  return file;
}

std::array<uint64_t, 2> read_secret(int descriptor) {
  std::array<uint64_t, 2> secret = {};
  // Only sealed memory is read: reading any other file could block.
  if (fcntl(descriptor, F_GET_SEALS) != kSeals || pread(descriptor, secret.data(), sizeof secret, 0) != sizeof secret)
    return {};
  return secret;
}

}  // namespace

SharedObject& IpcTokens::add(Process& owner, uint64_t& token) {
  token = (uint64_t{owner.number} + 1) << 32 | owner.next_id++;
  SharedObject& object = objects_[token];
  object.owner = &owner;
  return object;
}

uint64_t IpcTokens::add(Process& owner, std::shared_ptr<mem::Allocation> allocation) {
  uint64_t token = 0;
  add(owner, token).allocation = std::move(allocation);
  return token;
}

uint64_t IpcTokens::add(Process& owner, std::shared_ptr<Event> event) {
  uint64_t token = 0;
  add(owner, token).event = std::move(event);
  return token;
}

const SharedObject* IpcTokens::find(uint64_t token) const {
  const auto found = objects_.find(token);
  return found == objects_.end() ? nullptr : &found->second;
}

void IpcTokens::remove_all_of(const Process& owner) {
  std::erase_if(objects_, [&](const auto& o) { return o.second.owner == &owner; });
}

UniqueFd PhysicalExports::write(const std::shared_ptr<Physical>& physical) {
  if (physical->secret == kNoSecret) {
    std::array<uint64_t, 2> secret = {};
    if (getrandom(secret.data(), sizeof secret, 0) != sizeof secret) return {};
    if (by_secret_.size() >= prune_at_) {
      std::erase_if(by_secret_, [](const auto& e) { return e.second.expired(); });
      prune_at_ = std::max<size_t>(64, by_secret_.size() * 2);
    }
    physical->secret = secret;
    by_secret_[secret] = physical;
  }
  return write_secret(physical->secret);
}

std::shared_ptr<Physical> PhysicalExports::find(int descriptor) const {
  const auto found = by_secret_.find(read_secret(descriptor));
  return found == by_secret_.end() ? nullptr : found->second.lock();
}

}  // namespace fb::machine
