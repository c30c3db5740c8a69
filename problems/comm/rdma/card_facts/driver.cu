#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "args.h"

// [interface]
#include <cstdint>

struct CardFacts {
  char name[64];    // of the device, as "mlx5_0", ending with a zero
  uint8_t guid[8];  // of the node that the card is, in network byte order
  uint8_t gid[16];  // of port 1: the first of its table
  uint16_t lid;     // of port 1, in host byte order
  uint32_t mtu;     // of port 1 as it is now: bytes of payload in one packet
};
// [/interface]

// Datagrams around the ring, to the addresses that the facts name.
namespace proof {

constexpr uint32_t kQkey = 0x0f417b32;
constexpr uint32_t kRouteHeader = 40;  // stands before the payload of each datagram that comes

// What a rank tells the others.
struct Place {
  CardFacts facts;
  uint32_t data, ready;  // numbers of its queue pairs
};

inline fabricbench::QueuePair make_datagram_pair(ibv_pd* domain, ibv_cq* sent, ibv_cq* came, uint32_t places) {
  using fabricbench::check_verbs;
  ibv_qp_init_attr wanted = {};
  wanted.send_cq = sent;
  wanted.recv_cq = came;
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {.max_send_wr = places, .max_recv_wr = places, .max_send_sge = 1, .max_recv_sge = 1};
  fabricbench::QueuePair pair(check_verbs(ibv_create_qp(domain, &wanted), "ibv_create_qp"));
  ibv_qp_attr a = {};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qkey = kQkey;
  check_verbs(ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "to INIT");
  a.qp_state = IBV_QPS_RTR;
  check_verbs(ibv_modify_qp(pair.get(), &a, IBV_QP_STATE), "to RTR");
  a.qp_state = IBV_QPS_RTS;
  check_verbs(ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "to RTS");
  return pair;
}

// The three ways to name a card: by LID, by GID, and by the GID that its port has by the subnet and the GUID.
class Addresses {
 public:
  Addresses(ibv_pd* domain, const CardFacts& facts) {
    for (int way = 0; way < 3; ++way) {
      ibv_ah_attr a = {};
      a.port_num = 1;
      a.dlid = facts.lid;
      a.is_global = way == 0 ? 0 : 1;
      a.grh.hop_limit = 1;
      std::memcpy(a.grh.dgid.raw, facts.gid, sizeof facts.gid);
      if (way == 2) std::memcpy(a.grh.dgid.raw + 8, facts.guid, sizeof facts.guid);
      handles_[way].reset(fabricbench::check_verbs(ibv_create_ah(domain, &a), "ibv_create_ah"));
    }
  }
  ibv_ah* of(uint32_t number) const { return handles_[number % 3].get(); }

