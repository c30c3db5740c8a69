#pragma once

// Requests to network cards: objects that a process has made, keys and numbers that others may have heard of.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/wire/messages.h"
#include "tests/fuzz/reader.h"
#include "virtual_node/rdma/numbers.h"

namespace fb::fuzz {

// What one process has made on its cards.
struct VerbsObjects {
  static constexpr size_t kKinds = static_cast<size_t>(wire::VerbsObject::xrc_domain) + 1;
  std::array<std::vector<uint64_t>, kKinds> made;
  wire::VerbsObject asked{};  // of the last verbs_make
};

class VerbsRequests {
 public:
  explicit VerbsRequests(Reader& in) : in_(in) {}

  void keep(VerbsObjects& of, const wire::VerbsMade& reply) {
    if (reply.error != 0) return;
    add(of.made[static_cast<size_t>(of.asked) % VerbsObjects::kKinds], reply.id);
    if (reply.key != 0) add(keys_, reply.key);
    if (reply.number != 0) add(numbers_, reply.number);
  }

  // `memory` and `bytes`: what the process may have.
  void fill(wire::VerbsMake& m, VerbsObjects& of, uint64_t memory, uint64_t bytes) {
    using enum wire::VerbsObject;
    m.kind = static_cast<wire::VerbsObject>(in_.below(VerbsObjects::kKinds + 1));
    m.card = in_.below(3);
    const bool of_context =
        m.kind == domain || m.kind == channel || m.kind == completion_queue || m.kind == wire::VerbsObject::xrc_domain;
    m.parent = object(of, of_context ? context : domain);
    m.cookie = in_.byte();
    m.send_queue = object(of, completion_queue);
    m.receive_queue = object(of, completion_queue);
    m.shared_queue = in_.one_in(3) ? object(of, shared_receive_queue) : 0;
    m.channel = in_.one_in(2) ? object(of, channel) : 0;
    m.address = memory;
    m.bytes = bytes;
    m.iova = in_.one_in(4) ? count() : memory;
    m.access = access();
    m.type = in_.one_in(8) ? count() : m.kind == window ? 1 + in_.below(2) : 2 + in_.below(3);
    m.sends = count();
    m.receives = count();
    m.send_pieces = count();
    m.receive_pieces = count();
    m.inline_bytes = count();
    m.signals_all = in_.below(2);
    m.ignores_overrun = in_.one_in(8) ? 1 : 0;
    m.path = path();
    if (in_.one_in(3)) {
      m.xrc_domain = object(of, wire::VerbsObject::xrc_domain);
      m.identity = in_.below(3);
      m.number = in_.one_in(2) ? number() : 0;
      m.must_be_there = in_.one_in(4);
      m.must_be_new = in_.one_in(4);
      if (m.kind == queue_pair) m.type = 9 + in_.below(2);
    }
    of.asked = m.kind;
  }
  void fill(wire::VerbsEnd& m, const VerbsObjects& of) {
    m.kind = static_cast<wire::VerbsObject>(in_.below(VerbsObjects::kKinds + 1));
    m.id = object(of, m.kind);
  }
  void fill(wire::VerbsModify& m, const VerbsObjects& of) {
    using enum wire::VerbsObject;
    m.pair = object(of, queue_pair);
    step(m.to, static_cast<rdma::QpState>(in_.one_in(16) ? count() : in_.below(7)));
    m.to.remote_number = number();
    m.to.path = path();
    if (in_.one_in(4)) m.to.mask ^= 1u << in_.below(26);
    if (in_.one_in(8)) m.to.timeout = in_.byte();
  }
  void fill(wire::VerbsPost& m, const VerbsObjects& of) {
    using enum wire::VerbsObject;
    m.kind = static_cast<wire::VerbsQueue>(in_.below(4));
    m.queue = object(of, m.kind == wire::VerbsQueue::shared_receive ? shared_receive_queue : queue_pair);
    m.count = in_.one_in(16) ? count() : 1 + in_.below(3);
  }
  void fill(wire::VerbsPoll& m, const VerbsObjects& of) {
    m.queue = object(of, wire::VerbsObject::completion_queue);
    m.most = in_.one_in(8) ? count() : 4;
  }
  void fill(wire::VerbsChange& m, const VerbsObjects& of) {
    using enum wire::VerbsObject;
    m.setting = static_cast<wire::VerbsSetting>(in_.below(6));
    m.value = count();
    m.id = object(of, in_.one_in(2) ? shared_receive_queue : completion_queue);
  }

