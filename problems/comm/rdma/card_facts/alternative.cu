// [solution]
#include <cstdio>
#include <vector>

// All cards are asked at the begin, and by other calls: the table of GIDs, and the device's attributes for the GUID.
class Solution {
 public:
  explicit Solution(const fabricbench::Rank&) {
    ibv_device** const list = fabricbench::check_verbs(ibv_get_device_list(nullptr), "ibv_get_device_list");
    for (ibv_device** device = list; *device; ++device) all_.push_back(ask(*device));
    ibv_free_device_list(list);
  }

  CardFacts facts(int card) { return all_.at(static_cast<size_t>(card)); }

 private:
  static CardFacts ask(ibv_device* device) {
    using fabricbench::check_verbs;
    const fabricbench::CardContext context(check_verbs(ibv_open_device(device), "ibv_open_device"));
    CardFacts facts = {};
    std::snprintf(facts.name, sizeof facts.name, "%s", device->name);
    ibv_device_attr_ex of_device = {};
    check_verbs(ibv_query_device_ex(context.get(), nullptr, &of_device), "ibv_query_device_ex");
    std::memcpy(facts.guid, &of_device.orig_attr.node_guid, sizeof facts.guid);
    ibv_gid_entry entry = {};
    check_verbs(ibv_query_gid_ex(context.get(), 1, 0, &entry, 0), "ibv_query_gid_ex");
    std::memcpy(facts.gid, entry.gid.raw, sizeof facts.gid);
    ibv_port_attr port = {};
    check_verbs(ibv_query_port(context.get(), 1, &port), "ibv_query_port");
    facts.lid = port.lid;
    switch (port.active_mtu) {
      case IBV_MTU_256:
        facts.mtu = 256;
        break;
      case IBV_MTU_512:
        facts.mtu = 512;
        break;
      case IBV_MTU_1024:
        facts.mtu = 1024;
        break;
      case IBV_MTU_2048:
        facts.mtu = 2048;
        break;
      case IBV_MTU_4096:
        facts.mtu = 4096;
        break;
    }
    return facts;
  }

  std::vector<CardFacts> all_;
};
// [/solution]
