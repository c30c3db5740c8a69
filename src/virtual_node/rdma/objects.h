#pragma once

// What programs make on a card: protection domains, memory regions and windows, completion queues, shared receive
// queues, queue pairs, addresses.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/time.h"
#include "virtual_node/rdma/history.h"
#include "virtual_node/rdma/numbers.h"

namespace fb::rdma {

using platform::Time;

// Objects refer to each other by pointers; `users` counts the objects that refer to this one, and an object with users
// can't be destroyed (EBUSY).
struct Object {
  uint64_t id = 0;       // of all cards
  uint32_t process = 0;  // whose it is, and whose memory is meant
  uint32_t card = 0;
  uint32_t users = 0;
  uint64_t context = 0;  // for those around: by which opening of the card it was made
  uint64_t cookie = 0;   // … and what the program calls it
};

struct Domain : Object {};

// What a process has opened of a domain of XRC. Those with one identity, on one card, are one domain: processes share
// its shared receive queues and receiving queue pairs.
struct XrcDomain : Object {
  uint64_t identity = 0;
};

// Memory that a card may access: a registered region, or a window on a part of one.
struct Region : Object {
  Domain* domain = nullptr;
  uint64_t address = 0;  // in the process
  uint64_t bytes = 0;
  uint64_t iova = 0;  // the address by which work requests and peers name the first byte
  uint32_t access = 0;
  uint32_t key = 0;  // lkey and rkey
};

struct QueuePair;

struct Window : Object {
  Domain* domain = nullptr;
  uint8_t type = 1;
  uint32_t key = 0;          // rkey; of type 2 its low byte is the program's
  Region* region = nullptr;  // null: not bound
  uint64_t address = 0, bytes = 0;
  uint32_t access = 0;
  const QueuePair* bound_by = nullptr;  // type 2: the only queue pair whose peer may use it
};

struct Address : Object {
  Domain* domain = nullptr;
  uint32_t to = 0;  // the card
  bool reachable = true;
  bool global = false;  // messages carry a GRH
};

// What those around keep with a work request: it travels with its message, and comes back with its completion.
using Token = std::shared_ptr<const void>;

struct Piece {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t key = 0;
};

struct Completion {
  uint64_t id = 0;  // of the work request
  Status status = Status::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  uint32_t bytes = 0;
  uint32_t immediate = 0;  // network order, untouched; or the key that was invalidated
  uint32_t queue_pair = 0;
  uint32_t remote_queue_pair = 0;
  uint32_t flags = 0;
  uint32_t remote_card = 0;
  Time at = 0;
  uint64_t sender = 0;  // Object::id of the queue pair whose send queue it frees; 0: a receive
  uint64_t send_index = 0;
  Token request;  // that it completes; of a receive, the sender's
};

struct CompletionQueue : Object {
  uint32_t capacity = 0;
  std::deque<Completion> entries;
  bool broken = false;  // overrun
  bool ignores_overrun = false;
  bool armed = false, solicited_only = false;
  uint64_t channel = 0;  // 0: none
  CompletionQueueHistory past;
};

struct ReceiveWork {
  uint64_t id = 0;
  std::vector<Piece> pieces;
  Token token = {};
};

struct SharedReceiveQueue : Object {
  Domain* domain = nullptr;
  uint32_t number = 0;            // by which messages of XRC name it
  XrcDomain* xrc = nullptr;       // null: a plain one
  CompletionQueue* cq = nullptr;  // of XRC
  uint32_t capacity = 0, pieces = 0;
  uint32_t limit = 0;  // 0: not armed
  std::deque<ReceiveWork> work;
  std::vector<QueuePair*> starved;  // queue pairs whose peers wait for a receive
  SharedQueueHistory past;
};

// Objects are named, not pointed at: they may be gone when the card comes to it.
struct Bind {
  uint64_t window = 0, region = 0;  // Object::id
  uint64_t address = 0, bytes = 0;
  uint32_t access = 0;
  uint32_t key = 0;  // the new one; only its low byte may differ
};

struct SendWork {
  uint64_t id = 0;
  Opcode opcode = Opcode::send;
  uint32_t flags = 0;
  uint32_t immediate = 0;  // or the key to invalidate
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint64_t compare_or_add = 0, swap = 0;
  struct Destination {
    uint32_t card = 0;
    bool reachable = false, global = false;
  };
  std::optional<Destination> destination;  // datagrams: what the address said when this was posted
  uint32_t remote_number = 0, remote_qkey = 0;
  uint32_t remote_srq = 0;  // XRC
  std::string where;        // the line of the call, for reports; may be empty
  Bind bind;
  std::vector<Piece> pieces;
  std::vector<std::byte> inlined;  // with send_flags::inline_data, instead of pieces
  Token token;
};

// How much of a message is in memory already.
struct Landing {
  uint64_t part = 0;  // bytes
  std::vector<bool> landed;
  bool told = false;  // Surroundings::touches
};

// A message on the wire.
struct Message {
  uint64_t sender = 0;  // Object::id of the queue pair
  uint32_t from_process = 0, from_card = 0, from_number = 0;
  uint32_t to_card = 0, to_number = 0;
  QpType type = QpType::rc;
  uint64_t index = 0;
  uint32_t attempt = 0;  // SendEntry::attempts when it was sent
  uint32_t epoch = 0;    // QueuePair::epoch
  uint32_t psn = 0, packets = 1;
  Opcode opcode = Opcode::send;
  uint32_t flags = 0;
  uint32_t immediate = 0;
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint64_t compare_or_add = 0, swap = 0;
  uint32_t qkey = 0;
  uint32_t srq = 0;  // XRC
  bool global = false;
  uint32_t bytes = 0;  // of the payload; of a read: those that are asked for
  std::vector<std::byte> payload;
  std::shared_ptr<Landing> landing;  // null: it lands as a whole
  std::shared_ptr<void> charge;      // counts the payload among what is under way
  Token token;                       // of the work request
};

struct QpLimits {
  uint32_t sends = 0, receives = 0;              // work requests
  uint32_t send_pieces = 0, receive_pieces = 0;  // of one
  uint32_t inline_bytes = 0;
};

struct QpAttributes {
  QpState state = QpState::reset;
  QpState current = QpState::reset;  // what the program believes, in a change
  uint32_t access_flags = 0;
  uint32_t qkey = 0;
  uint32_t pkey_index = 0, port = 0;
  uint32_t remote_card = 0;
  bool reachable = false;  // the address leads to a card
  bool global = false;
  uint32_t path_mtu = 4096;  // bytes
  uint32_t remote_number = 0;
  uint32_t receive_psn = 0, send_psn = 0;
  uint32_t reads_in = 0, reads_out = 0;  // outstanding reads and atomics: as responder, as requester
  uint32_t rnr_timer = 0;                // code, 0 to 31
  uint32_t timeout = 0;                  // code, 0: none
  uint32_t retry_count = 0, rnr_retry = 0;
  bool notify_drained = false;
};

// A work request in the send queue.
struct SendEntry {
  enum class Stage : uint8_t { queued, sent, done };
  SendWork work;
  uint64_t index = 0;
  Stage stage = Stage::queued;
  Status status = Status::success;
  Time available = 0;  // the card has fetched it
  uint32_t psn = 0;
  uint32_t packets = 0;  // 0: it has no psn yet
  uint32_t bytes = 0;
  uint32_t attempts = 0;  // how often it was sent; answers to earlier ones are stale
  uint32_t retries = 0, rnr_retries = 0;
  bool waits_for_ever = false;  // it was lost, and there is no timer
};

inline constexpr uint64_t kNone = ~uint64_t{0};

struct QueuePair : Object {
  QpType type = QpType::rc;
  uint32_t number = 0;
  Domain* domain = nullptr;
  CompletionQueue *send_cq = nullptr, *receive_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  // XRC, receiving: its domain, completion queue and shared receive queue are those that the last message has named.
  XrcDomain* xrc = nullptr;
  struct Opener {
    uint32_t process = 0;
    XrcDomain* xrc = nullptr;
  };
  std::vector<Opener> openers;  // besides the process that it belongs to
  QpLimits limits;
  bool signals_all = false;
  QpAttributes attributes;

