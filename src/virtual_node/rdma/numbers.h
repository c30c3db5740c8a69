#pragma once

// The numbers of the verbs ABI (infiniband/verbs.h) that travel between programs and cards.

#include <cstdint>

namespace fb::rdma {

enum class QpType : uint8_t { rc = 2, uc = 3, ud = 4, xrc_send = 9, xrc_receive = 10 };

// Answers come, and what is lost is sent again.
constexpr bool is_reliable(QpType type) { return type != QpType::uc && type != QpType::ud; }
// Of the queue pair that messages of this type are for.
constexpr QpType peer_type(QpType type) { return type == QpType::xrc_send ? QpType::xrc_receive : type; }

enum class QpState : uint8_t { reset, init, rtr, rts, sqd, sqe, err };

enum class Opcode : uint8_t {
  write = 0,
  write_immediate = 1,
  send = 2,
  send_immediate = 3,
  read = 4,
  compare_and_swap = 5,
  fetch_and_add = 6,
  local_invalidate = 7,
  bind_window = 8,
  send_invalidate = 9,
};
constexpr bool is_atomic(Opcode opcode) {
  return opcode == Opcode::compare_and_swap || opcode == Opcode::fetch_and_add;
}
// The responder sends data back.
constexpr bool is_fetching(Opcode opcode) { return opcode == Opcode::read || is_atomic(opcode); }

// ibv_send_flags
namespace send_flags {
inline constexpr uint32_t fence = 1, signaled = 2, solicited = 4, inline_data = 8;
}

// ibv_access_flags
namespace access {
inline constexpr uint32_t local_write = 1, remote_write = 2, remote_read = 4, remote_atomic = 8, bind = 16,
                          zero_based = 32, on_demand = 64, huge_pages = 128, relaxed_ordering = 1 << 20;
inline constexpr uint32_t optional = 0x3ff00000;  // bits that a card may ignore
inline constexpr uint32_t known =
    local_write | remote_write | remote_read | remote_atomic | bind | zero_based | huge_pages;
}  // namespace access

enum class Status : uint8_t {
  success = 0,
  local_length = 1,
  local_operation = 2,
  local_protection = 4,
  flushed = 5,
  bind = 6,
  local_access = 8,
  remote_invalid_request = 9,
  remote_access = 10,
  remote_operation = 11,
  retries_exceeded = 12,
  rnr_retries_exceeded = 13,
};

enum class CompletionOpcode : uint8_t {
  send = 0,
  write = 1,
  read = 2,
  compare_and_swap = 3,
  fetch_and_add = 4,
  bind_window = 5,
  local_invalidate = 6,
  receive = 128,
  receive_write_immediate = 129,
};

// ibv_wc_flags
namespace completion_flags {
inline constexpr uint32_t grh = 1, immediate = 2, invalidated = 8;
}

enum class AsyncEvent : uint8_t {
  cq_error = 0,
  qp_fatal = 1,
  qp_request_error = 2,
  qp_access_error = 3,
  communication_established = 4,
  sq_drained = 5,
  srq_limit_reached = 15,
  last_receive_reached = 16,
};

// ibv_qp_attr_mask
namespace attribute {
inline constexpr uint32_t state = 1 << 0, current_state = 1 << 1, notify_drained = 1 << 2, access_flags = 1 << 3,
                          pkey_index = 1 << 4, port = 1 << 5, qkey = 1 << 6, address = 1 << 7, path_mtu = 1 << 8,
                          timeout = 1 << 9, retry_count = 1 << 10, rnr_retry = 1 << 11, receive_psn = 1 << 12,
                          reads_out = 1 << 13, alternate_path = 1 << 14, rnr_timer = 1 << 15, send_psn = 1 << 16,
                          reads_in = 1 << 17, migration = 1 << 18, capacity = 1 << 19, remote_number = 1 << 20,
                          rate_limit = 1 << 25;
}

inline constexpr uint32_t kGrhBytes = 40;  // before the payload of a datagram
inline constexpr uint32_t kPsnMask = 0xffffff;

}  // namespace fb::rdma
