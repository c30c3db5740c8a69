#include "virtual_node/simt/reduce.h"

#include <cstring>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half_arith.h"
#include "virtual_node/num/minmax.h"

namespace fb::simt {
namespace {

template <class T, auto kOp>
void reduce(std::byte* to, const std::byte* from, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) {
    T a, b;
    std::memcpy(&a, to + k * sizeof(T), sizeof(T));
    std::memcpy(&b, from + k * sizeof(T), sizeof(T));
    a = kOp(a, b);
    std::memcpy(to + k * sizeof(T), &a, sizeof(T));
  }
}

template <class T>
Reduce find_int(ReduceOp op) {
  switch (op) {
    case ReduceOp::add:
      return &reduce<T, [](T a, T b) { return static_cast<T>(a + b); }>;
    case ReduceOp::min:
      return &reduce<T, [](T a, T b) { return b < a ? b : a; }>;
    case ReduceOp::max:
      return &reduce<T, [](T a, T b) { return a < b ? b : a; }>;
    default:
      return nullptr;
  }
}

template <class T>
Reduce find_bits(ReduceOp op) {
  switch (op) {
    case ReduceOp::and_:
      return &reduce<T, [](T a, T b) { return a & b; }>;
    case ReduceOp::or_:
      return &reduce<T, [](T a, T b) { return a | b; }>;
    case ReduceOp::xor_:
      return &reduce<T, [](T a, T b) { return a ^ b; }>;
    default:
      return nullptr;
  }
}

// inc and dec wrap at the operand: red.inc, red.dec.
Reduce find_u32(ReduceOp op) {
  using T = uint32_t;
  if (op == ReduceOp::inc) return &reduce<T, [](T a, T b) { return a < b ? a + 1 : 0; }>;
  if (op == ReduceOp::dec) return &reduce<T, [](T a, T b) { return (a == 0 || b < a) ? b : a - 1; }>;
  return find_int<T>(op);
}

Reduce find_f16(ReduceOp op) {
  using T = uint16_t;
  switch (op) {
    case ReduceOp::add:
      return &reduce<T, [](T a, T b) { return num::add_f16<>(a, b); }>;
    case ReduceOp::min:
      return &reduce<T, [](T a, T b) { return num::min_f16<>(a, b); }>;
    case ReduceOp::max:
      return &reduce<T, [](T a, T b) { return num::max_f16<>(a, b); }>;
    default:
      return nullptr;
  }
}

Reduce find_bf16(ReduceOp op) {
  using T = uint16_t;
  switch (op) {
    case ReduceOp::add:
      return &reduce<T, [](T a, T b) { return num::add_bf16<>(a, b); }>;
    case ReduceOp::min:
      return &reduce<T, [](T a, T b) { return num::min_bf16<>(a, b); }>;
    case ReduceOp::max:
      return &reduce<T, [](T a, T b) { return num::max_bf16<>(a, b); }>;
    default:
      return nullptr;
  }
}

template <class T, num::Mods kMods = num::kRn>
Reduce find_float(ReduceOp op) {
  return op == ReduceOp::add ? &reduce<T, [](T a, T b) { return num::add<kMods>(a, b); }> : nullptr;
}

}  // namespace

Reduce find_reduce(ReduceOp op, ptx::Type type, bool flush) {
  switch (type) {
    case ptx::Type::u32:
      return find_u32(op);
    case ptx::Type::s32:
      return find_int<int32_t>(op);
    case ptx::Type::u64:
      return find_int<uint64_t>(op);
    case ptx::Type::s64:
      return find_int<int64_t>(op);
    case ptx::Type::b32:
      return find_bits<uint32_t>(op);
    case ptx::Type::b64:
      return find_bits<uint64_t>(op);
    case ptx::Type::f16:
      return find_f16(op);
    case ptx::Type::bf16:
      return find_bf16(op);
    case ptx::Type::f32:
      return flush ? find_float<float, num::Mods{.ftz = true}>(op) : find_float<float>(op);
    case ptx::Type::f64:
      return find_float<double>(op);
    default:
      return nullptr;
  }
}

ReduceOp reduce_op(const ptx::Instruction& inst) {
  using ptx::Mod;
  if (inst.has(Mod::min)) return ReduceOp::min;
  if (inst.has(Mod::max)) return ReduceOp::max;
  if (inst.has(Mod::inc)) return ReduceOp::inc;
  if (inst.has(Mod::dec)) return ReduceOp::dec;
  if (inst.has(Mod::and_)) return ReduceOp::and_;
  if (inst.has(Mod::or_)) return ReduceOp::or_;
  if (inst.has(Mod::xor_)) return ReduceOp::xor_;
  return ReduceOp::add;
}

}  // namespace fb::simt
