#include "race/agents.h"

#include <algorithm>
#include <utility>

namespace fb::race {

Agents::Agents() : operations_(1), blocks_(kNumbersOfBlock) {}

uint32_t Agents::add_operation(OperationInfo info) {
  operations_.push_back(std::move(info));
  return static_cast<uint32_t>(operations_.size() - 1);
}

BlockId Agents::add_block(uint32_t operation, uint64_t index, uint64_t cluster) {
  const auto id = static_cast<BlockId>(blocks_.size());
  const OperationInfo& op = operations_[operation];
  for (BlockId k = 0; k < kNumbersOfBlock; ++k)
    blocks_.push_back({operation, index, cluster, op.device, k != 0, op.place});
  return id;
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
    const ptx::Form form = body[origin.index].form;
    sites.traits[k].red = form == ptx::Form::red || form == ptx::Form::red_vec || form == ptx::Form::multimem_red;
    sites.traits[k].proxy_fence = form == ptx::Form::fence_proxy_async || form == ptx::Form::fence_proxy_async_generic;
    sites.traits[k].waits_for_reads =
        form == ptx::Form::cp_async_bulk_wait_group && body[origin.index].has(ptx::Mod::read);
    sites.traits[k].small_async = form == ptx::Form::cp_async || form == ptx::Form::cp_async_ignore_src;
  }
  sites_.push_back(std::move(sites));
  return sites_.back().first;
}

const SiteTraits* Agents::traits(const simt::Program& program) const {
  return sites_[by_program_.at(&program)].traits.data();
}

Agents::Origin Agents::origin(Site site) const {
  const auto behind = std::ranges::upper_bound(sites_, site, {}, &Sites::first);
  if (site == 0 || behind == sites_.begin()) return {};
  const Sites& sites = *std::prev(behind);
  return {sites.program, site - sites.first};
}

void Agents::forget(const simt::Program& program) {
  const auto found = by_program_.find(&program);
  if (found == by_program_.end()) return;
  sites_[found->second].program = nullptr;
  by_program_.erase(found);
}

}  // namespace fb::race
