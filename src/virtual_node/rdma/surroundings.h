#pragma once

// What cards need of the machine around them: time, memory, and where to tell of events.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "virtual_node/rdma/objects.h"

namespace fb::rdma {

// Why a card touches memory.
struct Touch {
  enum class Role : uint8_t {
    gather,   // the requester's card reads what it will send
    land,     // the responder's card writes what was sent
    fetch,    // the responder's card reads for the requester
    update,   // … or reads and writes: an atomic operation
    scatter,  // the requester's card writes what it has fetched
  };
  Role role{};
  uint32_t card = 0;
  const Token& request;
  const Token& receive;  // null: it does not land in a receive
  bool relaxed = false;  // the region has access::relaxed_ordering
  bool alone = false;    // nothing else of the message lands
};

class Surroundings {
 public:
  virtual Time now() const = 0;
  // Calls are made in the order of their times; of equal times, in the order of these calls.
  virtual void at(Time time, std::function<void()> call) = 0;
  // A timer: not called, and nothing waits for it, once it is over.
  virtual void at_unless(Time time, std::function<bool()> is_over, std::function<void()> call) = 0;

  // Memory of a process. False: it is not there.
  virtual bool read(uint32_t process, uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(uint32_t process, uint64_t address, std::span<const std::byte> from) = 0;
  // Just before either, of an update once: for a check of what is ordered.
  virtual void touches(uint32_t /*process*/, uint64_t /*address*/, uint64_t /*bytes*/, const Touch& /*touch*/) {}

  // Whether it is a GPU's.
  virtual bool is_device_memory(uint32_t process, uint64_t address) const = 0;
  // What the order of the parts of the next message is drawn from; 0: they land in order.
  virtual uint64_t draw_order() { return 0; }

  // A message that leaves a card now, for another or for the same one: when its last byte has left, and when its first
  // and its last one have arrived.
  struct Flight {
    Time left = 0, first = 0, arrived = 0;
  };
  struct Load {
    uint64_t bytes = 0;
    uint32_t mtu = 4096;  // of its packets
    bool inlined = false;
    bool answers = false;                         // a request
    bool atomic = false;                          // … for an atomic operation
    bool from_device = false, to_device = false;  // GPU memory
    Time not_before = 0;                          // the queue pair is busy until then
  };
  virtual Flight fly(uint32_t from, uint32_t to, const Load& load) = 0;
  // When the first byte is on the wire of a request whose doorbell is rung now; `inlined`: the payload came with it.
  virtual Time started(bool inlined, bool from_device) = 0;
  // When a queue pair can send again, that has begun to send a message at `at`.
  virtual Time after_message(Time at) = 0;

  // The name of a card in global addresses.
  virtual std::array<std::byte, 16> gid(uint32_t card) const = 0;

  // An entry was added to the queue.
  virtual void completed(CompletionQueue& queue) = 0;
  // The queue was armed, and has an entry that is to be told of.
  virtual void notify(CompletionQueue& queue) = 0;
  virtual void happened(AsyncEvent event, const Object& object) = 0;

 protected:
  ~Surroundings() = default;
};

}  // namespace fb::rdma
