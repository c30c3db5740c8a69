#include "virtual_node/machine/process/sharing.h"

#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace fb::machine {
namespace {

// The inode of a pipe; 0: it is none.
uint64_t pipe_of(int descriptor) {
  struct stat facts = {};
  return fstat(descriptor, &facts) == 0 && S_ISFIFO(facts.st_mode) ? facts.st_ino : 0;
}

}  // namespace

// SipHash-2-4 with a result of 128 bits: it can't be computed, nor the key be found, without the key.
std::array<uint64_t, 2> IpcTokens::proof_of(uint64_t token) const {
  const std::array<uint64_t, 2> key = {secret_, ~secret_};
  std::array<uint64_t, 2> proof;
  static_assert(sizeof key == crypto_shorthash_siphashx24_KEYBYTES &&
                sizeof proof == crypto_shorthash_siphashx24_BYTES);
  crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(proof.data()),
                              reinterpret_cast<const unsigned char*>(&token), sizeof token,
                              reinterpret_cast<const unsigned char*>(key.data()));
  return proof;
}

wire::IpcToken IpcTokens::handle_of(uint64_t magic, uint64_t token) const {
  const auto proof = proof_of(token);
  const std::array<uint64_t, 4> words = {magic, token, proof[0], proof[1]};
  wire::IpcToken handle;
  std::memcpy(handle.bytes, words.data(), sizeof words);
  return handle;
}

uint64_t IpcTokens::token_of(uint64_t magic, const wire::IpcToken& handle) const {
  std::array<uint64_t, 4> words;
  std::memcpy(words.data(), handle.bytes, sizeof words);
  const auto proof = proof_of(words[1]);
  return words[0] == magic && words[2] == proof[0] && words[3] == proof[1] ? words[1] : 0;
}

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

uint64_t IpcTokens::add(Process& owner, std::weak_ptr<Physical> physical) {
  if (objects_.size() >= prune_at_) {
    std::erase_if(objects_, [](const auto& o) {
      const SharedObject& object = o.second;
      return !object.allocation && !object.event && object.physical.expired();
    });
    prune_at_ = std::max<size_t>(64, objects_.size() * 2);
  }
  uint64_t token = 0;
  add(owner, token).physical = std::move(physical);
  return token;
}

const SharedObject* IpcTokens::find(uint64_t token) const {
  const auto found = objects_.find(token);
  return found == objects_.end() ? nullptr : &found->second;
}

void IpcTokens::remove_all_of(const Process& owner) {
  std::erase_if(objects_, [&](const auto& o) { return o.second.owner == &owner; });
}

PhysicalExports::PhysicalExports() {
  rlimit limit = {};
  constexpr rlim_t kMost = 1 << 14;
  getrlimit(RLIMIT_NOFILE, &limit);
  // The other half is for connections.
  most_ = std::min(kMost, limit.rlim_cur / 2);
}

UniqueFd PhysicalExports::write(const std::shared_ptr<Physical>& physical) {
  if (by_pipe_.size() >= std::min(prune_at_, most_)) {
    prune();
    prune_at_ = std::max<size_t>(64, by_pipe_.size() * 2);
  }
  int ends[2];
  if (by_pipe_.size() >= most_ || pipe2(ends, O_CLOEXEC) != 0) return {};
  Export made{UniqueFd(ends[0]), physical};
  UniqueFd writer(ends[1]);
  const uint64_t pipe = pipe_of(writer.get());
  if (pipe == 0) return {};
  by_pipe_[pipe] = std::move(made);
  return writer;
}

std::shared_ptr<Physical> PhysicalExports::find(int descriptor) const {
  const auto found = by_pipe_.find(pipe_of(descriptor));
  return found == by_pipe_.end() ? nullptr : found->second.physical;
}

void PhysicalExports::prune() {
  std::vector<pollfd> all;
  for (const auto& [pipe, e] : by_pipe_) all.push_back({e.reader.get(), 0, 0});
  if (all.empty() || poll(all.data(), all.size(), 0) <= 0) return;
  auto at = all.begin();
  // The last writer has gone.
  std::erase_if(by_pipe_, [&](const auto&) { return (at++->revents & POLLHUP) != 0; });
}

}  // namespace fb::machine
