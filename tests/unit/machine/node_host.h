#pragma once

// A node and the host processes that use it, without sockets: what a rank's library would send, and what it would get.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/machine/node_kernels.h"
#include "virtual_node/machine/requests/node.h"

namespace fb::machine {

class NodeHost {
 public:
  explicit NodeHost(uint64_t memory = uint64_t{256} << 20, uint64_t seed = 0) : NodeHost(options(memory, seed)) {}
  explicit NodeHost(const NodeOptions& of_node, const platform::Platform& on = platform())
      : node(
            on, of_node, [this](HostThread& thread, Answer&& answer) { answers_[&thread] = std::move(answer); },
            [this](record::Incident incident) { incidents.push_back(std::move(incident)); }) {}

  static platform::Platform platform() {
    platform::Platform p = platform::load_platform("h100x8").value();
    p.node.devices = 4;
    p.device.sms = 8;
    return p;
  }
  static NodeOptions options(uint64_t memory, uint64_t seed) {
    NodeOptions o;
    o.memory = memory;
    o.seed = seed;
    o.budget = 200'000'000;  // as the judge's: operations and requests count, too
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

// One process with one thread that has loaded node_kernels::kText. What it asks for must succeed, unless it is told
// the status.
class Rank {
 public:
  Rank(NodeHost& on, int32_t rank) : host(on), process(on.add_process(rank)), thread(on.add_thread(process)) {
    module = load(node_kernels::kText);
  }

  template <wire::Kind kKind>
  typename wire::Message<kKind>::Reply ask(const typename wire::Message<kKind>::Request& m,
                                           std::span<const std::byte> blob = {}, int descriptor = -1) {
    typename wire::Message<kKind>::Reply reply{};
    const auto status = host.call<kKind>(thread, m, &reply, blob, descriptor);
    if (status != wire::Status::ok)
      throw std::runtime_error(std::string(wire::name_of(kKind)) + ": " +
                               (status ? std::to_string(static_cast<uint32_t>(*status)) : "never answered"));
    return reply;
  }
  template <wire::Kind kKind>
  std::optional<wire::Status> status(const typename wire::Message<kKind>::Request& m,
                                     std::span<const std::byte> blob = {}, int descriptor = -1) {
    return host.call<kKind>(thread, m, nullptr, blob, descriptor);
  }

  wire::Id load(std::string_view text) {
    return ask<wire::Kind::module_load>({}, std::as_bytes(std::span(text))).handle;
  }
  wire::Id function(std::string_view name, uint32_t device = 0) {
    return ask<wire::Kind::function_find>({.module = module, .device = device}, std::as_bytes(std::span(name)))
        .function;
  }
  uint64_t allocate(uint32_t device, uint64_t bytes, wire::MemoryKind kind = wire::MemoryKind::device) {
    return ask<wire::Kind::allocate>({.device = device, .kind = kind, .bytes = bytes}).address;
  }
  wire::StreamRef stream(bool non_blocking = false, uint32_t device = 0) {
    return {ask<wire::Kind::stream_create>({.device = device, .non_blocking = non_blocking ? 1u : 0u}).handle, device,
            0};
  }
  std::optional<wire::Status> launch(const wire::StreamRef& stream, std::string_view name,
                                     std::vector<uint64_t> params) {
    wire::Launch m;
    m.stream = stream;
    m.function = function(name, stream.device);
    return status<wire::Kind::launch>(m, std::as_bytes(std::span(params)));
  }
  void write(uint64_t address, uint32_t value, uint32_t device = 0) {
    wire::Copy m;
    m.stream = side(device);
    m.to = address;
    m.width = sizeof value;
    m.wait = 1;
    ask<wire::Kind::copy>(m, std::as_bytes(std::span(&value, 1)));
  }
  uint32_t read(uint64_t address, uint32_t device = 0) {
    wire::Copy m;
    m.stream = side(device);
    m.from = address;
    m.width = 4;
    ask<wire::Kind::copy>(m);
    uint32_t value = 0;
    std::memcpy(&value, host.answer(thread).blob.data(), sizeof value);
    return value;
  }
  // The processes's threads and itself.
  void leave() {
    for (const auto& t : host.node.threads()) {
      if (t->process == &process && !t->gone) host.node.remove_thread(*t);
    }
    host.node.remove_process(process);
  }

  NodeHost& host;
  Process& process;
  HostThread& thread;
  wire::Id module = 0;

 private:
  // A stream that orders nothing.
  const wire::StreamRef& side(uint32_t device) {
    auto& s = side_[device];
    if (s.stream == 0) s = stream(true, device);
    return s;
  }
  std::map<uint32_t, wire::StreamRef> side_;
};

}  // namespace fb::machine
