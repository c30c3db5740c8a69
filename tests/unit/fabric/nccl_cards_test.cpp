// What NCCL gives to network cards.
#include "virtual_node/fabric/nccl_cards.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "common/platform/platform_files.h"
#include "virtual_node/fabric/network.h"

namespace fb::fabric {
namespace {

platform::Platform platform(const char* name, uint32_t nodes = 2) {
  platform::Platform p = platform::load_platform(name).value();
  p.node.nodes = nodes;
  return p;
}

std::vector<uint32_t> all_devices(const platform::Platform& p) {
  std::vector<uint32_t> devices(p.devices());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

// The shares that leave and enter each card.
struct Load {
  std::map<uint32_t, double> out, in;
  explicit Load(const std::vector<CardEdge>& edges) {
    for (const CardEdge& e : edges) {
      out[e.from] += e.share;
      in[e.to] += e.share;
    }
  }
  double busiest() const {
    double most = 0;
    for (const auto* side : {&out, &in}) {
      for (const auto& [card, share] : *side) most = std::max(most, share);
    }
    return most;
  }
};

NcclQuestion question(NcclOp op, const platform::Platform& p, uint64_t bytes) {
  NcclQuestion q;
  q.op = op;
  q.ranks = p.devices();
  q.nodes = p.node.nodes;
  q.bytes = bytes;
  return q;
}

TEST(NcclCards, TheBusiestCardCarriesWhatTheModelSays) {
  for (const uint32_t nodes : {2u, 3u, 4u, 7u, 16u}) {
    const platform::Platform p = platform("h100x8_2nodes", nodes);
    const auto devices = all_devices(p);
    for (const NcclOp op : {NcclOp::all_reduce, NcclOp::broadcast, NcclOp::reduce, NcclOp::all_gather,
                            NcclOp::reduce_scatter, NcclOp::all_to_all, NcclOp::gather, NcclOp::scatter}) {
      for (const NcclChoice& c : nccl_choices(p, question(op, p, 1 << 26))) {
        const auto edges = card_edges(p, op, c.algorithm, devices, 3);
        ASSERT_FALSE(edges.empty()) << name_of(op);
        EXPECT_GT(c.card_bytes, 0u);
        EXPECT_LE(Load(edges).busiest(), 1.0001) << nodes << " " << name_of(op) << " " << name_of(c.algorithm);
        // Of a few nodes none has two children in one tree.
        const bool tree = c.algorithm == NcclAlgorithm::tree || c.algorithm == NcclAlgorithm::nvls_tree;
        EXPECT_GE(Load(edges).busiest(), tree && nodes > 2 ? 0.7 : 0.999)
            << nodes << " " << name_of(op) << " " << name_of(c.algorithm);
        for (const CardEdge& e : edges) EXPECT_NE(e.from / p.nic.per_node, e.to / p.nic.per_node);
      }
    }
  }
}

TEST(NcclCards, RailsConnectTheSameCardOfEachNode) {
  const platform::Platform p = platform("h100x8_2nodes");
  const auto edges = card_edges(p, NcclOp::all_reduce, NcclAlgorithm::ring, all_devices(p), 0);
  EXPECT_EQ(edges.size(), 16u) << "eight rails, there and back";
  for (const CardEdge& e : edges) EXPECT_EQ(e.from % 8, e.to % 8);
}

TEST(NcclCards, OneRankOfANodeUsesOneCard) {
  const platform::Platform p = platform("h100x8_2nodes");
  const std::vector<uint32_t> devices = {3, 11};
  const auto edges = card_edges(p, NcclOp::all_reduce, NcclAlgorithm::ring, devices, 0);
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_EQ(edges[0].from, 3u);
  EXPECT_EQ(edges[0].to, 11u);
  EXPECT_EQ(edges[1].from, 11u);
  auto q = question(NcclOp::all_reduce, p, 1 << 30);
  q.ranks = 2;
  const NcclChoice c = choose_nccl(p, q);
  EXPECT_EQ(c.card_bytes, q.bytes);
  EXPECT_GE(static_cast<double>(c.transfer) * 1e-12, static_cast<double>(q.bytes) / 48.1e9);
}

TEST(NcclCards, GpusShareTheCardsThereAre) {
  const platform::Platform p = platform("ib_hdr200_2nodes");
  const auto edges = card_edges(p, NcclOp::all_gather, NcclAlgorithm::ring, all_devices(p), 0);
  ASSERT_EQ(edges.size(), 2u) << "one card on each node";
  const auto q = question(NcclOp::all_gather, p, 1 << 30);
  const double bus =
      static_cast<double>(q.bytes) * bus_factor(q.op, 16) / (static_cast<double>(choose_nccl(p, q).time()) * 1e-12);
  EXPECT_LT(bus, 24.1e9);
  EXPECT_GT(bus, 22e9);
}

TEST(NcclCards, NoneAreUsedOnOneNodeOrForItsMessages) {
  const platform::Platform p = platform("h100x8_2nodes");
  const std::vector<uint32_t> inside = {0, 1, 2, 3}, message = {4, 7};
  EXPECT_TRUE(card_edges(p, NcclOp::all_reduce, NcclAlgorithm::ring, inside, 0).empty());
  EXPECT_TRUE(card_edges(p, NcclOp::send_receive, NcclAlgorithm::direct, message, 0).empty());
  EXPECT_TRUE(card_edges(platform::load_platform("h100x8").value(), NcclOp::all_reduce, NcclAlgorithm::ring, inside, 0)
                  .empty());
}

TEST(NcclCards, OtherTrafficSlowsAStreamDown) {
  const platform::Platform p = platform("gh200x2");
  constexpr uint64_t kBytes = 4 << 20;
  ShareLedger shares;
  Network alone(p, shares), busy(p, shares);
  const Time at = 1000 * platform::kMicrosecond, without = alone.stream(0, 1, kBytes, at) - at;
  busy.send({.from = 0, .to = 1, .bytes = kBytes, .mtu = 4096}, at);
  EXPECT_GT(busy.stream(0, 1, kBytes, at) - at, without * 19 / 10);
  EXPECT_EQ(busy.stream(1, 0, kBytes, at) - at, without) << "the other way is free";
}

}  // namespace
}  // namespace fb::fabric
