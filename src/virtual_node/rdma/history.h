#pragma once

// What has happened to objects of a card, to explain why nothing happens any more. Nothing else depends on
// it.

#include <cstdint>

#include "virtual_node/rdma/numbers.h"

namespace fb::rdma {

// Why a queue pair is in ERR: the first reason.
struct Failure {
  enum class Reason : uint8_t { none, own_request, request_of_peer, program, overrun };
  Reason reason = Reason::none;
  Status status = Status::success;  // of the request
  Opcode opcode = Opcode::send;
  uint64_t work_id = 0;  // of an own request
};

// A message of an unreliable queue pair that was not delivered.
enum class Drop : uint8_t { none, not_ready, not_its_peer, wrong_qkey, no_right, no_receive, too_small };

// Since the queue pair was made or reset.
struct PairHistory {
  uint64_t receives_posted = 0;
  uint64_t received = 0;  // messages that took a receive
  // Sends that were refused when they were posted.
  uint64_t refused = 0;
  int refusal = 0;  // errno
  QpState refused_in = QpState::reset;
  // Sends that were executed, and made no completion; since the last one that made one.
  uint64_t unsignaled = 0;
  // RDMA writes without immediate data that have landed; the last one.
  uint64_t plain_writes = 0, written_at = 0, written_bytes = 0;
  // Messages of the peer that were taken for repetitions of earlier ones.
  uint64_t taken_for_old = 0;
  uint32_t old_psn = 0;
  // Messages that were dropped here.
  uint64_t drops = 0;
  Drop drop = Drop::none;                  // the last one
  uint32_t drop_peer = 0;                  // number of the other queue pair
  uint64_t drop_bytes = 0, drop_room = 0;  // too_small
  uint32_t drop_qkey = 0;                  // wrong_qkey
  Failure failure;
  uint64_t errors_polled = 0;  // completions that were no success and that the program has taken
};

// Unreliable messages that were sent to a queue pair which is not there. Their senders may be gone, too.
struct SentNowhere {
  uint32_t process = 0, number = 0;  // of the sender
  uint32_t to = 0;
  uint64_t count = 0;
};

struct CompletionQueueHistory {
  uint64_t polled = 0;           // entries
  uint64_t armed = 0, told = 0;  // how often
  uint64_t before_arming = 0;    // entries that were there when it was armed last
  uint64_t unsolicited = 0;      // entries that it did not tell of, because it was armed for solicited ones
};

struct SharedQueueHistory {
  uint64_t posted = 0;
  uint64_t limits_told = 0;
};

}  // namespace fb::rdma
