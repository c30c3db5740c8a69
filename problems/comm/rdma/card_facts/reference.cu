#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <cstring>

// [solution]
class Solution {
 public:
  explicit Solution(const fabricbench::Rank&) {}

  CardFacts facts(int card) {
    using fabricbench::check_verbs;
    int count = 0;
    ibv_device** const list = check_verbs(ibv_get_device_list(&count), "ibv_get_device_list");
    CardFacts facts = {};
    fabricbench::CardContext context;
    if (card >= 0 && card < count) {
      std::strncpy(facts.name, ibv_get_device_name(list[card]), sizeof facts.name - 1);
      const __be64 guid = ibv_get_device_guid(list[card]);  // in network order already
      std::memcpy(facts.guid, &guid, sizeof facts.guid);
      context.reset(ibv_open_device(list[card]));
    }
    ibv_free_device_list(list);  // what is open stays
    check_verbs(context.get(), "ibv_open_device");

    ibv_port_attr port = {};
    check_verbs(ibv_query_port(context.get(), kPort, &port), "ibv_query_port");
    facts.lid = port.lid;
    // A code: 1 is 256 bytes, each next one twice that. max_mtu is what the port could do, active_mtu what it does.
    facts.mtu = 128u << port.active_mtu;
    ibv_gid gid = {};
    check_verbs(ibv_query_gid(context.get(), kPort, 0, &gid), "ibv_query_gid");
    std::memcpy(facts.gid, gid.raw, sizeof facts.gid);
    return facts;
  }

 private:
  static constexpr uint8_t kPort = 1;
};
// [template]
//| class Solution {
//|  public:
//|   explicit Solution(const fabricbench::Rank& rank) {}
//|   CardFacts facts(int card) {
//|     // TODO: ask the card
//|     return {};
//|   }
//| };
// [/solution]
