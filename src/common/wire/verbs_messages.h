#pragma once

// What a rank's libibverbs asks of the network cards of its node. Part of messages.h. Numbers of verbs (states, masks,
// opcodes, flags, statuses) are those of <infiniband/verbs.h>. Replies carry a number of errno; 0: done.

#include <array>
#include <cstdint>

namespace fb::wire {

// A card of the process's node; the blob of the reply to verbs_cards is one for each.
struct CardFacts {
  uint64_t guid = 0;  // host order
  std::array<uint8_t, 16> gid = {};
  uint32_t lid = 0;
  uint32_t mtu = 0;
  uint32_t gigabits = 0;  // a second
  uint32_t work_requests = 0, pieces = 0, completions = 0, reads = 0, inline_bytes = 0;
  uint32_t queue_pairs = 0, completion_queues = 0, objects = 0;
  uint32_t zero = 0;
  uint64_t message = 0;  // bytes, at most
};
struct VerbsCards {
  uint32_t cards = 0;
  uint32_t zero = 0;
};

enum class VerbsObject : uint32_t {
  context,  // an open card; the reply has a descriptor from which VerbsEvents are read
  domain,
  region,
  window,
  address,
  channel,  // the reply has a descriptor from which VerbsEvents are read
  completion_queue,
  shared_receive_queue,
  queue_pair,
  xrc_domain,
};

// Written by the machine when something happens.
struct VerbsEvent {
  uint64_t cookie = 0;  // VerbsMake::cookie of the object
  uint32_t type = 0;    // ibv_event_type; 0 on a channel
  uint32_t zero = 0;
};

// The way to a card: by its local or by its global name.
struct VerbsPath {
  uint32_t lid = 0;
  uint32_t global = 0;
  std::array<uint8_t, 16> gid = {};
};

struct VerbsMake {
  VerbsObject kind{};
  uint32_t card = 0;    // context: of the node
  uint64_t parent = 0;  // domain, channel, completion queue: the context; others: the domain
  uint64_t cookie = 0;
  uint64_t send_queue = 0, receive_queue = 0, shared_queue = 0;  // queue pair: its completion queues
  uint64_t channel = 0;                                          // completion queue; 0: none
  uint64_t address = 0, bytes = 0, iova = 0;                     // region
  uint32_t access = 0;                                           // region
  uint32_t type = 0;                                             // queue pair, window
  uint32_t sends = 0, receives = 0;                              // completion queue: `receives` entries
  uint32_t send_pieces = 0, receive_pieces = 0, inline_bytes = 0;
  uint32_t signals_all = 0;      // queue pair
  uint32_t ignores_overrun = 0;  // completion queue
  uint32_t zero = 0;
  VerbsPath path = {};  // address
  // XRC: of a shared receive queue and a receiving queue pair; and what a domain is known by, 0: by nothing.
  uint64_t xrc_domain = 0, identity = 0;
  uint32_t number = 0;                          // queue pair: one that there is, 0: a new one
  uint32_t must_be_there = 0, must_be_new = 0;  // domain of XRC
  uint32_t more_zero = 0;
};
struct VerbsMade {
  uint32_t error = 0;
  uint32_t number = 0;  // queue pair, shared receive queue
  uint64_t id = 0;
  uint32_t key = 0;                  // region, window
  uint32_t sends = 0, receives = 0;  // granted
  uint32_t send_pieces = 0, receive_pieces = 0, inline_bytes = 0;
};
struct VerbsEnd {
  VerbsObject kind{};
  uint32_t zero = 0;
  uint64_t id = 0;
};
struct VerbsResult {
  uint32_t error = 0;
  uint32_t value = 0;
};

struct VerbsAttributes {
  uint32_t mask = 0;  // of a change
  uint32_t state = 0, current = 0;
  uint32_t access_flags = 0, qkey = 0, pkey_index = 0, port = 0;
  uint32_t path_mtu = 0;  // bytes
  uint32_t remote_number = 0, receive_psn = 0, send_psn = 0;
  uint32_t reads_in = 0, reads_out = 0;
  uint32_t rnr_timer = 0, timeout = 0, retry_count = 0, rnr_retry = 0;
  uint32_t notify_drained = 0;
  VerbsPath path = {};
};
struct VerbsModify {
  uint64_t pair = 0;
  VerbsAttributes to = {};
};
struct VerbsPair {
  uint32_t error = 0;
  uint32_t zero = 0;
  VerbsAttributes attributes = {};
};

// Work. The blob of verbs_post: for each request a VerbsWork, its pieces, and its inline bytes, up to a multiple of 8.
// A list is taken up to the first that is refused, a batch as a whole or not at all.
enum class VerbsQueue : uint32_t { send, receive, shared_receive, send_batch };
struct VerbsPost {
  uint64_t queue = 0;  // a queue pair, or a shared receive queue
  VerbsQueue kind{};
  uint32_t count = 0;
};
struct VerbsPosted {
  uint32_t error = 0;  // of the first that was refused
  uint32_t done = 0;
};
struct VerbsPiece {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t key = 0;
};
struct VerbsWork {
  uint64_t id = 0;
  uint32_t opcode = 0, flags = 0;
  uint32_t immediate = 0;  // or the key to invalidate
  uint32_t pieces = 0, inline_bytes = 0;
  uint32_t remote_key = 0;
  uint64_t remote_address = 0;
  uint64_t compare_or_add = 0, swap = 0;
  uint64_t address = 0;  // of datagrams
  uint32_t remote_number = 0, remote_qkey = 0;
  uint64_t window = 0, region = 0, bind_address = 0, bind_bytes = 0;
  uint32_t bind_access = 0, bind_key = 0;
  char where[56] = {};      // the line of the call, for reports; may be empty
  uint32_t remote_srq = 0;  // XRC
  uint32_t zero = 0;
};

// Blob of the reply: VerbsCompletion. Without any, the answer comes when something has arrived, or after a while.
struct VerbsPoll {
  uint64_t queue = 0;
  uint32_t most = 0;
  uint32_t zero = 0;
};
struct VerbsPolled {
  uint32_t error = 0;
  uint32_t count = 0;
  // So many further polls of the thread would find nothing either: nothing moves but polls.
  uint32_t in_vain = 0;
  uint32_t zero = 0;
};
struct VerbsCompletion {
  uint64_t id = 0;
  uint64_t nanoseconds = 0;  // when it happened
  uint32_t status = 0, opcode = 0;
  uint32_t bytes = 0, immediate = 0;
  uint32_t queue_pair = 0, remote_queue_pair = 0;
  uint32_t flags = 0, remote_lid = 0;
};

// Accesses of the program's own code to registered memory, as its compiler was told to report them. They are written
// into a ring in the program's memory, which the machine empties before it handles a request of any process.
struct VerbsAccess {
  enum class Kind : uint32_t {
    load,
    store,
    talk,  // the program may have told others something
    hear,  // … or have heard something of them
  };
  static constexpr uint64_t kValid = uint64_t{1} << 63;
  uint64_t address = 0;  // of a contact: nanoseconds of real time
  uint64_t info = 0;     // 0: free

