// [solution]
#include <arpa/inet.h>

#include <map>
#include <memory>
#include <vector>

// One shared receive queue, and a thread that sleeps until its completion channel has an event. Of each pair of ranks
// there are two queue pairs: permission is told on one, data and their doorbells go the other way on the other one.
struct Door {
  uint64_t out;
  uint32_t key;
  fabricbench::Endpoint data[3], permission[3];
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : batches_(static_cast<size_t>(args.batches)), card_(rank), peers_(static_cast<size_t>(rank.world()) - 1) {
    using fabricbench::check_verbs;
    const auto row_bytes = 4 * static_cast<size_t>(args.n);
    const auto receives = static_cast<uint32_t>(peers_.size() * (batches_ + 2));
    channel_.reset(check_verbs(ibv_create_comp_channel(card_.context()), "ibv_create_comp_channel"));
    queue_.reset(check_verbs(ibv_create_cq(card_.context(), static_cast<int>(2 * receives), nullptr, channel_.get(), 0),
                             "ibv_create_cq"));
    ibv_srq_init_attr shared = {};
    shared.attr = {.max_wr = receives, .max_sge = 1};
    receives_.reset(check_verbs(ibv_create_srq(card_.domain(), &shared), "ibv_create_srq"));
    for (uint32_t i = 0; i < receives; ++i) post_receive();
    in_ = card_.reg(args.in, peers_.size() * row_bytes);
    out_ = card_.reg(args.out, peers_.size() * row_bytes);
    const auto psn = static_cast<uint32_t>(rank.rank());
    Door mine = {reinterpret_cast<uint64_t>(args.out), out_->rkey, {}, {}};
    const fabricbench::QueueSizes sizes = {.sends = static_cast<uint32_t>(2 * batches_)};
    for (size_t k = 0; k < peers_.size(); ++k) {
      peers_[k].data = card_.make_rc(queue_.get(), sizes, receives_.get());
      peers_[k].permission = card_.make_rc(queue_.get(), {.sends = 1}, receives_.get());
      mine.data[k] = card_.endpoint_of(*peers_[k].data, psn);
      mine.permission[k] = card_.endpoint_of(*peers_[k].permission, psn);
      // Data come in on the queue pair on which we give permission.
      rows_[peers_[k].data->qp_num] = rows_[peers_[k].permission->qp_num] = k;
    }
    const auto all = rank.all_gather(mine);
    for (size_t k = 0; k < peers_.size(); ++k) {
      const size_t theirs = peers_.size() - 1 - k;
      const Door& door = all[(psn + 1 + k) % all.size()];
      peers_[k].out = door.out + theirs * row_bytes;
      peers_[k].key = door.key;
      fabricbench::connect_rc(*peers_[k].data, psn, door.permission[theirs]);
      fabricbench::connect_rc(*peers_[k].permission, psn, door.data[theirs]);
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    const size_t values = peers_.size() * batches_, bytes = values * sizeof(uint32_t);
    std::vector<uint32_t> ends(values), rung;
    check_cuda(cudaMemcpyAsync(ends.data(), args.ends, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (Peer& peer : peers_) post(*peer.permission, peer, {}, 0, nullptr, true);
    for (size_t k = 0; k < peers_.size(); ++k) {
      Peer& peer = peers_[k];
      while (peer.permissions == 0) wait();
      --peer.permissions;
      uint32_t begin = 0;
      for (size_t b = 0; b < batches_; ++b) {
        const uint32_t end = ends[k * batches_ + b];
        const ibv_sge piece = {reinterpret_cast<uint64_t>(args.in + static_cast<int64_t>(k) * args.n + begin),
                               4 * (end - begin), in_->lkey};
        if (end != begin) post(*peer.data, peer, piece, begin, nullptr, false);
        post(*peer.data, peer, {}, 0, &end, b + 1 == batches_);
        begin = end;
      }
    }
    for (Peer& peer : peers_) {
      while (peer.values.size() < batches_ || peer.completed < 2) wait();
      rung.insert(rung.end(), peer.values.begin(), peer.values.end());
      peer.values.clear();
      peer.completed = 0;
    }
    check_cuda(cudaMemcpyAsync(args.rung, rung.data(), bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  struct Peer {
    fabricbench::QueuePair data, permission;
    uint64_t out = 0;
    uint32_t key = 0;
    int permissions = 0, completed = 0;
    std::vector<uint32_t> values;
  };

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_srq_recv(receives_.get(), &work, &bad), "ibv_post_srq_recv");
  }

  // A piece at this place of the row, or else a doorbell.
  static void post(ibv_qp& pair, const Peer& peer, ibv_sge piece, uint32_t begin, const uint32_t* value,
                   bool signaled) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.send_flags = signaled ? IBV_SEND_SIGNALED : 0u;
    work.opcode = piece.length != 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
    if (value) work.imm_data = htonl(*value);
    if (piece.length != 0) {
      work.sg_list = &piece;
      work.num_sge = 1;
      work.wr.rdma.remote_addr = peer.out + 4 * uint64_t{begin};
      work.wr.rdma.rkey = peer.key;
    }
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  // Returns when something was taken. Armed before the last look: what comes behind it makes an event.
  void wait() {
    if (take()) return;
    fabricbench::check_verbs(ibv_req_notify_cq(queue_.get(), 0), "ibv_req_notify_cq");
    if (take()) return;
    ibv_cq* source = nullptr;
    void* context = nullptr;
    fabricbench::check_verbs(ibv_get_cq_event(channel_.get(), &source, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(source, 1);
  }

  bool take() {
    ibv_wc done = {};
    if (ibv_poll_cq(queue_.get(), 1, &done) != 1) return false;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    Peer& peer = peers_[rows_.at(done.qp_num)];
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
      ++peer.completed;
      return true;
    }
    post_receive();
    if (done.qp_num == peer.data->qp_num) {
      ++peer.permissions;
    } else {
      peer.values.push_back(ntohl(done.imm_data));
    }
    return true;
  }

  size_t batches_;
  fabricbench::Card card_;
  fabricbench::CompletionChannel channel_;
  fabricbench::CompletionQueue queue_;
  fabricbench::SharedReceiveQueue receives_;
  fabricbench::MemoryRegion in_, out_;
  std::vector<Peer> peers_;
  std::map<uint32_t, size_t> rows_;  // by number of queue pair
};
// [/solution]
