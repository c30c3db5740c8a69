#pragma once

// What problem.cpp says of the problem: tensors, sizes and cost of problem.toml.

#include <fabricbench/elements.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace problem {

using fabricbench::oracle::DType;
using fabricbench::oracle::Fill;
using std::size_t;

// A size's values in the order of the parameters, and the rank that is asked about.
struct Where {
  const int64_t* values;
  int64_t world, rank;
};
using Expression = int64_t (*)(const Where&);

struct Tensor {
  const char* name;
  DType dtype;
  bool output, replicated;
  Fill fill;
  std::vector<Expression> shape;
  Expression device;  // null: the rank's own

  int64_t elements(const Where& where) const {
    int64_t product = 1;
    for (const Expression extent : shape) product *= extent(where);
    return product;
  }
};

struct Size {
  const char* name;
  bool quick, timed;
  std::vector<int64_t> values;
};

extern const char* const name;
extern const char* const task_hash;  // of all that a measurement depends on
extern const int least_capability;   // ten times the compute capability that the reference needs
extern const std::vector<int> worlds;
extern const std::vector<const char*> parameters;
extern const std::vector<Tensor> tensors;  // in the order of Args
extern const std::vector<Size> sizes;
int64_t link_bytes(const Where& where);  // that the problem states, over the links of the busiest rank
double bus_factor(double world);         // busbw ÷ algbw of nccl-tests; 0: no collective of theirs

}  // namespace problem
