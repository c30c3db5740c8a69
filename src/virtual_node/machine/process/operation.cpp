#include "virtual_node/machine/process/operation.h"

#include <algorithm>
#include <utility>

namespace fb::machine {

void note_target(Operation& op, const std::shared_ptr<mem::Allocation>& memory, const std::byte* host, uint64_t bytes) {
  if (!memory) return;
  op.facts.memory = memory;
  op.facts.begin = static_cast<uint64_t>(host - memory->bytes.get());
  op.facts.end = op.facts.begin + bytes;
}

void Operations::order(const OperationPtr& earlier, const OperationPtr& op) {
  if (!earlier) return;
  op->issued = std::max(op->issued, earlier->ended);
  op->incoming = race::join(op->incoming, earlier->outgoing);
  if (earlier->has_ended) return;
  earlier->after.push_back(op);
  ++op->before;
}

void Operations::submit(const OperationPtr& op) {
  if (op->before == 0) begin(op);
}

void Operations::begin(const OperationPtr& op) {
  const auto begin_now = [this, op] {
    if (op->has_ended) return;
    op->has_begun = true;
    op->begun = std::max(op->issued, engine_->now());
    if (on_begun) on_begun(*op);
    if (op->work) {
      op->work(op);
    } else {
      finish(op, op->begun);
    }
  };
  using Kind = EventAbout::Kind;
  engine_->schedule(op->issued, op->tie, begin_now,
                    {op->begins_in_memory ? Kind::memory : Kind::bookkeeping, op->device});
}

void Operations::finish(const OperationPtr& op, Time at, wire::Status status) {
  if (op->has_ended) return;
  op->has_ended = true;
  op->ended = at;
  op->status = status;
  op->work = nullptr;
  op->facts = {};
  if (on_ended) on_ended(*op);
  if (on_finished) on_finished(*op);
  for (const OperationPtr& next : std::exchange(op->after, {})) {
    next->issued = std::max(next->issued, at);
    next->incoming = race::join(next->incoming, op->outgoing);
    if (--next->before == 0) begin(next);
  }
  for (const auto& tell : std::exchange(op->on_end, {})) tell();
}

}  // namespace fb::machine
