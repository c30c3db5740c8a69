// [solution]
#include <arpa/inet.h>

// Each message is copied and its receive posted again as soon as it has come: at the end of a round only the answer is
// left to do. It comes from registered memory, which must stay as it is until the send is complete.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes)
      : card_(rank),
        came_queue_(make_queue(slots)),
        sent_queue_(make_queue(1)),
        memory_(static_cast<char*>(memory)),
        slot_bytes_(static_cast<uint32_t>(slot_bytes)),
        region_(card_.reg(memory, static_cast<size_t>(slots) * slot_bytes_, IBV_ACCESS_LOCAL_WRITE)),
        answer_region_(card_.reg(&answer_, sizeof answer_, 0)) {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = sent_queue_.get();
    wanted.recv_cq = came_queue_.get();
    wanted.qp_type = IBV_QPT_UC;
    wanted.cap.max_send_wr = wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    wanted.cap.max_recv_wr = static_cast<uint32_t>(slots);
    wanted.pd = card_.domain();
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
    pair_.reset(fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    modify(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    for (int slot = 0; slot < slots; ++slot) post_receive(static_cast<uint64_t>(slot));
  }

  void describe(End& mine) const {
    mine.number = pair_->qp_num;
    mine.psn = kPsn;
    mine.lid = card_.lid();
  }

  void connect(const End& peer) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.number;
    a.rq_psn = peer.psn;
    a.ah_attr.dlid = peer.lid;
    a.ah_attr.port_num = 1;
    modify(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = kPsn;
    modify(a, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  void begin(void* target, int messages) {
    target_ = static_cast<char*>(target);
    messages_ = messages;
    came_ = 0;
    ++call_;
  }

  bool step(cudaStream_t stream) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_queue_.get(), 1, &done) == 0) return false;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    const uint32_t name = ntohl(done.imm_data);
    const uint32_t message = 1u << (name & 31);
    const bool mine = static_cast<uint16_t>(name >> 16) == call_, end = mine && (name & 0x8000) != 0;
    if (mine && !end && (came_ & message) == 0) {
      came_ |= message;
      fabricbench::check_cuda(
          cudaMemcpyAsync(target_ + (name & 31) * size_t{slot_bytes_}, memory_ + done.wr_id * slot_bytes_,
                          done.byte_len, cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
      fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    post_receive(done.wr_id);
    if (end) answer(name);
    return end && answer_ == 0;
  }

 private:
  static constexpr uint32_t kPsn = 4711;

  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  void answer(uint32_t name) {
    answer_ = ~came_ & static_cast<uint32_t>((uint64_t{1} << messages_) - 1);
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(pair_.get());
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send_imm(pair, htonl(name));
    ibv_wr_set_sge(pair, answer_region_->lkey, reinterpret_cast<uint64_t>(&answer_), sizeof answer_);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    fabricbench::wait_for_completion(sent_queue_.get());
  }

  void post_receive(uint64_t slot) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(memory_ + slot * slot_bytes_), slot_bytes_, region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = slot;
    work.sg_list = &piece;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
  }
  void modify(ibv_qp_attr& attributes, int mask) {
    fabricbench::check_verbs(ibv_modify_qp(pair_.get(), &attributes, mask), "ibv_modify_qp");
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue came_queue_, sent_queue_;
  char *memory_, *target_ = nullptr;
  uint32_t slot_bytes_, came_ = 0, answer_ = 0;
  int messages_ = 0;
  uint16_t call_ = 0xffff;  // before the first one
  fabricbench::MemoryRegion region_, answer_region_;
  fabricbench::QueuePair pair_;
};
// [/solution]
