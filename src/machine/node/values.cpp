// Streams that wait for values in memory, and write them.

#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/node/node.h"

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

// Sleeps until a word in memory compares. Lives until its operation has ended, in whichever way.
class Node::ValueWait final : public simt::Watcher {
 public:
  ValueWait(Node& node, const OperationPtr& op, Bytes bytes, const wire::StreamValue& m)
      : node_(&node), op_(op), bytes_(std::move(bytes)), m_(m) {
    node_->engine_.watch().add({this, 0, bytes_.host, m_.bytes});
  }
  ValueWait(const ValueWait&) = delete;
  ValueWait& operator=(const ValueWait&) = delete;
  ~ValueWait() { node_->engine_.watch().remove(this, 0, bytes_.host, m_.bytes); }

  void wake(uint32_t) override { look(); }

  // Ends the operation if the word compares: a little later, because the list of sleepers may be being walked.
  void look() {
    if (!holds(bytes_.host, m_) || std::exchange(done_, true)) return;
    const Time at = node_->engine_.acting_time();
    const OperationPtr op = op_.lock();
    if (!op) return;
    node_->has_compared(*op, bytes_, m_.bytes);
    node_->engine_.schedule(at, op->tie,
                            [node = node_, op, at] { node->operations_.finish(op, std::max(at, op->begun)); });
  }

 private:
  Node* node_;
  std::weak_ptr<Operation> op_;
  Bytes bytes_;
  wire::StreamValue m_;
  bool done_ = false;
};

uint64_t Node::offset_of(const Bytes& bytes) {
  return static_cast<uint64_t>(bytes.host - bytes.allocation->bytes.get());
}

// A stream has waited for a word: it acquires.
void Node::has_compared(const Operation& op, const Bytes& bytes, uint32_t size) {
  if (checking_) checking_->detector().wait_value(op.checked, *bytes.allocation, offset_of(bytes), size);
}

Status Node::make_stream_value(Process& process, const wire::StreamValue& m, bool wait, OperationPtr& op) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if ((m.bytes != 4 && m.bytes != 8) || m.address % m.bytes != 0) return Status::invalid_value;
  if (static_cast<uint32_t>(m.compare) > static_cast<uint32_t>(wire::Compare::bit_nor)) return Status::invalid_value;
  const Bytes bytes = find_bytes(process, m.address, m.bytes);
  if (!bytes.host) return Status::invalid_value;
  op = make_operation(process, m.stream.device, wait ? "wait for value" : "write value");
  op->begins_in_memory = true;
  note_target(*op, bytes.allocation, bytes.host, m.bytes);
  op->facts.waits = wait;
  op->facts.compare = m.compare;
  op->facts.value = m.value;
  op->work = [this, m, wait, bytes](const OperationPtr& self) {
    if (!wait) {
      writes_.note_operation(*bytes.allocation, bytes.host, m.bytes, "a value", self->process->number, engine_.now());
      if (checking_) checking_->detector().write_value(self->checked, *bytes.allocation, offset_of(bytes), m.bytes);
      std::memcpy(bytes.host, &m.value, m.bytes);
      engine_.watch().written(bytes.host, m.bytes);
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

void Node::look_again() {
  engine_.recheck_watches();
  for (const auto& [tie, wait] : value_waits_) wait->look();
}

}  // namespace fb::machine
