#include "virtual_node/race/agents/card_release.h"

#include <memory>

namespace fb::race {

bool release_of_card(const Agents& agents, const ShadowCell& write, Release& release) {
  if (!write || !write.of_card() || !write.writes()) return false;
  const OperationInfo& op = agents.operation_of(write.block);
  if (!op.of_card()) return false;
  release.write = write;
  release.has_release = true;
  release.release_scope = Scope::sys;
  release.writer_clock = op.card.release;
  release.clock = {{op.card.release, op.card.release},       op.stream_epoch, write.block, 1, 1, 0, 0,
                   op.card.releases_itself ? write.epoch : 0};
  return true;
}

ReleasesRef releases_in(const Agents& agents, const Line& line, uint32_t begin, uint32_t end) {
  if (Release release; release_of_card(agents, line.at(begin).write, release))
    return std::make_shared<const Releases>(1, release);
  if (!line.extras) return nullptr;
  const auto flags = line.extras->flags.at(begin, end);
  return flags.size() == 1 && flags[0].offset == begin && flags[0].end() == end ? flags[0].releases : nullptr;
}

}  // namespace fb::race
