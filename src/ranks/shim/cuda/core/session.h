#pragma once

// This process as a client of the machine: where the machine is, what devices it has, and one connection per host
// thread.

#include <atomic>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/wire/channel.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/thread_state.h"

namespace fb::shim {

class Session {
 public:
  // Never destroyed: programs call CUDA from their own static destructors.
  static Session& get();

  // Opens the calling thread's connection if it has none. cudaErrorNoDevice: there is no machine. cudaErrorUnknown: it
  // has gone.
  Error connect();

  // Whether any thread of this process has connected.
  bool connected() const { return connected_; }

  // What follows is known after connect() has succeeded once.
  int device_count() const { return static_cast<int>(devices_.size()); }
  const wire::DeviceFacts& device(int index) const { return devices_[static_cast<size_t>(index)]; }
  bool has_device(int index) const { return index >= 0 && index < device_count(); }
  // Whether the machine hands out this address: then it is no pageable memory of this process.
  bool owns(uint64_t address) const { return address >= addresses_begin_ && address < addresses_end_; }

  // The machine wants to know which lines kernels are launched from.
  bool launch_lines() const { return launch_lines_; }

  // Grows when a forked child starts anew: what the machine knew of the parent is nothing to the child.
  uint32_t generation() const { return generation_; }

  // The error that a device's context died of; cudaSuccess while it lives.
  Error sticky(int device) const;
  void set_sticky(int device, Error error);

  // The machine has gone: says so once.
  void set_lost();
  bool lost() const { return lost_; }

  bool first_report_of(const std::string& problem);
  // Opens one more connection, for the thread that runs callbacks.
  wire::Channel open(wire::Purpose purpose);

 private:
  Session();
  Error first_connection(wire::Channel& channel);
  Error greet(wire::Channel& channel, wire::Purpose purpose, wire::Welcome& welcome, std::vector<std::byte>& facts);
  Error reserve_addresses(uint64_t begin, uint64_t end);
  static void after_fork();

  std::mutex mutex_;
  std::string path_;
  std::atomic<bool> connected_ = false, lost_ = false, told_ = false;
  std::atomic<uint32_t> generation_ = 1;
  std::vector<wire::DeviceFacts> devices_;
  uint64_t addresses_begin_ = 0, addresses_end_ = 0;
  std::atomic<bool> launch_lines_ = false;
  std::atomic<int> sticky_[wire::kMostDevices] = {};
  std::set<std::string, std::less<>> reported_;
};

// The untyped end of call_on().
Error call_machine(int device, wire::Kind kind, const void* request, size_t request_bytes, void* reply,
                   size_t reply_bytes, std::span<const std::byte> blob, std::vector<std::byte>* reply_blob,
                   int descriptor, UniqueFd* reply_descriptor);

// One request about `device` and its reply. A context that has died of an error gives that error at once.
template <wire::Kind kKind>
Error call_on(int device, const typename wire::Message<kKind>::Request& request,
              typename wire::Message<kKind>::Reply* reply = nullptr, std::span<const std::byte> blob = {},
              std::vector<std::byte>* reply_blob = nullptr, int descriptor = -1, UniqueFd* reply_descriptor = nullptr) {
  return call_machine(device, kKind, &request, sizeof request, reply, reply ? sizeof *reply : 0, blob, reply_blob,
                      descriptor, reply_descriptor);
}

// The same about the thread's current device.
template <wire::Kind kKind>
Error call(const typename wire::Message<kKind>::Request& request, typename wire::Message<kKind>::Reply* reply = nullptr,
           std::span<const std::byte> blob = {}, std::vector<std::byte>* reply_blob = nullptr, int descriptor = -1,
           UniqueFd* reply_descriptor = nullptr) {
  return call_on<kKind>(thread().device, request, reply, blob, reply_blob, descriptor, reply_descriptor);
}

// cudaErrorInvalidDevice unless the machine has it (and cudaErrorNoDevice without a machine).
Error check_device(int device);

}  // namespace fb::shim
