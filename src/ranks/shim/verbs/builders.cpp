// Work requests that are built call by call (ibv_wr_start … ibv_wr_complete). An error is kept until the batch is
// complete, which is then dropped as a whole.

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

Building& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  Building& b = of(qp).building.emplace_back();
  b.work.id = qp->wr_id;
  b.work.flags = qp->wr_flags & ~static_cast<unsigned int>(IBV_SEND_INLINE);
  b.work.opcode = static_cast<uint32_t>(opcode);
  set_line(of(qp).building, of(qp).building.size() - 1, nullptr);
  return b;
}

Building& begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint32_t key, uint64_t address) {
  Building& b = begin(qp, opcode);
  b.work.remote_key = key;
  b.work.remote_address = address;
  return b;
}

// The one that payload and address belong to.
Building* last(ibv_qp_ex* qp) {
  QueuePair& pair = of(qp);
  if (pair.building.empty()) {
    pair.error = EINVAL;
    return nullptr;
  }
  return &pair.building.back();
}

void add_inline(ibv_qp_ex* qp, const void* from, size_t bytes) {
  Building* const b = last(qp);
  if (!b) return;
  if (b->inlined.size() + bytes > of(qp).limits.max_inline_data) {
    of(qp).error = EINVAL;
    return;
  }
  b->work.flags |= IBV_SEND_INLINE;
  const auto* const first = static_cast<const std::byte*>(from);
  b->inlined.insert(b->inlined.end(), first, first + bytes);
}

void start(ibv_qp_ex* qp) {
  QueuePair& pair = of(qp);
  pair.mutex.lock();
  pair.building.clear();
  pair.error = 0;
}

int complete(ibv_qp_ex* qp) {
  QueuePair& pair = of(qp);
  int error = pair.error;
  size_t done = 0;
  if (error == 0) error = post_built(pair.id, wire::VerbsQueue::send_batch, pair.building, done);
  pair.building.clear();
  pair.mutex.unlock();
  return error;
}

void abort_batch(ibv_qp_ex* qp) {
  QueuePair& pair = of(qp);
  pair.building.clear();
  pair.mutex.unlock();
}

}  // namespace

void set_builders(QueuePair& pair) {
  ibv_qp_ex& qp = pair.base;
  qp.wr_start = start;
  qp.wr_complete = complete;
  qp.wr_abort = abort_batch;
  qp.wr_send = [](ibv_qp_ex* q) { begin(q, IBV_WR_SEND); };
  qp.wr_send_imm = [](ibv_qp_ex* q, __be32 immediate) { begin(q, IBV_WR_SEND_WITH_IMM).work.immediate = immediate; };
  qp.wr_send_inv = [](ibv_qp_ex* q, uint32_t key) { begin(q, IBV_WR_SEND_WITH_INV).work.immediate = key; };
  qp.wr_local_inv = [](ibv_qp_ex* q, uint32_t key) { begin(q, IBV_WR_LOCAL_INV).work.immediate = key; };
  qp.wr_rdma_read = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    begin_remote(q, IBV_WR_RDMA_READ, key, address);
  };
  qp.wr_rdma_write = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    begin_remote(q, IBV_WR_RDMA_WRITE, key, address);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* q, uint32_t key, uint64_t address, __be32 immediate) {
    begin_remote(q, IBV_WR_RDMA_WRITE_WITH_IMM, key, address).work.immediate = immediate;
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint64_t compare, uint64_t swap) {
    Building& b = begin_remote(q, IBV_WR_ATOMIC_CMP_AND_SWP, key, address);
    b.work.compare_or_add = compare;
    b.work.swap = swap;
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint64_t add) {
    begin_remote(q, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address).work.compare_or_add = add;
  };
  qp.wr_bind_mw = [](ibv_qp_ex* q, ibv_mw* mw, uint32_t key, const ibv_mw_bind_info* info) {
    Building& b = begin(q, IBV_WR_BIND_MW);
    b.work.window = of(mw).id;
    b.work.region = info->mr ? of(info->mr).id : 0;
    b.work.bind_address = info->addr;
    b.work.bind_bytes = info->length;
    b.work.bind_access = info->mw_access_flags;
    b.work.bind_key = key;
  };
  qp.wr_send_tso = [](ibv_qp_ex* q, void*, uint16_t, uint16_t) { of(q).error = EOPNOTSUPP; };
  qp.wr_atomic_write = [](ibv_qp_ex* q, uint32_t, uint64_t, const void*) { of(q).error = EOPNOTSUPP; };
  qp.wr_set_xrc_srqn = [](ibv_qp_ex* q, uint32_t number) {
    if (Building* const b = last(q)) b->work.remote_srq = number;
  };
  qp.wr_set_ud_addr = [](ibv_qp_ex* q, ibv_ah* ah, uint32_t number, uint32_t qkey) {
    Building* const b = last(q);
    if (!b) return;
    b->work.address = of(ah).id;
    b->work.remote_number = number;
    b->work.remote_qkey = qkey;
  };
  qp.wr_set_sge = [](ibv_qp_ex* q, uint32_t key, uint64_t address, uint32_t bytes) {
    if (Building* const b = last(q)) b->pieces.push_back({address, bytes, key});
  };
  qp.wr_set_sge_list = [](ibv_qp_ex* q, size_t count, const ibv_sge* list) {
    Building* const b = last(q);
    for (size_t k = 0; b && k < count; ++k) b->pieces.push_back({list[k].addr, list[k].length, list[k].lkey});
  };
  qp.wr_set_inline_data = [](ibv_qp_ex* q, void* from, size_t bytes) { add_inline(q, from, bytes); };
  qp.wr_set_inline_data_list = [](ibv_qp_ex* q, size_t count, const ibv_data_buf* list) {
    if (count == 0) add_inline(q, nullptr, 0);
    for (size_t k = 0; k < count; ++k) add_inline(q, list[k].addr, list[k].length);
  };
}

}  // namespace fb::shim::verbs
