#include "campaign/prompts/machine_facts.h"

#include <fmt/format.h>

#include "common/platform/platform.h"

namespace fb::prompts {
namespace {

std::string rate(double bytes_per_second) {
  return bytes_per_second >= 1e12 ? fmt::format("{:.4g} TB/s", bytes_per_second / 1e12)
                                  : fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}
std::string time(platform::Time picoseconds) {
  return fmt::format("{:.3g} us", static_cast<double>(picoseconds) / static_cast<double>(platform::kMicrosecond));
}
std::string size(uint64_t bytes) {
  return bytes >> 20 != 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

}  // namespace

Result<Values> machine_facts(const catalog::Problem& problem) {
  const auto platform = platform::load_platform(problem.platform);
  if (!platform) return std::unexpected(platform.error());
  const auto& p = *platform;
  Values values;
  values["description"] = p.description;
  values["gpu"] = p.device_name;
  values["capability"] = fmt::format("{}.{}", p.device.capability_major, p.device.capability_minor);
  values["sms"] = fmt::format("{}", p.device.sms);
  values["clock"] = fmt::format("{:.3g} GHz", p.device.clock / 1e9);
  values["threads_per_sm"] = fmt::format("{}", p.device.threads_per_sm);
  values["blocks_per_sm"] = fmt::format("{}", p.device.blocks_per_sm);
  values["shared_per_block"] = size(p.device.shared_per_block);
  values["memory_bandwidth"] = rate(p.memory.bandwidth);
  values["l2_size"] = size(p.memory.l2_size);
  values["link"] = p.peer.nvlink ? "NVLink" : "PCIe";
  values["store_bandwidth"] = rate(p.peer.store_bandwidth);
  values["load_bandwidth"] = rate(p.peer.load_bandwidth);
  values["copy_bandwidth"] = rate(p.peer.copy_bandwidth);
  values["link_latency"] = time(p.peer.latency);
  values["remote_stores"] = size(p.in_flight.remote_stores);
  values["remote_loads"] = size(p.in_flight.remote_loads);
  values["no_atomics"] = p.peer.atomics ? "" : "none";
  values["multicast"] = p.multicast.supported
                            ? fmt::format("{} for stores to all, {} for reductions over all, each way, of one GPU",
                                          rate(p.multicast.store_bandwidth), rate(p.multicast.reduce_bandwidth))
                            : "";
  values["to_host"] = rate(p.host_link.to_host_bandwidth);
  values["from_host"] = rate(p.host_link.from_host_bandwidth);
  values["host_latency"] = time(p.host_link.latency);
  values["launch_call"] = time(p.calls.launch);
  values["launch"] = time(p.kernel.launch);
  values["kernel_start"] = time(p.kernel.start);
  values["copy_start"] = time(p.copy.start);
  values["fence"] = time(p.fence.system);
  const auto& nic = p.nic;
  values["nic"] = nic.per_node == 0 ? "" : fmt::format("{}", nic.per_node);
  values["nic_bandwidth"] = rate(nic.bandwidth);
  values["nic_post"] = time(nic.post);
  values["nic_poll"] = time(nic.poll);
  values["nic_latency"] = time(nic.start + nic.wire + nic.deliver);
  values["nic_inline"] = time(nic.inline_start + nic.wire + nic.deliver);
  values["nic_mtu"] = fmt::format("{}", nic.mtu);
  return values;
}

}  // namespace fb::prompts
