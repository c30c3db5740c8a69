// Work requests, as they come in a message.

#include <cerrno>
#include <cstring>
#include <optional>

#include "virtual_node/machine/libraries/verbs/verbs.h"

namespace fb::machine {
namespace {

// Takes parts from the front of a message's blob.
class Parts {
 public:
  explicit Parts(std::span<const std::byte> blob) : left_(blob) {}

  template <class T>
  bool take(T& into) {
    if (left_.size() < sizeof into) return false;
    std::memcpy(&into, left_.data(), sizeof into);
    left_ = left_.subspan(sizeof into);
    return true;
  }
  bool take_bytes(uint64_t bytes, std::vector<std::byte>& into) {
    const uint64_t padded = (bytes + 7) / 8 * 8;
    if (left_.size() < padded) return false;
    into.assign(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(bytes));
    left_ = left_.subspan(padded);
    return true;
  }
  uint64_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

bool take_pieces(Parts& parts, uint32_t count, std::vector<rdma::Piece>& into) {
  if (uint64_t{count} * sizeof(wire::VerbsPiece) > parts.left()) return false;
  for (uint32_t k = 0; k < count; ++k) {
    wire::VerbsPiece piece;
    if (!parts.take(piece)) return false;
    into.push_back({piece.address, piece.bytes, piece.key});
  }
  return true;
}

}  // namespace

wire::VerbsPosted Verbs::post(Process& process, const wire::VerbsPost& m, std::span<const std::byte> blob) {
  wire::VerbsPosted reply;
  auto* const pair = cards_.find_queue_pair(process.number, m.queue);
  auto* const shared = cards_.find<rdma::SharedReceiveQueue>(process.number, m.queue);
  const bool to_shared = m.kind == wire::VerbsQueue::shared_receive;
  if (to_shared ? !shared : !pair) {
    reply.error = EINVAL;
    return reply;
  }
  const bool whole = m.kind == wire::VerbsQueue::send_batch;
  std::vector<rdma::SendWork> batch;
  Parts parts(blob);
  for (; reply.done < m.count; ++reply.done) {
    wire::VerbsWork w;
    std::vector<rdma::Piece> pieces;
    rdma::SendWork send;
    if (!parts.take(w) || !take_pieces(parts, w.pieces, pieces) || !parts.take_bytes(w.inline_bytes, send.inlined)) {
      return {.error = EINVAL, .done = whole ? 0 : reply.done};
    }
    int error = 0;
    const std::string_view where(w.where, strnlen(w.where, sizeof w.where));
    if (to_shared) {
      error = cards_.post(*shared, rdma::ReceiveWork{w.id, std::move(pieces), order_.post_receive(process, where)});
    } else if (m.kind == wire::VerbsQueue::receive) {
      error = cards_.post(*pair, rdma::ReceiveWork{w.id, std::move(pieces), order_.post_receive(process, where)});
    } else if (w.opcode > static_cast<uint32_t>(rdma::Opcode::send_invalidate)) {
      error = EINVAL;
    } else {
      send.id = w.id;
      send.opcode = static_cast<rdma::Opcode>(w.opcode);
      send.flags = w.flags;
      send.immediate = w.immediate;
      send.remote_address = w.remote_address;
      send.remote_key = w.remote_key;
      send.compare_or_add = w.compare_or_add;
      send.swap = w.swap;
      send.remote_number = w.remote_number;
      send.remote_qkey = w.remote_qkey;
      send.remote_srq = w.remote_srq;
      send.where = where;
      send.bind = {.window = w.window,
                   .region = w.region,
                   .address = w.bind_address,
                   .bytes = w.bind_bytes,
                   .access = w.bind_access,
                   .key = w.bind_key};
      send.pieces = std::move(pieces);
      if (const rdma::Address* const to = cards_.find<rdma::Address>(process.number, w.address);
          to && to->domain == pair->domain)
        send.destination = rdma::SendWork::Destination{to->to, to->reachable, to->global};
      send.token = order_.post(process, *pair, send, where);
      if (whole) {
        batch.push_back(std::move(send));
        continue;
      }
      error = cards_.post(*pair, std::move(send));
    }
    if (error != 0) return {.error = static_cast<uint32_t>(error), .done = whole ? 0 : reply.done};
  }
  if (const int error = whole ? cards_.post(*pair, std::move(batch)) : 0; error != 0)
    return {.error = static_cast<uint32_t>(error), .done = 0};
  return reply;
}

}  // namespace fb::machine
