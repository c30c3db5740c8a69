// Completion queues, plain and extended.

#include <algorithm>
#include <cstring>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/notes.h"
#include "ranks/shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

constexpr size_t kMostAtOnce = 256;

// What there is, at most so many; a number of errno.
int poll_machine(CompletionQueue& queue, size_t most, std::vector<wire::VerbsCompletion>& into) {
  into.resize(std::min(most, kMostAtOnce));
  wire::VerbsPolled polled;
  const wire::VerbsPoll request{.queue = queue.id, .most = static_cast<uint32_t>(into.size())};
  if (!exchange<wire::Kind::verbs_poll>(request, polled, std::as_writable_bytes(std::span(into))))
    polled = {.error = EIO};
  into.resize(std::min<size_t>(polled.count, into.size()));
  note_poll(queue.id, polled);
  return static_cast<int>(polled.error);
}

// Real cards tell more of an error by a number of their own.
uint32_t vendor_error(const wire::VerbsCompletion& c) { return c.status == IBV_WC_SUCCESS ? 0 : 0x80 + c.status; }

CompletionQueue* make_queue(ibv_context* context, const ibv_cq_init_attr_ex& init) {
  if (init.comp_vector >= static_cast<uint32_t>(context->num_comp_vectors)) return nothing(EINVAL);
  auto* const queue = new CompletionQueue;
  queue->told.cookie = add_cookie(queue);
  wire::VerbsMake request{.kind = wire::VerbsObject::completion_queue, .parent = of(context).id};
  request.cookie = queue->told.cookie;
  request.channel = init.channel ? of(init.channel).id : 0;
  request.receives = init.cqe;
  request.ignores_overrun =
      (init.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (init.flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0;
  wire::VerbsMade made;
  if (const int error = make_object(request, made); error != 0) {
    remove_cookie(queue->told.cookie);
    delete queue;
    return nothing(error);
  }
  queue->id = made.id;
  ibv_cq_ex& base = queue->base;
  base.context = context;
  base.channel = init.channel;
  base.cq_context = init.cq_context;
  base.handle = static_cast<uint32_t>(made.id);
  base.cqe = static_cast<int>(made.receives);
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  if (init.channel) {
    pthread_mutex_lock(&context->mutex);
    ++init.channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  return queue;
}

// The extended way: entries are looked at one by one.

const wire::VerbsCompletion& current(ibv_cq_ex* cq) { return of(cq).entries[of(cq).at]; }

void show(CompletionQueue& queue) {
  const wire::VerbsCompletion& c = queue.entries[queue.at];
  queue.base.wr_id = c.id;
  queue.base.status = static_cast<ibv_wc_status>(c.status);
}

int poll_one(CompletionQueue& queue) {
  if (is_in_vain()) return ENOENT;
  queue.at = 0;
  // One at a time: a program may stop after any, and the rest must stay in the queue.
  if (const int error = poll_machine(queue, 1, queue.entries); error != 0) return error;
  if (queue.entries.empty()) return ENOENT;
  show(queue);
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  if (attr && attr->comp_mask != 0) return EINVAL;
  return poll_one(of(cq));
}
int next_poll(ibv_cq_ex* cq) { return poll_one(of(cq)); }
void end_poll(ibv_cq_ex*) {}

void set_readers(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* q) { return static_cast<ibv_wc_opcode>(current(q).opcode); };
  cq.read_vendor_err = [](ibv_cq_ex* q) { return vendor_error(current(q)); };
  cq.read_byte_len = [](ibv_cq_ex* q) { return current(q).bytes; };
  cq.read_imm_data = [](ibv_cq_ex* q) -> __be32 { return current(q).immediate; };
  cq.read_qp_num = [](ibv_cq_ex* q) { return current(q).queue_pair; };
  cq.read_src_qp = [](ibv_cq_ex* q) { return current(q).remote_queue_pair; };
  cq.read_wc_flags = [](ibv_cq_ex* q) -> unsigned int { return current(q).flags; };
  cq.read_slid = [](ibv_cq_ex* q) { return current(q).remote_lid; };
  cq.read_sl = [](ibv_cq_ex*) -> uint8_t { return 0; };
  cq.read_dlid_path_bits = [](ibv_cq_ex*) -> uint8_t { return 0; };
  cq.read_completion_ts = [](ibv_cq_ex* q) { return current(q).nanoseconds; };
  cq.read_completion_wallclock_ns = [](ibv_cq_ex* q) { return current(q).nanoseconds; };
  cq.read_cvlan = [](ibv_cq_ex*) -> uint16_t { return 0; };
  cq.read_flow_tag = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq.read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
}

}  // namespace

int poll_cq(ibv_cq* cq, int most, ibv_wc* wc) {
  if (most < 0) return -EINVAL;
  if (most == 0 || is_in_vain()) return 0;
  thread_local std::vector<wire::VerbsCompletion> entries;
  if (poll_machine(of(cq), static_cast<size_t>(most), entries) != 0) return -1;
  for (size_t k = 0; k < entries.size(); ++k) {
    const wire::VerbsCompletion& c = entries[k];
    ibv_wc& to = wc[k];
    std::memset(&to, 0, sizeof to);
    to.wr_id = c.id;
    to.status = static_cast<ibv_wc_status>(c.status);
    to.opcode = static_cast<ibv_wc_opcode>(c.opcode);
    to.vendor_err = vendor_error(c);
    to.byte_len = c.bytes;
    to.imm_data = c.immediate;
    to.qp_num = c.queue_pair;
    to.src_qp = c.remote_queue_pair;
    to.wc_flags = c.flags;
    to.slid = static_cast<uint16_t>(c.remote_lid);
  }
  return static_cast<int>(entries.size());
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  wire::VerbsResult result;
  const auto setting = solicited_only != 0 ? wire::VerbsSetting::arm_solicited : wire::VerbsSetting::arm;
  if (!ask<wire::Kind::verbs_change>({.setting = setting, .id = of(cq).id}, result)) return EIO;
  return static_cast<int>(result.error);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) {
  constexpr uint64_t kStandard = IBV_WC_STANDARD_FLAGS, kStamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
                     kWallClock = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  constexpr uint64_t kReadable = kStandard | kStamp | kWallClock;
  if ((init->wc_flags & ~kReadable) != 0) return nothing(EOPNOTSUPP);
  if ((init->comp_mask & ~uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS}) != 0) return nothing(EOPNOTSUPP);
  CompletionQueue* const queue = make_queue(context, *init);
  if (!queue) return nullptr;
  set_readers(queue->base);
  return &queue->base;
}

}  // namespace fb::shim::verbs

