#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <arpa/inet.h>

#include <vector>

// Messages of a round, and where they go.
struct Arrivals {
  int count;
  uint8_t slot[32], number[32];
  uint32_t words[32];
};

// A block for each message.
__global__ void place(Arrivals arrivals, const uint32_t* slots, uint32_t* target, int64_t chunk) {
  const unsigned k = blockIdx.x;
  for (int64_t i = threadIdx.x; i < arrivals.words[k]; i += blockDim.x) {
    target[arrivals.number[k] * chunk + i] = slots[arrivals.slot[k] * chunk + i];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes)
      : psn_(static_cast<uint32_t>(rank.rank())),
        slots_(static_cast<uint32_t*>(memory)),
        chunk_(slot_bytes / 4),
        card_(rank),
        came_(make_queue(slots)),
        sent_(make_queue(1)),
        region_(card_.reg(memory, static_cast<size_t>(slots) * static_cast<size_t>(slot_bytes))) {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.qp_type = IBV_QPT_UC;
    wanted.cap = {.max_send_wr = 1,
                  .max_recv_wr = static_cast<uint32_t>(slots),
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = sizeof missing_};
    pair_.reset(fabricbench::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    modify(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    // Before anything can come: a message without a receive is lost, and no completion tells of it.
    for (int slot = 0; slot < slots; ++slot) used_.push_back(slot);
    post_used();
  }

  void describe(End& mine) const { mine = {pair_->qp_num, psn_, card_.lid()}; }

  // An unreliable connection has no timers and no repetitions to set.
  void connect(const End& peer) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.number;
    a.rq_psn = peer.psn;
    a.ah_attr.dlid = peer.lid;
    a.ah_attr.port_num = fabricbench::Card::kPort;
    modify(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = psn_;
    modify(a, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  void begin(void* target, int messages) {
    target_ = static_cast<uint32_t*>(target);
    missing_ = static_cast<uint32_t>((uint64_t{1} << messages) - 1);
    call_ = calls_++ & 0xffff;
  }

  // One message at a time: behind the end of the last round there may be messages of the next call already.
  bool step(cudaStream_t stream) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_.get(), 1, &done) == 0) return false;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    used_.push_back(static_cast<int>(done.wr_id));
    const uint32_t name = ntohl(done.imm_data);
    if (name >> 16 != call_) return false;  // late
    if ((name & kEnd) != 0) {
      end_round(name, stream);
      return missing_ == 0;
    }
    // The receive that a message has taken depends on what was lost before it; only its name says where it goes.
    if ((missing_ & 1u << (name & 31)) == 0) return false;  // a second time
    missing_ ^= 1u << (name & 31);
    arrivals_.slot[arrivals_.count] = static_cast<uint8_t>(done.wr_id);
    arrivals_.number[arrivals_.count] = static_cast<uint8_t>(name & 31);
    arrivals_.words[arrivals_.count++] = done.byte_len / 4;
    return false;
  }

 private:
  static constexpr uint32_t kEnd = 0x8000;

  void end_round(uint32_t name, cudaStream_t stream) {
    if (arrivals_.count > 0) {
      place<<<arrivals_.count, 256, 0, stream>>>(arrivals_, slots_, target_, chunk_);
      fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // the slots are free
      arrivals_.count = 0;
    }
    // First the receives, then the answer: with it the next round begins, or the next call.
    post_used();
    ibv_sge piece = {reinterpret_cast<uint64_t>(&missing_), sizeof missing_, 0};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(name);
    work.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    work.sg_list = &piece;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_send(pair_.get(), &work, &bad), "ibv_post_send");
    fabricbench::wait_for_completion(sent_.get());  // it has left, and its place is free; more is not known
  }

  void post_used() {
    for (const int slot : used_) {
      ibv_sge piece = {reinterpret_cast<uint64_t>(slots_ + slot * chunk_), static_cast<uint32_t>(4 * chunk_),
                       region_->lkey};
      ibv_recv_wr work = {.wr_id = static_cast<uint64_t>(slot), .next = nullptr, .sg_list = &piece, .num_sge = 1};
      ibv_recv_wr* bad = nullptr;
      fabricbench::check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
    }
    used_.clear();
  }
  void modify(ibv_qp_attr& attributes, int mask) {
    fabricbench::check_verbs(ibv_modify_qp(pair_.get(), &attributes, mask), "ibv_modify_qp");
  }
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  uint32_t psn_;
  uint32_t* slots_;
  int64_t chunk_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue came_, sent_;
  fabricbench::MemoryRegion region_;
  fabricbench::QueuePair pair_;
  std::vector<int> used_;  // slots whose receive was taken
  Arrivals arrivals_ = {};
  uint32_t* target_ = nullptr;
  uint32_t missing_ = 0, call_ = 0, calls_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes) {
//|     // TODO: make an unreliable connected queue pair, and post all receives
//|   }
//|   void describe(End& mine) {
//|     // TODO: the end of the connection here
//|   }
//|   void connect(const End& peer) {
//|     // TODO: connect with the sender
//|   }
//|   void begin(void* target, int messages) {
//|     // TODO: a call begins
//|   }
//|   bool step(cudaStream_t stream) {
//|     // TODO: take what has come, and answer at the end of a round. True: everything is at `target`
//|     return false;
//|   }
//| };
// [/solution]
