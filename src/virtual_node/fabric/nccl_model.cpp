#include "virtual_node/fabric/nccl_model.h"

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

struct OpFacts {
  std::string_view name;
  uint32_t passes;
  bool whole;
};
constexpr std::array<OpFacts, kNcclOps.size()> kOps = {{
#define NCCL_OP(name, passes, whole) {#name, passes, whole},
#include "common/api/nccl_ops.def"
}};
constexpr const OpFacts& facts_of(NcclOp op) { return kOps[static_cast<size_t>(op)]; }

// A packet of LL carries a flag for each word, one of LL128 one for 120 bytes.
constexpr double kWireLl = 2, kWireLl128 = 128.0 / 120;
// Sizes up to which kernels on windows send data with flags in it.
constexpr uint64_t kMostSymmetricLl = 512 << 10;

bool is_direct(NcclOp op) { return facts_of(op).passes == 0; }

double seconds(Time t) { return static_cast<double>(t) * 1e-12; }
Time picoseconds(double s) { return static_cast<Time>(std::llround(s * 1e12)); }

struct Model {
  const platform::Platform& p;
  const NcclQuestion& q;
  uint32_t n = q.ranks;

  NcclNetwork net = nccl_network(p, inside());

  uint32_t inside() const { return std::max(1u, n / std::max(1u, q.nodes)); }  // ranks of a node

  // Through the busiest device's port, each way.
  double port_bytes() const { return bus_factor(q.op, n) * static_cast<double>(q.bytes); }
  uint32_t steps() const { return is_direct(q.op) ? 1 : facts_of(q.op).passes * (n - 1); }
  uint32_t steps_between_nodes() const { return q.nodes < 2 ? 0 : std::max(1u, facts_of(q.op).passes) * (q.nodes - 1); }

  // What the links between devices carry at most.
  double limit(double bandwidth) const {
    const double link = p.peer.nvlink ? p.peer.copy_bandwidth
                                      : std::min(p.host_link.to_host_bandwidth, p.host_link.from_host_bandwidth);
    return std::min(bandwidth, link);
  }

  // Through the busiest network card, each way.
  double card_bytes(NcclAlgorithm algorithm) const {
    if (q.nodes < 2) return 0;
    const double s = static_cast<double>(q.bytes), rails = net.rails;
    // Two trees have half of the bytes each: of two nodes each sends them once, of more the busiest one twice.
    if (algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::nvls_tree)
      return (q.nodes == 2 ? 1 : 2) * s / rails;
    if (algorithm == NcclAlgorithm::ring) return port_bytes() / rails;
    if (q.op == NcclOp::send_receive) return s;
    const double crossing = port_bytes() * (n - inside()) / (n - 1);
    return q.op == NcclOp::all_to_all ? crossing * inside() / rails : crossing;
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
    c.wire = protocol == NcclProtocol::ll ? kWireLl : protocol == NcclProtocol::ll128 ? kWireLl128 : 1;
    // Links and cards work at the same time.
    double alone = bytes / (bandwidth * share(most_channels));
    const double over_cards = card_bytes(algorithm);
    if (over_cards > 0) alone = std::max(alone, over_cards * c.wire / net.bandwidth);
    c.transfer = picoseconds(alone + 2 * std::sqrt(seconds(fill) * alone));
    c.port_bytes = static_cast<uint64_t>(std::llround(bytes));
    c.card_bytes = static_cast<uint64_t>(std::llround(over_cards));
    return c;
  }

  Time ring_latency(Time base, Time hop) const {
    const uint32_t between = steps_between_nodes();
    return base + (steps() - std::min(steps(), between)) * hop + between * net.hop;
  }
  Time tree_latency(Time base, Time hop) const {
    return base + 2 * (Time{inside() - 1} * hop + Time{std::bit_width(q.nodes) - 1u} * net.hop);
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
    if (!possible || inside() < 3) return;
    // Measured kernels of the switch take longer from the first byte on than the tuner takes into account.
    const Time latency = p.nccl.nvls_start + p.nccl.nvls;
    const auto add = [&](NcclAlgorithm algorithm, Time from_start, double bytes) {
      all.push_back(make(algorithm, NcclProtocol::simple, from_start, bytes, p.nccl.nvls_bandwidth, p.nccl.nvls_fill,
                         p.nccl.nvls_channels));
    };
    if (q.nodes < 2) return add(NcclAlgorithm::nvls, latency, port_bytes());
    const double within = 2.0 * static_cast<double>(q.bytes) * (inside() - 1) / inside();
    add(NcclAlgorithm::nvls_tree, latency + 2 * Time{std::bit_width(q.nodes) - 1u} * net.hop, within);
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
    const Time hop = q.nodes > 1 ? net.hop : 0;
    // NCCL chooses by the size of a message alone, not by its tuner.
    const uint64_t message = q.op == NcclOp::send_receive ? q.bytes : q.bytes / n;
    if (message <= kMostMessageLl)
      all.push_back(make(NcclAlgorithm::direct, NcclProtocol::ll, k.base_ll + k.hop_ll + hop, bytes,
                         std::min(k.ll_bandwidth, 0.5 * bandwidth), 0, k.channels));
    all.push_back(make(NcclAlgorithm::direct, NcclProtocol::simple, k.base_simple + k.hop_simple + hop, bytes,
                       bandwidth, k.fill, k.channels));
  }
};

}  // namespace

std::string_view name_of(NcclOp op) { return facts_of(op).name; }

std::optional<NcclOp> nccl_op_from(std::string_view name) {
  const auto found = std::ranges::find(kOps, name, &OpFacts::name);
  if (found == kOps.end()) return std::nullopt;
  return static_cast<NcclOp>(found - kOps.begin());
}

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 6> kNames = {"Ring", "Tree", "NVLS", "NVLSTree", "Symmetric", "Direct"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames[static_cast<size_t>(protocol)];
}

// A block of GPU memory is posted by a thread of the host, and polled by one at the other end.
NcclNetwork nccl_network(const platform::Platform& p, uint32_t ranks_of_a_node) {
  const platform::Platform::Nic& nic = p.nic;
  NcclNetwork net;
  net.rails = std::max(1u, std::min(ranks_of_a_node, nic.per_node));
  net.bandwidth =
      std::min({nic.bandwidth, nic.memory_bandwidth, nic.device_read_bandwidth, nic.device_write_bandwidth});
  net.card = nic.post + nic.start + nic.device_fetch + nic.wire + nic.deliver + nic.device_deliver + nic.poll;
  net.hop = net.card + p.nccl.hop_net;
  return net;
}

double bus_factor(NcclOp op, uint32_t ranks) {
  if (facts_of(op).whole) return 1;
  return std::max(1u, facts_of(op).passes) * (static_cast<double>(ranks - 1) / ranks);
}

std::vector<NcclChoice> nccl_choices(const platform::Platform& platform, const NcclQuestion& question) {
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

NcclChoice choose_nccl(const platform::Platform& platform, const NcclQuestion& question) {
  return nccl_choices(platform, question).front();
}

}  // namespace fb::fabric
