#include "fabric/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>

namespace fb::fabric {
namespace {

// NCCL 2.30 src/enqueue.cc: NCCL_P2P_LL_THRESHOLD, of one channel. A message has one up to 64 KiB, and above that more
// than this on each: larger messages use Simple.
constexpr uint64_t kMostMessageLl = 16384;

constexpr std::array<std::string_view, 9> kOps = {"all_reduce", "broadcast", "reduce",  "all_gather",  "reduce_scatter",
                                                  "all_to_all", "gather",    "scatter", "send_receive"};
// A packet of LL carries a flag for each word, one of LL128 one for 120 bytes.
constexpr double kWireLl = 2, kWireLl128 = 128.0 / 120;
// Sizes up to which kernels on windows send data with flags in it.
constexpr uint64_t kMostSymmetricLl = 512 << 10;

double seconds(Time t) { return static_cast<double>(t) * 1e-12; }
Time picoseconds(double s) { return static_cast<Time>(std::llround(s * 1e12)); }

struct Model {
  const Platform& p;
  const NcclQuestion& q;
  uint32_t n = q.ranks;

  uint32_t inside() const { return std::max(1u, n / std::max(1u, q.nodes)); }  // ranks of a node

  // Through the busiest device's port, each way.
  double port_bytes() const {
    const double s = static_cast<double>(q.bytes), others = static_cast<double>(n - 1) / n;
    switch (q.op) {
      case NcclOp::all_reduce:
        return 2 * others * s;
      case NcclOp::broadcast:
      case NcclOp::reduce:
      case NcclOp::send_receive:
        return s;
      default:
        return others * s;
    }
  }
  uint32_t steps() const {
    switch (q.op) {
      case NcclOp::all_reduce:
        return 2 * (n - 1);
      case NcclOp::all_gather:
      case NcclOp::reduce_scatter:
      case NcclOp::broadcast:
      case NcclOp::reduce:
        return n - 1;
      default:
        return 1;
    }
  }
  uint32_t steps_between_nodes() const {
    if (q.nodes < 2) return 0;
    return q.op == NcclOp::all_reduce ? 2 * (q.nodes - 1) : q.nodes - 1;
  }

  // What the links between devices carry at most, and between nodes the network cards of one together.
  double limit(double bandwidth) const {
    const double link = p.peer.nvlink ? p.peer.copy_bandwidth
                                      : std::min(p.host_link.to_host_bandwidth, p.host_link.from_host_bandwidth);
    bandwidth = std::min(bandwidth, link);
    return q.nodes > 1 ? std::min(bandwidth, p.nic.bandwidth * p.nic.per_node) : bandwidth;
  }

  uint32_t channels(uint32_t most) const {
    if (q.most_channels != 0) most = std::min(most, q.most_channels);
    const uint64_t wanted = q.bytes / p.nccl.bytes_per_channel + 1;
    return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, std::max(1u, most)));
  }
  // With fewer channels than the platform has, a collective is no faster than these are.
  double share(uint32_t most) const {
    return q.most_channels == 0 || q.most_channels >= most ? 1 : static_cast<double>(q.most_channels) / most;
  }

  NcclChoice make(NcclAlgorithm algorithm, NcclProtocol protocol, Time latency, double bytes, double bandwidth,
                  Time fill, uint32_t most_channels) const {
    NcclChoice c;
    c.algorithm = algorithm;
    c.protocol = protocol;
    c.channels = channels(most_channels);
    c.latency = latency;
    const double alone = bytes / (bandwidth * share(most_channels));
    c.transfer = picoseconds(alone + 2 * std::sqrt(seconds(fill) * alone));
    c.port_bytes = static_cast<uint64_t>(std::llround(bytes));
    c.wire = protocol == NcclProtocol::ll ? kWireLl : protocol == NcclProtocol::ll128 ? kWireLl128 : 1;
    return c;
  }

  Time ring_latency(Time base, Time hop) const {
    const uint32_t between = steps_between_nodes();
    return base + (steps() - std::min(steps(), between)) * hop + between * p.nccl.hop_net;
  }
  Time tree_latency(Time base, Time hop) const {
    return base + 2 * (Time{inside() - 1} * hop + Time{std::bit_width(q.nodes) - 1u} * p.nccl.hop_net);
  }

  void add_rings(std::vector<NcclChoice>& all) const {
    const auto& k = p.nccl;
    const double bandwidth = limit(k.ring_bandwidth), bytes = port_bytes();
    const auto add = [&](NcclProtocol protocol, Time base, Time hop, double rate, Time fill) {
      all.push_back(make(NcclAlgorithm::ring, protocol, ring_latency(base, hop), bytes, rate, fill, k.channels));
    };
    add(NcclProtocol::ll, k.base_ll, k.hop_ll, std::min(k.ll_bandwidth, 0.5 * bandwidth), 0);
    if (p.peer.nvlink) add(NcclProtocol::ll128, k.base_ll128, k.hop_ll128, k.ll128_share * bandwidth, 0);
    add(NcclProtocol::simple, k.base_simple, k.hop_simple, bandwidth, k.fill);
  }

