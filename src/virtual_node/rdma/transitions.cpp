#include "virtual_node/rdma/transitions.h"

#include <array>

namespace fb::rdma {
namespace {

using namespace attribute;

struct Row {
  QpState from, to;
  struct Masks {
    uint32_t required = 0, optional = 0;
  };
  Masks rc, uc, ud, xrc_send, xrc_receive;
};

constexpr uint32_t kPath = alternate_path | access_flags | migration | current_state;
constexpr uint32_t kFirst = pkey_index | port | access_flags;
constexpr uint32_t kPeer = address | path_mtu | remote_number | receive_psn;
constexpr uint32_t kPeerOptions = alternate_path | access_flags | pkey_index;
constexpr uint32_t kTimers = timeout | retry_count | rnr_retry | send_psn | reads_out;
constexpr uint32_t kStopped = port | address | timeout | alternate_path | access_flags | pkey_index | migration;

constexpr std::array kRows{
    Row{QpState::reset, QpState::init, {kFirst}, {kFirst}, {pkey_index | port | qkey}, {kFirst}, {kFirst}},
    Row{QpState::init,
        QpState::init,
        {0, kFirst},
        {0, kFirst},
        {0, pkey_index | port | qkey},
        {0, kFirst},
        {0, kFirst}},
    Row{QpState::init,
        QpState::rtr,
        {kPeer | reads_in | rnr_timer, kPeerOptions},
        {kPeer, kPeerOptions},
        {0, pkey_index | qkey},
        {kPeer, kPeerOptions},
        {kPeer | reads_in | rnr_timer, kPeerOptions}},
    Row{QpState::rtr,
        QpState::rts,
        {kTimers, kPath | rnr_timer},
        {send_psn, kPath},
        {send_psn, current_state | qkey},
        {kTimers, kPath},
        {timeout | send_psn, kPath | rnr_timer}},
    Row{QpState::rts,
        QpState::rts,
        {0, kPath | rnr_timer},
        {0, kPath},
        {0, current_state | qkey},
        {0, kPath},
        {0, kPath | rnr_timer}},
    Row{QpState::rts,
        QpState::sqd,
        {0, notify_drained},
        {0, notify_drained},
        {0, notify_drained},
        {0, notify_drained},
        {0, notify_drained}},
    Row{QpState::sqd,
        QpState::rts,
        {0, kPath | rnr_timer},
        {0, kPath},
        {0, current_state | qkey},
        {0, kPath},
        {0, kPath | rnr_timer}},
    Row{QpState::sqd,
        QpState::sqd,
        {0, kStopped | retry_count | rnr_retry | reads_out | reads_in | rnr_timer},
        {0, address | alternate_path | access_flags | pkey_index | migration},
        {0, pkey_index | qkey},
        {0, kStopped | retry_count | rnr_retry | reads_out},
        {0, kStopped | reads_in | rnr_timer}},
};

// A reliable queue pair is never in SQE.
constexpr Row::Masks kFromSqe[2] = {{0, current_state | access_flags}, {0, current_state | qkey}};

const Row::Masks& masks_of(const Row& row, QpType type) {
  switch (type) {
    case QpType::uc:
      return row.uc;
    case QpType::ud:
      return row.ud;
    case QpType::xrc_send:
      return row.xrc_send;
    case QpType::xrc_receive:
      return row.xrc_receive;
    case QpType::rc:
      break;
  }
  return row.rc;
}

bool fits(const Row::Masks& masks, uint32_t mask) {
  return (mask & masks.required) == masks.required && (mask & ~(masks.required | masks.optional)) == 0;
}

}  // namespace

bool is_valid_change(QpType type, QpState from, QpState to, uint32_t mask) {
  const uint32_t given = mask & ~state;
  if (to == QpState::reset) return given == 0;
  if (to == QpState::err) return from != QpState::reset && given == 0;
  if (from == QpState::sqe && to == QpState::rts && (type == QpType::uc || type == QpType::ud))
    return fits(kFromSqe[type == QpType::ud ? 1 : 0], given);
  for (const Row& row : kRows) {
    if (row.from == from && row.to == to) return fits(masks_of(row, type), given);
  }
  return false;
}

}  // namespace fb::rdma
