// Streams that wait for values in memory, and write them.

#include <algorithm>
#include <cstring>
#include <utility>

#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using wire::Status;

namespace {

bool holds(const std::byte* at, const wire::StreamValue& m) {
  uint64_t value = 0;
  std::memcpy(&value, at, m.bytes);
  switch (m.compare) {
    case wire::Compare::greater_equal:
      return m.bytes == 4 ? static_cast<int32_t>(static_cast<uint32_t>(value) - static_cast<uint32_t>(m.value)) >= 0
                          : static_cast<int64_t>(value - m.value) >= 0;
    case wire::Compare::equal:
      return value == (m.bytes == 4 ? m.value & UINT32_MAX : m.value);
    case wire::Compare::bit_and:
      return (value & m.value) != 0;
    case wire::Compare::bit_nor: {
      const uint64_t nor = ~(value | m.value);
      return (m.bytes == 4 ? nor & UINT32_MAX : nor) != 0;
    }
  }
  return false;
}

}  // namespace

// Sleeps until a word in memory compares. Lives until its operation has ended for any reason.
class StreamScheduler::ValueWait final : public simt::Watcher {
 public:
  ValueWait(StreamScheduler& streams, const OperationPtr& op, Bytes bytes, const wire::StreamValue& m)
      : streams_(&streams), op_(op), bytes_(std::move(bytes)), m_(m) {
    streams_->node_.engine.watch().add({this, 0, bytes_.host, m_.bytes});
  }
  ValueWait(const ValueWait&) = delete;
  ValueWait& operator=(const ValueWait&) = delete;
  ~ValueWait() { streams_->node_.engine.watch().remove(this, 0, bytes_.host, m_.bytes); }

  void wake(uint32_t) override { look(); }

  // Ends the operation if the word compares. Scheduled, because the list of sleepers may be being iterated.
  void look() {
    if (!holds(bytes_.host, m_) || std::exchange(done_, true)) return;
    const Time at = streams_->node_.engine.acting_time();
    const OperationPtr op = op_.lock();
    if (!op) return;
    streams_->has_compared(*op, bytes_, m_.bytes);
    streams_->node_.engine.schedule(at, op->tie,
                                    [streams = streams_, op, at] { streams->finish(op, std::max(at, op->begun)); });
  }

 private:
  StreamScheduler* streams_;
  std::weak_ptr<Operation> op_;
  Bytes bytes_;
  wire::StreamValue m_;
  bool done_ = false;
};

// A stream has waited for a word: it acquires.
void StreamScheduler::has_compared(const Operation& op, const Bytes& bytes, uint32_t size) {
  if (node_.checking) node_.checking->detector().wait_value(op.checked, *bytes.allocation, bytes.offset(), size);
}

Status StreamScheduler::make_stream_value(Process& process, const wire::StreamValue& m, bool wait, OperationPtr& op) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if ((m.bytes != 4 && m.bytes != 8) || m.address % m.bytes != 0) return Status::invalid_value;
  if (static_cast<uint32_t>(m.compare) > static_cast<uint32_t>(wire::Compare::bit_nor)) return Status::invalid_value;
  const Bytes bytes = node_.memory.find_bytes(process, m.address, m.bytes);
  if (!bytes.host) return Status::invalid_value;
  op = make_operation(process, m.stream.device, wait ? "wait for value" : "write value");
  op->begins_in_memory = true;
  note_target(*op, bytes.allocation, bytes.host, m.bytes);
  op->facts.waits = wait;
  op->facts.compare = m.compare;
  op->facts.value = m.value;
  op->work = [this, m, wait, bytes](const OperationPtr& self) {
    if (!wait) {
      node_.writes.note_operation(*bytes.allocation, bytes.host, m.bytes, "a value", self->process->number,
                                  node_.engine.now());
      if (node_.checking)
        node_.checking->detector().write_value(self->checked, *bytes.allocation, bytes.offset(), m.bytes);
      std::memcpy(bytes.host, &m.value, m.bytes);
      node_.engine.watch().written(bytes.host, m.bytes);
      operations_.finish(self, self->begun);
    } else if (holds(bytes.host, m)) {
      has_compared(*self, bytes, m.bytes);
      operations_.finish(self, self->begun);
    } else {
      value_waits_[self->tie] = std::make_shared<ValueWait>(*this, self, bytes, m);
      self->on_end.push_back([this, tie = self->tie] { value_waits_.erase(tie); });
    }
  };
  return Status::ok;
}

void StreamScheduler::look_again() {
  node_.engine.recheck_watches();
  for (const auto& [tie, wait] : value_waits_) wait->look();
}

}  // namespace fb::machine
