#include "common/platform/sysfs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/platform/pci.h"

namespace fb::platform {
namespace {

std::map<std::string, SysfsEntry> entries_of(const Platform& platform, uint32_t node = 0) {
  std::map<std::string, SysfsEntry> all;
  for (SysfsEntry& entry : sysfs_of(platform, node, uint64_t{64} << 30)) {
    const std::string path = entry.path;
    EXPECT_TRUE(all.emplace(path, std::move(entry)).second) << path;
  }
  return all;
}

TEST(Sysfs, LeadsFromABusToItsDevices) {
  for (const std::string& name : platform_names()) {
    const Platform p = load_platform(name).value();
    const auto all = entries_of(p, p.node.nodes - 1);
    for (uint32_t k = 0; k < p.node.devices; ++k) {
      const PciPlace place = place_of_gpu(p, (p.node.nodes - 1) * p.node.devices + k);
      const std::string id = to_string(place.device);
      const SysfsEntry& link = all.at("bus/pci/devices/" + id);
      ASSERT_TRUE(link.link && link.text.starts_with("../../../devices/pci")) << link.text;
      const std::string folder = link.text.substr(9);
      EXPECT_EQ(all.at(folder + "/numa_node").text, std::to_string(place.numa_node) + "\n");
      // The bus is in the folder of the bridge, beside the device.
      const std::string bridge = folder.substr(0, folder.rfind('/'));
      EXPECT_EQ(all.at("class/pci_bus/" + id.substr(0, 7)).text, "../../" + bridge + "/pci_bus/" + id.substr(0, 7));
    }
  }
}

TEST(Sysfs, SetsOfProcessorsAreWordsOf32Bits) {
  Platform p = load_platform("h100x8").value();
  p.host.cpus = 40;
  p.host.numa_nodes = 2;
  const auto all = entries_of(p);
  EXPECT_EQ(all.at("devices/system/node/node0/cpumap").text, "00000000,000fffff\n");
  EXPECT_EQ(all.at("devices/system/node/node1/cpumap").text, "000000ff,fff00000\n");
  EXPECT_EQ(all.at("devices/system/node/node1/cpulist").text, "20-39\n");
  EXPECT_EQ(all.at("devices/system/node/online").text, "0-1\n");
  EXPECT_EQ(all.at("devices/system/node/node1/distance").text, "21 10\n");
}

TEST(Sysfs, HasTheSwitchesOfNvlinkAndThoseOfPci) {
  const Platform p = load_platform("h100x8").value();
  const auto all = entries_of(p);
  const auto count = [&](std::string_view text) {
    return std::ranges::count_if(all, [&](const auto& entry) { return entry.second.text == text; });
  };
  EXPECT_EQ(count("0x068000\n"), 4);                    // NVSwitches
  EXPECT_EQ(count("0x030200\n"), 8);                    // GPUs
  EXPECT_EQ(count("0x060400\n"), 4 * (1 + 1 + 2) + 4);  // root ports, and ports of switches
}

}  // namespace
}  // namespace fb::platform
