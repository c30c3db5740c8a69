#include "litmus/events.h"

#include <fmt/format.h>

#include <stdexcept>

namespace fb::litmus {
namespace {

bool is_multimem(OpKind kind) { return kind == OpKind::multimem_store || kind == OpKind::multimem_reduce; }

}  // namespace

Events::Events(const Program& p, bool multimem_is_a_proxy) : program(p) {
  for (size_t l = 0; l < p.locations.size(); ++l) {
    add({.kind = EventKind::initial, .write = true, .location = static_cast<int>(l)});
  }
  of.resize(p.threads.size());
  for (size_t t = 0; t < p.threads.size(); ++t) {
    add_thread(static_cast<int>(t), multimem_is_a_proxy ? EventProxy::alias : EventProxy::generic);
  }
  // The beginning of everything.
  for (size_t l = 0; l < p.locations.size(); ++l) {
    for (int e = 0; e < count(); ++e) {
      if (all[static_cast<size_t>(e)].kind != EventKind::initial) order.add(static_cast<int>(l), e);
    }
  }
  program_order.close(count());
  order |= program_order;
  order.close(count());
}

int Events::add(Event event) {
  if (all.size() >= kMostEvents) throw std::logic_error("litmus: too many events in " + program.family);
  all.push_back(event);
  return count() - 1;
}

void Events::add_thread(int thread, EventProxy multimem) {
  const auto& ops = program.threads[static_cast<size_t>(thread)].ops;
  auto& mine = of[static_cast<size_t>(thread)];
  mine.resize(ops.size());
  int last = kNone;                                     // in program order
  EventSet guards = 0;                                  // loads whose value decides that the thread is here
  std::vector<int> copies_read, copies_written, loads;  // not yet waited for
  std::vector<int> loaded(8, kNone);
  int barriers = 0;
  const auto in_order = [&](Event event) {
    event.thread = thread;
    const int e = add(event);
    if (last != kNone) program_order.add(last, e);
    for_each(guards, [&](int g) { control.add(g, e); });
    last = e;
    return e;
  };
  for (size_t k = 0; k < ops.size(); ++k) {
    const Op& op = ops[k];
    Event event{.kind = EventKind::memory, .op = static_cast<int>(k), .order = op.order, .scope = op.scope};
    event.location = op.location;
    event.reg = op.reg;
    event.value = op.value;
    event.wide = op.wide;
    if (is_multimem(op.kind)) event.proxy = multimem;
    if (op.order == MemoryOrder::volatile_) event.scope = Scope::sys;
    switch (op.kind) {
      case OpKind::load:
        event.read = event.returns = true;
        mine[k] = {in_order(event)};
        break;
      case OpKind::store:
      case OpKind::multimem_store:
        event.write = true;
        if (op.reg != kNone) {
          event.value = 0;
          event.value_of = loaded[static_cast<size_t>(op.reg)];
        }
        mine[k] = {in_order(event)};
        if (event.value_of != kNone) control.add(event.value_of, mine[k][0]);
        break;
      case OpKind::exchange:
        event.read = event.write = event.returns = true;
        mine[k] = {in_order(event)};
        break;
      case OpKind::add:
      case OpKind::reduce:
      case OpKind::multimem_reduce:
        event.read = event.write = true;
        event.returns = op.kind == OpKind::add;
        event.value_of = count();  // itself
        mine[k] = {in_order(event)};
        break;
      case OpKind::fence:
        event.kind = EventKind::fence;
        mine[k] = {in_order(event)};
        break;
      case OpKind::fence_async:
      case OpKind::fence_alias:
        event.kind = EventKind::proxy_fence;
        event.proxy = op.kind == OpKind::fence_async ? EventProxy::async : EventProxy::alias;
        mine[k] = {in_order(event)};
        break;
      case OpKind::barrier:
        event.barrier = barriers++;
        event.kind = EventKind::arrive;
        mine[k].push_back(in_order(event));
        event.kind = EventKind::wait;
        mine[k].push_back(in_order(event));
        break;
      case OpKind::guard:
        guards |= bit(loaded[static_cast<size_t>(op.reg)]);
        break;
      case OpKind::bulk_store:
      case OpKind::bulk_load: {
        event.thread = thread;
        event.asynchronous = true;
        event.proxy = EventProxy::async;
        event.location = op.source;
        event.read = true;
        const int from = add(event);
        event.read = false;
        event.write = true;
        event.location = op.location;
        event.value = 0;
        event.value_of = from;
        const int to = add(event);
        for (const int e : {from, to}) {
          if (last != kNone) order.add(last, e);
          for_each(guards, [&](int g) { control.add(g, e); });
        }
        order.add(from, to);
        control.add(from, to);
        (op.kind == OpKind::bulk_store ? copies_read : loads).push_back(from);
        (op.kind == OpKind::bulk_store ? copies_written : loads).push_back(to);
        mine[k] = {from, to};
        break;
      }
      case OpKind::wait_bulk_read:
      case OpKind::wait_bulk:
      case OpKind::wait_load: {
        event.kind = EventKind::finish;
        event.proxy = EventProxy::async;
        const int e = in_order(event);
        mine[k] = {e};
        const auto finish = [&](std::vector<int>& copies) {
          for (const int c : copies) order.add(c, e);
          copies.clear();
        };
        if (op.kind == OpKind::wait_load) finish(loads);
        if (op.kind != OpKind::wait_load) finish(copies_read);
        if (op.kind == OpKind::wait_bulk) finish(copies_written);
        break;
      }
    }
    if (event.returns) loaded[static_cast<size_t>(op.reg)] = mine[k][0];
  }
}

bool Events::strong(int e) const {
  const Event& event = (*this)[e];
  return event.kind == EventKind::fence || (event.kind == EventKind::memory && event.order != MemoryOrder::weak);
}

bool Events::releases(int e) const {
  const Event& event = (*this)[e];
  if (event.kind == EventKind::fence) return true;
  return event.write && (event.order == MemoryOrder::release || event.order == MemoryOrder::acq_rel);
}

bool Events::acquires(int e) const {
  const Event& event = (*this)[e];
  if (event.kind == EventKind::fence) return true;
  return event.returns && (event.order == MemoryOrder::acquire || event.order == MemoryOrder::acq_rel);
}

bool Events::conflict(int a, int b) const {
  return a != b && same_location(a, b) && ((*this)[a].write || (*this)[b].write);
}

bool Events::in_scope(int a, int b) const {
  const Place& p = program.threads[static_cast<size_t>((*this)[a].thread)].place;
  const Place& q = program.threads[static_cast<size_t>((*this)[b].thread)].place;
  for (const int e : {a, b}) {
    switch ((*this)[e].scope) {
      case Scope::none:
        return false;
      case Scope::cta:
      case Scope::cluster:  // no test makes clusters: a block is one
        if (!p.same_block(q)) return false;
        break;
      case Scope::gpu:
        if (p.device != q.device) return false;
        break;
      case Scope::sys:
        break;
    }
  }
  return true;
}

bool Events::morally_strong(int a, int b) const {
  if (a == b || (*this)[a].kind == EventKind::initial || (*this)[b].kind == EventKind::initial) return false;
  if ((*this)[a].kind == EventKind::memory && (*this)[b].kind == EventKind::memory && !overlap_completely(a, b))
    return false;
  if ((*this)[a].proxy != (*this)[b].proxy) return false;
  if (program_order.has(a, b) || program_order.has(b, a)) return true;
  return strong(a) && strong(b) && in_scope(a, b);
}

std::string Events::text(int e) const {
  const Event& event = (*this)[e];
  if (event.kind == EventKind::initial) {
    return fmt::format("the initial value of {}", program.locations[static_cast<size_t>(event.location)].name);
  }
  return fmt::format(
      "T{} `{}`", event.thread,
      text_of(program, program.threads[static_cast<size_t>(event.thread)].ops[static_cast<size_t>(event.op)]));
}

}  // namespace fb::litmus
