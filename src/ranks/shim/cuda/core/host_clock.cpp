// The time of the calling thread, for the library that stands in for the host's clocks under --virtual-clock
// (ranks/shim/clock): it is loaded before everything else and is told here where to ask.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

// Of all threads of the process: a clock never goes back.
std::atomic<uint64_t> latest = 0;

uint64_t advance(uint64_t to) {
  uint64_t before = latest.load(std::memory_order_relaxed);
  while (before < to && !latest.compare_exchange_weak(before, to, std::memory_order_relaxed)) {
  }
  return std::max(before, to);
}

// A thread that calls CUDA has a time of its own, and the main thread is one. Others are told the latest time of the
// process, until one reads the clock so often that it must be waiting for it.
bool has_time() {
  constexpr uint32_t kReadings = 1000;
  thread_local uint32_t readings = 0;
  const ThreadState& mine = thread();
  if (mine.in_callback || Session::get().lost()) return false;
  if (mine.channel && mine.generation == Session::get().generation()) return true;
  return ::getpid() == ::gettid() || ++readings > kReadings;
}

uint64_t read_clock() {
  wire::HostTime reply;
  if (has_time() && call<wire::Kind::host_time>({}, &reply) == cudaSuccess) return advance(reply.nanoseconds);
  return latest.load(std::memory_order_relaxed);
}

bool sleep_for(uint64_t nanoseconds) {
  wire::HostTime reply;
  if (!has_time() || call<wire::Kind::host_sleep>({.nanoseconds = nanoseconds}, &reply) != cudaSuccess) return false;
  advance(reply.nanoseconds);
  return true;
}

[[gnu::constructor]] void offer_clock() {
  if (!std::getenv(wire::kSocketVariable)) return;
  using Set = void (*)(uint64_t (*)(), bool (*)(uint64_t));
  const auto set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "fabricbench_set_host_clock"));
  if (set) set(&read_clock, &sleep_for);
}

}  // namespace
}  // namespace fb::shim
