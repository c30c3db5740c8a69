#pragma once

// A node and the host processes that use it, without sockets: what a rank's library would send, and what it would get.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/node/node.h"
#include "tests/machine/node_kernels.h"

namespace fb::machine {

class NodeHost {
 public:
  explicit NodeHost(uint64_t memory = uint64_t{256} << 20, uint64_t seed = 0)
      : node(
            platform(), options(memory, seed),
            [this](HostThread& thread, Answer&& answer) { answers_[&thread] = std::move(answer); },
            [this](record::Incident incident) { incidents.push_back(std::move(incident)); }) {}

  static fabric::Platform platform() {
    fabric::Platform p = fabric::load_platform("h100x8").value();
    p.node.devices = 4;
    p.device.sms = 4;
    return p;
  }
  static NodeOptions options(uint64_t memory, uint64_t seed) {
    NodeOptions o;
    o.memory = memory;
    o.seed = seed;
    o.budget = 10'000'000;
    return o;
  }

  Process& add_process(int32_t rank) { return node.add_process(1000 + rank, rank, 0); }
  HostThread& add_thread(Process& process, wire::Purpose purpose = wire::Purpose::calls) {
    return node.add_thread(process, ++connections_, 1, purpose);
  }

  // Says it, and does not wait for the answer.
  template <wire::Kind kKind>
  void say(HostThread& thread, const typename wire::Message<kKind>::Request& m, std::span<const std::byte> blob = {},
           int descriptor = -1) {
    answers_.erase(&thread);
    Call call;
    call.thread = &thread;
    call.kind = kKind;
    call.body = std::as_bytes(std::span(&m, 1));
    call.blob = blob;
    call.descriptor.reset(descriptor);
    node.handle(call);
  }

  bool is_answered(HostThread& thread) const { return answers_.contains(&thread); }
  Answer& answer(HostThread& thread) { return answers_.at(&thread); }

  // Until nothing moves any more. False: it does not come to rest.
  bool settle() {
    for (int k = 0; k < 100'000; ++k) {
      if (!node.run(1000)) return true;
    }
    return false;
  }

  // Says it, and lets the node run until it is answered; nothing when it never is.
  template <wire::Kind kKind>
  std::optional<wire::Status> call(HostThread& thread, const typename wire::Message<kKind>::Request& m,
                                   typename wire::Message<kKind>::Reply* reply = nullptr,
                                   std::span<const std::byte> blob = {}, int descriptor = -1) {
    say<kKind>(thread, m, blob, descriptor);
    while (!is_answered(thread) && node.run(1000)) {
    }
    if (!is_answered(thread)) return std::nullopt;
    const Answer& a = answer(thread);
    if (reply && a.status == wire::Status::ok && a.body.size() == sizeof *reply)
      std::memcpy(reply, a.body.data(), sizeof *reply);
    return a.status;
  }

  Node node;
  std::vector<record::Incident> incidents;

 private:
  std::map<HostThread*, Answer> answers_;
  uint64_t connections_ = 0;
};

}  // namespace fb::machine
