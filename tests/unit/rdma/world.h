#pragma once

// Cards in a world of their own: a clock, two or more processes with a little memory each, and notes of what cards
// tell. Every hop takes a microsecond.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "virtual_node/rdma/cards.h"

namespace fb::rdma {

class World final : public Surroundings {
 public:
  static constexpr uint64_t kBase = 0x10000, kBytes = 1 << 16;
  static constexpr Time kHop = platform::kMicrosecond;

  explicit World(uint32_t count = 2, const CardLimits& limits = {}) : cards(*this, count, limits, 17) {
    for (uint32_t i = 0; i < count; ++i) memory[i].resize(kBytes);
  }

  Time now() const override { return now_; }
  void at(Time time, std::function<void()> call) override {
    events_.emplace(std::pair{std::max(time, now_), number_++}, Event{std::move(call), nullptr});
  }
  void at_unless(Time time, std::function<bool()> is_over, std::function<void()> call) override {
    events_.emplace(std::pair{std::max(time, now_), number_++}, Event{std::move(call), std::move(is_over)});
  }
  bool read(uint32_t process, uint64_t address, std::span<std::byte> to) override {
    std::byte* const from = bytes(process, address, to.size());
    if (from) std::memcpy(to.data(), from, to.size());
    return from != nullptr;
  }
  bool write(uint32_t process, uint64_t address, std::span<const std::byte> from) override {
    std::byte* const to = bytes(process, address, from.size());
    if (to) std::memcpy(to, from.data(), from.size());
    return to != nullptr;
  }
  Flight fly(uint32_t, uint32_t, const Load& load) override {
    const Time begin = std::max(now_, load.not_before), left = begin + load.bytes * platform::kNanosecond;
    return {left, begin + kHop, left + kHop};
  }
  bool is_device_memory(uint32_t, uint64_t) const override { return false; }
  uint64_t draw_order() override { return order; }
  Time started(bool inlined, bool) override { return now_ + (inlined ? 100 : 500) * platform::kNanosecond; }
  Time after_message(Time at) override { return at + 10 * platform::kNanosecond; }
  std::array<std::byte, 16> gid(uint32_t card) const override {
    std::array<std::byte, 16> name{std::byte{0xfe}, std::byte{0x80}};
    name[15] = std::byte(card + 1);
    return name;
  }
  void completed(CompletionQueue&) override { ++completions; }
  void notify(CompletionQueue& queue) override { notified.push_back(queue.id); }
  void happened(AsyncEvent event, const Object& object) override { happened_events.emplace_back(event, object.id); }

  // Until nothing more happens, or until this moment.
  void run(Time until = ~Time{0}) {
    while (!events_.empty() && events_.begin()->first.first <= until) {
      auto node = events_.extract(events_.begin());
      const Event& event = node.mapped();
      if (event.is_over && event.is_over()) continue;
      now_ = node.key().first;
      event.call();
    }
    if (until != ~Time{0}) now_ = std::max(now_, until);
  }
  void run_for(Time duration) { run(now_ + duration); }

  std::byte* bytes(uint32_t process, uint64_t address, uint64_t size) {
    const auto found = memory.find(process);
    if (found == memory.end() || address < kBase || size > kBytes || address - kBase > kBytes - size) return nullptr;
    return found->second.data() + (address - kBase);
  }
  void put(uint32_t process, uint64_t offset, const std::string& text) {
    std::memcpy(memory[process].data() + offset, text.data(), text.size());
  }
  std::string get(uint32_t process, uint64_t offset, size_t size) {
    return {reinterpret_cast<const char*>(memory[process].data()) + offset, size};
  }
  uint64_t word(uint32_t process, uint64_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, memory[process].data() + offset, sizeof value);
    return value;
  }
  void set_word(uint32_t process, uint64_t offset, uint64_t value) {
    std::memcpy(memory[process].data() + offset, &value, sizeof value);
  }
  int count(AsyncEvent event, const Object& object) const {
    int found = 0;
    for (const auto& [what, id] : happened_events) found += what == event && id == object.id;
    return found;
  }

  std::map<uint32_t, std::vector<std::byte>> memory;
  std::vector<std::pair<AsyncEvent, uint64_t>> happened_events;
  std::vector<uint64_t> notified;
  int completions = 0;
  uint64_t order = 0;  // of the parts of messages

 private:
  Time now_ = 0;
  uint64_t number_ = 0;
  struct Event {
    std::function<void()> call;
    std::function<bool()> is_over;
  };
  std::map<std::pair<Time, uint64_t>, Event> events_;

 public:
  Cards cards;  // last: it uses what is above
};

inline constexpr uint32_t kAllRights =
    access::local_write | access::remote_write | access::remote_read | access::remote_atomic | access::bind;