  // On one node a tree is a chain, there and back: all bytes pass each port twice.
  void add_trees(std::vector<NcclChoice>& all) const {
    if (q.op != NcclOp::all_reduce || n < 3) return;
    const auto& k = p.nccl;
    const double bandwidth = limit(k.tree_share * k.ring_bandwidth), bytes = 2 * static_cast<double>(q.bytes);
    const auto add = [&](NcclProtocol protocol, Time base, Time hop, double rate, Time fill) {
      all.push_back(make(NcclAlgorithm::tree, protocol, tree_latency(base, hop), bytes, rate, fill, k.channels));
    };
    add(NcclProtocol::ll, k.base_ll, k.hop_tree_ll, std::min(k.ll_bandwidth, bandwidth / 3.8), 0);
    if (p.peer.nvlink) add(NcclProtocol::ll128, k.base_ll128, k.hop_tree_ll128, k.ll128_share * bandwidth * 7 / 9, 0);
    add(NcclProtocol::simple, k.base_simple, k.hop_tree_simple, bandwidth, k.fill);
  }

  void add_switch(std::vector<NcclChoice>& all) const {
    const bool possible = q.op == NcclOp::all_reduce && q.switch_reduces && p.multicast.supported && n > 2;
    if (!possible || q.nodes > 1) return;
    // Measured kernels of the switch take longer from the first byte on than the tuner takes into account.
    all.push_back(make(NcclAlgorithm::nvls, NcclProtocol::simple, p.nccl.nvls_start + p.nccl.nvls, port_bytes(),
                       p.nccl.nvls_bandwidth, p.nccl.nvls_fill, p.nccl.nvls_channels));
  }

  void add_symmetric(std::vector<NcclChoice>& all) const {
    const bool known = q.op == NcclOp::all_reduce || q.op == NcclOp::all_gather || q.op == NcclOp::reduce_scatter;
    if (!q.in_windows || !known || q.nodes > 1 || !p.peer.nvlink) return;
    const auto& k = p.nccl;
    const bool by_switch = q.op == NcclOp::all_reduce && q.switch_reduces && p.multicast.supported;
    const double bandwidth = by_switch ? k.symmetric_multimem_bandwidth : k.symmetric_bandwidth;
    if (q.bytes <= kMostSymmetricLl) {
      // Each rank sends all it has to each other one.
      const double bytes = port_bytes() * (q.op == NcclOp::all_reduce ? n / 2.0 : 1);
      all.push_back(
          make(NcclAlgorithm::symmetric, NcclProtocol::ll, k.symmetric_ll, bytes, k.ll_bandwidth, 0, k.channels));
    }
    all.push_back(
        make(NcclAlgorithm::symmetric, NcclProtocol::simple, k.symmetric, port_bytes(), bandwidth, 0, k.channels));
  }

  void add_direct(std::vector<NcclChoice>& all) const {
    const auto& k = p.nccl;
    const double bandwidth = limit(k.p2p_bandwidth), bytes = port_bytes();
    const Time net = q.nodes > 1 ? k.hop_net : 0;
    // NCCL chooses by the size of a message alone, not by its tuner.
    const uint64_t message = q.op == NcclOp::send_receive ? q.bytes : q.bytes / n;
    if (message <= kMostMessageLl)
      all.push_back(make(NcclAlgorithm::direct, NcclProtocol::ll, k.base_ll + k.hop_ll + net, bytes,
                         std::min(k.ll_bandwidth, 0.5 * bandwidth), 0, k.channels));
    all.push_back(make(NcclAlgorithm::direct, NcclProtocol::simple, k.base_simple + k.hop_simple + net, bytes,
                       bandwidth, k.fill, k.channels));
  }
};

bool is_direct(NcclOp op) {
  return op == NcclOp::all_to_all || op == NcclOp::gather || op == NcclOp::scatter || op == NcclOp::send_receive;
}

}  // namespace

std::string_view name_of(NcclOp op) { return kOps[static_cast<size_t>(op)]; }

std::optional<NcclOp> nccl_op_from(std::string_view name) {
  const auto found = std::ranges::find(kOps, name);
  if (found == kOps.end()) return std::nullopt;
  return static_cast<NcclOp>(found - kOps.begin());
}

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames = {"Ring", "Tree", "NVLS", "Symmetric", "Direct"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames[static_cast<size_t>(protocol)];
}

double bus_factor(NcclOp op, uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (op) {
    case NcclOp::all_reduce:
      return 2 * others;
    case NcclOp::broadcast:
    case NcclOp::reduce:
    case NcclOp::send_receive:
      return 1;
    default:
      return others;
  }
}

std::vector<NcclChoice> nccl_choices(const Platform& platform, const NcclQuestion& question) {
  std::vector<NcclChoice> all;
  const Model model{platform, question};
  if (question.ranks < 2) {
    // A copy on the device, or nothing.
    NcclChoice alone;
    alone.algorithm = NcclAlgorithm::direct;
    alone.latency = platform.kernel.launch + platform.kernel.start;
    alone.transfer = picoseconds(2 * static_cast<double>(question.bytes) / platform.memory.bandwidth);
    return {alone};
  }
  if (is_direct(question.op)) {
    model.add_direct(all);
  } else {
    model.add_rings(all);
    model.add_trees(all);
    model.add_switch(all);
    model.add_symmetric(all);
  }
  std::ranges::sort(all, {}, [](const NcclChoice& c) { return std::tuple(c.time(), c.algorithm, c.protocol); });
  return all;
}

NcclChoice choose_nccl(const Platform& platform, const NcclQuestion& question) {
  return nccl_choices(platform, question).front();
}

}  // namespace fb::fabric
