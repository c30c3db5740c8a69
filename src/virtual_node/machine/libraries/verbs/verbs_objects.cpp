// Making, changing and ending objects of network cards.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "virtual_node/machine/libraries/verbs/verbs.h"

namespace fb::machine {

using wire::VerbsObject;

// Contexts and channels

int Verbs::make_pipe(Process& process, const wire::VerbsMake& m, uint64_t& id, UniqueFd& reader) {
  constexpr size_t kMostPipes = 256;
  const auto mine = std::ranges::count_if(pipes_, [&](const auto& e) { return e.second.process == process.number; });
  if (static_cast<size_t>(mine) >= kMostPipes) return EMFILE;
  Pipe pipe;
  pipe.process = process.number;
  if (m.kind == VerbsObject::context) {
    if (m.card >= node_.platform.nic.per_node || network_.cards() == 0) return ENODEV;
    pipe.card = first_card(process) + m.card;
  } else {
    const Pipe* const context = find_pipe(process, m.parent);
    if (!context || context->context != 0) return EINVAL;
    pipe.card = context->card;
    pipe.context = m.parent;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  reader = UniqueFd(ends[0]);
  pipe.writer = UniqueFd(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  id = next_pipe_++;
  pipes_[id] = std::move(pipe);
  return 0;
}

Verbs::Pipe* Verbs::find_pipe(const Process& process, uint64_t id) {
  const auto found = pipes_.find(id);
  return found == pipes_.end() || found->second.process != process.number ? nullptr : &found->second;
}

int Verbs::end_pipe(const Process& process, uint64_t id) {
  const Pipe* const pipe = find_pipe(process, id);
  if (!pipe) return EINVAL;
  if (pipe->users != 0) return EBUSY;
  pipes_.erase(id);
  return 0;
}

// Objects

int Verbs::make_object(Process& process, const wire::VerbsMake& m, wire::VerbsMade& made) {
  using namespace rdma;
  const auto finish = [&](Object& object, uint64_t context) {
    object.context = context;
    object.cookie = m.cookie;
    made.id = object.id;
    return 0;
  };
  if (m.kind == VerbsObject::domain || m.kind == VerbsObject::completion_queue || m.kind == VerbsObject::xrc_domain) {
    const Pipe* const context = find_pipe(process, m.parent);
    if (!context || context->context != 0) return EINVAL;
    if (m.kind == VerbsObject::xrc_domain) {
      const bool known = m.identity != 0 && cards_.is_known_xrc(context->card, m.identity);
      if (m.must_be_there != 0 && !known) return EAGAIN;
      if (m.must_be_new != 0 && known) return EINVAL;
      XrcDomain* xrc = nullptr;
      if (const int error = cards_.make_xrc_domain(process.number, context->card, m.identity, xrc); error != 0)
        return error;
      return finish(*xrc, m.parent);
    }
    if (m.kind == VerbsObject::domain) {
      Domain* domain = nullptr;
      if (const int error = cards_.make_domain(process.number, context->card, domain); error != 0) return error;
      return finish(*domain, m.parent);
    }
    Pipe* const channel = find_pipe(process, m.channel);
    if (m.channel != 0 && (!channel || channel->context != m.parent)) return EINVAL;
    CompletionQueue* queue = nullptr;
    if (const int error = cards_.make_completion_queue(process.number, context->card, m.receives, queue); error != 0)
      return error;
    queue->channel = m.channel;
    queue->ignores_overrun = m.ignores_overrun != 0;
    if (channel) ++channel->users;
    made.receives = queue->capacity;
    return finish(*queue, m.parent);
  }

  if (m.kind == VerbsObject::queue_pair && m.type == static_cast<uint32_t>(QpType::xrc_receive)) {
    XrcDomain* const xrc = cards_.find<XrcDomain>(process.number, m.xrc_domain);
    if (!xrc) return EINVAL;
    QueuePair* pair = nullptr;
    if (const int error =
            m.number != 0 ? cards_.open_xrc_target(*xrc, m.number, pair) : cards_.make_xrc_target(*xrc, pair);
        error != 0)
      return error;
    made.number = pair->number;
    made.id = pair->id;
    // Events go to the process that has made it.
    return m.number != 0 ? 0 : finish(*pair, xrc->context);
  }
  Domain* const domain = cards_.find<Domain>(process.number, m.parent);
  if (!domain) return EINVAL;
  switch (m.kind) {
    case VerbsObject::region: {
      // It must be memory that the machine can reach.
      if (m.bytes != 0 && !for_each_piece(process.number, m.address, m.bytes, [](const auto&, uint64_t, uint64_t) {}))
        return EFAULT;
      rdma::Region* region = nullptr;
      if (const int error = cards_.make_region(*domain, m.address, m.bytes, m.iova, m.access, region); error != 0)
        return error;
      made.key = region->key;
      return finish(*region, domain->context);
    }
    case VerbsObject::window: {
      rdma::Window* window = nullptr;
      if (const int error = cards_.make_window(*domain, static_cast<uint8_t>(std::min(m.type, 255u)), window);
          error != 0)
        return error;
      made.key = window->key;
      return finish(*window, domain->context);
    }
    case VerbsObject::address: {
      rdma::Address wanted, *address = nullptr;
      wanted.reachable = resolve(m.path, wanted.to);
      wanted.global = m.path.global != 0;
      if (const int error = cards_.make_address(*domain, wanted, address); error != 0) return error;
      return finish(*address, domain->context);
    }
    case VerbsObject::shared_receive_queue: {
      SharedReceiveQueue* queue = nullptr;
      XrcDomain* const xrc = m.xrc_domain == 0 ? nullptr : cards_.find<XrcDomain>(process.number, m.xrc_domain);
      CompletionQueue* const cq =
          m.receive_queue == 0 ? nullptr : cards_.find<CompletionQueue>(process.number, m.receive_queue);
      if ((m.xrc_domain != 0 && !xrc) || (m.receive_queue != 0 && !cq)) return EINVAL;
      if (const int error = cards_.make_shared_receive_queue(*domain, m.receives, m.receive_pieces, queue, xrc, cq);
          error != 0)
        return error;
      made.number = queue->number;
      made.receives = queue->capacity;
      made.receive_pieces = queue->pieces;
      return finish(*queue, domain->context);
    }
    case VerbsObject::queue_pair: {
      QueuePair wanted, *pair = nullptr;
      wanted.type = static_cast<QpType>(std::min(m.type, 255u));
      wanted.send_cq = cards_.find<CompletionQueue>(process.number, m.send_queue);
      wanted.receive_cq = cards_.find<CompletionQueue>(process.number, m.receive_queue);
      wanted.srq = cards_.find<SharedReceiveQueue>(process.number, m.shared_queue);
      if (m.shared_queue != 0 && !wanted.srq) return EINVAL;
      wanted.limits = {.sends = m.sends,
                       .receives = m.receives,
                       .send_pieces = m.send_pieces,
                       .receive_pieces = m.receive_pieces,
                       .inline_bytes = m.inline_bytes};
      wanted.signals_all = m.signals_all != 0;
      if (const int error = cards_.make_queue_pair(*domain, wanted, pair); error != 0) return error;
      made.number = pair->number;
      made.sends = pair->limits.sends;
      made.receives = pair->limits.receives;
      made.send_pieces = pair->limits.send_pieces;
      made.receive_pieces = pair->limits.receive_pieces;
      made.inline_bytes = pair->limits.inline_bytes;
      return finish(*pair, domain->context);
    }
    default:
      return EINVAL;
  }
}

wire::VerbsMade Verbs::make(Process& process, const wire::VerbsMake& m, UniqueFd& descriptor) {
  wire::VerbsMade made;
  const bool is_pipe = m.kind == VerbsObject::context || m.kind == VerbsObject::channel;
  made.error =
      static_cast<uint32_t>(is_pipe ? make_pipe(process, m, made.id, descriptor) : make_object(process, m, made));
  return made;
}

template <class T>
int Verbs::end_object(Process& process, uint64_t id) {
  T* const object = cards_.find<T>(process.number, id);
  return object ? cards_.destroy(*object) : EINVAL;
}

wire::VerbsResult Verbs::end(Process& process, const wire::VerbsEnd& m) {
  int error = EINVAL;
  switch (m.kind) {
    case VerbsObject::context:
    case VerbsObject::channel:
      error = end_pipe(process, m.id);
      break;
    case VerbsObject::domain:
      error = end_object<rdma::Domain>(process, m.id);
      break;
    case VerbsObject::region:
      error = end_object<rdma::Region>(process, m.id);
      if (error == 0) order_.end_region(process.number);
      break;
    case VerbsObject::window:
      error = end_object<rdma::Window>(process, m.id);
      break;
    case VerbsObject::address:
      error = end_object<rdma::Address>(process, m.id);
      break;
    case VerbsObject::completion_queue: {
      const auto* const queue = cards_.find<rdma::CompletionQueue>(process.number, m.id);
      const uint64_t channel = queue ? queue->channel : 0;
      error = end_object<rdma::CompletionQueue>(process, m.id);
      if (Pipe* const pipe = error == 0 ? find_pipe(process, channel) : nullptr) --pipe->users;
      break;
    }
    case VerbsObject::shared_receive_queue:
      error = end_object<rdma::SharedReceiveQueue>(process, m.id);
      break;
    case VerbsObject::queue_pair:
      if (rdma::QueuePair* const pair = cards_.find_queue_pair(process.number, m.id)) {
        error = 0;
        if (cards_.close_opened(*pair, process.number)) break;
        order_.end_pair(*pair);
        error = cards_.destroy(*pair);
      }
      break;
    case VerbsObject::xrc_domain:
      error = end_object<rdma::XrcDomain>(process, m.id);
      break;
  }
  return {static_cast<uint32_t>(error), 0};
}

wire::VerbsResult Verbs::modify(Process& process, const wire::VerbsModify& m) {
  rdma::QueuePair* const pair = cards_.find_queue_pair(process.number, m.pair);
  const wire::VerbsAttributes& from = m.to;
  constexpr auto kLastState = static_cast<uint32_t>(rdma::QpState::err);
  if (!pair || from.state > kLastState || from.current > kLastState) return {EINVAL, 0};
  rdma::QpAttributes to;
  to.state = static_cast<rdma::QpState>(from.state);
  to.current = static_cast<rdma::QpState>(from.current);
  to.access_flags = from.access_flags;
  to.qkey = from.qkey;
  to.pkey_index = from.pkey_index;
  to.port = from.port;
  to.reachable = resolve(from.path, to.remote_card);
  to.global = from.path.global != 0;
  to.path_mtu = from.path_mtu;
  to.remote_number = from.remote_number;
  to.receive_psn = from.receive_psn;
  to.send_psn = from.send_psn;
  to.reads_in = from.reads_in;
  to.reads_out = from.reads_out;
  to.rnr_timer = from.rnr_timer;
  to.timeout = from.timeout;
  to.retry_count = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.notify_drained = from.notify_drained != 0;
  return {static_cast<uint32_t>(cards_.modify(*pair, to, from.mask)), 0};
}

wire::VerbsPair Verbs::query(Process& process, uint64_t id) {
  wire::VerbsPair reply;
  const rdma::QueuePair* const pair = cards_.find_queue_pair(process.number, id);
  if (!pair) {
    reply.error = EINVAL;
    return reply;
  }
  const rdma::QpAttributes& from = pair->attributes;
  wire::VerbsAttributes& to = reply.attributes;
  to.state = static_cast<uint32_t>(from.state);
  to.current = to.state;
  to.access_flags = from.access_flags;
  to.qkey = from.qkey;
  to.pkey_index = from.pkey_index;
  to.port = from.port;
  to.path_mtu = from.path_mtu;
  to.remote_number = from.remote_number;
  to.receive_psn = from.receive_psn;
  to.send_psn = from.send_psn;
  to.reads_in = from.reads_in;
  to.reads_out = from.reads_out;
  to.rnr_timer = from.rnr_timer;
  to.timeout = from.timeout;
  to.retry_count = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.notify_drained = from.notify_drained ? 1 : 0;
  return reply;
}

wire::VerbsResult Verbs::change(Process& process, const wire::VerbsChange& m) {
  using wire::VerbsSetting;
  if (m.setting == VerbsSetting::limit || m.setting == VerbsSetting::get_limit) {
    auto* const queue = cards_.find<rdma::SharedReceiveQueue>(process.number, m.id);
    if (!queue) return {EINVAL, 0};
    if (m.setting == VerbsSetting::get_limit) return {0, queue->limit};
    return {static_cast<uint32_t>(cards_.set_limit(*queue, m.value)), 0};
  }
  auto* const queue = cards_.find<rdma::CompletionQueue>(process.number, m.id);
  if (!queue) return {EINVAL, 0};
  switch (m.setting) {
    case VerbsSetting::arm:
    case VerbsSetting::arm_solicited:
      cards_.arm(*queue, m.setting == VerbsSetting::arm_solicited);
      return {};
    case VerbsSetting::entries: {
      const int error = cards_.resize(*queue, m.value);
      return {static_cast<uint32_t>(error), queue->capacity};
    }
    default:
      return {EINVAL, 0};
  }
}

}  // namespace fb::machine
