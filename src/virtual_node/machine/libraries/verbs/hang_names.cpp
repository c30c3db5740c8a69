#include "virtual_node/machine/libraries/verbs/hang_names.h"

#include <fmt/format.h>

namespace fb::machine {

using rdma::QpState;
using rdma::QpType;

const char* name_of_state(QpState state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return kNames[static_cast<size_t>(state)];
}

const char* name_of_type(QpType type) {
  switch (type) {
    case QpType::rc:
      return "RC";
    case QpType::uc:
      return "UC";
    case QpType::ud:
      return "UD";
    case QpType::xrc_send:
      return "XRC_SEND";
    case QpType::xrc_receive:
      return "XRC_RECV";
  }
  return "?";
}

const char* name_of_request(rdma::Opcode opcode) {
  constexpr const char* kNames[] = {"RDMA write",    "RDMA write with immediate data",
                                    "send",          "send with immediate data",
                                    "RDMA read",     "compare and swap",
                                    "fetch and add", "local invalidation",
                                    "bind",          "send with invalidation"};
  return kNames[static_cast<size_t>(opcode)];
}

const char* name_of_status(rdma::Status status) {
  using rdma::Status;
  switch (status) {
    case Status::success:
      return "IBV_WC_SUCCESS";
    case Status::local_length:
      return "IBV_WC_LOC_LEN_ERR";
    case Status::local_operation:
      return "IBV_WC_LOC_QP_OP_ERR";
    case Status::local_protection:
      return "IBV_WC_LOC_PROT_ERR";
    case Status::flushed:
      return "IBV_WC_WR_FLUSH_ERR";
    case Status::bind:
      return "IBV_WC_MW_BIND_ERR";
    case Status::local_access:
      return "IBV_WC_LOC_ACCESS_ERR";
    case Status::remote_invalid_request:
      return "IBV_WC_REM_INV_REQ_ERR";
    case Status::remote_access:
      return "IBV_WC_REM_ACCESS_ERR";
    case Status::remote_operation:
      return "IBV_WC_REM_OP_ERR";
    case Status::retries_exceeded:
      return "IBV_WC_RETRY_EXC_ERR";
    case Status::rnr_retries_exceeded:
      return "IBV_WC_RNR_RETRY_EXC_ERR";
  }
  return "?";
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool can_receive(QpState state) {
  return state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqe;
}

}  // namespace fb::machine
