// Making, changing and ending objects of network cards.

#include <algorithm>
#include <cerrno>

#include "virtual_node/machine/libraries/verbs/verbs.h"

namespace fb::machine {

using wire::VerbsObject;

namespace {

// One object of a process, by kind. Each gives a number of errno, 0: done, and says in `made` what it has become.
class ObjectMaker {
 public:
  ObjectMaker(rdma::Cards& cards, EventPipes& pipes, uint32_t process, const wire::VerbsMake& wanted,
              wire::VerbsMade& made)
      : cards_(cards), pipes_(pipes), process_(process), m_(wanted), made_(made) {}

  int make_xrc_domain(uint32_t card) {
    const bool known = m_.identity != 0 && cards_.is_known_xrc(card, m_.identity);
    if (m_.must_be_there != 0 && !known) return EAGAIN;
    if (m_.must_be_new != 0 && known) return EINVAL;
    rdma::XrcDomain* xrc = nullptr;
    if (const int error = cards_.make_xrc_domain(process_, card, m_.identity, xrc); error != 0) return error;
    return finish(*xrc, m_.parent);
  }

  int make_domain(uint32_t card) {
    rdma::Domain* domain = nullptr;
    if (const int error = cards_.make_domain(process_, card, domain); error != 0) return error;
    return finish(*domain, m_.parent);
  }

  int make_completion_queue(uint32_t card) {
    EventPipes::Pipe* const channel = pipes_.find(process_, m_.channel);
    if (m_.channel != 0 && (!channel || channel->context != m_.parent)) return EINVAL;
    rdma::CompletionQueue* queue = nullptr;
    if (const int error = cards_.make_completion_queue(process_, card, m_.receives, queue); error != 0) return error;
    queue->channel = m_.channel;
    queue->ignores_overrun = m_.ignores_overrun != 0;
    if (channel) ++channel->users;
    made_.receives = queue->capacity;
    return finish(*queue, m_.parent);
  }

  int make_xrc_target() {
    rdma::XrcDomain* const xrc = cards_.find<rdma::XrcDomain>(process_, m_.xrc_domain);
    if (!xrc) return EINVAL;
    rdma::QueuePair* pair = nullptr;
    if (const int error =
            m_.number != 0 ? cards_.open_xrc_target(*xrc, m_.number, pair) : cards_.make_xrc_target(*xrc, pair);
        error != 0)
      return error;
    made_.number = pair->number;
    made_.id = pair->id;
    // Events go to the process that has made it.
    return m_.number != 0 ? 0 : finish(*pair, xrc->context);
  }

  int make_region(rdma::Domain& domain) {
    rdma::Region* region = nullptr;
    if (const int error = cards_.make_region(domain, m_.address, m_.bytes, m_.iova, m_.access, region); error != 0)
      return error;
    made_.key = region->key;
    return finish(*region, domain.context);
  }

  int make_window(rdma::Domain& domain) {
    rdma::Window* window = nullptr;
    if (const int error = cards_.make_window(domain, static_cast<uint8_t>(std::min(m_.type, 255u)), window); error != 0)
      return error;
    made_.key = window->key;
    return finish(*window, domain.context);
  }

  int make_address(rdma::Domain& domain, uint32_t to, bool reachable) {
    rdma::Address wanted, *address = nullptr;
    wanted.to = to;
    wanted.reachable = reachable;
    wanted.global = m_.path.global != 0;
    if (const int error = cards_.make_address(domain, wanted, address); error != 0) return error;
    return finish(*address, domain.context);
  }

  int make_shared_receive_queue(rdma::Domain& domain) {
    rdma::SharedReceiveQueue* queue = nullptr;
    rdma::XrcDomain* const xrc = m_.xrc_domain == 0 ? nullptr : cards_.find<rdma::XrcDomain>(process_, m_.xrc_domain);
    rdma::CompletionQueue* const cq =
        m_.receive_queue == 0 ? nullptr : cards_.find<rdma::CompletionQueue>(process_, m_.receive_queue);
    if ((m_.xrc_domain != 0 && !xrc) || (m_.receive_queue != 0 && !cq)) return EINVAL;
    if (const int error = cards_.make_shared_receive_queue(domain, m_.receives, m_.receive_pieces, queue, xrc, cq);
        error != 0)
      return error;
    made_.number = queue->number;
    made_.receives = queue->capacity;
    made_.receive_pieces = queue->pieces;
    return finish(*queue, domain.context);
  }

