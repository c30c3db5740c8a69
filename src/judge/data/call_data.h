#pragma once

// What goes into one call of all ranks and what must come out: inputs drawn from a seed, expected outputs from the
// oracle.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/catalog/problem.h"
#include "judge/data/dictionary.h"
#include "judge/data/oracle.h"

namespace fb::judge {

// The tensors of one rank at one size, in the order of Args.
struct Layout {
  struct Slot {
    const catalog::Tensor* tensor = nullptr;
    int64_t elements = 0;
    uint64_t bytes() const { return static_cast<uint64_t>(elements) * catalog::size_of(tensor->dtype); }
  };
  const catalog::Problem* problem = nullptr;
  const catalog::SizeClass* size = nullptr;
  int world = 0;
  std::vector<std::vector<Slot>> ranks;  // by rank, then by tensor

  // Errors in the problem's expressions are the problem's: the loader has refused them.
  Layout(const catalog::Problem& problem, const catalog::SizeClass& size, int world);
  const Slot& at(int rank, size_t tensor) const { return ranks[static_cast<size_t>(rank)][tensor]; }
  size_t tensors() const { return problem->tensors.size(); }
  // Of the node; -1: the rank's own.
  int device(int rank, size_t tensor) const;
};

struct Expected {
  std::vector<double> value, bound;
};

class CallData {
 public:
  // Draws the inputs and asks the oracle. `seed` is of this call alone. Without `expects` there are inputs only. Values
  // of the dictionary, if there is one, are put into the inputs before the oracle sees them.
  CallData(const Layout& layout, const Oracle& oracle, uint64_t seed, uint32_t call, bool expects = true,
           const Dictionary* dictionary = nullptr);

  std::span<const std::byte> input(int rank, size_t tensor) const { return at(rank, tensor).bytes; }
  // To change an input: expect_again() must follow. A replicated one changes on all ranks.
  std::span<std::byte> writable_input(int rank, size_t tensor) { return at(rank, tensor).bytes; }
  const Expected& expected(int rank, size_t tensor) const { return at(rank, tensor).expected; }
  void expect_again(const Oracle& oracle);

 private:
  struct Contents {
    std::vector<std::byte> bytes;  // of inputs
    Expected expected;             // of outputs
  };
  // Of a replicated tensor there is one for all ranks.
  size_t place(int rank, size_t tensor) const {
    const int home = layout_->problem->tensors[tensor].replicated ? 0 : rank;
    return static_cast<size_t>(home) * layout_->tensors() + tensor;
  }
  const Contents& at(int rank, size_t tensor) const { return contents_[place(rank, tensor)]; }
  Contents& at(int rank, size_t tensor) { return contents_[place(rank, tensor)]; }
  template <class Task>
  void ask(Task task);

  const Layout* layout_;
  uint64_t seed_;
  uint32_t call_;
  std::vector<Contents> contents_;
};

// Fills a tensor as problem.toml's `fill` says.
void fill_tensor(const catalog::Tensor& tensor, std::span<std::byte> bytes, uint64_t seed);

}  // namespace fb::judge