 private:
  fabricbench::AddressHandle handles_[3];
};

// A datagram to a wrong address is lost without a word: then this waits for ever.
inline ibv_wc wait(ibv_cq* queue) { return fabricbench::wait_for_completion(queue); }

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args) : solution_(rank) {
    using fabricbench::check_verbs;
    int count = 0;
    ibv_device** const list = check_verbs(ibv_get_device_list(&count), "ibv_get_device_list");
    const int card = static_cast<int>(args.card + rank.rank()) % count;
    context_.reset(check_verbs(ibv_open_device(list[card]), "ibv_open_device"));
    ibv_free_device_list(list);
    mine_.facts = solution_.facts(card);
    mine_.facts.name[sizeof mine_.facts.name - 1] = 0;
    if (std::strcmp(mine_.facts.name, ibv_get_device_name(context_->device)) != 0) {
      throw std::runtime_error("the card has another name");
    }
    const auto datagrams = static_cast<uint32_t>(args.datagrams);
    domain_.reset(check_verbs(ibv_alloc_pd(context_.get()), "ibv_alloc_pd"));
    for (auto* const queue : {&sent_, &came_, &ready_came_}) {
      queue->reset(check_verbs(ibv_create_cq(context_.get(), static_cast<int>(datagrams) + 8, nullptr, nullptr, 0),
                               "ibv_create_cq"));
    }
    data_ = proof::make_datagram_pair(domain_.get(), sent_.get(), came_.get(), datagrams + 1);
    ready_ = proof::make_datagram_pair(domain_.get(), sent_.get(), ready_came_.get(), 4);
    mine_.data = data_->qp_num;
    mine_.ready = ready_->qp_num;
    const auto all = rank.all_gather(mine_);
    const auto self = static_cast<size_t>(rank.rank()), world = all.size();
    next_ = all[(self + 1) % world];
    before_ = all[(self + world - 1) % world];
    to_next_ = std::make_unique<proof::Addresses>(domain_.get(), next_.facts);
    to_before_ = std::make_unique<proof::Addresses>(domain_.get(), before_.facts);

    stride_ = proof::kRouteHeader + mine_.facts.mtu;
    fabricbench::check_cuda(cudaMallocHost(&landing_, stride_ * (datagrams + 1)), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&words_, sizeof(uint32_t) * args.n), "cudaMallocHost");
    constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
    in_.reset(check_verbs(ibv_reg_mr(domain_.get(), const_cast<uint32_t*>(args.in), 4 * args.n, kLocal), "ibv_reg_mr"));
    landing_region_.reset(
        check_verbs(ibv_reg_mr(domain_.get(), landing_, stride_ * (datagrams + 1), kLocal), "ibv_reg_mr"));
    for (int k = 0; k < 2; ++k) post_receive(*ready_, datagrams);
    rank.barrier();  // all can receive
  }
  ~Driver() {
    data_.reset();
    ready_.reset();
    landing_region_.reset();
    cudaFreeHost(landing_);
    cudaFreeHost(words_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto most = static_cast<uint32_t>(args.datagrams);
    const uint32_t bytes = path_mtu(mine_, next_), expected = path_mtu(before_, mine_);
    const auto total = static_cast<uint32_t>(4 * args.n);
    const uint32_t sends = std::min(most, (total + bytes - 1) / bytes);
    const uint32_t receives = std::min(most, (total + expected - 1) / expected);
    // The rank before may send when there is room for all that it sends.
    for (uint32_t k = 0; k < receives; ++k) post_receive(*data_, k);
    send(*ready_, to_before_->of(calls_++), before_.ready, {}, 0);
    proof::wait(ready_came_.get());
    post_receive(*ready_, most);

    for (uint32_t k = 0; k < sends; ++k) {
      const ibv_sge piece = {reinterpret_cast<uint64_t>(args.in) + uint64_t{k} * bytes,
                             std::min(bytes, total - k * bytes), in_->lkey};
      send(*data_, to_next_->of(k), next_.data, piece, k);
    }
    std::fill_n(words_, args.n, 0xDEADBEEF);
    for (uint32_t k = 0; k < receives; ++k) {
      const ibv_wc done = proof::wait(came_.get());
      const uint64_t offset = uint64_t{ntohl(done.imm_data)} * expected;
      const uint32_t length = done.byte_len - proof::kRouteHeader;
      if (offset + length > total) throw std::runtime_error("a datagram of another length came");
      std::memcpy(reinterpret_cast<char*>(words_) + offset, landing_ + done.wr_id * stride_ + proof::kRouteHeader,
                  length);
    }
    for (uint32_t k = 0; k < sends + 1; ++k) proof::wait(sent_.get());
    fabricbench::check_cuda(cudaMemcpyAsync(args.out, words_, total, cudaMemcpyHostToDevice, stream),
                            "cudaMemcpyAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  // That of a path is the smaller one of its ends.
  static uint32_t path_mtu(const proof::Place& a, const proof::Place& b) {
    const uint32_t bytes = std::min(a.facts.mtu, b.facts.mtu);
    if (bytes < 256 || bytes > 4096 || (bytes & (bytes - 1)) != 0) throw std::runtime_error("no port has such an MTU");
    return bytes;
  }

  void post_receive(ibv_qp& pair, uint64_t place) {
    ibv_sge room = {reinterpret_cast<uint64_t>(landing_) + place * stride_, static_cast<uint32_t>(stride_),
                    landing_region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = place;
    work.sg_list = &room;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  static void send(ibv_qp& pair, ibv_ah* address, uint32_t number, ibv_sge piece, uint32_t value) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(value);
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = piece.length == 0 ? 0 : 1;
    work.wr.ud = {.ah = address, .remote_qpn = number, .remote_qkey = proof::kQkey};
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  Solution solution_;
  proof::Place mine_ = {}, next_ = {}, before_ = {};
  fabricbench::CardContext context_;
  fabricbench::ProtectionDomain domain_;
  fabricbench::CompletionQueue sent_, came_, ready_came_;
  fabricbench::QueuePair data_, ready_;
  fabricbench::MemoryRegion in_, landing_region_;
  std::unique_ptr<proof::Addresses> to_next_, to_before_;
  char* landing_ = nullptr;  // a place for each datagram, and one for the word that the next rank is ready
  uint32_t* words_ = nullptr;
  size_t stride_ = 0;
  uint32_t calls_ = 0;
};
