// The numbers of this layer are those of the verbs ABI.

#include "virtual_node/rdma/numbers.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <utility>

namespace fb::rdma {
namespace {

#define SAME(ours, theirs) static_assert(static_cast<uint32_t>(ours) == static_cast<uint32_t>(theirs))

SAME(QpType::rc, IBV_QPT_RC);
SAME(QpType::uc, IBV_QPT_UC);
SAME(QpType::ud, IBV_QPT_UD);
SAME(QpType::xrc_send, IBV_QPT_XRC_SEND);
SAME(QpType::xrc_receive, IBV_QPT_XRC_RECV);
SAME(QpState::reset, IBV_QPS_RESET);
SAME(QpState::init, IBV_QPS_INIT);
SAME(QpState::rtr, IBV_QPS_RTR);
SAME(QpState::rts, IBV_QPS_RTS);
SAME(QpState::sqd, IBV_QPS_SQD);
SAME(QpState::sqe, IBV_QPS_SQE);
SAME(QpState::err, IBV_QPS_ERR);
SAME(Opcode::write, IBV_WR_RDMA_WRITE);
SAME(Opcode::write_immediate, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(Opcode::send, IBV_WR_SEND);
SAME(Opcode::send_immediate, IBV_WR_SEND_WITH_IMM);
SAME(Opcode::read, IBV_WR_RDMA_READ);
SAME(Opcode::compare_and_swap, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(Opcode::fetch_and_add, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(Opcode::local_invalidate, IBV_WR_LOCAL_INV);
SAME(Opcode::bind_window, IBV_WR_BIND_MW);
SAME(Opcode::send_invalidate, IBV_WR_SEND_WITH_INV);
SAME(send_flags::fence, IBV_SEND_FENCE);
SAME(send_flags::signaled, IBV_SEND_SIGNALED);
SAME(send_flags::solicited, IBV_SEND_SOLICITED);
SAME(send_flags::inline_data, IBV_SEND_INLINE);
SAME(access::local_write, IBV_ACCESS_LOCAL_WRITE);
SAME(access::remote_write, IBV_ACCESS_REMOTE_WRITE);
SAME(access::remote_read, IBV_ACCESS_REMOTE_READ);
SAME(access::remote_atomic, IBV_ACCESS_REMOTE_ATOMIC);
SAME(access::bind, IBV_ACCESS_MW_BIND);
SAME(access::zero_based, IBV_ACCESS_ZERO_BASED);
SAME(access::on_demand, IBV_ACCESS_ON_DEMAND);
SAME(access::huge_pages, IBV_ACCESS_HUGETLB);
SAME(access::relaxed_ordering, IBV_ACCESS_RELAXED_ORDERING);
SAME(access::optional, IBV_ACCESS_OPTIONAL_RANGE);
SAME(Status::success, IBV_WC_SUCCESS);
SAME(Status::local_length, IBV_WC_LOC_LEN_ERR);
SAME(Status::local_operation, IBV_WC_LOC_QP_OP_ERR);
SAME(Status::local_protection, IBV_WC_LOC_PROT_ERR);
SAME(Status::flushed, IBV_WC_WR_FLUSH_ERR);
SAME(Status::bind, IBV_WC_MW_BIND_ERR);
SAME(Status::local_access, IBV_WC_LOC_ACCESS_ERR);
SAME(Status::remote_invalid_request, IBV_WC_REM_INV_REQ_ERR);
SAME(Status::remote_access, IBV_WC_REM_ACCESS_ERR);
SAME(Status::remote_operation, IBV_WC_REM_OP_ERR);
SAME(Status::retries_exceeded, IBV_WC_RETRY_EXC_ERR);
SAME(Status::rnr_retries_exceeded, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(CompletionOpcode::send, IBV_WC_SEND);
SAME(CompletionOpcode::write, IBV_WC_RDMA_WRITE);
SAME(CompletionOpcode::read, IBV_WC_RDMA_READ);
SAME(CompletionOpcode::compare_and_swap, IBV_WC_COMP_SWAP);
SAME(CompletionOpcode::fetch_and_add, IBV_WC_FETCH_ADD);
SAME(CompletionOpcode::bind_window, IBV_WC_BIND_MW);
SAME(CompletionOpcode::local_invalidate, IBV_WC_LOCAL_INV);
SAME(CompletionOpcode::receive, IBV_WC_RECV);
SAME(CompletionOpcode::receive_write_immediate, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(completion_flags::grh, IBV_WC_GRH);
SAME(completion_flags::immediate, IBV_WC_WITH_IMM);
SAME(completion_flags::invalidated, IBV_WC_WITH_INV);
SAME(AsyncEvent::cq_error, IBV_EVENT_CQ_ERR);
SAME(AsyncEvent::qp_fatal, IBV_EVENT_QP_FATAL);
SAME(AsyncEvent::qp_request_error, IBV_EVENT_QP_REQ_ERR);
SAME(AsyncEvent::qp_access_error, IBV_EVENT_QP_ACCESS_ERR);
SAME(AsyncEvent::communication_established, IBV_EVENT_COMM_EST);
SAME(AsyncEvent::sq_drained, IBV_EVENT_SQ_DRAINED);
SAME(AsyncEvent::srq_limit_reached, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(AsyncEvent::last_receive_reached, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(attribute::state, IBV_QP_STATE);
SAME(attribute::current_state, IBV_QP_CUR_STATE);
SAME(attribute::notify_drained, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(attribute::access_flags, IBV_QP_ACCESS_FLAGS);
SAME(attribute::pkey_index, IBV_QP_PKEY_INDEX);
SAME(attribute::port, IBV_QP_PORT);
SAME(attribute::qkey, IBV_QP_QKEY);
SAME(attribute::address, IBV_QP_AV);
SAME(attribute::path_mtu, IBV_QP_PATH_MTU);
SAME(attribute::timeout, IBV_QP_TIMEOUT);
SAME(attribute::retry_count, IBV_QP_RETRY_CNT);
SAME(attribute::rnr_retry, IBV_QP_RNR_RETRY);
SAME(attribute::receive_psn, IBV_QP_RQ_PSN);
SAME(attribute::reads_out, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(attribute::alternate_path, IBV_QP_ALT_PATH);
SAME(attribute::rnr_timer, IBV_QP_MIN_RNR_TIMER);
SAME(attribute::send_psn, IBV_QP_SQ_PSN);
SAME(attribute::reads_in, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(attribute::migration, IBV_QP_PATH_MIG_STATE);
SAME(attribute::capacity, IBV_QP_CAP);
SAME(attribute::remote_number, IBV_QP_DEST_QPN);
SAME(attribute::rate_limit, IBV_QP_RATE_LIMIT);
SAME(kGrhBytes, sizeof(ibv_grh));

}  // namespace
}  // namespace fb::rdma
