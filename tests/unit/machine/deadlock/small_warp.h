#pragma once

// One warp of a small kernel, with one buffer of memory: for tests that need real instructions, without a machine.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "common/ptx/parse/parser.h"
#include "virtual_node/machine/engine/write_history.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/lower/lower.h"

namespace fb::machine {

// The kernel's only parameter is the buffer's address, in %rd0.
class SmallWarp final : public simt::Environment {
 public:
  SmallWarp(const std::string& body, std::shared_ptr<mem::Allocation> buffer, uint32_t threads = 1)
      : buffer_(std::move(buffer)) {
    address_ = memory_.reserve(buffer_->size, 256);
    memory_.map(address_, buffer_);
    const std::string text =
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n"
        ".reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\nld.param.u64 %rd0, [p];\n" +
        body + "\nst.global.u32 [%rd0], 1;\nret;\n}\n";
    auto parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : to_string(parsed.error(), text));
    module_ = std::make_unique<ptx::Module>(std::move(*parsed));
    auto lowered = simt::lower(*module_, {.observed = true, .reference = false, .address_of = {}});
    EXPECT_TRUE(lowered.has_value()) << (lowered ? "" : to_string(lowered.error(), "lower"));
    program_ = std::move(*lowered);
    grid_.program = program_.get();
    grid_.kernel = program_->find("k");
    grid_.block = {threads, 1, 1};
    grid_.id = 1;
    grid_.params.resize(8);
    std::memcpy(grid_.params.data(), &address_, 8);
    block_ = std::make_unique<simt::Block>(grid_, 0, *this, nullptr);
  }

  simt::Warp& warp() { return *block_->warps()[0]; }

  // Runs until the warp is blocked.
  void run() {
    for (int quantum = 0; quantum < 1000; ++quantum) {
      uint64_t executed = 0;
      if (warp().run(64, executed) == simt::Stop::blocked) return;
    }
    FAIL() << "the warp is never blocked";
  }

  void note_store(WriteHistory& history, uint64_t offset, uint32_t value, bool strong) {
    history.note_write(warp(), access(offset, simt::AccessKind::store, strong));
    std::memcpy(buffer_->bytes.get() + offset, &value, sizeof value);
  }
  void note_load(WriteHistory& history, uint64_t offset) {
    history.note_read(warp(), access(offset, simt::AccessKind::load, true));
  }

  mem::AddressSpace& global() override { return memory_; }
  simt::Watch& watch() override { return watch_; }
  void make_ready(simt::Warp&, Cause) override {}
  void print(std::string_view) override {}
  uint64_t cycles() override { return 0; }
  uint64_t nanoseconds() override { return 0; }
  void start(simt::AsyncCopy) override {}
  mem::Address heap_allocate(uint64_t) override { return 0; }
  bool heap_release(mem::Address) override { return false; }

 private:
  simt::Access access(uint64_t offset, simt::AccessKind kind, bool strong) {
    addresses_[0] = address_ + offset;
    simt::Access access;
    access.kind = kind;
    if (strong) access.order = decltype(access.order)::relaxed;
    access.bytes = 4;
    access.lanes = 1;
    access.addresses = addresses_.data();
    access.inst = program_->code.data();
    return access;
  }

  std::shared_ptr<mem::Allocation> buffer_;
  mem::Address address_ = 0;
  mem::AddressSpace memory_;
  simt::Watch watch_;
  std::unique_ptr<ptx::Module> module_;
  std::unique_ptr<simt::Program> program_;
  simt::Grid grid_;
  std::unique_ptr<simt::Block> block_;
  std::array<mem::Address, 32> addresses_{};
};

}  // namespace fb::machine
