#include "shim/cuda/core/callbacks.h"

#include <signal.h>

#include <mutex>
#include <thread>
#include <unordered_map>

#include "shim/cuda/core/session.h"

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

void serve(wire::Channel channel) {
  thread().in_callback = true;
  while (true) {
    wire::CallbackReady ready;
    if (channel.call<wire::Kind::callback_next>({}, &ready) != wire::Status::ok) return;
    run_callback(ready.callback);
  }
}

Error start_thread() {
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  if (table().started_in == session.generation()) return cudaSuccess;
  wire::Channel channel = session.open(wire::Purpose::callbacks);
  if (!channel) return cudaErrorUnknown;
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(serve, std::move(channel)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
