// Guest addresses to host bytes, with every check that a fault report needs.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

// The shared memory that an address of the shared window means: this block's, or one of its cluster's.
Block* block_of(Block& own, uint32_t a) {
  const uint32_t slot = a >> mem::kClusterShift;
  if (slot == 0) return &own;
  if (!own.cluster) return slot == 1 ? &own : nullptr;
  return slot - 1 < own.cluster->blocks.size() ? own.cluster->blocks[slot - 1] : nullptr;
}

}  // namespace

std::byte* Warp::find_global(mem::Address a, uint64_t bytes) {
  if (window && window->contains(a, bytes)) [[likely]]
    return window->host + (a - window->begin);
  const mem::Window* found = nullptr;
  for (const mem::Window*& other : other_windows_) {
    if (!other || !other->contains(a, bytes)) continue;
    found = other;
    other = window;
    break;
  }
  if (!found) {
    found = environment_->global().find(a);
    if (!found || !found->host || !found->contains(a, bytes)) return nullptr;
    std::copy_backward(other_windows_, other_windows_ + 2, other_windows_ + 3);
    other_windows_[0] = window;
  }
  window = found;
  return found->host + (a - found->begin);
}

namespace {

// The flags of the bytes at `at`, in the block of the cluster whose shared memory they are; null: not shared memory.
uint8_t* written_flags(Block& own, const std::byte* at) {
  const auto flags_in = [&](Block& block) -> uint8_t* {
    const std::byte* begin = block.shared();
    // Empty unless they are asked for.
    if (at < begin || at >= begin + block.shared_written().size()) return nullptr;
    return block.shared_written().data() + (at - begin);
  };
  if (uint8_t* flags = flags_in(own)) return flags;
  if (!own.cluster) return nullptr;
  for (Block* block : own.cluster->blocks) {
    if (uint8_t* flags = flags_in(*block)) return flags;
  }
  return nullptr;
}

}  // namespace

void Warp::check_initialised(const Inst& inst, uint32_t lane, const std::byte* at, mem::Address a, uint32_t bytes) {
  const uint8_t* flags = written_flags(*block_, at);
  if (!flags) return;
  for (uint32_t k = 0; k < bytes; ++k) {
    if (flags[k] != 0) continue;
    trap(TrapKind::uninitialised, inst, lane,
         fmt::format("{} bytes at shared address {:#x}: byte {} was never written", bytes, a, k), a, bytes);
  }
}

void Warp::mark_initialised(const std::byte* at, uint32_t bytes) {
  if (uint8_t* flags = written_flags(*block_, at)) std::fill_n(flags, bytes, uint8_t{1});
}

std::byte* Warp::resolve(const Inst& inst, ptx::Space space, uint32_t lane, mem::Address a, uint32_t bytes) {
  if (space == ptx::Space::generic) {
    if (mem::is_memory(a)) {
      space = ptx::Space::global;
    } else if (mem::is_shared(a)) {
      space = ptx::Space::shared_cluster;
      a -= mem::kSharedWindow;
    } else if (mem::is_local(a)) {
      space = ptx::Space::local;
      a -= mem::kLocalWindow;
    } else if (mem::is_param(a)) {
      space = ptx::Space::param;
      a -= mem::kParamWindow;
    } else {
      space = ptx::Space::global;
    }
  }
  if (a % std::bit_ceil(bytes) != 0) {
    trap(TrapKind::misaligned, inst, lane,
         fmt::format("{} bytes at {} address {:#x} are not aligned to their size", bytes, to_string(space), a), a,
         bytes);
  }
  switch (space) {
    case ptx::Space::global:
    case ptx::Space::constant:
    case ptx::Space::generic: {
      if (std::byte* p = find_global(a, bytes)) [[likely]]
        return p;
      if (const mem::Window* found = environment_->global().find(a); found && found->multicast) {
        trap(
            TrapKind::invalid_operand, inst, lane,
            fmt::format("{} bytes at {:#x}: a multicast address (byte {} of multicast object #{}), which only multimem "
                        "instructions can access",
                        bytes, a, a - found->begin + found->offset, found->multicast->id),
            a, bytes);
      }
      const std::string where = environment_->describe(a);
      const TrapKind kind = a < 4096                                                ? TrapKind::null_pointer
                            : where.ends_with("freed") && where.starts_with("byte") ? TrapKind::use_after_free
                                                                                    : TrapKind::out_of_bounds;
      trap(kind, inst, lane, fmt::format("{} bytes at {:#x}: {}", bytes, a, where), a, bytes);
    }
    case ptx::Space::shared:
    case ptx::Space::shared_cluster: {
      Block* owner = a <= UINT32_MAX ? block_of(*block_, static_cast<uint32_t>(a)) : nullptr;
      const uint64_t offset = (a & ((1u << mem::kClusterShift) - 1)) - mem::kSharedReserved;
      if (!owner || offset >= owner->shared_bytes() || bytes > owner->shared_bytes() - offset) {
        trap(TrapKind::out_of_bounds, inst, lane,
             fmt::format("{} bytes at shared address {:#x}: the block has {} bytes of shared memory, at {:#x}", bytes,
                         a, block_->shared_bytes(), mem::kSharedReserved),
             a, bytes);
      }
      if (owner->finished()) {
        trap(TrapKind::use_after_free, inst, lane,
             fmt::format("shared memory of block {}, which has exited", owner->index()), a, bytes);
      }
      return owner->shared() + offset;
    }
    case ptx::Space::local:
      if (a >= local_stride_ || bytes > local_stride_ - a) {
        trap(TrapKind::out_of_bounds, inst, lane,
             fmt::format("{} bytes at local address {:#x}: the thread has {} bytes of local memory", bytes, a,
                         local_stride_),
             a, bytes);
      }
      return local(lane) + a;
    case ptx::Space::param: {
      const auto& params = block_->grid().params;
      if (a >= params.size() || bytes > params.size() - a) {
        trap(TrapKind::out_of_bounds, inst, lane,
             fmt::format("{} bytes at {:#x} of the kernel's {} bytes of parameters", bytes, a, params.size()), a,
             bytes);
      }
      return const_cast<std::byte*>(params.data()) + a;
    }
  }
  __builtin_unreachable();
}

}  // namespace fb::simt