// One end of a connection: process i on card i.
struct End {
  Domain* domain = nullptr;
  CompletionQueue* cq = nullptr;
  Region* region = nullptr;
  SharedReceiveQueue* srq = nullptr;
  QueuePair* pair = nullptr;
  World* world = nullptr;

  End(World& w, uint32_t card, QpType type = QpType::rc, bool shared = false, uint32_t sends = 16,
      uint32_t entries = 255) {
    world = &w;
    EXPECT_EQ(w.cards.make_domain(card, card, domain), 0);
    EXPECT_EQ(w.cards.make_completion_queue(card, card, entries, cq), 0);
    EXPECT_EQ(w.cards.make_region(*domain, World::kBase, World::kBytes, World::kBase, kAllRights, region), 0);
    QueuePair wanted;
    wanted.type = type;
    wanted.send_cq = wanted.receive_cq = cq;
    wanted.limits = {.sends = sends, .receives = 16, .send_pieces = 4, .receive_pieces = 4, .inline_bytes = 64};
    if (type == QpType::xrc_send) wanted.limits.receives = 0;
    if (shared) {
      EXPECT_EQ(w.cards.make_shared_receive_queue(*domain, 16, 4, srq), 0);
      wanted.srq = srq;
    }
    EXPECT_EQ(w.cards.make_queue_pair(*domain, wanted, pair), 0);
  }

  Piece piece(uint64_t offset, uint32_t size) const { return {World::kBase + offset, size, region->key}; }

  int init(uint32_t rights = kAllRights & ~access::bind) const {
    using namespace attribute;
    QpAttributes a{.state = QpState::init, .access_flags = rights, .qkey = 0x11, .port = 1};
    return world->cards.modify(*pair, a, state | pkey_index | port | (pair->type == QpType::ud ? qkey : access_flags));
  }
  // What a connection is made with; tests change it.
  QpAttributes wish{.state = QpState::rtr,
                    .reachable = true,
                    .path_mtu = 1024,
                    .receive_psn = 100,
                    .send_psn = 100,
                    .reads_in = 4,
                    .reads_out = 4,
                    .rnr_timer = 1,
                    .timeout = 8,
                    .retry_count = 2,
                    .rnr_retry = 2};
  int to_rtr(const QueuePair& peer) const {
    using namespace attribute;
    QpAttributes a = wish;
    a.state = QpState::rtr;
    a.remote_card = peer.card;
    a.remote_number = peer.number;
    uint32_t mask = state;
    if (pair->type != QpType::ud) mask |= address | path_mtu | remote_number | receive_psn;
    if (pair->type == QpType::rc) mask |= reads_in | rnr_timer;
    return world->cards.modify(*pair, a, mask);
  }
  int to_rts() const {
    using namespace attribute;
    QpAttributes a = wish;
    a.state = QpState::rts;
    uint32_t mask = state | send_psn;
    if (pair->type == QpType::rc) mask |= timeout | retry_count | rnr_retry | reads_out;
    return world->cards.modify(*pair, a, mask);
  }
  int change(QpState to) const { return world->cards.modify(*pair, {.state = to}, attribute::state); }

  int receive(uint64_t id, std::vector<Piece> pieces) const {
    return world->cards.post(*pair, ReceiveWork{id, std::move(pieces)});
  }
  int send(SendWork work) const { return world->cards.post(*pair, std::move(work)); }
  std::vector<Completion> poll(uint32_t most = 1000) const {
    std::vector<Completion> got;
    world->cards.poll(*cq, most, got);
    return got;
  }
};

inline void connect(End& a, End& b) {
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    EXPECT_EQ(one->init(), 0);
    EXPECT_EQ(one->to_rtr(*other->pair), 0);
  }
  EXPECT_EQ(a.to_rts(), 0);
  EXPECT_EQ(b.to_rts(), 0);
}

inline SendWork work(uint64_t id, Opcode opcode, std::vector<Piece> pieces, uint32_t flags = send_flags::signaled) {
  SendWork w;
  w.id = id;
  w.opcode = opcode;
  w.flags = flags;
  w.pieces = std::move(pieces);
  return w;
}

inline SendWork one_sided(uint64_t id, Opcode opcode, std::vector<Piece> pieces, const End& target, uint64_t offset,
                          uint32_t flags = send_flags::signaled) {
  SendWork w = work(id, opcode, std::move(pieces), flags);
  w.remote_address = World::kBase + offset;
  w.remote_key = target.region->key;
  return w;
}

// Identifiers and statuses, in order: "1:0 2:5".
inline std::string summary(const std::vector<Completion>& entries) {
  std::string text;
  for (const Completion& c : entries)
    text += (text.empty() ? "" : " ") + std::to_string(c.id) + ":" + std::to_string(static_cast<int>(c.status));
  return text;
}

}  // namespace fb::rdma