  // Requester
  std::deque<SendEntry> sends;  // not yet completed, by index
  uint64_t posted = 0;          // index of the next one to be posted
  uint64_t freed = 0;           // entries below have been polled, or are known to be over
  uint64_t next = 0;            // index of the next one to be sent
  uint32_t epoch = 0;           // of resets: packets of earlier ones are stale
  uint32_t next_psn = 0;
  uint32_t outstanding = 0;  // reads and atomics
  bool serving = false;      // an event will serve the queue
  uint64_t failed = kNone;   // index of the first one that has failed: those before it still complete
  Time ready = 0;            // the card can take the next message of this queue
  Time last_arrival = 0;     // messages of a queue pair do not overtake each other

  // Responder
  std::deque<ReceiveWork> receives;
  uint32_t expected_psn = 0;
  uint32_t responding = 0;                                          // reads and atomics whose answers have not left yet
  std::deque<std::pair<uint32_t, std::vector<std::byte>>> atomics;  // latest answers by psn, for repeated requests
  Time last_answer = 0;
  Time next_answer = 0;  // to a read
  bool established = false;
  bool told_last_receive = false;
  std::shared_ptr<const Message> starved;  // a message of the peer that waits for a receive
  Time starved_since = 0;
  bool starves_for_ever = false;  // its sender waits until there is one

  PairHistory past;

  QpState state() const { return attributes.state; }
  // Whose memory messages are for.
  uint32_t memory() const { return type == QpType::xrc_receive && srq ? srq->process : process; }
};

}  // namespace fb::rdma