  void fill(wire::VerbsNote& m, const VerbsObjects& of) {
    using enum wire::VerbsObject;
    m.wait = static_cast<wire::VerbsWait>(in_.below(6));
    m.value = count();
    m.id = object(of, in_.one_in(2) ? channel : context);
    m.where[0] = static_cast<char>(in_.byte());
  }

  // The attributes that lead an RC queue pair to `state`.
  static void step(wire::VerbsAttributes& to, rdma::QpState state) {
    using namespace rdma::attribute;
    to.state = static_cast<uint32_t>(state);
    to.mask = rdma::attribute::state;
    to.port = 1;
    to.access_flags = rdma::access::remote_write | rdma::access::remote_read | rdma::access::remote_atomic;
    to.path_mtu = 1024;
    to.reads_in = to.reads_out = 4;
    to.timeout = 14;
    to.retry_count = to.rnr_retry = 2;
    if (state == rdma::QpState::init) to.mask |= pkey_index | port | access_flags;
    if (state == rdma::QpState::rtr) to.mask |= address | path_mtu | remote_number | receive_psn | reads_in | rnr_timer;
    if (state == rdma::QpState::rts) to.mask |= timeout | retry_count | rnr_retry | send_psn | reads_out;
  }

  // The blob of a VerbsPost; `address` gives memory that the process may have.
  template <class Address>
  std::vector<std::byte> work(const wire::VerbsPost& m, const VerbsObjects& of, Address address) {
    std::vector<std::byte> blob;
    const auto append = [&](const auto& value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      blob.insert(blob.end(), bytes.begin(), bytes.end());
    };
    for (uint32_t k = 0; k < std::min(m.count, 4u); ++k) {
      wire::VerbsWork w;
      w.id = in_.byte();
      w.opcode = in_.below(11);
      w.flags = in_.byte() % 16;
      w.immediate = in_.one_in(2) ? key() : count();
      w.pieces = in_.one_in(16) ? count() : in_.below(3);
      w.inline_bytes = (w.flags & rdma::send_flags::inline_data) != 0 ? in_.below(64) : 0;
      w.remote_key = key();
      w.remote_address = in_.one_in(8) ? count() : address();
      w.compare_or_add = in_.byte();
      w.swap = in_.byte();
      w.address = object(of, wire::VerbsObject::address);
      w.remote_number = number();
      w.window = object(of, wire::VerbsObject::window);
      w.region = object(of, wire::VerbsObject::region);
      w.bind_address = address();
      w.bind_bytes = count();
      w.bind_access = access();
      w.bind_key = key();
      append(w);
      for (uint32_t piece = 0; piece < std::min(w.pieces, 3u); ++piece)
        append(wire::VerbsPiece{address(), in_.one_in(16) ? count() : in_.below(200), key()});
      blob.resize(blob.size() + (std::min(w.inline_bytes, 64u) + 7) / 8 * 8);
    }
    if (in_.one_in(32)) blob.resize(blob.size() / 2);
    return blob;
  }

  uint32_t last_number() const { return numbers_.empty() ? 0 : numbers_.back(); }
  uint64_t object(const VerbsObjects& of, wire::VerbsObject kind) {
    const auto& list = of.made[static_cast<size_t>(kind) % VerbsObjects::kKinds];
    return list.empty() || in_.one_in(16) ? in_.byte() : list[in_.below(static_cast<uint32_t>(list.size()))];
  }

 private:
  template <class T>
  static void add(std::vector<T>& list, T value) {
    constexpr size_t kMost = 8;
    if (list.size() == kMost) list.erase(list.begin());
    list.push_back(value);
  }
  uint32_t count() {
    static constexpr uint32_t kValues[] = {0, 1, 1, 2, 4, 16, 31, 200, 4096, 1 << 16, 1u << 31, UINT32_MAX};
    return in_.pick(kValues);
  }
  uint32_t key() {
    if (keys_.empty() || in_.one_in(16)) return count();
    return keys_[in_.below(static_cast<uint32_t>(keys_.size()))] ^ (in_.one_in(16) ? 1u : 0u);
  }
  uint32_t number() {
    if (numbers_.empty() || in_.one_in(16)) return count();
    return numbers_[in_.below(static_cast<uint32_t>(numbers_.size()))];
  }
  uint32_t access() { return in_.one_in(8) ? count() : in_.one_in(4) ? in_.byte() : 15; }
  wire::VerbsPath path() {
    wire::VerbsPath p;
    p.lid = in_.one_in(8) ? count() : 1 + in_.below(4);
    p.global = in_.one_in(8) ? 1 : 0;
    return p;
  }

  Reader& in_;
  std::vector<uint32_t> keys_, numbers_;  // of all processes
};

}  // namespace fb::fuzz
