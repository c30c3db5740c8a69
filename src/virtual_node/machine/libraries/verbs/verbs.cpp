#include "virtual_node/machine/libraries/verbs/verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/hash.h"

namespace fb::machine {
namespace {

constexpr Time kPicosecondsPerNanosecond = 1000;

}  // namespace

Verbs::Verbs(ProcessServices& node)
    : node_(node),
      network_(node.network),
      events_(node.engine),
      cards_(*this, network_.cards(), rdma::CardLimits{},
             mix(0x6e6963, node.options.secret != 0 ? node.options.secret : node.options.seed)),
      order_(node),
      host_accesses_(node, [this](uint32_t process, uint64_t address, uint64_t bytes, const auto& visit) {
        return for_each_piece(process, address, bytes, visit);
      }) {}

Verbs::~Verbs() = default;

void Verbs::clear() {
  waiters_.clear();
  held_.clear();
  events_.clear();
}

void Verbs::remove_process(const Process& process) {
  for (const auto& [id, pair] : cards_.pairs()) {
    if (pair->process == process.number) gone_numbers_[{pair->card, pair->number}] = process.number;
  }
  host_accesses_.take();
  host_accesses_.remove_process(process.number);
  cards_.remove_process(process.number);
  pipes_.remove_process(process.number);
  waiters_.erase(process.number);
  held_.erase(process.number);
}

// Names

uint64_t Verbs::guid_of(uint32_t card) { return 0x0c42a10300000000 | (uint64_t{card} + 1) << 8; }

std::array<std::byte, 16> Verbs::gid(uint32_t card) const {
  std::array<std::byte, 16> name = {std::byte{0xfe}, std::byte{0x80}};
  for (size_t k = 0; k < 8; ++k) name[8 + k] = std::byte(guid_of(card) >> (56 - 8 * k));
  return name;
}

uint32_t Verbs::first_card(const Process& process) const {
  return process.first_device / node_.platform.node.devices * node_.platform.nic.per_node;
}

bool Verbs::resolve(const wire::VerbsPath& path, uint32_t& card) const {
  for (card = 0; card < network_.cards(); ++card) {
    const auto name = gid(card);
    if (path.global != 0 ? std::memcmp(name.data(), path.gid.data(), name.size()) == 0 : path.lid == lid_of(card))
      return true;
  }
  card = 0;
  return false;
}

std::vector<wire::CardFacts> Verbs::cards_of(const Process& process) const {
  std::vector<wire::CardFacts> all(network_.cards() == 0 ? 0 : node_.platform.nic.per_node);
  const rdma::CardLimits& limits = cards_.limits();
  for (uint32_t k = 0; k < all.size(); ++k) {
    const uint32_t card = first_card(process) + k;
    wire::CardFacts& f = all[k];
    f.guid = guid_of(card);
    std::memcpy(f.gid.data(), gid(card).data(), f.gid.size());
    f.lid = lid_of(card);
    f.mtu = static_cast<uint32_t>(node_.platform.nic.mtu);
    // The rate that its kind of link is called by.
    constexpr uint32_t kKinds[] = {25, 50, 100, 200, 400, 800};
    const double payload = node_.platform.nic.bandwidth * 8 / 1e9;
    f.gigabits = *std::ranges::find_if(kKinds, [&](uint32_t kind) { return kind >= payload || kind == 800; });
    f.work_requests = limits.work_requests;
    f.pieces = limits.pieces;
    f.completions = limits.completions;
    f.reads = limits.reads;
    f.inline_bytes = limits.inline_bytes;
    f.queue_pairs = limits.queue_pairs;
    f.completion_queues = limits.completion_queues;
    f.objects = limits.objects;
    f.message = limits.message;
  }
  return all;
}

// Time

Verbs::Flight Verbs::fly(uint32_t from, uint32_t to, const Load& load) {
  using Kind = fabric::Network::Kind;
  Time at = std::max(now(), load.not_before);
  if (load.answers && load.from_device) at = network_.fetch_from_device(at);
  const auto flight = network_.send({.from = from,
                                     .to = to,
                                     .bytes = load.bytes,
                                     .mtu = load.mtu,
                                     .kind = load.atomic    ? Kind::from_atomic
                                             : load.answers ? Kind::answer
                                                            : Kind::request,
                                     .inlined = load.inlined,
                                     .from_device = load.from_device,
                                     .to_device = load.to_device},
                                    at);
  if (node_.engine.seed() == 0) return {flight.left, flight.first, flight.arrived};
  // Kept back in the network, with what comes behind it from the same card: a request does not overtake an answer.
  Time& last = last_arrivals_[{from, to}];
  const Time late = draw_late(8, 10 * platform::kMicrosecond);
  last = std::max(last, flight.arrived + late);
  return {flight.left, flight.first + (last - flight.arrived), last};
}

// Without a seed everything happens in the order that is the most likely one.
uint64_t Verbs::draw_order() {
  const uint64_t seed = node_.engine.seed();
  return seed == 0 ? 0 : std::max<uint64_t>(1, mix(seed, ++drawn_));
}

Time Verbs::draw_late(uint64_t one_in, Time longest) {
  const uint64_t draw = draw_order();
  return draw % one_in != 1 ? 0 : draw / one_in % longest;
}

Time Verbs::draw_pause() { return draw_late(8, 30 * platform::kMicrosecond); }

// Memory

Process* Verbs::find_process(uint32_t number) const {
  const auto found = std::ranges::find_if(
      node_.processes, [&](const auto& process) { return process->number == number && !process->gone; });
  return found == node_.processes.end() ? nullptr : found->get();
}

bool Verbs::is_device_memory(uint32_t number, uint64_t address) const {
  const Process* const process = find_process(number);
  const mem::Window* const w = process ? process->all.find(address) : nullptr;
  return w && w->allocation && w->allocation->device != platform::kHost;
}

bool Verbs::for_each_piece(uint32_t number, uint64_t address, uint64_t bytes,
                           const std::function<void(const Bytes&, uint64_t, uint64_t)>& visit) {
  Process* const process = find_process(number);
  if (!process) return false;
  // All of it is looked at before any is touched.
  for (const bool touches : {false, true}) {
    for (uint64_t done = 0; done < bytes;) {
      const mem::Window* const w = process->all.find(address + done);
      if (!w || !w->host) return false;
      const uint64_t size = std::min(bytes - done, w->begin + w->size - (address + done));
      if (touches) visit({w->host + (address + done - w->begin), w->allocation}, done, size);
      done += size;
    }
  }
  return true;
}

bool Verbs::read(uint32_t process, uint64_t address, std::span<std::byte> to) {
  return for_each_piece(process, address, to.size(), [&](const Bytes& from, uint64_t offset, uint64_t size) {
    std::memcpy(to.data() + offset, from.host, size);
  });
}

bool Verbs::write(uint32_t process, uint64_t address, std::span<const std::byte> from) {
  const bool done = for_each_piece(process, address, from.size(), [&](const Bytes& to, uint64_t offset, uint64_t size) {
    node_.writes.note_operation(*to.allocation, to.host, size, "a network card", process, now());
    std::memcpy(to.host, from.data() + offset, size);
    node_.engine.watch().written(to.host, size);
  });
  wake(process);
  return done;
}

void Verbs::touches(uint32_t process, uint64_t address, uint64_t bytes, const rdma::Touch& touch) {
  if (!node_.checking) return;
  for_each_piece(process, address, bytes,
                 [&](const Bytes& at, uint64_t, uint64_t size) { order_.touch(process, touch, at, size); });
}

// What processes hear

void Verbs::tell(uint64_t pipe, const wire::VerbsEvent& event) {
  if (pipes_.write(pipe, event)) node_.threads.note_told();
}

void Verbs::notify(rdma::CompletionQueue& queue) {
  if (queue.channel != 0) tell(queue.channel, {.cookie = queue.cookie});
}

void Verbs::happened(rdma::AsyncEvent event, const rdma::Object& object) {
  tell(object.context, {.cookie = object.cookie, .type = static_cast<uint32_t>(event)});
  wake(object.process);
}

void Verbs::wake(uint32_t process) {
  answer_held(process);
  const auto found = waiters_.find(process);
  if (found == waiters_.end()) return;
  for (const auto& waiter : std::exchange(found->second, {})) {
    if (waiter->done) continue;
    // Not now: the cards are in the middle of something.
    node_.engine.schedule(now(), waiter->thread->tie, [this, waiter] { answer_poll(*waiter); },
                          {EventAbout::Kind::poll});
  }
}

void Verbs::poll(HostThread& thread, const wire::VerbsPoll& request) {
  const auto waiter = std::make_shared<Waiter>(Waiter{thread.shared_from_this(), request});
  constexpr size_t kMostNamed = 8;
  if (std::ranges::find(thread.polled, request.queue, &HostThread::PolledQueue::queue) == thread.polled.end() &&
      thread.polled.size() < kMostNamed)
    thread.polled.push_back({request.queue, {}});
  rdma::CompletionQueue* const queue = cards_.find<rdma::CompletionQueue>(thread.process->number, request.queue);
  if (!queue || queue->broken || !queue->entries.empty() || request.most == 0) return answer_poll(*waiter);
  wait(thread, waiter);
}

void Verbs::wait(HostThread& thread, const std::shared_ptr<Waiter>& waiter) {
  constexpr uint32_t kMostDoublings = 20;
  auto& waiting = waiters_[thread.process->number];
  std::erase_if(waiting, [](const auto& w) { return w->done; });
  waiting.push_back(waiter);
  const Time patience = node_.platform.nic.poll << std::min(thread.polls / 8, kMostDoublings);
  node_.engine.schedule(now() + patience, thread.tie, [this, waiter] { answer_poll(*waiter); },
                        {EventAbout::Kind::poll});
}

void Verbs::answer_poll(Waiter& waiter) {
  if (std::exchange(waiter.done, true) || waiter.thread->gone) return;
  if (waiter.look) return answer_look(waiter);
  HostThread& thread = *waiter.thread;
  // What comes while a thread polls is seen one look later.
  if (now() > thread.now)
    thread.now = node_.fabric.shares().later(now(), node_.platform.nic.poll, platform::Group::launch);
  Answer answer;
  wire::VerbsPolled polled;
  std::vector<rdma::Completion> entries;
  rdma::CompletionQueue* const queue = cards_.find<rdma::CompletionQueue>(thread.process->number, waiter.request.queue);
  constexpr uint32_t kMostAtOnce = wire::kLargestBlob / sizeof(wire::VerbsCompletion);
  if (!queue) {
    polled.error = EINVAL;
  } else if (cards_.poll(*queue, std::min(waiter.request.most, kMostAtOnce), entries) < 0) {
    polled.error = EIO;
  }
  polled.count = static_cast<uint32_t>(entries.size());
  for (const rdma::Completion& c : entries) {
    order_.polled(thread.process->number, c);
    wire::VerbsCompletion to;
    to.id = c.id;
    to.nanoseconds = c.at / kPicosecondsPerNanosecond;
    to.status = static_cast<uint32_t>(c.status);
    to.opcode = static_cast<uint32_t>(c.opcode);
    to.bytes = c.bytes;
    to.immediate = c.immediate;
    to.queue_pair = c.queue_pair;
    to.remote_queue_pair = c.remote_queue_pair;
    to.flags = c.flags;
    to.remote_lid = lid_of(c.remote_card);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&to);
    answer.blob.insert(answer.blob.end(), bytes, bytes + sizeof to);
  }
  if (entries.empty() && polled.error == 0) {
    // A loop that counts its polls, or looks at the clock, ends by itself. It need not ask each time while nothing but
    // polls is left.
    constexpr uint32_t kPatience = 512, kInVain = 1 << 15;
    if (++thread.polls > kPatience && cards_are_idle() && !node_.judge) polled.in_vain = kInVain;
    node_.engine.polls().note_host();
  } else {
    thread.polls = 0;
    thread.polled.clear();
    node_.engine.polls().note_progress();
    answer_held(thread.process->number);
  }
  answer.set_body(polled);
  node_.threads.answer(thread, std::move(answer));
}

