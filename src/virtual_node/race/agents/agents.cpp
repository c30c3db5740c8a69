#include "virtual_node/race/agents/agents.h"

#include <algorithm>
#include <utility>

#include "common/ptx/traits.h"

namespace fb::race {

Agents::Agents() : operations_(1), blocks_(kIdsPerBlock) {}

uint32_t Agents::add_operation(OperationInfo info) {
  operations_.push_back(std::move(info));
  return static_cast<uint32_t>(operations_.size() - 1);
}

BlockId Agents::add_block(uint32_t operation, uint64_t index, uint64_t cluster) {
  const auto id = static_cast<BlockId>(blocks_.size());
  const OperationInfo& op = operations_[operation];
  for (BlockId k = 0; k < kIdsPerBlock; ++k)
    blocks_.push_back({operation, index, cluster, op.device, k != 0, op.stream_epoch});
  return id;
}

bool Agents::in_scope(Scope scope, BlockId own, BlockId other) const {
  const BlockInfo& a = blocks_[own];
  const BlockInfo& b = blocks_[other];
  switch (scope) {
    case Scope::sys:
      return true;
    case Scope::gpu:
      return a.device == b.device && operations_[b.operation].kernel;
    case Scope::cluster:
      return same_block(own, other) || (a.cluster != 0 && a.cluster == b.cluster);
    case Scope::cta:
      return same_block(own, other);
    case Scope::none:
      return false;
  }
  return false;
}

Site Agents::first_site(const simt::Program& program) {
  const auto [found, fresh] = by_program_.try_emplace(&program, sites_.size());
  if (!fresh) return sites_[found->second].first;
  Sites sites;
  sites.first = sites_.empty() ? 1 : sites_.back().first + sites_.back().count;
  sites.count = static_cast<uint32_t>(program.origins.size());
  sites.program = &program;
  sites.traits.resize(sites.count);
  for (uint32_t k = 0; k < sites.count; ++k) {
    const simt::Origin& origin = program.origins[k];
    const auto& body = program.module->functions[origin.function].body;
    if (origin.index >= body.size()) continue;
    const ptx::Instruction& inst = body[origin.index];
    const ptx::Traits& t = ptx::traits(inst);
    sites.traits[k].red = t.reduces && !t.asynchronous;
    sites.traits[k].proxy_fence = t.fences && t.proxy == Proxy::async;
    sites.traits[k].waits_for_reads = t.waits_for_copies && inst.has(ptx::Mod::read);
    sites.traits[k].asynchronous = t.asynchronous;
    sites.traits[k].fences_mbarriers = inst.form == ptx::Form::fence_mbarrier_init;
    sites.traits[k].passes_barrier = inst.form == ptx::Form::bar_arrive;
  }
  sites_.push_back(std::move(sites));
  return sites_.back().first;
}

const SiteTraits* Agents::traits(const simt::Program& program) const {
  return sites_[by_program_.at(&program)].traits.data();
}

Agents::Origin Agents::origin(Site site) const {
  const auto after = std::ranges::upper_bound(sites_, site, {}, &Sites::first);
  if (site == 0 || (site & kHostLine) != 0 || after == sites_.begin()) return {};
  const Sites& sites = *std::prev(after);
  return {sites.program, site - sites.first};
}

Site Agents::host_site(const std::string& line) {
  const auto [found, fresh] = host_sites_.try_emplace(line, static_cast<Site>(host_lines_.size()) | kHostLine);
  if (fresh) host_lines_.push_back(line);
  return found->second;
}

void Agents::forget(const simt::Program& program) {
  const auto found = by_program_.find(&program);
  if (found == by_program_.end()) return;
  sites_[found->second].program = nullptr;
  by_program_.erase(found);
}

}  // namespace fb::race
