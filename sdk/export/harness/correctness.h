#pragma once

// Right or wrong: calls back to back with inputs of their own and poisoned outputs, ranks that start late, and every
// element compared with the oracle's.

#include <cmath>
#include <memory>

#include "solution.h"

namespace harness {

// Occupies a stream: ranks that start late show what needs them to be in step.
__global__ inline void spin(unsigned nanoseconds) {
  unsigned long long now = 0, begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

struct Mismatch {
  int call = 0;
  size_t tensor = 0, index = 0, wrong = 0, elements = 0;
  double got = 0, expected = 0, bound = 0;
};

// "[3, 0, 4]" of a tensor with several dimensions.
inline std::string position(const problem::Tensor& tensor, const problem::Where& where, size_t index) {
  std::string text;
  for (size_t k = tensor.shape.size(); k-- > 0;) {
    const auto extent = static_cast<size_t>(std::max<int64_t>(tensor.shape[k](where), 1));
    text = std::to_string(k > 0 ? index % extent : index) + (text.empty() ? "" : ", ") + text;
    index /= extent;
  }
  return "[" + text + "]";
}

inline std::string describe(const Mismatch& m, const problem::Where& where) {
  const problem::Tensor& tensor = problem::tensors[m.tensor];
  const char* format = !oracle::is_float(tensor.dtype) ? "%.0f" : tensor.dtype == oracle::DType::f64 ? "%.17g" : "%.9g";
  char got[40], expected[40], bound[40] = "", text[400];
  std::snprintf(got, sizeof got, format, m.got);
  std::snprintf(expected, sizeof expected, format, m.expected);
  if (m.bound > 0) std::snprintf(bound, sizeof bound, " (±%.3g)", m.bound);
  std::snprintf(text, sizeof text, "call %d: %s%s on rank %d is %s, expected %s%s; %zu of its %zu elements are wrong",
                m.call + 1, tensor.name, position(tensor, where, m.index).c_str(), where.rank, got, expected, bound,
                m.wrong, m.elements);
  return text;
}

class Check {
 public:
  Check(Ranks& ranks, Data& data, const problem::Size& size, int calls, uint64_t seed, int device, cudaStream_t stream)
      : ranks_(ranks), data_(data), size_(size), calls_(calls), stream_(stream), late_(oracle::mix(seed, 0x1A7E)) {
    for (int call = 0; call < calls_; ++call) {
      data_.draw(call);
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        inputs_.push_back(problem::tensors[t].output ? nullptr : std::make_unique<DeviceMemory>(bytes(t), device));
        if (inputs_.back())
          check(cudaMemcpy(inputs_.back()->get(), data_.input(rank(), t), bytes(t), cudaMemcpyHostToDevice), "inputs");
      }
    }
    device_ = device;
  }

  // The calls; what they leave is kept for find_mismatches.
  void run(Instance& instance) {
    Outputs kept;
    for (int k = 0; k < calls_; ++k) {
      for (size_t t = 0; t < problem::tensors.size(); ++t)
        kept.push_back(problem::tensors[t].output ? std::make_unique<DeviceMemory>(bytes(t), device_) : nullptr);
    }
    load(instance, 0);
    check(cudaStreamSynchronize(stream_), "inputs");
    ranks_.barrier();
    for (int call = 0; call < calls_; ++call) {
      say_progress(instance.name(), size_.name, "call " + std::to_string(call + 1) + " of " + std::to_string(calls_));
      if (call > 0) load(instance, call);
      // The same draw on all ranks: up to 100 us, for some of them.
      for (int r = 0; r < ranks_.place().world; ++r) {
        const uint64_t bits = late_.bits();
        if (r == rank() && bits % 3 == 0) spin<<<1, 1, 0, stream_>>>(static_cast<unsigned>((bits >> 8) % 100'000));
      }
      instance.run();
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        if (problem::tensors[t].output)
          check(cudaMemcpyAsync(at(kept, call, t), instance.tensor(t), bytes(t), cudaMemcpyDefault, stream_),
                "outputs");
      }
    }
    check(cudaStreamSynchronize(stream_), instance.name());
    ranks_.barrier();
    check(cudaDeviceSynchronize(), instance.name());
    wrong_.push_back(changed_input(instance));
    outputs_.push_back(std::move(kept));
  }

  // One text for each run: the first wrong element of the first rank that has one, or "".
  std::vector<std::string> find_mismatches() {
    std::vector<std::vector<Mismatch>> found(outputs_.size());
    std::vector<std::byte> got;
    for (int call = 0; call < calls_; ++call) {
      data_.draw(call);
      data_.each_piece(rank(), [&](size_t t, size_t first, size_t count, const double* expected, const double* bound) {
        const oracle::DType type = problem::tensors[t].dtype;
        const size_t width = oracle::size_of(type);
        got.resize(count * width);
        for (size_t k = 0; k < outputs_.size(); ++k) {
          const auto* from = static_cast<const std::byte*>(at(outputs_[k], call, t)) + first * width;
          check(cudaMemcpy(got.data(), from, got.size(), cudaMemcpyDefault), "outputs");
          compare(found[k], {call, t, first, 0, data_.elements(rank(), t)}, type, got, expected, bound, count);
        }
      });
    }
    const problem::Where where = {size_.values.data(), ranks_.place().world, rank()};
    std::vector<std::string> texts;
    for (size_t k = 0; k < outputs_.size(); ++k)
      texts.push_back(ranks_.first_text(!found[k].empty() ? describe(found[k][0], where) : wrong_[k]));
    return texts;
  }

 private:
  using Outputs = std::vector<std::unique_ptr<DeviceMemory>>;  // by call, then by tensor; null: an input

  int rank() const { return ranks_.place().rank; }
  size_t bytes(size_t t) const { return data_.bytes(rank(), t); }
  static void* at(const Outputs& list, int call, size_t t) {
    return list[static_cast<size_t>(call) * problem::tensors.size() + t]->get();
  }

  void load(Instance& instance, int call) {
    for (size_t t = 0; t < problem::tensors.size(); ++t) {
      if (problem::tensors[t].output)
        check(cudaMemsetAsync(instance.tensor(t), 0xA5 + call, bytes(t), stream_), "poison");
      else
        check(cudaMemcpyAsync(instance.tensor(t), at(inputs_, call, t), bytes(t), cudaMemcpyDefault, stream_),
              "inputs");
    }
  }

  std::string changed_input(Instance& instance) {
    constexpr size_t kPiece = size_t{64} << 20;
    std::vector<std::byte> before, after;
    for (size_t t = 0; t < problem::tensors.size(); ++t) {
      if (problem::tensors[t].output) continue;
      for (size_t first = 0; first < bytes(t); first += kPiece) {
        const size_t count = std::min(kPiece, bytes(t) - first);
        before.resize(count), after.resize(count);
        const auto* from = static_cast<const std::byte*>(at(inputs_, calls_ - 1, t)) + first;
        check(cudaMemcpy(before.data(), from, count, cudaMemcpyDefault), "inputs");
        check(cudaMemcpy(after.data(), static_cast<std::byte*>(instance.tensor(t)) + first, count, cudaMemcpyDefault),
              "inputs");
        if (before != after)
          return std::string("the input ") + problem::tensors[t].name + " was changed on rank " +
                 std::to_string(rank());
      }
    }
    return "";
  }

  // Adds to the mismatch of this call and tensor, which is the list's last.
  static void compare(std::vector<Mismatch>& found, Mismatch place, oracle::DType type,
                      const std::vector<std::byte>& got, const double* expected, const double* bound, size_t count) {
    const size_t width = oracle::size_of(type), first = place.index;
    for (size_t k = 0; k < count; ++k) {
      const double value = oracle::read_element(type, got.data() + k * width);
      if (oracle::is_right(value, expected[k], bound[k])) continue;
      if (found.empty() || found.back().call != place.call || found.back().tensor != place.tensor) {
        place.index = first + k, place.got = value, place.expected = expected[k], place.bound = bound[k];
        found.push_back(place);
      }
      ++found.back().wrong;
    }
  }

  Ranks& ranks_;
  Data& data_;
  const problem::Size& size_;
  int calls_, device_ = 0;
  cudaStream_t stream_;
  oracle::Random late_;
  Outputs inputs_;
  std::vector<Outputs> outputs_;    // of each run
  std::vector<std::string> wrong_;  // besides the values
};

}  // namespace harness
