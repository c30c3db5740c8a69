// [solution]
#include <arpa/inet.h>

// A request at a time, with a list on the stack. A card reads a list while it is posted, so that it can be used again.
class Solution {
 public:
  Solution(const fabricbench::Rank&, int pieces) : pieces_(pieces) {}

  void write(ibv_qp* pair, const Rows& from, uint64_t to, uint32_t to_key, uint64_t name) {
    for (int64_t row = 0; row < from.count; row += pieces_) {
      ibv_send_wr work = {};
      work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      work.imm_data = htonl(static_cast<uint32_t>(row));
      work.wr.rdma.remote_addr = to;
      work.wr.rdma.rkey = to_key;
      to += static_cast<uint64_t>(from.bytes * post(pair, work, from, row, name));
    }
  }

  void send(ibv_qp* pair, const Rows& from, uint64_t name) {
    for (int64_t row = 0; row < from.count; row += pieces_) {
      ibv_send_wr work = {};
      work.opcode = IBV_WR_SEND;
      post(pair, work, from, row, name);
    }
  }

  void receive(ibv_qp* pair, const Rows& into) {
    for (int64_t row = 0; row < into.count; row += pieces_) {
      List list;
      ibv_recv_wr work = {}, *bad = nullptr;
      work.wr_id = static_cast<uint64_t>(row);
      work.sg_list = list.pieces;
      work.num_sge = list.take(into, row, pieces_);
      fabricbench::check_verbs(ibv_post_recv(pair, &work, &bad), "ibv_post_recv");
    }
  }

 private:
  struct List {
    ibv_sge pieces[30];

    int take(const Rows& rows, int64_t row, int most) {
      int count = 0;
      for (; count < most && row + count < rows.count; ++count) {
        pieces[count].addr = rows.address + static_cast<uint64_t>((row + count) * rows.pitch);
        pieces[count].length = static_cast<uint32_t>(rows.bytes);
        pieces[count].lkey = rows.key;
      }
      return count;
    }
  };

  // Returns the number of rows that it takes along.
  int post(ibv_qp* pair, ibv_send_wr& work, const Rows& from, int64_t row, uint64_t name) const {
    List list;
    work.wr_id = name;
    work.sg_list = list.pieces;
    work.num_sge = list.take(from, row, pieces_);
    work.send_flags = row + work.num_sge == from.count ? IBV_SEND_SIGNALED : 0;
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(pair, &work, &bad), "ibv_post_send");
    return work.num_sge;
  }

  int pieces_;
};
// [/solution]
