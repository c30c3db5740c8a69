// How the payload of a write comes into memory: part by part while it arrives, in any order. A look in between sees
// some of it; what completes behind the write is behind all of it.

#include <algorithm>
#include <numeric>

#include "common/base/hash.h"
#include "virtual_node/rdma/responder.h"

namespace fb::rdma {
namespace {

// A part is at least what PCIe carries in one packet; more parts than these would show nothing new.
constexpr uint64_t kLeastPart = 256, kMostParts = 8;

}  // namespace

void Responder::expect(const std::shared_ptr<Message>& message, Time first, Time last) {
  Message& m = *message;
  if ((m.opcode != Opcode::write && m.opcode != Opcode::write_immediate) || m.payload.size() <= kLeastPart) return;
  if (m.type == QpType::xrc_send) return;  // whose memory is meant is known when it is executed
  const uint64_t even = (m.payload.size() + kMostParts - 1) / kMostParts;
  m.landing = std::make_shared<Landing>();
  m.landing->part = (even + kLeastPart - 1) / kLeastPart * kLeastPart;
  const auto parts = static_cast<uint32_t>((m.payload.size() + m.landing->part - 1) / m.landing->part);
  m.landing->landed.resize(parts);
  std::vector<uint32_t> order(parts);
  std::iota(order.begin(), order.end(), 0);
  if (uint64_t draw = around_.draw_order(); draw != 0) {
    for (uint32_t k = parts; k > 1; --k) {
      draw = mix(draw, k);
      std::swap(order[k - 1], order[draw % k]);
    }
  }
  // The last one comes with the end of the message.
  for (uint32_t k = 0; k + 1 < parts; ++k) {
    const Time at = first + (last - std::min(first, last)) / parts * (k + 1);
    around_.at(at, [this, message, part = order[k]] { land_part(message, part); });
  }
}

// A part that would be refused, or comes before the end of another message, is written with the end of its own.
void Responder::land_part(const MessagePtr& message, uint32_t part) {
  const Message& m = *message;
  if (is_reliable(m.type) && !requester_.is_current(m)) return;
  const QueuePair* const pair = objects_.find_pair(m.to_card, m.to_number);
  uint64_t at = 0;
  bool relaxed = false;
  if (!pair || !would_take(*pair, m) || !memory_.reach(*pair, m, access::remote_write, at, relaxed)) return;
  tell_landing(*pair, m, at, relaxed);
  write_part(*pair, m, part, at);
}

// Of a message as a whole, when its first part lands.
void Responder::tell_landing(const QueuePair& pair, const Message& m, uint64_t at, bool relaxed) {
  if (m.bytes == 0 || (m.landing && m.landing->told)) return;
  if (m.landing) m.landing->told = true;
  around_.touches(pair.memory(), at, m.bytes,
                  {.role = Touch::Role::land,
                   .card = pair.card,
                   .request = m.token,
                   .receive = nullptr,
                   .relaxed = relaxed,
                   .alone = true});
}

bool Responder::write_part(const QueuePair& pair, const Message& m, uint32_t part, uint64_t at) {
  if (m.landing->landed[part]) return true;
  const uint64_t begin = part * m.landing->part;
  const uint64_t bytes = std::min<uint64_t>(m.landing->part, m.payload.size() - begin);
  m.landing->landed[part] = true;
  return around_.write(pair.memory(), at + begin, std::span(m.payload).subspan(begin, bytes));
}

// What has not landed yet.
bool Responder::land_rest(const QueuePair& pair, const Message& m, uint64_t at) {
  if (m.bytes == 0) return true;
  if (!m.landing || std::ranges::find(m.landing->landed, true) == m.landing->landed.end())
    return around_.write(pair.memory(), at, m.payload);
  bool done = true;
  for (uint32_t part = 0; part < m.landing->landed.size(); ++part) done = write_part(pair, m, part, at) && done;
  return done;
}

}  // namespace fb::rdma
