#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <cstring>
#include <vector>

#include "args.h"

// [interface]
struct Shared {
  ibv_context* card;
  ibv_pd* domain;
  ibv_mr* region;  // `out`: windows may be bound to it; its own key gives no access to others
  ibv_qp* pair;    // RC, connected with the rank that will use the windows; made by ibv_create_qp_ex
  ibv_cq* queue;   // completions of `pair`, for the solution alone
};
// [/interface]

// The ranks that write through windows, and try what they must not.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

constexpr int kParts = 2;  // windows that are open at a time
enum Kind : uint32_t { kLate, kOlder, kBeyond, kRead, kKinds };

// Between neighbours, on a queue pair of its own.
struct Note {
  uint64_t address[kParts], bytes[kParts];
  uint32_t key[kParts];
  uint32_t kind, refused;
};

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : card_(rank),
        queue_(make_queue()),
        windows_queue_(make_queue()),
        bytes_(static_cast<size_t>(args.pieces * args.words) * sizeof(uint32_t)),
        in_region_(card_.reg(args.in, bytes_)),
        out_region_(card_.reg(args.out, bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)),
        notes_region_(card_.reg(notes_, sizeof notes_)),
        garbage_region_(card_.reg(garbage_, sizeof garbage_)),
        inbound_(make_pair(windows_queue_.get())),
        outbound_(make_pair(queue_.get())),
        to_before_(card_.make_rc(queue_.get())),
        to_next_(card_.make_rc(queue_.get())) {
    struct Ends {
      fabricbench::Endpoint inbound, outbound, to_before, to_next;
    };
    const auto all = rank.all_gather(Ends{card_.endpoint_of(*inbound_, 0), card_.endpoint_of(*outbound_, 0),
                                          card_.endpoint_of(*to_before_, 0), card_.endpoint_of(*to_next_, 0)});
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    const Ends &next = all[(me + 1) % world], &before = all[(me + world - 1) % world];
    writer_ = before.outbound;
    target_ = next.inbound;
    fabricbench::connect_rc(*inbound_, 0, writer_);
    fabricbench::connect_rc(*outbound_, 0, target_);
    post_receive(*to_before_, kFromBefore);
    post_receive(*to_next_, kFromNext);
    fabricbench::connect_rc(*to_before_, 0, before.to_next);
    fabricbench::connect_rc(*to_next_, 0, next.to_before);
    solution_ = std::make_unique<Solution>(
        rank, Shared{card_.context(), card_.domain(), out_region_.get(), inbound_.get(), windows_queue_.get()});
  }

  void run(const Args& args, cudaStream_t stream) {
    using namespace proof;
    std::vector<uint32_t> control(static_cast<size_t>(args.pieces));
    const auto piece_bytes = static_cast<size_t>(args.words) * sizeof(uint32_t);
    check_cuda(cudaMemcpy2DAsync(control.data(), sizeof(uint32_t), args.in, piece_bytes, sizeof(uint32_t),
                                 control.size(), cudaMemcpyDeviceToHost, stream),
               "cudaMemcpy2DAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    uint32_t refused[kKinds] = {};
    for (int64_t p = 0; p < args.pieces; ++p) {
      const uint32_t kind = control[static_cast<size_t>(p)] % 8;
      Note mine = {};
      const uint64_t whole = piece_bytes, second = piece_bytes / 8 * 4;
      mine.address[0] = reinterpret_cast<uint64_t>(args.out) + static_cast<uint64_t>(p) * whole;
      mine.bytes[0] = whole - second;
      mine.address[1] = mine.address[0] + mine.bytes[0];
      mine.bytes[1] = second;
      for (int k = 0; k < kParts; ++k) mine.key[k] = solution_->grant(mine.address[k], mine.bytes[k]);
      send(*to_before_, mine);

      const Note theirs = receive(kFromNext);  // granted
      uint64_t from = reinterpret_cast<uint64_t>(args.in) + static_cast<uint64_t>(p) * whole;
      for (int k = 0; k < kParts; ++k) {
        const ibv_sge part = {from, static_cast<uint32_t>(theirs.bytes[k]), in_region_->lkey};
        if (access(IBV_WR_RDMA_WRITE, part, theirs.address[k], theirs.key[k]) != IBV_WC_SUCCESS)
          throw std::runtime_error("a write through a window has failed");
        from += theirs.bytes[k];
      }
      const ibv_sge word = {reinterpret_cast<uint64_t>(garbage_), sizeof(uint32_t), garbage_region_->lkey};
      const ibv_sge two = {reinterpret_cast<uint64_t>(garbage_), sizeof garbage_, garbage_region_->lkey};
      Note answer = {};
      answer.kind = kind;
      if (kind == kOlder) answer.refused = is_refused(IBV_WR_RDMA_WRITE, word, theirs.address[1], last_key_);
      if (kind == kBeyond)
        answer.refused = is_refused(IBV_WR_RDMA_WRITE, two, theirs.address[0] + theirs.bytes[0] - 4, theirs.key[0]);
      if (kind == kRead) answer.refused = is_refused(IBV_WR_RDMA_READ, word, theirs.address[1], theirs.key[1]);
      last_key_ = theirs.key[1];
      send(*to_next_, answer);

      const Note written = receive(kFromBefore);
      if (written.kind > kLate && written.kind < kKinds) rebuild(*inbound_, writer_);
      const int first = static_cast<int>(p % kParts);  // in both orders
      solution_->revoke(mine.key[first]);
      solution_->revoke(mine.key[1 - first]);
      send(*to_before_, {});

      receive(kFromNext);  // revoked
      answer = {};
      answer.kind = kind;
      if (kind == kLate) answer.refused = is_refused(IBV_WR_RDMA_WRITE, word, theirs.address[0], theirs.key[0]);
      send(*to_next_, answer);
      const Note over = receive(kFromBefore);
      if (over.kind == kLate) rebuild(*inbound_, writer_);
      if (over.kind < kKinds) refused[over.kind] += written.refused + over.refused;
    }
    check_cuda(cudaMemcpyAsync(args.refused, refused, sizeof refused, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum Work : uint64_t { kSent, kFromBefore, kFromNext, kAccess, kWork };

  fabricbench::CompletionQueue make_queue() const {
    return fabricbench::CompletionQueue(
        proof::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make_pair(ibv_cq* queue) const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 16, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = card_.domain();
    wanted.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_RDMA_WRITE |
                            IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
    fabricbench::QueuePair pair(proof::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    to_init(*pair);
    return pair;
  }
  static void to_init(ibv_qp& pair) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    proof::check_verbs(ibv_modify_qp(&pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                       "ibv_modify_qp to INIT");
  }
  // A refused access takes both ends to the state of error.
  static void rebuild(ibv_qp& pair, const fabricbench::Endpoint& peer) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RESET;
    proof::check_verbs(ibv_modify_qp(&pair, &a, IBV_QP_STATE), "ibv_modify_qp to RESET");
    to_init(pair);
    fabricbench::connect_rc(pair, 0, peer);
  }

  ibv_wc_status access(ibv_wr_opcode opcode, ibv_sge piece, uint64_t address, uint32_t key) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kAccess;
    work.opcode = opcode;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = address;
    work.wr.rdma.rkey = key;
    proof::check_verbs(ibv_post_send(outbound_.get(), &work, &bad), "ibv_post_send");
    return await(kAccess).status;
  }
  uint32_t is_refused(ibv_wr_opcode opcode, const ibv_sge& piece, uint64_t address, uint32_t key) {
    const ibv_wc_status status = access(opcode, piece, address, key);
    rebuild(*outbound_, target_);
    return status == IBV_WC_REM_ACCESS_ERR ? 1 : 0;
  }

  void post_receive(ibv_qp& pair, Work name) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&notes_[name]), sizeof notes_[name], notes_region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    work.sg_list = &piece;
    work.num_sge = 1;
    proof::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  void send(ibv_qp& pair, const proof::Note& note) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&note), sizeof note, 0};
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kSent;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    work.sg_list = &piece;
    work.num_sge = 1;
    proof::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
    await(kSent);
  }
  proof::Note receive(Work name) {
    await(name);
    const proof::Note note = notes_[name];
    post_receive(name == kFromNext ? *to_next_ : *to_before_, name);
    return note;
  }
  ibv_wc await(Work name) {
    while (kept_[name].wr_id != name + 1) {
      ibv_wc done = {};
      const int found = ibv_poll_cq(queue_.get(), 1, &done);
      if (found < 0) throw std::runtime_error("ibv_poll_cq failed");
      if (found == 0) continue;
      if (done.status != IBV_WC_SUCCESS && done.wr_id != kAccess) throw std::runtime_error("a note was lost");
      ibv_wc& kept = kept_[done.wr_id];
      kept = done;
      ++kept.wr_id;  // 0: nothing is kept
    }
    const ibv_wc done = kept_[name];
    kept_[name] = {};
    return done;
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_, windows_queue_;
  size_t bytes_;
  proof::Note notes_[kWork] = {};
  uint32_t garbage_[2] = {0xbadbad, 0xbadbad};
  fabricbench::MemoryRegion in_region_, out_region_, notes_region_, garbage_region_;
  fabricbench::QueuePair inbound_, outbound_;   // windows of this rank; of the next one
  fabricbench::QueuePair to_before_, to_next_;  // notes
  fabricbench::Endpoint writer_, target_;
  ibv_wc kept_[kWork] = {};
  uint32_t last_key_ = 1;  // of the note before
  std::unique_ptr<Solution> solution_;
};
