#include "common/platform/platform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "common/base/strings.h"
#include "scratch_folder.h"

namespace fb::platform {
namespace {

std::string file_of(const std::string& name) { return std::string(FB_SOURCE_DIR) + "/platforms/" + name + ".toml"; }

// What the parser says of a changed b300x8.
std::string complaint_about(const std::string& text) {
  const auto platform = parse_platform(text);
  EXPECT_FALSE(platform.has_value()) << text;
  return platform ? "" : to_string(platform.error(), "p.toml");
}

// The messages for the text of b300x8 with `from` replaced by `to`.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = read_file(file_of("b300x8"));
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return complaint_about(text.replace(at, from.size(), to));
}

// The messages for the text of b300x8 with another entry of `key` in `section`, whatever calibration put there.
std::string complaint(const std::string& section, const std::string& key, const std::string& entry) {
  std::string text = read_file(file_of("b300x8"));
  const auto at = text.find("\n" + key + " = ", text.find("\n[" + section + "]\n")) + 1;
  EXPECT_NE(at, 0u) << section << "." << key;
  return complaint_about(text.replace(at, text.find('\n', at) - at, key + " = " + entry));
}

TEST(Platform, EveryShippedPlatformLoadsAndEveryConstantHasASource) {
  const std::vector<std::string> names = platform_names();
  for (const char* name :
       {"b300x8", "gb200_nvl72", "h100x8", "gh200x2", "h100x8_2nodes", "ib_hdr200_2nodes", "pcie_x4"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
  for (const std::string& name : names) {
    const auto platform = load_platform(name);
    ASSERT_TRUE(platform.has_value()) << to_string(platform.error(), name);
    EXPECT_EQ(platform->name, name);
    EXPECT_GT(platform->sources.size(), 60u);
    for (const Provenance& p : platform->sources) EXPECT_FALSE(p.source.empty()) << name << " " << p.key;
  }
}

TEST(Platform, NoConstantIsChosenFromHeldOutCurves) {
  for (const std::string& name : platform_names()) {
    const auto platform = load_platform(name);
    ASSERT_TRUE(platform.has_value());
    for (const Provenance& p : platform->sources) {
      for (const char* curve : {"peer_memcpy_small",
                                "ipc_copy",
                                "device_barrier",
                                "all_reduce_nccl_2_small",
                                "reduce_scatter_nccl_2",
                                "all_reduce_multimem_8_large",
                                "all_reduce_one_shot_pull_8",
                                "all_gather_full_mesh_8",
                                "all_gather_multicast_8",
                                "reduce_scatter_multimem_8",
                                "all_to_all_8",
                                "all_to_all_tma_8",
                                "rdma_write_rc_small",
                                "rdma_send_uc_gpudirect",
                                "rdma_atomic_fetch_add",
                                "rdma_atomic_cmp_swp",
                                "rdma_write_imm_small",
                                "rdma_write_2sge",
                                "rdma_send_recv_exchange",
                                "rdma_send_lat_ndr",
                                "rdma_read_bw_ndr",
                                "rdma_send_bw_ndr",
                                "rdma_write_bw_hdr",
                                "ib_send_lat",
                                "ib_read_bw",
                                "mbarrier_producer_consumer"}) {
        EXPECT_EQ(p.source.find(curve), std::string::npos) << name << " " << p.key;
      }
    }
  }
}

TEST(Platform, UnitsAreTurnedIntoPicosecondsAndBytes) {
  const auto p = load_platform("b300x8");
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->peer.latency, 780 * kNanosecond);
  EXPECT_EQ(p->fence.block, 10 * kNanosecond);
  EXPECT_EQ(p->device.shared_per_sm, 228u * 1024);
  EXPECT_DOUBLE_EQ(p->memory.bandwidth, 7.2e12);
  EXPECT_DOUBLE_EQ(p->device.clock, 2.032e9);
  EXPECT_TRUE(p->multicast.supported);
}

TEST(Platform, AFileMayBuildOnAnother) {
  const auto two = load_platform("h100x8_2nodes");
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->devices(), 16u);
  EXPECT_EQ(two->node_of(7), 0u);
  EXPECT_EQ(two->node_of(8), 1u);
  EXPECT_DOUBLE_EQ(two->memory.bandwidth, 3.35e12);
  EXPECT_GT(two->nic.per_node, 0u);
}

TEST(Platform, AConstantWithoutASourceIsRefusedWithItsLine) {
  const std::string text = complaint("memory", "bandwidth", "{ value = 8, unit = \"TB/s\" }");
  EXPECT_NE(text.find("memory.bandwidth: 'source' is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("p.toml:3"), std::string::npos) << text;
}

TEST(Platform, WrongInputIsNamed) {
  const struct {
    const char *from, *to, *expected;
  } cases[] = {
      {"sms = { value = 148", "smss = { value = 148", "unknown constant 'smss' of [device]; did you mean 'sms'?"},
      {"sms = { value = 148", "smss = { value = 148", "device.sms is missing"},
      {"[calls]", "[calls2]", "unknown section or key 'calls2'; did you mean 'calls'?"},
      {"[calls]", "[calls2]", "calls.launch is missing"},
      {"{ value = 148,", "{ value = \"many\",", "device.sms: a number that is not negative is expected"},
      {"{ value = 148,", "{ value = 148.5,", "device.sms: a whole number is expected"},
      {"{ value = 148,", "{ value = -3,", "device.sms: a number that is not negative is expected"},
      {"{ value = 148,", "{ value = 0,", "device.sms: 0 is out of range (at least 1)"},
      {"{ value = 148,", "{ value = 148, unit = \"B\",", "device.sms: has no unit"},
      {"unit = \"TB/s\"", "unit = \"TiB/s\"", "memory.bandwidth: 'unit' must be one of B/s, GB/s, TB/s"},
      {"unit = \"TB/s\",", "", "memory.bandwidth: 'unit' must be one of B/s, GB/s, TB/s"},
      {"{ value = 148,", "{ value = 148, note = 1,", "unknown key 'note' of device.sms"},
      {"{ value = 148,", "{", "device.sms: 'value' is missing"},
      {"access = { value = true", "access = { value = 1", "peer.access: true or false is expected"},
      {"name = \"b300x8\"", "", "'name' is missing"},
      {"name = \"b300x8\"", "name = 3", "'name' must be text"},
      {"[node]", "base = \"nothing_like_it\"\n[node]", "base: no platform is called 'nothing_like_it'"},
      {"nodes = { value = 1,", "nodes = { value = 2,", "nic.per_node: several nodes need network cards"},
      {"devices = { value = 8,", "devices = { value = 1000,", "a platform has 1 to 128 devices"},
      {"[uncertainty]\nlatency = { value = 0.", "[uncertainty]\nlatency = { value = 1.", "uncertainty.latency: 1."},
      {"nvlink = { value = true", "nvlink = { value = false", "multicast.supported: needs peer.nvlink"},
      {"[node]", "[node", "p.toml:"},
  };
  for (const auto& c : cases) {
    const std::string text = complaint(c.from, c.to);
    EXPECT_NE(text.find(c.expected), std::string::npos) << c.to << "\n" << text;
  }
}

TEST(Platform, AValueOutOfRangeIsNamed) {
  const struct {
    const char *section, *key, *value, *expected;
  } cases[] = {
      {"memory", "bandwidth", "1e9, unit = \"TB/s\"", "memory.bandwidth: 1e+21 is out of range"},
      {"peer", "copy_bandwidth", "0, unit = \"GB/s\"", "peer.copy_bandwidth: 0 is out of range"},
      {"peer", "bulk_bandwidth", "0, unit = \"GB/s\"", "peer.bulk_bandwidth: 0 is out of range"},
      {"multicast", "duplex_bandwidth", "1e7, unit = \"GB/s\"",
       "multicast.duplex_bandwidth: 1e+16 is out of range (1e+08 to 1e+15)"},
      {"device", "clock", "0, unit = \"MHz\"", "device.clock: 0 is out of range"},
      {"peer", "latency", "78, unit = \"s\"", "peer.latency: is too large"},
  };
  for (const auto& c : cases) {
    const std::string text =
        complaint(c.section, c.key, "{ value = " + std::string(c.value) + ", source = \"a test\" }");
    EXPECT_NE(text.find(c.expected), std::string::npos) << c.expected << "\n" << text;
  }
}

TEST(Platform, AnUnknownNameListsTheKnownOnes) {
  const auto platform = load_platform("h200x8");
  ASSERT_FALSE(platform.has_value());
  const std::string text = to_string(platform.error(), "exec");
  EXPECT_NE(text.find("no platform is called 'h200x8'"), std::string::npos) << text;
  EXPECT_NE(text.find("b300x8 gb200_nvl72 gh200x2 h100x8"), std::string::npos) << text;
}

TEST(Platform, FilesAreFoundByPathAndInTheFolderOfTheEnvironment) {
  const ScratchFolder folder;
  EXPECT_TRUE(load_platform(folder.write("mine.toml", read_file(file_of("h100x8")))).has_value());
  folder.write("bad.toml", "name = \"bad\"\n\n[node]\nnodes = 1\n");
  folder.write("circle.toml", "name = \"circle\"\nbase = \"circle\"\n");
  ::setenv("FABRICBENCH_PLATFORMS", folder.path().c_str(), 1);
  EXPECT_TRUE(load_platform("mine").has_value());
  EXPECT_FALSE(load_platform("h100x8").has_value());
  const auto bad = load_platform("bad"), circle = load_platform("circle");
  ::unsetenv("FABRICBENCH_PLATFORMS");
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().list[0].message.find("bad.toml"), std::string::npos);
  EXPECT_NE(to_string(bad.error(), "").find("bad.toml:4:9: node.nodes: write { value"), std::string::npos)
      << to_string(bad.error(), "");
  ASSERT_FALSE(circle.has_value());
  EXPECT_NE(to_string(circle.error(), "").find("in a circle"), std::string::npos);
}

}  // namespace
}  // namespace fb::platform
