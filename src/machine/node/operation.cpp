#include "machine/node/operation.h"

#include <algorithm>
#include <utility>

namespace fb::machine {

void Operations::order(const Work& earlier, const Work& op) {
  if (!earlier) return;
  op->issued = std::max(op->issued, earlier->ended);
  if (earlier->has_ended) return;
  earlier->after.push_back(op);
  ++op->before;
}

void Operations::submit(const Work& op) {
  if (op->before == 0) begin(op);
}

void Operations::begin(const Work& op) {
  engine_->schedule(op->issued, op->tie, [this, op] {
    if (op->has_ended) return;
    op->has_begun = true;
    op->begun = std::max(op->issued, engine_->now());
    if (op->work) {
      op->work(op);
    } else {
      finish(op, op->begun);
    }
  });
}

void Operations::finish(const Work& op, Time at, wire::Status status) {
  if (op->has_ended) return;
  op->has_ended = true;
  op->ended = at;
  op->status = status;
  op->work = nullptr;
  if (on_finished) on_finished(*op);
  for (const Work& next : std::exchange(op->after, {})) {
    next->issued = std::max(next->issued, at);
    if (--next->before == 0) begin(next);
  }
  for (const auto& tell : std::exchange(op->on_end, {})) tell();
}

}  // namespace fb::machine
