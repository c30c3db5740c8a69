#include "virtual_node/machine/process/host_threads.h"

#include <algorithm>
#include <utility>

namespace fb::machine {
namespace {

// Limits on what a process may have queued; further requests are held back (backpressure).
constexpr uint64_t kMostQueued = 1 << 16;
constexpr uint64_t kMostPayload = 64 << 20;

}  // namespace

HostThreads::HostThreads(Time wake, fabric::ShareLedger& shares, Engine& engine, RunLog& log, Checking* checking,
                         Reply reply, Resume resume)
    : wake_(wake),
      shares_(shares),
      engine_(engine),
      log_(log),
      checking_(checking),
      reply_(std::move(reply)),
      resume_(std::move(resume)) {}

HostThread& HostThreads::add(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose) {
  // A thread that has left is kept until no operation will answer it any more.
  std::erase_if(all_, [this](const auto& t) {
    if (!t->gone || t.use_count() != 1) return false;
    log_.add_thread_that_left(*t);
    return true;
  });
  auto thread = std::make_shared<HostThread>();
  thread->connection = connection;
  thread->id = id;
  thread->process = &process;
  thread->purpose = purpose;
  thread->now = engine_.now();
  thread->shares = &shares_;
  thread->tie = tie_of(process, process.next_thread++);
  return *all_.emplace_back(std::move(thread));
}

void HostThreads::remove(HostThread& thread) {
  thread.gone = true;
  thread.waiting = false;
  thread.waits_for.clear();
  if (thread.process->callback_thread == &thread) thread.process->callback_thread = nullptr;
}

void HostThreads::answer(HostThread& thread, Answer&& answer) {
  thread.waits_for.clear();
  if (thread.gone) return;
  thread.waiting = false;
  ++answers_;
  reply_(thread, std::move(answer));
}

void HostThreads::answer_at(HostThread& thread, Time at, Answer&& answer) {
  thread.now = std::max(thread.now, at);
  log_.add_call(thread, answer.status);
  this->answer(thread, std::move(answer));
}

void HostThreads::wait_for(HostThread& thread, std::vector<OperationPtr> operations, uint32_t device,
                           std::function<void(Answer&)> finish) {
  std::erase(operations, nullptr);
  struct Awaited {
    size_t left = 0;
    Time latest = 0;
    std::function<void(Time)> done;
  };
  auto wait = std::make_shared<Awaited>();
  for (const OperationPtr& w : operations) {
    if (w->has_ended) {
      wait->latest = std::max(wait->latest, w->ended);
      if (checking_) checking_->host_acquires(thread.process->number, *w);
    } else {
      ++wait->left;
    }
  }
  wait->done = [this, self = thread.shared_from_this(), device, finish = std::move(finish)](Time latest) {
    Answer answer;
    answer.status = sticky_error(*self->process, device);
    if (finish) finish(answer);
    if (answer.body.empty()) answer.set_body(wire::Empty{});
    answer_at(*self, shares_.later(latest, wake_, platform::Group::launch), std::move(answer));
  };
  if (wait->left == 0) return wait->done(wait->latest);
  std::erase_if(operations, [](const OperationPtr& w) { return w->has_ended; });
  for (const OperationPtr& w : operations) {
    w->on_end.push_back([this, wait, work = w.get(), process = thread.process->number] {
      if (checking_) checking_->host_acquires(process, *work);
      wait->latest = std::max(wait->latest, work->ended);
      if (--wait->left == 0) wait->done(wait->latest);
    });
  }
  thread.waits_for = std::move(operations);
}

void HostThreads::host_saw(const Process& process, const std::vector<OperationPtr>& ended) {
  if (!checking_) return;
  for (const OperationPtr& w : ended) {
    if (w) checking_->host_acquires(process.number, *w);
  }
}

bool HostThreads::is_full(const Process& process) {
  return process.live >= kMostQueued || process.payload >= kMostPayload;
}

void HostThreads::hold(Call& call, std::vector<HeldCall>& into) {
  into.push_back({call.thread->shared_from_this(),
                  call.kind,
                  {call.body.begin(), call.body.end()},
                  {call.blob.begin(), call.blob.end()}});
}

void HostThreads::resume_held(Process& process) {
  if (process.held.empty() || process.live > kMostQueued / 2 || process.payload > kMostPayload / 2) return;
  resume(std::exchange(process.held, {}));
}

void HostThreads::resume(std::vector<HeldCall> calls) {
  for (HeldCall& held : calls) {
    const Time at = std::max(held.thread->now, engine_.now());
    const uint64_t tie = held.thread->tie;
    engine_.schedule(at, tie, [this, held = std::move(held)] {
      if (held.thread->gone) return;
      Call call;
      call.thread = held.thread.get();
      call.kind = held.kind;
      call.body = held.body;
      call.blob = held.blob;
      resume_(call);
    });
  }
}

}  // namespace fb::machine
