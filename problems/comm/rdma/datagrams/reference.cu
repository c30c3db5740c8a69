#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <arpa/inet.h>

#include <map>
#include <utility>
#include <vector>

// Datagrams that were polled together: where they lie, and where they go.
constexpr int kBatch = 32;
struct Batch {
  int count;
  const uint32_t* from[kBatch];
  uint32_t* to[kBatch];
  uint32_t words[kBatch];
};

// A block for each datagram.
__global__ void place(Batch batch) {
  const unsigned k = blockIdx.x;
  for (uint32_t i = threadIdx.x; i < batch.words[k]; i += blockDim.x) batch.to[k][i] = batch.from[k][i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes)
      : memory_(static_cast<char*>(memory)),
        slot_bytes_(static_cast<uint32_t>(slot_bytes)),
        card_(rank),
        came_(make_queue(slots)),
        sent_(make_queue(kCredits)),
        region_(card_.reg(memory, static_cast<size_t>(slots) * slot_bytes_)) {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.qp_type = IBV_QPT_UD;
    wanted.cap.max_send_wr = kCredits;
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    wanted.cap.max_recv_wr = static_cast<uint32_t>(slots);
    pair_.reset(fabricbench::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qkey = kKey;
    modify(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    // All receives before anything can come: a datagram without one is lost.
    for (int slot = 0; slot < slots; ++slot) post_receive(static_cast<uint64_t>(slot));
    // There is no peer to connect with.
    a.qp_state = IBV_QPS_RTR;
    modify(a, IBV_QP_STATE);
    a.qp_state = IBV_QPS_RTS;
    modify(a, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  void describe(Address& mine) const { mine = {pair_->qp_num, kKey, card_.lid()}; }

  void connect(const Address* senders, int world, int) {
    peers_.resize(static_cast<size_t>(world));
    for (size_t r = 0; r < peers_.size(); ++r) {
      peers_[r].address = senders[r];
      rank_of_[{senders[r].lid, senders[r].number}] = r;
      ibv_ah_attr a = {};
      a.dlid = senders[r].lid;
      a.port_num = fabricbench::Card::kPort;
      peers_[r].card.reset(fabricbench::check_verbs(ibv_create_ah(card_.domain(), &a), "ibv_create_ah"));
    }
  }

  void begin(void* target, int64_t message_bytes) {
    target_ = static_cast<char*>(target);
    message_bytes_ = message_bytes;
    missing_ = static_cast<int64_t>(peers_.size() - 1) * message_bytes;
  }

  bool step(cudaStream_t stream) {
    ibv_wc done[kBatch];
    Batch batch = {};
    batch.count = ibv_poll_cq(came_.get(), kBatch, done);
    for (int k = 0; k < batch.count; ++k) take(done[k], k, batch);
    if (batch.count > 0) {
      place<<<batch.count, 256, 0, stream>>>(batch);
      fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // the slots are read
      // First the receives, then the credits: what they allow must find a receive.
      for (int k = 0; k < batch.count; ++k) post_receive(done[k].wr_id);
      give_credit();
    }
    return missing_ == 0;
  }

 private:
  static constexpr uint32_t kKey = 0x11111111, kHeader = 40, kCredits = 8;
  struct Peer {
    Address address;
    fabricbench::AddressHandle card;
    uint32_t taken = 0, credited = 0;  // datagrams in all calls
  };

  // A number of a queue pair is unique on its card only. The first 40 bytes of a slot are for the global header, also
  // where there is none, and byte_len counts them.
  void take(const ibv_wc& done, int k, Batch& batch) {
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    const size_t from = rank_of_.at({done.slid, done.src_qp});
    ++peers_[from].taken;
    const uint32_t bytes = done.byte_len - kHeader;
    const uint64_t begin = uint64_t{ntohl(done.imm_data)} * (slot_bytes_ - kHeader);
    batch.from[k] = reinterpret_cast<const uint32_t*>(memory_ + done.wr_id * slot_bytes_ + kHeader);
    batch.to[k] = reinterpret_cast<uint32_t*>(target_ + from * static_cast<uint64_t>(message_bytes_) + begin);
    batch.words[k] = bytes / 4;
    missing_ -= bytes;
  }

  // An empty datagram to each sender of the batch, with the number of its datagrams that were taken.
  void give_credit() {
    int posted = 0;
    for (Peer& peer : peers_) {
      if (peer.credited == peer.taken) continue;
      peer.credited = peer.taken;
      ibv_send_wr work = {}, *bad = nullptr;
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(peer.taken);
      work.send_flags = IBV_SEND_SIGNALED;
      work.wr.ud.ah = peer.card.get();
      work.wr.ud.remote_qpn = peer.address.number;
      work.wr.ud.remote_qkey = peer.address.qkey;
      fabricbench::check_verbs(ibv_post_send(pair_.get(), &work, &bad), "ibv_post_send");
      ++posted;
    }
    // Their places in the queue are free again. Whether they arrive is not known, but senders have receives for them.
    for (; posted > 0; --posted) fabricbench::wait_for_completion(sent_.get());
  }

  void post_receive(uint64_t slot) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(memory_ + slot * slot_bytes_), slot_bytes_, region_->lkey};
    ibv_recv_wr work = {.wr_id = slot, .next = nullptr, .sg_list = &piece, .num_sge = 1}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
  }
  void modify(ibv_qp_attr& attributes, int mask) {
    fabricbench::check_verbs(ibv_modify_qp(pair_.get(), &attributes, mask), "ibv_modify_qp");
  }
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  char* memory_;
  uint32_t slot_bytes_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue came_, sent_;
  fabricbench::MemoryRegion region_;
  fabricbench::QueuePair pair_;
  std::vector<Peer> peers_;
  std::map<std::pair<uint16_t, uint32_t>, size_t> rank_of_;  // by card and queue pair
  char* target_ = nullptr;
  int64_t message_bytes_ = 0, missing_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, void* memory, int slots, int slot_bytes) {
//|     // TODO: make a queue pair for datagrams, and post all receives
//|   }
//|   void describe(Address& mine) {
//|     // TODO: the address of the queue pair
//|   }
//|   void connect(const Address* senders, int world, int window) {
//|     // TODO: make address handles for credits
//|   }
//|   void begin(void* target, int64_t message_bytes) {
//|     // TODO: a call begins
//|   }
//|   bool step(cudaStream_t stream) {
//|     // TODO: take what has come, and give credit. True: all messages are at `target`
//|     return false;
//|   }
//| };
// [/solution]
