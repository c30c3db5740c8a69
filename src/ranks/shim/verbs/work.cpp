// Posting work requests as lists.

#include <cstring>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/objects.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::verbs {
namespace {

template <class T>
void append(std::vector<std::byte>& to, const T* from, size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + count * sizeof(T));
}

size_t bytes_of(const Building& b) {
  return sizeof b.work + b.pieces.size() * sizeof(wire::VerbsPiece) + (b.inlined.size() + 7) / 8 * 8;
}

void add_pieces(Building& to, const ibv_sge* list, int count) {
  for (int k = 0; k < count; ++k) to.pieces.push_back({list[k].addr, list[k].length, list[k].lkey});
}

// The payload is read now: the program may change it when the call has returned.
void add_inline(Building& to, const ibv_sge* list, int count) {
  for (int k = 0; k < count; ++k) append(to.inlined, reinterpret_cast<const std::byte*>(list[k].addr), list[k].length);
}

// A number of errno.
int build(ibv_qp* qp, const ibv_send_wr& wr, Building& to) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > of(qp).limits.max_send_sge) return EINVAL;
  wire::VerbsWork& w = to.work;
  w.id = wr.wr_id;
  w.opcode = static_cast<uint32_t>(wr.opcode);
  w.flags = wr.send_flags;
  w.immediate = wr.imm_data;
  switch (wr.opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
      w.remote_address = wr.wr.rdma.remote_addr;
      w.remote_key = wr.wr.rdma.rkey;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      w.remote_address = wr.wr.atomic.remote_addr;
      w.remote_key = wr.wr.atomic.rkey;
      w.compare_or_add = wr.wr.atomic.compare_add;
      w.swap = wr.wr.atomic.swap;
      break;
    case IBV_WR_BIND_MW:
      w.window = wr.bind_mw.mw ? of(wr.bind_mw.mw).id : 0;
      w.region = wr.bind_mw.bind_info.mr ? of(wr.bind_mw.bind_info.mr).id : 0;
      w.bind_address = wr.bind_mw.bind_info.addr;
      w.bind_bytes = wr.bind_mw.bind_info.length;
      w.bind_access = wr.bind_mw.bind_info.mw_access_flags;
      w.bind_key = wr.bind_mw.rkey;
      return 0;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_SEND_WITH_INV:
      w.immediate = wr.invalidate_rkey;
      break;
    default:
      break;
  }
  if (qp->qp_type == IBV_QPT_XRC_SEND) w.remote_srq = wr.qp_type.xrc.remote_srqn;
  if (qp->qp_type == IBV_QPT_UD) {
    w.address = wr.wr.ud.ah ? of(wr.wr.ud.ah).id : 0;
    w.remote_number = wr.wr.ud.remote_qpn;
    w.remote_qkey = wr.wr.ud.remote_qkey;
  }
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
    add_pieces(to, wr.sg_list, wr.num_sge);
    return 0;
  }
  uint64_t bytes = 0;
  for (int k = 0; k < wr.num_sge; ++k) bytes += wr.sg_list[k].length;
  if (bytes > of(qp).limits.max_inline_data) return EINVAL;
  add_inline(to, wr.sg_list, wr.num_sge);
  return 0;
}

// Posts those that could be built, then reports the first that was not taken.
template <class Request>
int post_list(uint64_t queue, wire::VerbsQueue kind, Request* first, const std::vector<Building>& built,
              int build_error, Request** bad) {
  size_t done = 0;
  const int error = post_built(queue, kind, built, done);
  if (error == 0 && build_error == 0) return 0;
  for (size_t k = 0; k < done; ++k) first = first->next;
  if (bad) *bad = first;
  return error != 0 ? error : build_error;
}

std::vector<Building> build_receives(const ibv_recv_wr* wr, uint32_t most, int& error) {
  std::vector<Building> built;
  for (; wr; wr = wr->next) {
    if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > most) {
      error = EINVAL;
      break;
    }
    Building& to = built.emplace_back();
    to.work.id = wr->wr_id;
    add_pieces(to, wr->sg_list, wr->num_sge);
  }
  return built;
}

}  // namespace

void set_line(std::vector<Building>& requests, size_t first, const void* return_address) {
  if (requests.size() <= first) return;
  line_of_call(return_address, "infiniband/verbs.h", requests[first].work.where);
  for (size_t k = first + 1; k < requests.size(); ++k)
    std::memcpy(requests[k].work.where, requests[first].work.where, sizeof requests[k].work.where);
}

int post_built(uint64_t queue, wire::VerbsQueue kind, const std::vector<Building>& requests, size_t& done) {
  std::vector<std::byte> blob;
  while (done < requests.size()) {
    blob.clear();
    wire::VerbsPost request{.queue = queue, .kind = kind};
    for (size_t k = done; k < requests.size(); ++k) {
      const Building& b = requests[k];
      if (!blob.empty() && blob.size() + bytes_of(b) > wire::kLargestBlob) break;
      wire::VerbsWork w = b.work;
      w.pieces = static_cast<uint32_t>(b.pieces.size());
      w.inline_bytes = static_cast<uint32_t>(b.inlined.size());
      append(blob, &w, 1);
      append(blob, b.pieces.data(), b.pieces.size());
      append(blob, b.inlined.data(), b.inlined.size());
      blob.resize((blob.size() + 7) / 8 * 8);
      ++request.count;
    }
    wire::VerbsPosted posted;
    if (!ask<wire::Kind::verbs_post>(request, posted, blob)) return EIO;
    done += posted.done;
    if (posted.error != 0) return static_cast<int>(posted.error);
    if (posted.done != request.count) return EIO;
  }
  return 0;
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  std::vector<Building> built;
  int error = 0;
  for (const ibv_send_wr* at = wr; at; at = at->next) {
    Building& to = built.emplace_back();
    error = build(qp, *at, to);
    if (error == 0) continue;
    built.pop_back();
    break;
  }
  set_line(built, 0, __builtin_return_address(0));
  return post_list(of(qp).id, wire::VerbsQueue::send, wr, built, error, bad);
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  int error = 0;
  auto built = build_receives(wr, qp->srq ? ~0u : of(qp).limits.max_recv_sge, error);
  set_line(built, 0, __builtin_return_address(0));
  return post_list(of(qp).id, wire::VerbsQueue::receive, wr, built, error, bad);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  int error = 0;
  auto built = build_receives(wr, of(srq).limits.max_sge, error);
  set_line(built, 0, __builtin_return_address(0));
  return post_list(of(srq).id, wire::VerbsQueue::shared_receive, wr, built, error, bad);
}

}  // namespace fb::shim::verbs
