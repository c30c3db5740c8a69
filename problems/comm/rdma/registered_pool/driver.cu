#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

#include "args.h"

// [interface]
enum Kind : int { kHost, kGpu, kKinds };

struct Buffer {
  void* address = nullptr;  // null: there is none
  uint32_t lkey = 0, rkey = 0;
};

struct Shared {
  ibv_pd* domain;
  int64_t slots;             // buffers of each kind
  int64_t bytes, alignment;  // of each
};
// [/interface]

// What is asked of the pool, and transfers from buffer to buffer.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

enum Answer : int { kAllocated, kRefused, kFound, kFreed, kReused, kAnswers };

// A buffer that has been announced to the writer.
struct Note {
  uint64_t address;
  uint32_t key;
};

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : bytes_(static_cast<size_t>(args.words) * sizeof(uint32_t)),
        card_(rank),
        pool_(rank, Shared{card_.domain(), args.slots, static_cast<int64_t>(bytes_), args.alignment}),
        queue_(proof::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        notes_region_(card_.reg(notes_, sizeof notes_)),
        to_before_(card_.make_rc(queue_.get())),
        to_next_(card_.make_rc(queue_.get())) {
    struct Ends {
      fabricbench::Endpoint to_before, to_next;
    };
    const auto all = rank.all_gather(Ends{card_.endpoint_of(*to_before_, 0), card_.endpoint_of(*to_next_, 0)});
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    post_receive(*to_before_, kFromBefore);
    post_receive(*to_next_, kFromNext);
    fabricbench::connect_rc(*to_before_, 0, all[(me + world - 1) % world].to_next);
    fabricbench::connect_rc(*to_next_, 0, all[(me + 1) % world].to_before);
  }

  void run(const Args& args, cudaStream_t stream) {
    std::vector<uint32_t> draws(static_cast<size_t>(args.pieces));
    proof::check_cuda(cudaMemcpy2DAsync(draws.data(), sizeof(uint32_t), args.in, bytes_, sizeof(uint32_t), draws.size(),
                                        cudaMemcpyDeviceToHost, stream),
                      "cudaMemcpy2DAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (uint32_t& count : right_) count = 0;
    for (const int kind : {kHost, kGpu}) empty_and_refill(args, kind, draws[0]);

    std::vector<std::pair<int64_t, void*>> landed[kKinds];  // pieces and where they are
    const auto release = [&](int kind, size_t which) {
      const auto [piece, address] = landed[kind][which];
      copy(args.out + piece * args.words, address, stream);
      free(kind, address);
      landed[kind].erase(landed[kind].begin() + static_cast<int64_t>(which));
    };
    for (int64_t p = 0; p < args.pieces; ++p) {
      const int kind = static_cast<int>(p % kKinds), source_kind = static_cast<int>(p / kKinds % kKinds);
      const uint32_t draw = draws[static_cast<size_t>(p)];
      // One must be left for the source. Others stay as long as they are drawn to.
      const size_t live = landed[kind].size();
      if (live + 1 == static_cast<size_t>(args.slots) || (live > 0 && draw % 4 == 0)) release(kind, draw / 4 % live);

      const Buffer landing = allocate(kind);
      send(*to_before_, {reinterpret_cast<uint64_t>(landing.address), landing.rkey});
      landed[kind].emplace_back(p, landing.address);
      const proof::Note target = receive(kFromNext);
      const Buffer source = allocate(source_kind);
      copy(source.address, args.in + p * args.words, stream);
      write(source, target);
      free(source_kind, source.address);
      send(*to_next_, {});  // written
      receive(kFromBefore);
    }
    for (const int kind : {kHost, kGpu}) {
      while (!landed[kind].empty()) release(kind, landed[kind].size() - 1);
    }
    proof::check_cuda(cudaMemcpyAsync(args.right, right_, sizeof right_, cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum Work : uint64_t { kFromBefore, kFromNext, kSent, kWork };

  void count(proof::Answer answer, bool is_right) { right_[answer] += is_right ? 1 : 0; }

  // All buffers of a kind, and not one more; then all are given back, in an order that is drawn.
  void empty_and_refill(const Args& args, int kind, uint32_t draw) {
    std::vector<Buffer> all;
    for (int64_t k = 0; k < args.slots; ++k) {
      const Buffer buffer = pool_.allocate(kind);
      const auto begin = reinterpret_cast<uint64_t>(buffer.address);
      bool is_right = begin != 0 && begin % static_cast<uint64_t>(args.alignment) == 0;
      for (const Buffer& other : all) {
        const auto at = reinterpret_cast<uint64_t>(other.address);
        is_right = is_right && (begin + bytes_ <= at || at + bytes_ <= begin) && buffer.lkey == other.lkey &&
                   buffer.rkey == other.rkey;
      }
      count(proof::kAllocated, is_right);
      all.push_back(buffer);
    }
    count(proof::kRefused, pool_.allocate(kind).address == nullptr);
    for (const Buffer& buffer : all) {
      const auto found = [&](size_t offset) { return pool_.find(static_cast<char*>(buffer.address) + offset); };
      const auto is_same = [&](const Buffer& other) {
        return other.address == buffer.address && other.lkey == buffer.lkey && other.rkey == buffer.rkey;
      };
      count(proof::kFound, is_same(found(0)));
      count(proof::kFound, is_same(found(bytes_ - 1)));
    }
    freed_[kind].clear();
    for (int64_t k = 0; k < args.slots; ++k) {
      const Buffer& buffer = all[static_cast<size_t>((k + draw) % args.slots)];
      const bool is_free = pool_.free(buffer.address);
      count(proof::kFreed, is_free);
      // Of a buffer that is not in use there is nothing to be found.
      count(proof::kFound, pool_.find(buffer.address).address == nullptr);
      freed_[kind].push_back(buffer.address);
    }
    count(proof::kRefused, !pool_.free(freed_[kind].back()));
  }

  Buffer allocate(int kind) {
    const Buffer buffer = pool_.allocate(kind);
    if (buffer.address == nullptr) throw std::runtime_error("the pool has no buffer");
    count(proof::kReused, buffer.address == freed_[kind].back());
    freed_[kind].pop_back();
    return buffer;
  }
  void free(int kind, void* address) {
    if (!pool_.free(address)) throw std::runtime_error("the pool does not take a buffer back");
    freed_[kind].push_back(address);
  }
  void copy(void* to, const void* from, cudaStream_t stream) const {
    proof::check_cuda(cudaMemcpyAsync(to, from, bytes_, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  void write(const Buffer& source, const proof::Note& target) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(source.address), static_cast<uint32_t>(bytes_), source.lkey};
    ibv_send_wr work = {};
    work.opcode = IBV_WR_RDMA_WRITE;
    work.wr.rdma.remote_addr = target.address;
    work.wr.rdma.rkey = target.key;
    post(*to_next_, work, piece);
  }
  void send(ibv_qp& pair, const proof::Note& note) {
    ibv_send_wr work = {};
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_INLINE;
    post(pair, work, {reinterpret_cast<uint64_t>(&note), sizeof note, 0});
  }
  void post(ibv_qp& pair, ibv_send_wr& work, ibv_sge piece) {
    ibv_send_wr* bad = nullptr;
    work.wr_id = kSent;
    work.send_flags |= IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    proof::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
    await(kSent);
  }
  void post_receive(ibv_qp& pair, Work name) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&notes_[name]), sizeof notes_[name], notes_region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    work.sg_list = &piece;
    work.num_sge = 1;
    proof::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  proof::Note receive(Work name) {
    await(name);
    const proof::Note note = notes_[name];
    post_receive(name == kFromNext ? *to_next_ : *to_before_, name);
    return note;
  }
  void await(Work name) {
    while (kept_[name] == 0) ++kept_[fabricbench::wait_for_completion(queue_.get()).wr_id];
    --kept_[name];
  }

  size_t bytes_;  // of a piece
  fabricbench::Card card_;
  Solution pool_;
  fabricbench::CompletionQueue queue_;
  proof::Note notes_[kWork] = {};
  fabricbench::MemoryRegion notes_region_;
  fabricbench::QueuePair to_before_, to_next_;
  int kept_[kWork] = {};
  std::vector<void*> freed_[kKinds];  // those that the pool has, in the order in which it got them
  uint32_t right_[proof::kAnswers] = {};
};
