#include "virtual_node/simt/lower/registers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "common/ptx/traits.h"
#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {
namespace {

using Bits = std::vector<uint64_t>;

bool test(const Bits& b, uint32_t k) { return (b[k / 64] >> (k % 64) & 1) != 0; }
void set(Bits& b, uint32_t k) { b[k / 64] |= uint64_t{1} << (k % 64); }

}  // namespace

uint32_t row_bytes(ptx::Type type) {
  return type == ptx::Type::pred ? static_cast<uint32_t>(sizeof(Mask)) : ptx::bytes_of(type) * kLanes;
}

Liveness find_liveness(const ptx::Function& f) {
  Liveness result;
  result.live_in.resize(f.body.size() + 1);
  if (f.body.empty()) return result;
  const Flow flow = find_flow(f);
  const size_t blocks = flow.block_begin.size();
  const size_t words = (f.registers.size() + 63) / 64;
  std::vector<Bits> use(blocks, Bits(words)), def(blocks, Bits(words)), in(blocks, Bits(words)),
      out(blocks, Bits(words));
  for (size_t b = 0; b < blocks; ++b) {
    const uint32_t end = b + 1 < blocks ? flow.block_begin[b + 1] : static_cast<uint32_t>(f.body.size());
    for (uint32_t k = flow.block_begin[b]; k < end; ++k) {
      const ptx::Instruction& inst = f.body[k];
      for_each_register(inst, [&](uint32_t r, bool written) {
        if (!written && !test(def[b], r)) set(use[b], r);
      });
      // A guarded write leaves the old value in other lanes: it does not end a lifetime, it reads.
      const bool guarded = inst.guard.reg != ptx::kNoIndex;
      for_each_register(inst, [&](uint32_t r, bool written) {
        if (!written) return;
        if (guarded) {
          if (!test(def[b], r)) set(use[b], r);
        } else {
          set(def[b], r);
        }
      });
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t b = blocks; b-- > 0;) {
      Bits& o = out[b];
      for (uint32_t s : flow.next[b]) {
        for (size_t w = 0; w < words; ++w) o[w] |= in[s][w];
      }
      for (size_t w = 0; w < words; ++w) {
        const uint64_t now = use[b][w] | (o[w] & ~def[b][w]);
        if (now != in[b][w]) {
          in[b][w] = now;
          changed = true;
        }
      }
    }
  }
  for (size_t b = 0; b < blocks; ++b) {
    auto& list = result.live_in[flow.block_begin[b]];
    for (uint32_t r = 0; r < f.registers.size(); ++r) {
      if (test(in[b], r)) list.push_back(r);
    }
  }
  return result;
}

RegisterRows allocate_rows(const ptx::Function& f, const Liveness& liveness, bool share) {
  struct Interval {
    uint32_t begin = ptx::kNoIndex, end = 0;
  };
  const auto n = static_cast<uint32_t>(f.body.size());
  std::vector<Interval> life(f.registers.size());
  const auto touch = [&](uint32_t r, uint32_t k) {
    life[r].begin = std::min(life[r].begin, k);
    life[r].end = std::max(life[r].end, k);
  };
  for (uint32_t k = 0; k < n; ++k) {
    for_each_register(f.body[k], [&](uint32_t r, bool) { touch(r, k); });
  }
  // Alive at the head of a block means alive at the end of every block that leads there: stretch over both.
  std::vector<uint32_t> heads;
  for (uint32_t k = 0; k < n; ++k) {
    if (k == 0 || !liveness.live_in[k].empty()) heads.push_back(k);
  }
  for (uint32_t k : heads) {
    for (uint32_t r : liveness.live_in[k]) touch(r, k);
  }
  std::vector<uint32_t> targets;
  for (uint32_t k = 0; k < n; ++k) {
    targets.clear();
    add_targets(f, f.body[k], targets);
    for (uint32_t t : targets) {
      for (uint32_t r : liveness.live_in[t]) touch(r, k);
    }
  }

  RegisterRows rows;
  rows.row.assign(f.registers.size(), 0);
  std::vector<uint32_t> order;
  for (uint32_t r = 0; r < f.registers.size(); ++r) {
    if (life[r].begin != ptx::kNoIndex) order.push_back(r);
  }
  std::ranges::sort(order, {}, [&](uint32_t r) { return std::pair(life[r].begin, r); });

  std::map<uint32_t, std::vector<int32_t>> free_rows;  // by size; reused last in, first out
  std::vector<uint32_t> alive;                         // min-heap by end
  const auto later = [&](uint32_t a, uint32_t b) { return life[a].end > life[b].end; };
  for (uint32_t r : order) {
    // A row that dies at an instruction is not free for what that instruction writes: rows of different widths would
    // overlap in part.
    while (share && !alive.empty() && life[alive.front()].end < life[r].begin) {
      std::ranges::pop_heap(alive, later);
      const uint32_t dead = alive.back();
      alive.pop_back();
      free_rows[row_bytes(f.registers[dead].type)].push_back(rows.row[dead]);
    }
    const uint32_t bytes = row_bytes(f.registers[r].type);
    auto& pool = free_rows[bytes];
    if (!pool.empty()) {
      rows.row[r] = pool.back();
      pool.pop_back();
    } else {
      // Rows of whole cache lines stay aligned to them; predicates are packed.
      if (bytes > sizeof(Mask)) rows.bytes = (rows.bytes + 63) / 64 * 64;
      rows.row[r] = static_cast<int32_t>(rows.bytes);
      rows.bytes += bytes;
    }
    alive.push_back(r);
    std::ranges::push_heap(alive, later);
  }
  rows.bytes = (rows.bytes + 63) / 64 * 64;
  return rows;
}

}  // namespace fb::simt
