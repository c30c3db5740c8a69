#pragma once

// The operations of a program as events of the memory model, and what holds between them in every execution.

#include <cstdint>
#include <string>
#include <vector>

#include "litmus/program.h"
#include "litmus/relation.h"

namespace fb::litmus {

enum class EventKind : uint8_t {
  initial,  // the write of zero before everything
  memory,
  fence,
  proxy_fence,
  arrive,  // at a barrier; bar.sync is this and a wait
  wait,    // at a barrier
  finish,  // a bulk copy, or the reading of its source, is known to be complete
};

enum class EventProxy : uint8_t { generic, async, alias };

struct Event {
  EventKind kind{};
  int thread = kNone;
  int op = kNone;
  bool read = false;
  bool write = false;
  bool returns = false;       // a read that gives its value to the thread: not red
  bool asynchronous = false;  // not in program order
  bool wide = false;
  EventProxy proxy = EventProxy::generic;
  int barrier = 0;  // how many barriers the thread has passed before
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
  int location = kNone;
  // What is written: a constant, plus what `value_of` has read.
  uint32_t value = 0;
  int value_of = kNone;
  int reg = kNone;

  bool atomic() const { return read && write; }
};

struct Events {
  // multimem_is_a_proxy: ModelOptions.
  Events(const Program& program, bool multimem_is_a_proxy);

  const Program& program;
  std::vector<Event> all;
  std::vector<std::vector<std::vector<int>>> of;  // of[thread][op]: events
  // Before any choice: program order and what bulk copies are ordered with. `order` holds both, `program_order` only
  // the first. Both are closed.
  Relation program_order, order;
  Relation control;  // a guarded load before what it guards; data through registers

  int count() const { return static_cast<int>(all.size()); }
  const Event& operator[](int e) const { return all[static_cast<size_t>(e)]; }

  bool strong(int e) const;
  bool releases(int e) const;
  bool acquires(int e) const;
  bool same_location(int a, int b) const {
    return (*this)[a].location != kNone && (*this)[a].location == (*this)[b].location;
  }
  // The same bytes, all of them.
  bool overlap_completely(int a, int b) const { return same_location(a, b) && (*this)[a].wide == (*this)[b].wide; }
  bool conflict(int a, int b) const;
  // Each scope includes the other's thread.
  bool in_scope(int a, int b) const;
  bool morally_strong(int a, int b) const;

  std::string text(int e) const;

 private:
  void add_thread(int thread, EventProxy multimem);
  int add(Event event);
};

}  // namespace fb::litmus
