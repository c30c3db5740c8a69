#include "rdma/transitions.h"

#include <array>

namespace fb::rdma {
namespace {

using namespace attribute;

struct Row {
  QpState from, to;
  struct Masks {
    uint32_t required = 0, optional = 0;
  };
  Masks rc, uc, ud;
};

constexpr uint32_t kPath = alternate_path | access_flags | migration | current_state;

constexpr std::array kRows{
    Row{QpState::reset,
        QpState::init,
        {pkey_index | port | access_flags},
        {pkey_index | port | access_flags},
        {pkey_index | port | qkey}},
    Row{QpState::init,
        QpState::init,
        {0, pkey_index | port | access_flags},
        {0, pkey_index | port | access_flags},
        {0, pkey_index | port | qkey}},
    Row{QpState::init,
        QpState::rtr,
        {address | path_mtu | remote_number | receive_psn | reads_in | rnr_timer,
         alternate_path | access_flags | pkey_index},
        {address | path_mtu | remote_number | receive_psn, alternate_path | access_flags | pkey_index},
        {0, pkey_index | qkey}},
    Row{QpState::rtr,
        QpState::rts,
        {timeout | retry_count | rnr_retry | send_psn | reads_out, kPath | rnr_timer},
        {send_psn, kPath},
        {send_psn, current_state | qkey}},
    Row{QpState::rts, QpState::rts, {0, kPath | rnr_timer}, {0, kPath}, {0, current_state | qkey}},
    Row{QpState::rts, QpState::sqd, {0, notify_drained}, {0, notify_drained}, {0, notify_drained}},
    Row{QpState::sqd, QpState::rts, {0, kPath | rnr_timer}, {0, kPath}, {0, current_state | qkey}},
    Row{QpState::sqd,
        QpState::sqd,
        {0, port | address | timeout | retry_count | rnr_retry | reads_out | reads_in | alternate_path | access_flags |
                pkey_index | rnr_timer | migration},
        {0, address | alternate_path | access_flags | pkey_index | migration},
        {0, pkey_index | qkey}},
};

// An RC queue pair is never in SQE.
constexpr Row::Masks kFromSqe[2] = {{0, current_state | access_flags}, {0, current_state | qkey}};

const Row::Masks& masks_of(const Row& row, QpType type) {
  return type == QpType::ud ? row.ud : type == QpType::uc ? row.uc : row.rc;
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
