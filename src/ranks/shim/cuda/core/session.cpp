#include "ranks/shim/cuda/core/session.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/wire/identity.h"

namespace fb::shim {
namespace {

void print_to_output(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Session& Session::get() {
  static Session* const session = new Session;
  return *session;
}

Session::Session() {
  if (const char* path = std::getenv(wire::kSocketVariable)) path_ = path;
  pthread_atfork(nullptr, nullptr, &Session::after_fork);
}

void Session::after_fork() {
  Session& session = get();
  // Another thread of the parent may have held it.
  new (&session.mutex_) std::mutex;
  ++session.generation_;
  session.connected_ = session.lost_ = session.told_ = false;
  for (auto& error : session.sticky_) error = 0;
}

Error Session::connect() {
  ThreadState& mine = thread();
  if (mine.channel && mine.generation == generation_) [[likely]]
    return cudaSuccess;
  mine.channel.close();
  if (lost_) return cudaErrorUnknown;
  mine.default_streams.clear();

  if (!connected_) {
    const std::lock_guard lock(mutex_);
    if (!connected_) {
      wire::Channel channel;
      if (const Error e = first_connection(channel); e != cudaSuccess) return e;
      mine.channel = std::move(channel);
      connected_ = true;
    }
  }
  if (!mine.channel) mine.channel = open(wire::Purpose::calls);
  if (!mine.channel) {
    set_lost();
    return cudaErrorUnknown;
  }
  mine.channel.print = &print_to_output;
  mine.generation = generation_;
  return cudaSuccess;
}

wire::Channel Session::open(wire::Purpose purpose) {
  wire::Channel channel = wire::Channel::connect(path_);
  wire::Welcome welcome;
  std::vector<std::byte> facts;
  if (!channel || greet(channel, purpose, welcome, facts) != cudaSuccess) return {};
  return channel;
}

Error Session::greet(wire::Channel& channel, wire::Purpose purpose, wire::Welcome& welcome,
                     std::vector<std::byte>& facts) {
  channel.print = &print_to_output;
  wire::Hello hello = wire::hello_of_this_thread();
  hello.purpose = purpose;
  return from_status(channel.call<wire::Kind::hello>(hello, &welcome, {}, &facts));
}

Error Session::first_connection(wire::Channel& channel) {
  const auto fail = [&](const char* what) {
    if (!told_.exchange(true)) std::fprintf(stderr, "fabricbench: %s\n", what);
    return cudaErrorNoDevice;
  };
  if (path_.empty()) return fail("there is no virtual node here: run this program with `fabricbench exec`");
  channel = wire::Channel::connect(path_);
  if (!channel) return fail("no machine answers at $FABRICBENCH_SOCKET: run this program with `fabricbench exec`");

  wire::Welcome welcome;
  std::vector<std::byte> facts;
  if (greet(channel, wire::Purpose::calls, welcome, facts) != cudaSuccess)
    return fail("the machine refuses this program: was it built by another version?");
  if (welcome.devices == 0 || welcome.devices > wire::kMostDevices ||
      facts.size() != welcome.devices * sizeof(wire::DeviceFacts))
    return fail("the machine has no devices for this program");
  launch_lines_ = welcome.launch_lines != 0;
  devices_.resize(welcome.devices);
  std::memcpy(devices_.data(), facts.data(), facts.size());
  if (reserve_addresses(welcome.addresses_begin, welcome.addresses_end) != cudaSuccess)
    return fail("the addresses of the machine are not free in this process");
  return cudaSuccess;
}

Error Session::reserve_addresses(uint64_t begin, uint64_t end) {
  // A forked child has inherited it.
  if (begin == addresses_begin_ && end == addresses_end_) return cudaSuccess;
  void* const wanted = reinterpret_cast<void*>(begin);
  uint64_t bytes = end - begin;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  // The sanitizer's shadow memory begins at 2 TiB.
  bytes = std::min(bytes, uint64_t{1} << 36);
#endif
#endif
  void* const got =
      ::mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) {
    if (got != MAP_FAILED) ::munmap(got, bytes);
    return cudaErrorNoDevice;
  }
  addresses_begin_ = begin;
  addresses_end_ = end;
  return cudaSuccess;
}

Error Session::sticky(int device) const {
  if (device < 0 || device >= static_cast<int>(wire::kMostDevices)) return cudaSuccess;
  return static_cast<Error>(sticky_[device].load(std::memory_order_relaxed));
}

void Session::set_sticky(int device, Error error) {
  if (device >= 0 && device < static_cast<int>(wire::kMostDevices)) sticky_[device] = error;
}

void Session::set_lost() {
  lost_ = true;
  if (!told_.exchange(true))
    std::fputs("fabricbench: the machine has ended; no call reaches a device any more\n", stderr);
}

bool Session::first_report_of(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  return reported_.insert(problem).second;
}

Error call_machine(int device, wire::Kind kind, const void* request, size_t request_bytes, void* reply,
                   size_t reply_bytes, std::span<const std::byte> blob, std::vector<std::byte>* reply_blob,
                   int descriptor, UniqueFd* reply_descriptor) {
  ThreadState& mine = thread();
  // Functions that the machine calls must not call it.
  if (mine.in_callback) return cudaErrorNotPermitted;
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  if (const Error e = session.sticky(device); e != cudaSuccess) return e;
  const wire::Status status = mine.channel.call(kind, request, request_bytes, reply, reply_bytes, blob, reply_blob,
                                                descriptor, reply_descriptor);
  if (!mine.channel) {
    session.set_lost();
    return cudaErrorUnknown;
  }
  const Error error = from_status(status);
  if (is_sticky(error)) session.set_sticky(device, error);
  return error;
}

Error check_device(int device) {
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  return session.has_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace fb::shim
