// [solution]
#include <arpa/inet.h>

#include <map>
#include <utility>
#include <vector>

// Receives have two pieces: the header goes to the host, and is not read, and the data to the begin of a slot.
// Datagrams are copied one by one, and credit is given for several: at half a window, and at the end.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes)
      : card_(rank),
        came_(make_queue(slots)),
        sent_(make_queue(1)),
        memory_(static_cast<char*>(memory)),
        data_bytes_(static_cast<uint32_t>(slot_bytes) - 40),
        region_(card_.reg(memory, size_t{data_bytes_} * static_cast<size_t>(slots), IBV_ACCESS_LOCAL_WRITE)),
        headers_(static_cast<size_t>(slots)),
        headers_region_(card_.reg(headers_.data(), headers_.size() * sizeof headers_[0], IBV_ACCESS_LOCAL_WRITE)) {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.qp_type = IBV_QPT_UD;
    wanted.cap.max_send_wr = wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_wr = static_cast<uint32_t>(slots);
    wanted.cap.max_recv_sge = 2;
    wanted.pd = card_.domain();
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
    pair_.reset(fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qkey = kKey;
    a.port_num = 1;
    modify(a, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    for (int slot = 0; slot < slots; ++slot) post_receive(static_cast<uint64_t>(slot));
    modify(a, IBV_QPS_RTR, 0);
    modify(a, IBV_QPS_RTS, IBV_QP_SQ_PSN);
  }

  void describe(Address& mine) const {
    mine.number = pair_->qp_num;
    mine.qkey = kKey;
    mine.lid = card_.lid();
  }

  void connect(const Address* senders, int world, int window) {
    group_ = static_cast<uint32_t>(window + 1) / 2;
    peers_.resize(static_cast<size_t>(world));
    for (size_t r = 0; r < peers_.size(); ++r) {
      ibv_ah_attr a = {};
      a.dlid = senders[r].lid;
      a.port_num = 1;
      peers_[r].card.reset(fabricbench::check_verbs(ibv_create_ah(card_.domain(), &a), "ibv_create_ah"));
      peers_[r].address = senders[r];
      rank_of_[{senders[r].lid, senders[r].number}] = r;
    }
  }

  void begin(void* target, int64_t message_bytes) {
    target_ = static_cast<char*>(target);
    message_bytes_ = static_cast<uint64_t>(message_bytes);
    for (Peer& peer : peers_) peer.missing = message_bytes_;
    left_ = peers_.size() - 1;
  }

  bool step(cudaStream_t stream) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_.get(), 1, &done) == 0) return false;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    const size_t from = rank_of_.at({done.slid, done.src_qp});
    const uint32_t bytes = done.byte_len - 40;
    char* const to = target_ + from * message_bytes_ + size_t{ntohl(done.imm_data)} * data_bytes_;
    fabricbench::check_cuda(
        cudaMemcpyAsync(to, memory_ + done.wr_id * data_bytes_, bytes, cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    post_receive(done.wr_id);
    Peer& peer = peers_[from];
    peer.missing -= bytes;
    if (++peer.taken - peer.credited == group_ || peer.missing == 0) give_credit(peer);
    if (peer.missing == 0) --left_;
    return left_ == 0;
  }

 private:
  static constexpr uint32_t kKey = 0x0BADCAFE;
  struct Peer {
    Address address;
    fabricbench::AddressHandle card;
    uint64_t missing = 0;  // bytes of this call
    uint32_t taken = 0, credited = 0;
  };

  void give_credit(Peer& peer) {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(pair_.get());
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send_imm(pair, htonl(peer.credited = peer.taken));
    ibv_wr_set_ud_addr(pair, peer.card.get(), peer.address.number, peer.address.qkey);
    ibv_wr_set_sge_list(pair, 0, nullptr);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    fabricbench::wait_for_completion(sent_.get());
  }

  void post_receive(uint64_t slot) {
    ibv_sge pieces[] = {{reinterpret_cast<uint64_t>(&headers_[slot]), sizeof headers_[0], headers_region_->lkey},
                        {reinterpret_cast<uint64_t>(memory_ + slot * data_bytes_), data_bytes_, region_->lkey}};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = slot;
    work.sg_list = pieces;
    work.num_sge = 2;
    fabricbench::check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
  }
  void modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) {
    attributes.qp_state = state;
    fabricbench::check_verbs(ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE | mask), "ibv_modify_qp");
  }
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue came_, sent_;
  char *memory_, *target_ = nullptr;
  uint32_t data_bytes_, group_ = 1;
  fabricbench::MemoryRegion region_;
  std::vector<ibv_grh> headers_;
  fabricbench::MemoryRegion headers_region_;
  fabricbench::QueuePair pair_;
  std::vector<Peer> peers_;
  std::map<std::pair<uint16_t, uint32_t>, size_t> rank_of_;  // by card and queue pair
  uint64_t message_bytes_ = 0;
  size_t left_ = 0;
};
// [/solution]