  int make_queue_pair(rdma::Domain& domain) {
    rdma::QueuePair wanted, *pair = nullptr;
    wanted.type = static_cast<rdma::QpType>(std::min(m_.type, 255u));
    wanted.send_cq = cards_.find<rdma::CompletionQueue>(process_, m_.send_queue);
    wanted.receive_cq = cards_.find<rdma::CompletionQueue>(process_, m_.receive_queue);
    wanted.srq = cards_.find<rdma::SharedReceiveQueue>(process_, m_.shared_queue);
    if (m_.shared_queue != 0 && !wanted.srq) return EINVAL;
    wanted.limits = {.sends = m_.sends,
                     .receives = m_.receives,
                     .send_pieces = m_.send_pieces,
                     .receive_pieces = m_.receive_pieces,
                     .inline_bytes = m_.inline_bytes};
    wanted.signals_all = m_.signals_all != 0;
    if (const int error = cards_.make_queue_pair(domain, wanted, pair); error != 0) return error;
    made_.number = pair->number;
    made_.sends = pair->limits.sends;
    made_.receives = pair->limits.receives;
    made_.send_pieces = pair->limits.send_pieces;
    made_.receive_pieces = pair->limits.receive_pieces;
    made_.inline_bytes = pair->limits.inline_bytes;
    return finish(*pair, domain.context);
  }

 private:
  int finish(rdma::Object& object, uint64_t context) {
    object.context = context;
    object.cookie = m_.cookie;
    made_.id = object.id;
    return 0;
  }

  rdma::Cards& cards_;
  EventPipes& pipes_;
  const uint32_t process_;
  const wire::VerbsMake& m_;
  wire::VerbsMade& made_;
};

}  // namespace

int Verbs::make_pipe(const Process& process, const wire::VerbsMake& m, uint64_t& id, UniqueFd& reader) {
  if (pipes_.has_too_many(process.number)) return EMFILE;
  if (m.kind == VerbsObject::context) {
    if (m.card >= node_.platform.nic.per_node || network_.cards() == 0) return ENODEV;
    return pipes_.make(process.number, first_card(process) + m.card, 0, id, reader);
  }
  const EventPipes::Pipe* const context = pipes_.find_context(process.number, m.parent);
  if (!context) return EINVAL;
  return pipes_.make(process.number, context->card, m.parent, id, reader);
}

int Verbs::make_object(Process& process, const wire::VerbsMake& m, wire::VerbsMade& made) {
  ObjectMaker maker(cards_, pipes_, process.number, m, made);
  if (m.kind == VerbsObject::domain || m.kind == VerbsObject::completion_queue || m.kind == VerbsObject::xrc_domain) {
    const EventPipes::Pipe* const context = pipes_.find_context(process.number, m.parent);
    if (!context) return EINVAL;
    if (m.kind == VerbsObject::xrc_domain) return maker.make_xrc_domain(context->card);
    return m.kind == VerbsObject::domain ? maker.make_domain(context->card)
                                         : maker.make_completion_queue(context->card);
  }
  if (m.kind == VerbsObject::queue_pair && m.type == static_cast<uint32_t>(rdma::QpType::xrc_receive))
    return maker.make_xrc_target();
  rdma::Domain* const domain = cards_.find<rdma::Domain>(process.number, m.parent);
  if (!domain) return EINVAL;
  switch (m.kind) {
    case VerbsObject::region:
      // It must be memory that the machine can reach.
      if (m.bytes != 0 && !for_each_piece(process.number, m.address, m.bytes, [](const auto&, uint64_t, uint64_t) {}))
        return EFAULT;
      return maker.make_region(*domain);
    case VerbsObject::window:
      return maker.make_window(*domain);
    case VerbsObject::address: {
      uint32_t to = 0;
      const bool reachable = resolve(m.path, to);
      return maker.make_address(*domain, to, reachable);
    }
    case VerbsObject::shared_receive_queue:
      return maker.make_shared_receive_queue(*domain);
    case VerbsObject::queue_pair:
      return maker.make_queue_pair(*domain);
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
      error = pipes_.end(process.number, m.id);
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
      if (auto* const pipe = error == 0 ? pipes_.find(process.number, channel) : nullptr) --pipe->users;
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