  static constexpr uint64_t pack(Kind kind, uint32_t line, uint32_t bytes) {
    return kValid | uint64_t{static_cast<uint32_t>(kind)} << 61 | uint64_t{line & kLineMask} << 32 | bytes;
  }
  static constexpr Kind kind_of(uint64_t info) { return static_cast<Kind>(info >> 61 & 3); }
  static constexpr uint32_t line_of(uint64_t info) { return static_cast<uint32_t>(info >> 32) & kLineMask; }
  static constexpr uint32_t bytes_of(uint64_t info) { return static_cast<uint32_t>(info); }
  static constexpr uint32_t kLineMask = (uint32_t{1} << 29) - 1;
};
// The ring is at this address. The reply's value: 1, they are wanted. Without slots: it is emptied, and that is all.
struct VerbsObserve {
  uint64_t address = 0;
  uint32_t slots = 0;
  uint32_t hidden = 0;  // the program may talk with others in ways that it does not report
};
// The text of a line, before it is used by its number.
struct VerbsLine {
  uint32_t number = 0;
  uint32_t zero = 0;
  char where[56] = {};
};
// An atomic or volatile access to a word of registered memory, before it is made; or a fence.
struct VerbsLook {
  enum class Kind : uint32_t { load, store, update, fence };
  uint64_t address = 0;
  uint64_t seen = 0;  // what the last look has found
  Kind kind{};
  uint32_t bytes = 0;
  uint32_t line = 0;
  uint32_t acquires = 0, releases = 0;
  uint32_t again = 0;  // the same load as before: wait, while there is still what was seen
};

enum class VerbsSetting : uint32_t {
  arm,            // a completion queue: the next entry
  arm_solicited,  // … that was solicited
  entries,        // of a completion queue; the reply has what was granted
  limit,          // of a shared receive queue
  get_limit,
};
struct VerbsChange {
  VerbsSetting setting{};
  uint32_t value = 0;
  uint64_t id = 0;
};

// What the thread is about to wait for outside the machine, or where it polls, for reports. It holds until the thread's
// next request.
enum class VerbsWait : uint32_t {
  none,                         // the wait is over
  poll,                         // id: a completion queue, which it polls in vain
  channel,                      // id: a channel
  events,                       // id: a context
  acknowledgements,             // of `value` events of an object that it destroys
  connections,                  // for an event of librdmacm, which another process makes
  connection_acknowledgements,  // of `value` events of an identifier that it destroys
};
inline constexpr uint32_t kLineFollows = 1;  // VerbsNote::value of a channel and of events: a second note has the line
struct VerbsNote {
  VerbsWait wait{};
  uint32_t value = 0;
  uint64_t id = 0;
  char where[56] = {};  // the line of the call; may be empty
};

}  // namespace fb::wire
