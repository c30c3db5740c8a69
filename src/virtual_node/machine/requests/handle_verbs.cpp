// Network cards. Everything that looks at a card or changes one happens at the thread's own virtual time, in an event:
// what other processes see must not depend on whose message came first.

#include <cerrno>
#include <utility>

#include "virtual_node/machine/libraries/verbs/verbs.h"
#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {

using wire::Status;

namespace {

// `act` fills the answer.
template <class Act>
Status at_own_time(NodeServices& node, Call& call, Time cost, Act act) {
  HostThread& thread = *call.thread;
  thread.spend(cost);
  node.engine.schedule(thread.now, thread.tie, [&node, self = thread.shared_from_this(), act = std::move(act)] {
    if (self->gone || self->process->gone) return;
    Answer answer;
    act(*self->process, answer);
    node.threads.answer_at(*self, self->now, std::move(answer));
  });
  return kLater;
}

}  // namespace

Status on_verbs_cards(NodeServices& node, Call& call, const wire::Empty&, wire::VerbsCards& reply, Answer& answer) {
  const auto cards = node.verbs.cards_of(*call.thread->process);
  reply.cards = static_cast<uint32_t>(cards.size());
  const auto bytes = std::as_bytes(std::span(cards));
  answer.blob.assign(bytes.begin(), bytes.end());
  return Status::ok;
}

Status on_verbs_make(NodeServices& node, Call& call, const wire::VerbsMake& m, wire::VerbsMade&, Answer&) {
  return at_own_time(node, call, node.platform.calls.allocate, [&node, m](Process& process, Answer& answer) {
    answer.set_body(node.verbs.make(process, m, answer.owned));
  });
}

Status on_verbs_end(NodeServices& node, Call& call, const wire::VerbsEnd& m, wire::VerbsResult&, Answer&) {
  return at_own_time(node, call, node.platform.calls.other,
                     [&node, m](Process& process, Answer& answer) { answer.set_body(node.verbs.end(process, m)); });
}

Status on_verbs_modify(NodeServices& node, Call& call, const wire::VerbsModify& m, wire::VerbsResult&, Answer&) {
  return at_own_time(node, call, node.platform.calls.other,
                     [&node, m](Process& process, Answer& answer) { answer.set_body(node.verbs.modify(process, m)); });
}

Status on_verbs_query(NodeServices& node, Call& call, const wire::OfHandle& m, wire::VerbsPair&, Answer&) {
  return at_own_time(node, call, node.platform.calls.query, [&node, m](Process& process, Answer& answer) {
    answer.set_body(node.verbs.query(process, m.handle));
  });
}

Status on_verbs_post(NodeServices& node, Call& call, const wire::VerbsPost& m, wire::VerbsPosted&, Answer&) {
  // The blob says how many there can be: a larger number costs nothing more.
  const uint64_t most = call.blob.size() / sizeof(wire::VerbsWork);
  const Time cost = node.platform.nic.post * std::min<uint64_t>(m.count, most);
  HostThread& thread = *call.thread;
  thread.spend(cost + node.verbs.draw_pause());
  node.engine.schedule(
      thread.now, thread.tie,
      [&node, m, self = thread.shared_from_this(), blob = std::vector(call.blob.begin(), call.blob.end())] {
        if (self->gone || self->process->gone) return;
        const wire::VerbsPosted reply = node.verbs.post(*self->process, m, blob);
        if (reply.error != ENOMEM || reply.done != 0) {
          self->full_posts = 0;
        } else if (node.verbs.hold_post(*self, reply)) {
          return;
        }
        Answer answer;
        answer.set_body(reply);
        node.threads.answer_at(*self, self->now, std::move(answer));
      });
  return kLater;
}

Status on_verbs_poll(NodeServices& node, Call& call, const wire::VerbsPoll& m, wire::VerbsPolled&, Answer&) {
  HostThread& thread = *call.thread;
  thread.spend(node.platform.nic.poll);
  node.engine.schedule(thread.now, thread.tie,
                       [&node, m, self = thread.shared_from_this()] {
                         if (!self->gone && !self->process->gone) node.verbs.poll(*self, m);
                       },
                       {EventAbout::Kind::poll});
  return kLater;
}

Status on_verbs_note(NodeServices& node, Call& call, const wire::VerbsNote& m, wire::Empty&, Answer&) {
  node.verbs.note(*call.thread, m);
  return Status::ok;
}

Status on_verbs_change(NodeServices& node, Call& call, const wire::VerbsChange& m, wire::VerbsResult&, Answer&) {
  return at_own_time(node, call, node.platform.nic.poll,
                     [&node, m](Process& process, Answer& answer) { answer.set_body(node.verbs.change(process, m)); });
}

// Accesses of host code

Status on_verbs_observe(NodeServices& node, Call& call, const wire::VerbsObserve& m, wire::VerbsResult& reply,
                        Answer&) {
  reply.value = node.verbs.host_accesses().observe(*call.thread->process, m) ? 1 : 0;
  return Status::ok;
}

Status on_verbs_line(NodeServices& node, Call& call, const wire::VerbsLine& m, wire::Empty&, Answer&) {
  node.verbs.host_accesses().name_line(*call.thread->process, m);
  return Status::ok;
}

Status on_verbs_look(NodeServices& node, Call& call, const wire::VerbsLook& m, wire::VerbsResult&, Answer&) {
  HostThread& thread = *call.thread;
  thread.spend(node.platform.nic.poll);
  node.engine.schedule(thread.now, thread.tie,
                       [&node, m, self = thread.shared_from_this()] {
                         if (!self->gone && !self->process->gone) node.verbs.look(*self, m);
                       },
                       {EventAbout::Kind::poll});
  return kLater;
}

}  // namespace fb::machine
