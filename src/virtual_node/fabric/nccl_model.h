#pragma once

// How NCCL would do a collective, and how long that takes: the structure of its tuner (the least of latency and bytes
// by bandwidth, over algorithms and protocols) with the constants of a platform's section [nccl].
// docs/reference/nccl.md says how these were fitted and how far modelled times are from measured ones.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/platform/platform.h"
#include "common/platform/time.h"

namespace fb::fabric {

using platform::Time;

enum class NcclOp : uint8_t {
#define NCCL_OP(name, ...) name,
#include "common/api/nccl_ops.def"
};
inline constexpr std::array kNcclOps = {
#define NCCL_OP(name, ...) NcclOp::name,
#include "common/api/nccl_ops.def"
};
enum class NcclAlgorithm : uint8_t {
  ring,
  tree,
  nvls,       // the switch reduces
  nvls_tree,  // the switch of each node, and trees of nodes
  symmetric,  // kernels on windows, which all ranks have mapped
  direct,     // from each rank to each other one
};
enum class NcclProtocol : uint8_t { ll, ll128, simple };

std::string_view name_of(NcclOp op);  // "all_reduce"
std::optional<NcclOp> nccl_op_from(std::string_view name);
std::string_view name_of(NcclAlgorithm algorithm);  // as NCCL prints it: "Ring"
std::string_view name_of(NcclProtocol protocol);    // "LL128"

struct NcclQuestion {
  NcclOp op{};
  uint32_t ranks = 1;
  uint32_t nodes = 1;          // that they are on
  uint64_t bytes = 0;          // as nccl-tests counts them: of the buffer, or of the buffers of all ranks together
  bool switch_reduces = true;  // the switch can do it: type and operation
  bool in_windows = false;     // all buffers are in windows
  uint32_t most_channels = 0;  // 0: as the platform says
};

struct NcclChoice {
  NcclAlgorithm algorithm{};
  NcclProtocol protocol = NcclProtocol::simple;
  uint32_t channels = 1;
  Time latency = 0;         // before the first and behind the last byte
  Time transfer = 0;        // of all bytes, without other traffic
  uint64_t port_bytes = 0;  // through the busiest device's port, each way
  double wire = 1;          // bytes on the link for each of these
  uint64_t card_bytes = 0;  // through the busiest network card, each way; 0: none is used
  Time time() const { return latency + transfer; }
};

// What crosses nodes.
struct NcclNetwork {
  uint32_t rails = 0;    // cards of a node that are used
  double bandwidth = 0;  // of one, each way, GPU memory at both ends
  Time card = 0;         // from a GPU to one of another node: what the cards take
  Time hop = 0;          // … and with the threads that serve them
};
NcclNetwork nccl_network(const platform::Platform& platform, uint32_t ranks_of_a_node);

// Times that nccl-tests multiplies the algorithm bandwidth with.
double bus_factor(NcclOp op, uint32_t ranks);

// What NCCL would take; never empty. The first of nccl_choices().
NcclChoice choose_nccl(const platform::Platform& platform, const NcclQuestion& question);
// All that are possible, the fastest first.
std::vector<NcclChoice> nccl_choices(const platform::Platform& platform, const NcclQuestion& question);

}  // namespace fb::fabric