// A host that polls a word of its memory sleeps until something is written, as one that polls a completion queue does.

bool Verbs::is_as_seen(const HostThread& thread, const wire::VerbsLook& look) {
  uint64_t value = 0;
  if (look.again == 0 || look.bytes > sizeof value) return false;
  std::array<std::byte, sizeof value> bytes{};
  const bool there = read(thread.process->number, look.address, std::span(bytes).first(look.bytes));
  std::memcpy(&value, bytes.data(), sizeof value);
  return there && value == look.seen;
}

void Verbs::look(HostThread& thread, const wire::VerbsLook& request) {
  const auto waiter = std::make_shared<Waiter>(Waiter{thread.shared_from_this(), {}, false, request});
  if (!is_as_seen(thread, request)) return answer_poll(*waiter);
  wait(thread, waiter);
}

void Verbs::answer_look(Waiter& waiter) {
  HostThread& thread = *waiter.thread;
  thread.now = std::max(thread.now, now());
  if (is_as_seen(thread, *waiter.look)) {
    ++thread.polls;
    vain_looks_[thread.tie] = *waiter.look;
    node_.engine.polls().note_host();
  } else {
    thread.polls = 0;
    vain_looks_.erase(thread.tie);
    node_.engine.polls().note_progress();
  }
  host_accesses_.look(*thread.process, *waiter.look);
  Answer answer;
  answer.set_body(wire::VerbsResult{});
  node_.threads.answer(thread, std::move(answer));
}

