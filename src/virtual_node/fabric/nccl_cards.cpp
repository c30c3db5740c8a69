#include "virtual_node/fabric/nccl_cards.h"

#include <algorithm>
#include <map>

namespace fb::fabric {
namespace {

using Rails = std::vector<uint32_t>;  // cards of one node

// By node, in the order of ranks; each has as many as the smallest one.
std::vector<Rails> rails_of(const platform::Platform& p, std::span<const uint32_t> devices) {
  std::vector<Rails> nodes;
  std::map<uint32_t, size_t> found;
  for (const uint32_t device : devices) {
    const auto [at, added] = found.emplace(p.node_of(device), nodes.size());
    if (added) nodes.emplace_back();
    Rails& rails = nodes[at->second];
    const uint32_t card = card_of(p, device);
    if (std::ranges::find(rails, card) == rails.end()) rails.push_back(card);
  }
  size_t least = ~size_t{0};
  for (const Rails& rails : nodes) least = std::min(least, rails.size());
  for (Rails& rails : nodes) rails.resize(least);
  return nodes;
}

void add(std::vector<CardEdge>& edges, const Rails& from, const Rails& to, double share) {
  for (size_t r = 0; r < from.size(); ++r) edges.push_back({from[r], to[r], share});
}

// Two binary trees, the second with the nodes in reverse: nodes inside one are leaves of the other. Each has half of
// the bytes, up and down. The busiest node has two edges each way in all of them; of two nodes, one.
void add_trees(std::vector<CardEdge>& edges, const std::vector<Rails>& nodes) {
  const size_t n = nodes.size();
  const double share = n == 2 ? 0.5 : 0.25;
  for (const bool reversed : {false, true}) {
    const auto at = [&](size_t k) -> const Rails& { return nodes[reversed ? n - 1 - k : k]; };
    for (size_t k = 1; k < n; ++k) {
      add(edges, at(k), at((k - 1) / 2), share);
      add(edges, at((k - 1) / 2), at(k), share);
    }
  }
}

}  // namespace

uint32_t card_of(const platform::Platform& p, uint32_t device) {
  const uint32_t inside = device % p.node.devices;
  return p.node_of(device) * p.nic.per_node + inside * p.nic.per_node / p.node.devices;
}

std::vector<CardEdge> card_edges(const platform::Platform& p, NcclOp op, NcclAlgorithm algorithm,
                                 std::span<const uint32_t> devices, uint32_t root) {
  std::vector<CardEdge> edges;
  if (p.nic.per_node == 0) return edges;
  const auto nodes = rails_of(p, devices);
  if (nodes.size() < 2) return edges;
  const auto remote = [&](uint32_t a, uint32_t b) { return p.node_of(devices[a]) != p.node_of(devices[b]); };
  const auto count = static_cast<uint32_t>(devices.size());
  switch (op) {
    case NcclOp::send_receive:
      return {{card_of(p, devices[0]), card_of(p, devices[1]), 1}};
    case NcclOp::gather:
    case NcclOp::scatter: {
      // card_bytes is what the root's card carries, of all that are on other nodes.
      const auto others =
          std::ranges::count_if(devices, [&](uint32_t d) { return p.node_of(d) != p.node_of(devices[root]); });
      for (uint32_t rank = 0; rank < count; ++rank) {
        if (!remote(rank, root)) continue;
        const uint32_t mine = card_of(p, devices[rank]), roots = card_of(p, devices[root]);
        const double share = 1 / static_cast<double>(others);
        edges.push_back(op == NcclOp::gather ? CardEdge{mine, roots, share} : CardEdge{roots, mine, share});
      }
      return edges;
    }
    case NcclOp::all_to_all:
      // Every card sends and receives as much; which one gets it does not matter where a switch never blocks.
      for (size_t k = 0; k < nodes.size(); ++k) add(edges, nodes[k], nodes[(k + 1) % nodes.size()], 1);
      return edges;
    default:
      break;
  }
  if (algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::nvls_tree) {
    add_trees(edges, nodes);
    return edges;
  }
  const bool chain = op == NcclOp::broadcast || op == NcclOp::reduce;
  const size_t first = [&] {
    size_t k = 0;
    while (chain && p.node_of(devices[root]) != nodes[k].front() / p.nic.per_node) ++k;
    return k;
  }();
  for (size_t k = 0; k + (chain ? 1 : 0) < nodes.size(); ++k) {
    const Rails &a = nodes[(first + k) % nodes.size()], &b = nodes[(first + k + 1) % nodes.size()];
    op == NcclOp::reduce ? add(edges, b, a, 1) : add(edges, a, b, 1);
  }
  return edges;
}

}  // namespace fb::fabric
