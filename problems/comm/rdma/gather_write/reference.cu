#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <arpa/inet.h>

#include <algorithm>
#include <vector>

// Every `pieces` rows are a request with a list of their pieces. The requests of a call are linked and posted together:
// one doorbell.
class Solution {
 public:
  Solution(const fabricbench::Rank&, int pieces) : pieces_(pieces) {}

  void write(ibv_qp* pair, const Rows& from, uint64_t to, uint32_t to_key, uint64_t name) {
    std::vector<ibv_send_wr> works = gathering(from, name);
    for (ibv_send_wr& work : works) {
      const int64_t first = pieces_ * (&work - works.data());
      work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      work.imm_data = htonl(static_cast<uint32_t>(first));
      work.wr.rdma.remote_addr = to + static_cast<uint64_t>(first * from.bytes);  // no gaps there
      work.wr.rdma.rkey = to_key;
    }
    post(pair, works);
  }

  void send(ibv_qp* pair, const Rows& from, uint64_t name) {
    std::vector<ibv_send_wr> works = gathering(from, name);
    for (ibv_send_wr& work : works) work.opcode = IBV_WR_SEND;
    post(pair, works);
  }

  void receive(ibv_qp* pair, const Rows& into) {
    std::vector<ibv_recv_wr> works(list_pieces(into));
    for (size_t k = 0; k < works.size(); ++k) {
      const int64_t first = pieces_ * static_cast<int64_t>(k);
      works[k] = {.wr_id = static_cast<uint64_t>(first),
                  .next = k + 1 < works.size() ? &works[k + 1] : nullptr,
                  .sg_list = &list_[static_cast<size_t>(first)],
                  .num_sge = count_from(first)};
    }
    ibv_recv_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(pair, works.data(), &bad), "ibv_post_recv");
  }

 private:
  // All pieces, one after the other; returns the number of requests. Lists are read while they are posted, not later.
  size_t list_pieces(const Rows& rows) {
    list_.clear();
    for (int64_t i = 0; i < rows.count; ++i) {
      list_.push_back(
          {rows.address + static_cast<uint64_t>(i * rows.pitch), static_cast<uint32_t>(rows.bytes), rows.key});
    }
    return static_cast<size_t>((rows.count + pieces_ - 1) / pieces_);
  }
  int count_from(int64_t first) const {
    return static_cast<int>(std::min<int64_t>(pieces_, static_cast<int64_t>(list_.size()) - first));
  }

  // Requests of one queue pair complete in order: when the last one is complete, all are. So only it is signalled.
  std::vector<ibv_send_wr> gathering(const Rows& from, uint64_t name) {
    std::vector<ibv_send_wr> works(list_pieces(from));
    for (size_t k = 0; k < works.size(); ++k) {
      const int64_t first = pieces_ * static_cast<int64_t>(k);
      works[k].sg_list = &list_[static_cast<size_t>(first)];
      works[k].num_sge = count_from(first);
      works[k].next = k + 1 < works.size() ? &works[k + 1] : nullptr;
    }
    works.back().wr_id = name;
    works.back().send_flags = IBV_SEND_SIGNALED;
    return works;
  }
  static void post(ibv_qp* pair, std::vector<ibv_send_wr>& works) {
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(pair, works.data(), &bad), "ibv_post_send");
  }

  int64_t pieces_;
  std::vector<ibv_sge> list_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, int pieces) {}
//|   void write(ibv_qp* pair, const Rows& from, uint64_t to, uint32_t to_key, uint64_t name) {
//|     // TODO: write the pieces to `to`, without gaps
//|   }
//|   void send(ibv_qp* pair, const Rows& from, uint64_t name) {
//|     // TODO: send the pieces
//|   }
//|   void receive(ibv_qp* pair, const Rows& into) {
//|     // TODO: post receives that scatter into the pieces
//|   }
//| };
// [/solution]
