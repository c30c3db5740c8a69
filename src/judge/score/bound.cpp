#include "judge/score/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "common/platform/group.h"
#include "common/record/answer_file.h"
#include "judge/score/intervals.h"

namespace fb::judge {
namespace {

using platform::Group;

// The name of a bound, and of what the time scales with.
struct Words {
  const char *bound, *scales_with;
};
constexpr std::array<Words, platform::kGroups.size()> kWords = {
    {{"a chain of latencies", "latencies"},
     {"bandwidth", "bandwidths"},
     {"how much may be in flight", "limits of what is in flight"},
     {"the issue of instructions", "the issue of instructions"},
     {"launches and host calls", "launches"}}};

struct Share {
  Group group{};
  double part = 0;  // of the time
};

// Largest first. A time that is bound by bytes in flight scales with latencies as much (Little's law); only the rest is
// a chain.
std::array<Share, platform::kGroups.size()> shares_of(const record::Timing& timing) {
  platform::ByGroup parts = elasticities(timing);
  const double in_flight = std::max(0.0, parts[static_cast<size_t>(Group::in_flight)]);
  double& latency = parts[static_cast<size_t>(Group::latency)];
  latency = std::max(0.0, latency - in_flight);
  std::array<Share, platform::kGroups.size()> shares;
  for (size_t g = 0; g < shares.size(); ++g) shares[g] = {platform::kGroups[g], parts[g]};
  // The larger part first, and of equal ones the group that is listed first.
  std::ranges::sort(
      shares, [](const Share& a, const Share& b) { return a.part != b.part ? a.part > b.part : a.group < b.group; });
  return shares;
}

// The resource with the highest utilisation.
std::string busiest(const Utilisation& use) {
  constexpr double kAlike = 0.95;
  const double link = std::max(use.egress, use.ingress), host = std::max(use.to_host, use.from_host);
  if (use.network > std::max({link, host, use.memory})) return "the network";
  if (use.memory > std::max(link, host)) return "HBM";
  if (host > link) return "the link to the host";
  if (std::min(use.egress, use.ingress) > kAlike * link) return "egress and ingress alike";
  return use.egress > use.ingress ? "egress" : "ingress";
}

// "4 %", "0.3 %"
std::string per_cent(double share) {
  return share < 0.01 ? fmt::format("{:.1f} %", share * 100) : fmt::format("{:.0f} %", share * 100);
}

}  // namespace

double Utilisation::links() const { return std::max({egress, ingress, to_host, from_host, network}); }

Utilisation utilisation(const record::Timing& timing, const platform::Platform& platform) {
  const auto share = [&](uint64_t bytes, double rate) {
    return timing.seconds > 0 && rate > 0 ? static_cast<double>(bytes) / (timing.seconds * rate) : 0;
  };
  const record::Moved& m = timing.moved;
  const auto& host = platform.host_link;
  Utilisation use;
  use.memory = share(m.memory, platform.memory.bandwidth);
  if (platform.nic.per_node > 0) use.network = share(std::max(m.network_out, m.network_in), platform.nic.bandwidth);
  if (platform.peer.nvlink) {
    use.egress = share(m.peer_out, platform.peer.copy_bandwidth);
    use.ingress = share(m.peer_in, platform.peer.copy_bandwidth);
    use.to_host = share(m.to_host, host.to_host_bandwidth);
    use.from_host = share(m.from_host, host.from_host_bandwidth);
  } else {  // one link for all of it
    use.egress = share(m.peer_out + m.to_host, host.to_host_bandwidth);
    use.ingress = share(m.peer_in + m.from_host, host.from_host_bandwidth);
  }
  return use;
}

std::string bound_sentence(const record::Timing& timing, const platform::Platform& platform) {
  if (timing.sensitivity.size() != platform::kGroups.size()) return {};
  const Utilisation use = utilisation(timing, platform);
  const auto shares = shares_of(timing);
  std::string text = "bound by ";
  text += kWords[static_cast<size_t>(shares[0].group)].bound;
  if (shares[0].group == Group::bandwidth) text += ": " + busiest(use);
  // The largest, and the next ones.
  constexpr double kWorthSaying = 0.1;
  text += fmt::format(" ({} of the time scales with {}", per_cent(shares[0].part),
                      kWords[static_cast<size_t>(shares[0].group)].scales_with);
  for (const Share& next : std::span(shares).subspan(1)) {
    if (next.part < kWorthSaying) break;
    text += fmt::format(", {} with {}", per_cent(next.part), kWords[static_cast<size_t>(next.group)].scales_with);
  }
  return text + fmt::format("); links at {} of their peak, memory at {}", per_cent(use.links()), per_cent(use.memory));
}

void add_bound(record::Timing& timing, const platform::Platform& platform) {
  const Utilisation use = utilisation(timing, platform);
  timing.link_use = use.links();
  timing.memory_use = use.memory;
  timing.bound = bound_sentence(timing, platform);
}

void add_costliest_line(record::Verdict& verdict) {
  if (verdict.profile.empty()) return;
  const auto lines = record::by_line(verdict.profile.kernels.front().critical);
  double whole = 0;
  for (const record::ProfileLine& l : lines) whole += l.nanoseconds;
  const auto longest = std::ranges::max_element(verdict.timings, {}, &record::Timing::seconds);
  if (longest == verdict.timings.end() || longest->bound.empty() || lines.empty()) return;
  const record::ProfileLine& line = lines.front();
  if (line.line == 0 || !record::is_answer_file(line.file)) return;
  longest->bound += fmt::format("; {:.0f} % of the last warp's time at line {} ({})", 100 * line.nanoseconds / whole,
                                line.line, line.causes.front().first);
}

}  // namespace fb::judge
