#include "litmus/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace fb::litmus {
namespace {

const char* text_of(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::weak:
      return "weak";
    case MemoryOrder::relaxed:
      return "relaxed";
    case MemoryOrder::acquire:
      return "acquire";
    case MemoryOrder::release:
      return "release";
    case MemoryOrder::acq_rel:
      return "acq_rel";
    case MemoryOrder::sc:
      return "sc";
    case MemoryOrder::volatile_:
      return "volatile";
  }
  return "?";
}

const char* text_of(Scope scope) {
  switch (scope) {
    case Scope::cta:
      return ".cta";
    case Scope::cluster:
      return ".cluster";
    case Scope::gpu:
      return ".gpu";
    case Scope::sys:
      return ".sys";
    case Scope::none:
      break;
  }
  return "";
}

std::string text_of(const Place& p) {
  return fmt::format("gpu {} block {} warp {}{}", p.device, p.block, p.warp,
                     p.lane == 0 ? "" : fmt::format(" lane {}", p.lane));
}

}  // namespace

uint32_t Program::registers(size_t thread) const {
  int most = kNone;
  for (const Op& op : threads[thread].ops) most = std::max<int>(most, op.reg);
  return static_cast<uint32_t>(most + 1);
}

bool reads(OpKind kind) { return kind == OpKind::load || kind == OpKind::exchange || kind == OpKind::add; }

bool writes(OpKind kind) {
  switch (kind) {
    case OpKind::store:
    case OpKind::exchange:
    case OpKind::add:
    case OpKind::reduce:
    case OpKind::bulk_store:
    case OpKind::bulk_load:
    case OpKind::multimem_store:
    case OpKind::multimem_reduce:
      return true;
    default:
      return false;
  }
}

std::vector<int16_t> observed_locations(const Program& program) {
  std::vector<int16_t> found;
  for (size_t l = 0; l < program.locations.size(); ++l) {
    // Shared memory is gone when the kernel has ended.
    if (program.locations[l].memory == Memory::shared) continue;
    size_t writers = 0;
    for (const Thread& t : program.threads) {
      for (const Op& op : t.ops) writers += writes(op.kind) && op.location == static_cast<int16_t>(l);
    }
    if (writers > 1) found.push_back(static_cast<int16_t>(l));
  }
  return found;
}

std::string text_of(const Program& program, const Op& op) {
  const auto name = [&](int16_t location) {
    return std::string(1, program.locations[static_cast<size_t>(location)].name);
  };
  const std::string how = fmt::format(
      "{}{}{}", text_of(op.order), op.order == MemoryOrder::volatile_ ? "" : text_of(op.scope), op.wide ? ".u64" : "");
  switch (op.kind) {
    case OpKind::load:
      return fmt::format("r{} = ld.{} [{}]", op.reg, how, name(op.location));
    case OpKind::store:
      return fmt::format("st.{} [{}], {}", how, name(op.location),
                         op.reg == kNone ? fmt::format("{}", op.value) : fmt::format("r{}", op.reg));
    case OpKind::exchange:
      return fmt::format("r{} = atom.{}.exch [{}], {}", op.reg, how, name(op.location), op.value);
    case OpKind::add:
      return fmt::format("r{} = atom.{}.add [{}], {}", op.reg, how, name(op.location), op.value);
    case OpKind::reduce:
      return fmt::format("red.{}.add [{}], {}", how, name(op.location), op.value);
    case OpKind::fence:
      return fmt::format("fence.{}", how);
    case OpKind::barrier:
      return "bar.sync";
    case OpKind::guard:
      return fmt::format("end unless r{} == {}", op.reg, op.value);
    case OpKind::bulk_store:
      return fmt::format("cp.async.bulk.global.shared [{}], [{}]; commit", name(op.location), name(op.source));
    case OpKind::bulk_load:
      return fmt::format("cp.async.bulk.shared.global [{}], [{}], mbarrier", name(op.location), name(op.source));
    case OpKind::wait_bulk_read:
      return "cp.async.bulk.wait_group.read 0";
    case OpKind::wait_bulk:
      return "cp.async.bulk.wait_group 0";
    case OpKind::wait_load:
      return "mbarrier.try_wait until complete";
    case OpKind::fence_async:
      return "fence.proxy.async";
    case OpKind::fence_alias:
      return "fence.proxy.alias";
    case OpKind::multimem_store:
      return fmt::format("multimem.st.{} [{}], {}", how, name(op.location), op.value);
    case OpKind::multimem_reduce:
      return fmt::format("multimem.red.{}.add [{}], {}", how, name(op.location), op.value);
  }
  return "?";
}

std::string text_of(const Program& program) {
  std::vector<std::vector<std::string>> columns;
  size_t rows = 0;
  for (size_t t = 0; t < program.threads.size(); ++t) {
    std::vector<std::string> column{fmt::format("T{}: {}", t, text_of(program.threads[t].place))};
    for (const Op& op : program.threads[t].ops) column.push_back(text_of(program, op));
    rows = std::max(rows, column.size());
    columns.push_back(std::move(column));
  }
  std::string text = "PTX " + program.family + "\n{";
  for (const Location& l : program.locations) {
    text += fmt::format(" {}=0{};", l.name,
                        l.memory == Memory::shared      ? " (shared)"
                        : l.memory == Memory::multicast ? " (multicast)"
                                                        : "");
  }
  text += " }\n";
  for (size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const auto& column : columns) {
      size_t width = 0;
      for (const std::string& cell : column) width = std::max(width, cell.size());
      line += fmt::format(" {:<{}} |", row < column.size() ? column[row] : "", width);
    }
    text += line + "\n";
  }
  return text;
}

std::string text_of(const Program& program, const Outcome& outcome) {
  std::string text;
  size_t k = 0;
  const auto value = [&] { return outcome[k] == kUnset ? std::string("-") : fmt::format("{}", outcome[k]); };
  for (size_t t = 0; t < program.threads.size(); ++t) {
    for (uint32_t r = 0; r < program.registers(t); ++r, ++k) text += fmt::format("{}:r{}={} ", t, r, value());
  }
  for (const int16_t l : observed_locations(program)) {
    text += fmt::format("{}={} ", program.locations[static_cast<size_t>(l)].name, value());
    ++k;
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace fb::litmus
