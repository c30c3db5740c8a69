#pragma once

// A problem, read from its folder. docs/reference/problems.md describes the folder.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/dtype.h"
#include "judge/catalog/expression.h"
#include "judge/catalog/interface.h"

namespace fb::catalog {

// A field of Args that points to device memory of the rank.
struct Tensor {
  std::string name, about;
  bool output = false;
  DType dtype = DType::f32;
  std::vector<Expression> shape;  // over the parameters, world and rank
  std::string fill;               // of inputs; empty for outputs
  bool replicated = false;        // an input, or an output's expected value, that is the same on all ranks
  std::string look_at;            // of outputs: what a wrong value comes from, where the judge sees no pattern
  // Device of the node that holds it, over the same names as the shape; nothing: the rank's own.
  std::optional<Expression> device;
};

struct SizeClass {
  std::string name;
  Values values;  // one for each parameter
  bool quick = false, timed = false;
  // Too large to run: the parameter `scale` has smaller values in `samples`, and the time lies on the line through
  // theirs. Samples have the name of the size.
  std::string scale = {};
  std::vector<SizeClass> samples = {};

  bool is_sampled() const { return !samples.empty(); }
};

struct Rules {
  std::vector<std::string> forbid_in_run;   // kinds of requests, see rules.h
  std::vector<std::string> forbid_symbols;  // of the built object
  std::vector<std::string> libraries;       // that solutions may call, see libraries.h

  bool allows(std::string_view library) const { return std::ranges::find(libraries, library) != libraries.end(); }
};

// Of one call and the worst rank; over the parameters and world.
struct Cost {
  Expression link_bytes, memory_bytes, flops;
  Expression least_link_bytes;     // lower bound of any solution; link_bytes by default
  Expression hops;                 // crossings of a link that wait for each other, in any solution; 1 by default
  Expression tensor_flops;         // of `flops`: products of bf16 or f16 matrices and their sums; 0 by default
  Expression network_bytes;        // of messages' payload, out of or into the busiest network card; 0 by default
  Expression least_network_bytes;  // lower bound of any solution; network_bytes by default
  Expression network_hops;         // messages that wait for each other, in any solution; 0 by default
};

// A branch or kernel of reference or driver that goes one way only in all sessions, and why that is enough.
struct Unreached {
  std::string line;  // part of the source line's text, or of the kernel's name
  std::string why;
};

struct Problem {
  std::string name;
  std::string folder;  // where its files are, those of a variant
  std::string base;    // of a variant: the folder of the problem that it is one of
  std::string root;    // the pack's folder
  std::string title, track, category, library, level_reason, provenance, platform;
  int level = 0;
  std::vector<std::string> tags;
  std::vector<std::string> parallelism;  // "TP", "EP": how the work is split; of track kernel
  std::string collective;                // of collectives.h, whose result this is; or empty
  std::vector<int> worlds;               // the first is that of a quick check
  std::string group;                     // the parameter that is the size of a group of ranks; or none
  std::vector<std::pair<std::string, std::string>> parameters;  // name and what it is; in the order of Args
  std::vector<Tensor> tensors;                                  // in the order of Args
  std::vector<SizeClass> sizes;
  int atomic_bytes = 16;  // a store of so many aligned bytes is seen as a whole or not at all
  Rules rules;
  Cost cost;
  std::vector<Unreached> unreached;
  Interface interface;    // of a problem with a driver
  std::string statement;  // text of statement.md
  std::string reference;  // text of reference.cu; of a problem without one, that of its baseline
  // Texts of baseline, driver and alternative have the texts of their family's headers in them
  // (judge/catalog/family.h).
  std::string baseline;     // text of baseline.cu, which speeds are relative to; empty if there is none
  bool has_expert = true;   // there is a reference.cu
  std::string oracle;       // path of oracle.cpp
  std::string mathematics;  // text of its family's mathematics.h, if oracle.cpp includes it
  std::string driver;       // text of driver.cu, empty if there is none
  std::string alternative;  // text of alternative.cu, empty if there is none
  std::string hash;  // of the names and contents of all files of the folder, and of the family's that they include

  // What expressions may name: the parameters, world and rank.
  Values values(const SizeClass& size, int world, int rank) const;
  // Whether solutions send messages through network cards.
  bool uses_network() const { return !cost.network_bytes.text().empty() && cost.network_bytes.text() != "0"; }
  // The product of the tensor's shape.
  Result<int64_t> elements(const Tensor& tensor, const Values& values) const;
};

// Reads a folder, that of a problem or of a variant (<problem>/variants/<library>). The name of a problem is its
// folder's, those of the folders above its category and its track; a variant says its own. All errors are reported,
// each as "file:line:column: message"; the messages need no location of their own.
Result<Problem> load_problem(const std::string& folder);
// Of the pack that a folder of a problem or variant is in.
std::string root_of(const std::string& folder);

}  // namespace fb::catalog