using namespace fb::shim::verbs;
namespace wire = fb::wire;

FB_VERBS ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int vector) {
  if (cqe < 1) return nothing(EINVAL);
  ibv_cq_init_attr_ex init{};
  init.cqe = static_cast<uint32_t>(cqe);
  init.cq_context = cq_context;
  init.channel = channel;
  init.comp_vector = static_cast<uint32_t>(vector);
  CompletionQueue* const queue = make_queue(context, init);
  return queue ? ibv_cq_ex_to_cq(&queue->base) : nullptr;
}

FB_VERBS int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (cqe < 1) return EINVAL;
  wire::VerbsResult result;
  if (!ask<wire::Kind::verbs_change>(
          {.setting = wire::VerbsSetting::entries, .value = static_cast<uint32_t>(cqe), .id = of(cq).id}, result))
    return EIO;
  if (result.error == 0) cq->cqe = static_cast<int>(result.value);
  return static_cast<int>(result.error);
}

// Waits until all events that the program was given have been acknowledged.
FB_VERBS int ibv_destroy_cq(ibv_cq* cq) {
  CompletionQueue& queue = of(cq);
  if (const int error = end_object(wire::VerbsObject::completion_queue, queue.id); error != 0) return error;
  remove_cookie(queue.told.cookie);
  pthread_mutex_lock(&cq->mutex);
  const auto missing = [&] {
    return queue.told.completion_events - cq->comp_events_completed + queue.told.async_events -
           cq->async_events_completed;
  };
  if (missing() != 0) note_wait(wire::VerbsWait::acknowledgements, queue.id, missing(), true);
  while (cq->comp_events_completed != queue.told.completion_events ||
         cq->async_events_completed != queue.told.async_events)
    pthread_cond_wait(&cq->cond, &cq->mutex);
  pthread_mutex_unlock(&cq->mutex);
  if (cq->channel) {
    pthread_mutex_lock(&cq->context->mutex);
    --cq->channel->refcnt;
    pthread_mutex_unlock(&cq->context->mutex);
  }
  delete &queue;
  return 0;
}
