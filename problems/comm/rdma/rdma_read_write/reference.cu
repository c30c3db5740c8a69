#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
#include <cuda.h>

// Numbers of calls, in memory of this rank's GPU: cards of the neighbours write them, and the stream waits for them.
struct Words {
  uint64_t before_came, next_came;  // that rank has come to the call: its memory may be read, or written
  uint64_t arrived;                 // the rank before has written all its blocks
  uint64_t taken;                   // the next rank has read all that it wants
};

// Memory of another rank.
struct Remote {
  uint64_t address;
  uint32_t key;
};

// What neighbours must know of a rank.
struct Door {
  Remote in, pushed, words;
  fabricbench::Endpoint to_before, to_next;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : block_(4 * static_cast<uint32_t>(args.words)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 8, nullptr, nullptr, 0), "ibv_create_cq")) {
    const auto bytes = static_cast<size_t>(args.blocks) * block_;
    in_ = card_.reg(args.in, bytes, IBV_ACCESS_REMOTE_READ);
    pulled_ = card_.reg(args.pulled, bytes, IBV_ACCESS_LOCAL_WRITE);
    pushed_ = card_.reg(args.pushed, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    using fabricbench::check_cuda;
    check_cuda(cudaMalloc(&words_, sizeof *words_), "cudaMalloc");
    check_cuda(cudaMemset(words_, 0, sizeof *words_), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // before a neighbour can write
    words_region_ = card_.reg(words_, sizeof *words_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    check_cuda(cudaMallocHost(&tables_, 2 * sizeof(int32_t) * args.blocks), "cudaMallocHost");
    // Of each call: the blocks, and a word before and behind them. Those of the last call are complete.
    const fabricbench::QueueSizes sizes = {.sends = static_cast<uint32_t>(args.blocks) + 2, .receives = 1};
    to_before_ = card_.make_rc(queue_.get(), sizes);
    to_next_ = card_.make_rc(queue_.get(), sizes);

    const auto psn = static_cast<uint32_t>(rank.rank());
    const auto remote = [](const ibv_mr& region) {
      return Remote{reinterpret_cast<uint64_t>(region.addr), region.rkey};
    };
    const auto all = rank.all_gather(Door{remote(*in_), remote(*pushed_), remote(*words_region_),
                                          card_.endpoint_of(*to_before_, psn), card_.endpoint_of(*to_next_, psn)});
    const auto world = static_cast<size_t>(rank.world());
    before_ = all[(psn + world - 1) % world];
    next_ = all[(psn + 1) % world];
    fabricbench::connect_rc(*to_before_, psn, before_.to_next);
    fabricbench::connect_rc(*to_next_, psn, next_.to_before);
  }
  ~Solution() {
    to_before_.reset();
    to_next_.reset();
    words_region_.reset();
    cudaFree(words_);
    cudaFreeHost(tables_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    ++call_;
    const auto bytes = sizeof(int32_t) * static_cast<size_t>(args.blocks);
    const int32_t *const wanted = tables_, *const place = tables_ + args.blocks;
    check_cuda(cudaMemcpyAsync(tables_, args.wanted, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaMemcpyAsync(tables_ + args.blocks, args.place, bytes, cudaMemcpyDeviceToHost, stream),
               "cudaMemcpyAsync");
    // Cards do not wait for streams: only now is `in` there and `pushed` free, and the neighbours may hear of it.
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    tell(*to_before_, before_, offsetof(Words, next_came), 0);
    tell(*to_next_, next_, offsetof(Words, before_came), 0);

    await(stream, &words_->before_came);
    await(stream, &words_->next_came);
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (int64_t b = 0; b < args.blocks; ++b) {
      post(*to_before_, IBV_WR_RDMA_READ, block_of(*pulled_, b), before_.in, wanted[b] * uint64_t{block_}, 0);
    }
    // The fence: this word must not overtake the data of the reads. It is the last on its queue pair, so its completion
    // says that all blocks are in `pulled`.
    tell(*to_before_, before_, offsetof(Words, taken), IBV_SEND_FENCE | IBV_SEND_SIGNALED);
    for (int64_t b = 0; b < args.blocks; ++b) {
      post(*to_next_, IBV_WR_RDMA_WRITE, block_of(*in_, b), next_.pushed, place[b] * uint64_t{block_}, 0);
    }
    // Behind the data on the same queue pair: it arrives after them. Its completion says that `in` has been read.
    tell(*to_next_, next_, offsetof(Words, arrived), IBV_SEND_SIGNALED);

    await(stream, &words_->arrived);
    await(stream, &words_->taken);
    for (int left = 2; left > 0; --left) fabricbench::wait_for_completion(queue_.get());
  }

 private:
  ibv_sge block_of(const ibv_mr& region, int64_t b) const {
    return {reinterpret_cast<uint64_t>(region.addr) + b * uint64_t{block_}, block_, region.lkey};
  }

  static void post(ibv_qp& pair, ibv_wr_opcode opcode, ibv_sge piece, const Remote& there, uint64_t offset,
                   unsigned flags) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = opcode;
    work.send_flags = flags;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = there.address + offset;
    work.wr.rdma.rkey = there.key;
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  // Writes the number of the call into one of the neighbour's words. Inline: it is copied now, and needs no region.
  void tell(ibv_qp& pair, const Door& neighbour, size_t word, unsigned flags) {
    post(pair, IBV_WR_RDMA_WRITE, {reinterpret_cast<uint64_t>(&call_), sizeof call_, 0}, neighbour.words, word,
         flags | IBV_SEND_INLINE);
  }

  // What follows on the stream waits for the word. The neighbour may be in the next call already.
  void await(cudaStream_t stream, uint64_t* word) const {
    const auto address = reinterpret_cast<CUdeviceptr>(word);
    if (cuStreamWaitValue64(stream, address, call_, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
      throw std::runtime_error("cuStreamWaitValue64 failed");
    }
  }

  uint32_t block_;  // bytes
  Words* words_ = nullptr;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion in_, pulled_, pushed_, words_region_;
  fabricbench::QueuePair to_before_, to_next_;
  Door before_ = {}, next_ = {};
  int32_t* tables_ = nullptr;  // `wanted` and `place`, on the host
  uint64_t call_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: read from the rank before, write to the next one, and know when all of it is over
//|   }
//| };
// [/solution]
