#include "virtual_node/machine/libraries/collective/collective_values.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "virtual_node/machine/libraries/collective/reduction.h"

namespace fb::machine {
namespace {

using fabric::NcclAlgorithm;
using wire::CollectiveKind;

class Pieces {
 public:
  Pieces(CollectiveValues values, uint64_t piece_bytes)
      : v_(std::make_shared<const CollectiveValues>(std::move(values))),
        n_(static_cast<uint32_t>(v_->ends.size())),
        size_(size_of(v_->type)),
        most_(std::max<uint64_t>(1, piece_bytes / size_)) {}

  std::vector<std::function<void()>> make() {
    const uint64_t count = v_->count;
    switch (v_->kind) {
      case CollectiveKind::all_reduce:
        add_all_reduce();
        break;
      case CollectiveKind::reduce:
        // Of the other ranks nothing is written.
        add_sum(0, 0, count, v_->root, {v_->ends[v_->root].receive});
        break;
      case CollectiveKind::reduce_scatter:
        for (uint32_t r = 0; r < n_; ++r) add_sum(r * count, 0, count, r, {v_->ends[r].receive});
        break;
      case CollectiveKind::broadcast:
        for (uint32_t r = 0; r < n_; ++r) add_copy(v_->root, 0, r, 0);
        break;
      case CollectiveKind::all_gather:
        for (uint32_t from = 0; from < n_; ++from) {
          for (uint32_t to = 0; to < n_; ++to) add_copy(from, 0, to, from * count);
        }
        break;
      case CollectiveKind::all_to_all:
        for (uint32_t from = 0; from < n_; ++from) {
          for (uint32_t to = 0; to < n_; ++to) add_copy(from, to * count, to, from * count);
        }
        break;
      case CollectiveKind::gather:
        for (uint32_t from = 0; from < n_; ++from) add_copy(from, 0, v_->root, from * count);
        break;
      case CollectiveKind::scatter:
        for (uint32_t to = 0; to < n_; ++to) add_copy(v_->root, to * count, to, 0);
        break;
      case CollectiveKind::send:
      case CollectiveKind::receive:
        add_copy(0, 0, 1, 0);
        break;
      case CollectiveKind::put_signal:
      case CollectiveKind::signal:
      case CollectiveKind::wait_signal:
        break;  // matched with nothing (one_sided.cpp)
    }
    return std::move(pieces_);
  }

 private:
  using Targets = std::vector<std::byte*>;

  std::vector<uint32_t> order(uint32_t last) const {
    std::vector<uint32_t> ranks(n_);
    for (uint32_t k = 0; k < n_; ++k) {
      ranks[k] = v_->algorithm == NcclAlgorithm::tree   ? n_ - 1 - k
                 : v_->algorithm == NcclAlgorithm::ring ? (last + 1 + k) % n_
                                                        : k;
    }
    return ranks;
  }

  // `count` elements from element `from` of all send buffers, to element `to` of the targets.
  void add_sum(uint64_t from, uint64_t to, uint64_t count, uint32_t last, const Targets& targets) {
    Reduction how{v_->type, v_->op, Accumulation::rounded_at_each_hop, n_};
    if (v_->algorithm == NcclAlgorithm::nvls || v_->algorithm == NcclAlgorithm::nvls_tree ||
        v_->algorithm == NcclAlgorithm::symmetric)
      how.accumulation = Accumulation::in_f32;
    const auto ranks = order(last);
    for (uint64_t done = 0; done < count; done += most_) {
      const uint64_t n = std::min(most_, count - done);
      pieces_.emplace_back([v = v_, how, ranks, targets, size = size_, first = from + done, into = to + done, n] {
        // A few at a time, so that what was just computed is still in the cache when it is written to all.
        constexpr uint64_t kAtOnce = 8192;
        std::vector<ReductionInput> inputs(ranks.size());
        std::vector<std::byte> result(std::min(n, kAtOnce) * size);
        for (uint64_t k = 0; k < n; k += kAtOnce) {
          const uint64_t m = std::min(kAtOnce, n - k);
          for (size_t i = 0; i < ranks.size(); ++i) {
            const CollectiveEnd& end = v->ends[ranks[i]];
            inputs[i] = {end.send + (first + k) * size, end.scalar};
          }
          reduce(how, inputs, result.data(), m);
          for (std::byte* target : targets) std::memcpy(target + (into + k) * size, result.data(), m * size);
        }
      });
    }
  }

  void add_all_reduce() {
    Targets all;
    for (const CollectiveEnd& end : v_->ends) all.push_back(end.receive);
    if (v_->algorithm != NcclAlgorithm::ring) return add_sum(0, 0, v_->count, 0, all);
    const uint64_t piece = (v_->count + n_ - 1) / n_;
    for (uint32_t c = 0; c < n_; ++c) {
      const uint64_t begin = std::min(v_->count, c * piece), end = std::min(v_->count, begin + piece);
      if (begin < end) add_sum(begin, begin, end - begin, c, all);
    }
  }

  // `count` elements. Where both are the same bytes there is nothing to do.
  void add_copy(uint32_t from_rank, uint64_t from, uint32_t to_rank, uint64_t to) {
    const std::byte* source = v_->ends[from_rank].send;
    std::byte* target = v_->ends[to_rank].receive;
    if (!source || !target) return;
    source += from * size_;
    target += to * size_;
    if (source == target) return;
    for (uint64_t done = 0; done < v_->count; done += most_) {
      const uint64_t n = std::min(most_, v_->count - done);
      pieces_.emplace_back([source = source + done * size_, target = target + done * size_, bytes = n * size_] {
        std::memmove(target, source, bytes);
      });
    }
  }

  std::shared_ptr<const CollectiveValues> v_;
  uint32_t n_;
  uint64_t size_, most_;
  std::vector<std::function<void()>> pieces_;
};

}  // namespace

std::vector<std::function<void()>> pieces_of(CollectiveValues values, uint64_t piece_bytes) {
  return Pieces(std::move(values), piece_bytes).make();
}

}  // namespace fb::machine
