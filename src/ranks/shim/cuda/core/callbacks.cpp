#include "ranks/shim/cuda/core/callbacks.h"

#include <signal.h>

#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::pair<std::function<void()>, bool>> functions;
  uint64_t next = 1;
  uint32_t started_in = 0;  // generation of the session that the thread serves
};

// Never destroyed: the thread may still look into it while the process ends.
Table& table() {
  static Table* const made = new Table;
  return *made;
}

void run_callback(uint64_t number) {
  std::function<void()> run;
  {
    const std::lock_guard lock(table().mutex);
    const auto found = table().functions.find(number);
    if (found == table().functions.end()) return;
    if (found->second.second) {
      run = std::move(found->second.first);
      table().functions.erase(found);
    } else {
      run = found->second.first;
    }
  }
  run();
}

// The machine knows a connection's thread by its greeting: this thread opens its own. Opened by another one, that one
// would look as if it waited here, and a program that computes for long as if it were deadlocked.
void serve(std::promise<bool> opened) {
  thread().in_callback = true;
  wire::Channel channel = Session::get().open(wire::Purpose::callbacks);
  opened.set_value(static_cast<bool>(channel));
  if (!channel) return;
  while (true) {
    wire::CallbackReady ready;
    if (channel.call<wire::Kind::callback_next>({}, &ready) != wire::Status::ok) return;
    run_callback(ready.callback);
    tell_deferred(channel);
  }
}

Error start_thread() {
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  if (table().started_in == session.generation()) return cudaSuccess;
  std::promise<bool> promise;
  std::future<bool> opened = promise.get_future();
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(serve, std::move(promise)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!opened.get()) return cudaErrorUnknown;
  table().started_in = session.generation();
  return cudaSuccess;
}

}  // namespace

Expected<uint64_t> add_callback(std::function<void()> run, bool once) {
  const std::lock_guard lock(table().mutex);
  if (const Error e = start_thread(); e != cudaSuccess) return failure(e);
  const uint64_t number = table().next++;
  table().functions.emplace(number, std::pair(std::move(run), once));
  return number;
}

void forget_callback(uint64_t number) {
  const std::lock_guard lock(table().mutex);
  table().functions.erase(number);
}

}  // namespace fb::shim
