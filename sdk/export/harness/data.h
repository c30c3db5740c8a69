#pragma once

// Inputs and expected outputs of a call. Inputs of all ranks are drawn once on each computer, into memory that its
// ranks share; each rank asks the oracle for its own outputs, in pieces.

#include <fabricbench/elements.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "problem.h"
#include "ranks.h"

extern "C" int fabricbench_oracle(uint32_t task, fabricbench::oracle::RawCase* raw, char* message, uint64_t room);

namespace harness {

namespace oracle = fabricbench::oracle;
using std::size_t;

inline uint64_t seed_of_call(uint64_t seed, int call) { return oracle::mix(seed, static_cast<uint64_t>(call)); }

// Memory that the ranks of a computer share, or of this process alone.
class SharedMemory {
 public:
  SharedMemory(Ranks& ranks, size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
    int file = -1;
    if (ranks.one_node()) {
      const bool makes = ranks.place().rank == 0;
      const int mine = makes ? memfd_create("fabricbench", MFD_CLOEXEC) : -1;
      if (makes && ftruncate(mine, static_cast<off_t>(bytes_)) != 0) refuse();
      file = ranks.share(0, mine);
      if (makes) close(mine);
    }
    shared_ = file >= 0;
    const int flags = shared_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, file, 0);
    if (shared_) close(file);
    if (at == MAP_FAILED) refuse();
    at_ = static_cast<std::byte*>(at);
  }
  ~SharedMemory() { munmap(at_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* at(size_t offset) const { return at_ + offset; }
  bool shared() const { return shared_; }

 private:
  [[noreturn]] void refuse() const {
    throw CannotRun("no room for " + std::to_string(bytes_ >> 20) + " MiB of inputs in the host's memory");
  }
  size_t bytes_;
  bool shared_ = false;
  std::byte* at_ = nullptr;
};

class Data {
 public:
  Data(Ranks& ranks, const problem::Size& size, uint64_t seed)
      : ranks_(ranks), size_(size), seed_(seed), world_(ranks.place().world), inputs_(ranks, place_tensors()) {}

  size_t elements(int rank, size_t tensor) const { return tensors_[index(rank, tensor)].elements; }
  size_t bytes(int rank, size_t tensor) const {
    return elements(rank, tensor) * oracle::size_of(problem::tensors[tensor].dtype);
  }
  const std::byte* input(int rank, size_t tensor) const { return inputs_.at(tensors_[index(rank, tensor)].offset); }

  // Inputs of all ranks, each drawn by one of the ranks of this computer; then the oracle's own.
  void draw(int call) {
    call_ = call;
    const Place& place = ranks_.place();
    const int share = inputs_.shared() ? place.local_world : 1, mine = inputs_.shared() ? place.local : 0;
    ranks_.barrier();  // what is overwritten has been read
    for (int rank = mine; rank < world_; rank += share) {
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        const problem::Tensor& tensor = problem::tensors[t];
        if (tensor.output || (tensor.replicated && rank > 0)) continue;
        oracle::fill_elements(tensor.dtype, tensor.fill, inputs_.at(tensors_[index(rank, t)].offset), bytes(rank, t),
                              oracle::seed_of_tensor(seed_of_call(seed_, call), rank, t));
      }
    }
    ranks_.barrier();
    if (mine == 0) ask(oracle::Task::fill, raw_tensors());
    ranks_.barrier();
  }

  // f(tensor, first, count, expected, bound) for all outputs of a rank, piece by piece.
  template <class F>
  void each_piece(int rank, F f) const {
    constexpr size_t kPiece = size_t{8} << 20;
    size_t most = 0;
    for (size_t t = 0; t < problem::tensors.size(); ++t) {
      if (problem::tensors[t].output) most = std::max(most, elements(rank, t));
    }
    std::vector<double> expected, bound;
    for (size_t first = 0; first < most; first += kPiece) {
      const size_t room = std::min(kPiece, most - first);
      // An element that the oracle leaves out is found: nothing is equal to NaN, or within a bound of it.
      constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
      expected.assign(room * problem::tensors.size(), kNothing);
      bound.assign(room * problem::tensors.size(), kNothing);
      auto raw = raw_tensors();
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        if (!problem::tensors[t].output || first >= elements(rank, t)) continue;
        oracle::RawTensor& kept = raw[index(problem::tensors[t].replicated ? 0 : rank, t)];
        kept.expected = expected.data() + t * room;
        kept.bound = bound.data() + t * room;
        kept.first = first;
        kept.kept = std::min(room, elements(rank, t) - first);
      }
      ask(oracle::Task::expect, std::move(raw));
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        if (!problem::tensors[t].output || first >= elements(rank, t)) continue;
        f(t, first, std::min(room, elements(rank, t) - first), expected.data() + t * room, bound.data() + t * room);
      }
    }
  }

 private:
  struct Placed {
    size_t elements, offset;
  };
  size_t index(int rank, size_t tensor) const { return static_cast<size_t>(rank) * problem::tensors.size() + tensor; }

  // Bytes of all inputs.
  size_t place_tensors() {
    constexpr size_t kAligned = 256;
    size_t sum = 0;
    for (int rank = 0; rank < world_; ++rank) {
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        const problem::Tensor& tensor = problem::tensors[t];
        const int64_t count = tensor.elements({size_.values.data(), world_, rank});
        tensors_.push_back({static_cast<size_t>(count), sum});
        if (tensor.replicated && rank > 0) tensors_.back().offset = tensors_[t].offset;
        if (tensor.output || (tensor.replicated && rank > 0)) continue;
        sum += (static_cast<size_t>(count) * oracle::size_of(tensor.dtype) + kAligned - 1) / kAligned * kAligned;
      }
    }
    return sum;
  }

  std::vector<oracle::RawTensor> raw_tensors() const {
    static double none = 0;  // outputs of which nothing is kept
    std::vector<oracle::RawTensor> raw;
    for (int rank = 0; rank < world_; ++rank) {
      for (size_t t = 0; t < problem::tensors.size(); ++t) {
        const problem::Tensor& tensor = problem::tensors[t];
        const bool has_expected = tensor.output && (!tensor.replicated || rank == 0);
        oracle::RawTensor one = {};
        one.name = tensor.name;
        one.rank = rank;
        one.dtype = static_cast<uint32_t>(tensor.dtype);
        one.output = tensor.output;
        one.replicated = tensor.replicated;
        one.elements = elements(rank, t);
        one.data = tensor.output ? nullptr : inputs_.at(tensors_[index(rank, t)].offset);
        one.expected = one.bound = has_expected ? &none : nullptr;
        raw.push_back(one);
      }
    }
    return raw;
  }

  void ask(oracle::Task task, std::vector<oracle::RawTensor> raw) const {
    std::vector<oracle::RawParameter> parameters;
    for (size_t k = 0; k < problem::parameters.size(); ++k)
      parameters.push_back({problem::parameters[k], size_.values[k]});
    oracle::RawCase all = {};
    all.world = world_;
    all.call = static_cast<uint32_t>(call_);
    all.seed = seed_of_call(seed_, call_);
    all.tensors = raw.size(), all.tensor = raw.data();
    all.parameters = parameters.size(), all.parameter = parameters.data();
    char message[512] = "";
    if (fabricbench_oracle(static_cast<uint32_t>(task), &all, message, sizeof message) != 0)
      throw CannotRun("the oracle: " + std::string(message));
  }

  Ranks& ranks_;
  const problem::Size& size_;
  uint64_t seed_;
  int world_, call_ = 0;
  std::vector<Placed> tensors_;
  SharedMemory inputs_;
};

}  // namespace harness