// Waits that are not polls

void Verbs::note(HostThread& thread, const wire::VerbsNote& note) {
  wire::VerbsNote copy = note;
  copy.where[sizeof copy.where - 1] = '\0';
  if (copy.wait != wire::VerbsWait::poll) {
    thread.note = copy;
    return;
  }
  const auto found = std::ranges::find(thread.polled, copy.id, &HostThread::PolledQueue::queue);
  if (found != thread.polled.end()) found->where = copy.where;
}

OutsideWait Verbs::outside_wait(const HostThread& thread) const {
  if (thread.waiting || thread.gone) return OutsideWait::none;
  if (thread.note.wait != wire::VerbsWait::channel && thread.note.wait != wire::VerbsWait::events)
    return OutsideWait::none;
  const auto unread = pipes_.unread(thread.process->number, thread.note.id);
  if (!unread) return OutsideWait::none;
  return *unread == 0 ? OutsideWait::waits : OutsideWait::is_told;
}

bool Verbs::hold_post(HostThread& thread, const wire::VerbsPosted& reply) {
  constexpr uint32_t kManyPosts = 1 << 14;
  if (++thread.full_posts < kManyPosts) return false;
  held_[thread.process->number].push_back({thread.shared_from_this(), reply});
  return true;
}

void Verbs::answer_held(uint32_t process) {
  const auto found = held_.find(process);
  if (found == held_.end()) return;
  for (const HeldPost& held : std::exchange(found->second, {})) {
    node_.engine.schedule(now(), held.thread->tie, [this, held] {
      if (held.thread->gone) return;
      held.thread->full_posts = 0;
      Answer answer;
      answer.set_body(held.reply);
      node_.threads.answer_at(*held.thread, now(), std::move(answer));
    });
  }
}

}  // namespace fb::machine
