#include "virtual_node/machine/libraries/blas/blas_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "common/wire/element_type.h"
#include "virtual_node/fabric/cublas_model.h"
#include "virtual_node/machine/libraries/blas/blas_elements.h"
#include "virtual_node/machine/libraries/blas/blas_values.h"
#include "virtual_node/machine/process/operand_fault.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using wire::BlasKind;
using wire::BlasMath;
using wire::ElementType;
using wire::ScalarFrom;
using wire::Status;

// Named outside, as BlasLaunch has them and other files are compiled together with this one.

// How an operand is used.
enum class OperandRole : uint8_t { reads, writes, updates };

// Bytes of all batches, or of one of those that pointers name.
struct OperandExtent {
  uint64_t rows = 0, columns = 0;
  int64_t before = 0;  // the first byte, from the first element; 0 or less
  uint64_t bytes = 0;  // from there to behind the last
};

namespace {

using Role = OperandRole;
using Extent = OperandExtent;

constexpr uint64_t kMostSize = uint64_t{1} << 31;          // of m, n, k and batches
constexpr int64_t kMostStride = int64_t{1} << 40;          // in elements
constexpr uint64_t kMostOperandBytes = uint64_t{1} << 46;  // of an operand: more than any device has
constexpr uint64_t kMostWaves = 1024;                      // that are events of their own
constexpr uint64_t kProductRegisters = 168;
// Multiplications that are computed before other events may run, and what they count as in the budget of instructions.
constexpr uint64_t kMostWorkAtOnce = uint64_t{1} << 27, kPerInstruction = 512;
constexpr uint64_t kLeastRows = 12, kLeastColumns = 32;
// Beyond so many runs of bytes an operand counts as accessed with its gaps.
constexpr uint64_t kMostRuns = uint64_t{1} << 16;

std::optional<Extent> extent_of(const wire::BlasOperand& o, uint64_t rows, uint64_t columns, uint64_t batches) {
  // Elements that are one would make large operations of little memory.
  if ((rows > 1 && o.row_stride == 0) || (columns > 1 && o.column_stride == 0)) return std::nullopt;
  __int128 low = 0, high = 0;
  const auto add = [&](uint64_t count, int64_t stride) {
    const __int128 reach = static_cast<__int128>(count - 1) * stride;
    (reach < 0 ? low : high) += reach;
  };
  add(rows, o.row_stride);
  add(columns, o.column_stride);
  if (o.by_pointers == 0) add(batches, o.batch_stride);
  const auto size = static_cast<int64_t>(size_of(o.type));
  const __int128 bytes = (high - low + 1) * size;
  if (bytes > static_cast<__int128>(kMostOperandBytes)) return std::nullopt;
  return Extent{rows, columns, static_cast<int64_t>(low * size), static_cast<uint64_t>(bytes)};
}

bool is_reduction(BlasKind kind) { return kind >= BlasKind::dot; }

void clean(std::span<char> text) {
  text.back() = '\0';
  for (char& letter : text) {
    if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
  }
}

fabric::GemmMath math_of(const wire::Blas& m) {
  switch (m.math) {
    case BlasMath::f64:
      return fabric::GemmMath::f64;
    case BlasMath::i32:
      return fabric::GemmMath::int8;
    case BlasMath::tf32:
      return fabric::GemmMath::tf32;
    case BlasMath::f16:
    case BlasMath::bf16:
      return fabric::GemmMath::half;
    case BlasMath::f32:
      break;
  }
  const uint64_t widest = std::max(size_of(m.a.type), size_of(m.b.type));
  if (m.a.type == ElementType::i8) return fabric::GemmMath::int8;
  return widest == 1 ? fabric::GemmMath::fp8 : widest == 2 ? fabric::GemmMath::half : fabric::GemmMath::f32;
}

}  // namespace

std::string name_without_line(const wire::Blas& m) {
  const std::string_view full = m.name;
  const std::string_view name = full.substr(0, full.size() - (full.ends_with("_v2") ? 3 : 0));
  const auto type = name_of(m.kind == BlasKind::scale_vector ? m.d.type : m.a.type);
  if (m.kind == BlasKind::gemm) {
    const std::string batches = m.batches == 1 ? "" : fmt::format("{} times ", m.batches);
    return fmt::format("{} of {}{}x{}x{} {}", name, batches, m.m, m.n, m.k, type);
  }
  if (m.kind == BlasKind::matrix_sum) return fmt::format("{} of {}x{} {}", name, m.m, m.n, type);
  return fmt::format("{} of {} {}", name, m.m, type);
}

struct BlasLaunch {
  struct Operand {
    const wire::BlasOperand* about = nullptr;
    const char* what = "";
    Role role{};
    Extent extent;
    Bytes bytes;                 // at the first byte; by pointers: the array
    std::vector<Bytes> batches;  // by pointers: of each batch
  };
  struct Extra {
    uint64_t address = 0, size = 0;
    const char* what = "";
    Role role{};
    Bytes bytes;
  };

  wire::Blas call;
  std::weak_ptr<Operation> op;
  std::vector<Operand> operands;
  std::vector<Extra> extras;
  bool over = false;

  // Time
  fabric::CublasPlan plan;
  uint64_t local_l2 = 0, local_memory = 0;  // of the plan's bytes, those on the device itself
  struct Remote {
    uint32_t owner = 0;
    uint64_t bytes = 0;
    bool reads = false;
  };
  std::vector<Remote> remote;
  uint64_t done = 0;  // blocks
  Time next = 0;
  std::optional<Engine::Residents> residents;

  // Values
  uint64_t batch = 0, row = 0, column = 0;
  double largest = 0;

  const Operand* find(const wire::BlasOperand& o) const {
    const auto found = std::ranges::find(operands, &o, &Operand::about);
    return found == operands.end() ? nullptr : &*found;
  }
  const Extra* find(uint64_t address) const {
    if (address == 0) return nullptr;
    const auto found = std::ranges::find(extras, address, &Extra::address);
    return found == extras.end() ? nullptr : &*found;
  }
  BlasView view(const wire::BlasOperand& o, uint64_t number) const {
    const Operand* found = find(o);
    if (!found) return {};
    const Bytes& bytes = o.by_pointers != 0 ? found->batches[number] : found->bytes;
    std::byte* first = bytes.host - found->extent.before;
    if (o.by_pointers == 0)
      first += static_cast<int64_t>(number) * o.batch_stride * static_cast<int64_t>(size_of(o.type));
    return {first, o.row_stride, o.column_stride, o.type};
  }
  double scalar(const wire::BlasScalar& s, double otherwise) const {
    if (s.from == ScalarFrom::none) return otherwise;
    if (s.from == ScalarFrom::request) return read_number(s.type, reinterpret_cast<const std::byte*>(&s.value));
    const Extra* found = find(s.value);
    return found ? read_number(s.type, found->bytes.host) : otherwise;
  }
  double scale(uint64_t address) const {
    const Extra* found = find(address);
    return found ? read_number(ElementType::f32, found->bytes.host) : 1;
  }
};

namespace {

// Whether the call says, without a look at memory, that the operand it scales is not read.
bool is_zero(const wire::BlasScalar& s, double otherwise) {
  if (s.from == ScalarFrom::none) return otherwise == 0;
  return s.from == ScalarFrom::request && read_number(s.type, reinterpret_cast<const std::byte*>(&s.value)) == 0;
}

bool valid_scalar(const wire::BlasScalar& s) { return s.from <= ScalarFrom::device && is_blas_type(s.type); }

bool valid_operand(const wire::BlasOperand& o) {
  const auto fits = [](int64_t stride) { return stride >= -kMostStride && stride <= kMostStride; };
  return is_blas_type(o.type) && o.by_pointers <= 1 && fits(o.row_stride) && fits(o.column_stride) &&
         fits(o.batch_stride);
}

// The operands that the call accesses, with their sizes. False: they are larger than any memory.
bool list_operands(BlasLaunch& l) {
  const wire::Blas& m = l.call;
  bool fits = true;
  const auto add = [&](const wire::BlasOperand& o, const char* what, Role role, uint64_t rows, uint64_t columns) {
    const auto extent = extent_of(o, rows, columns, m.batches);
    fits = fits && extent;
    if (extent) l.operands.push_back({&o, what, role, *extent, {}, {}});
  };
  const auto extra = [&](uint64_t address, uint64_t size, const char* what, Role role = Role::reads) {
    if (address != 0) l.extras.push_back({address, size, what, role, {}});
  };
  const auto scalar = [&](const wire::BlasScalar& s, const char* what) {
    if (s.from == ScalarFrom::device) extra(s.value, size_of(s.type), what);
  };
  scalar(m.alpha, "alpha");
  scalar(m.beta, "beta");
  switch (m.kind) {
    case BlasKind::gemm:
      if (m.k != 0 && !is_zero(m.alpha, 1)) {
        add(m.a, "A", Role::reads, m.m, m.k);
        add(m.b, "B", Role::reads, m.k, m.n);
      }
      if (!is_zero(m.beta, 0)) add(m.c, "C", Role::reads, m.m, m.n);
      add(m.d, "D", Role::writes, m.m, m.n);
      if (m.aux.address != 0) add(m.aux, "the auxiliary matrix", Role::writes, m.m, m.n);
      extra(m.scale_a, 4, "the scale of A");
      extra(m.scale_b, 4, "the scale of B");
      extra(m.scale_c, 4, "the scale of C");
      extra(m.scale_d, 4, "the scale of D");
      extra(m.largest, 4, "the largest modulus", Role::writes);
      extra(m.bias, (m.m + m.bias_batch_stride * (m.batches - 1)) * size_of(m.bias_type), "the bias");
      break;
    case BlasKind::matrix_sum:
      if (!is_zero(m.alpha, 1)) add(m.a, "A", Role::reads, m.m, m.n);
      if (!is_zero(m.beta, 0)) add(m.b, "B", Role::reads, m.m, m.n);
      add(m.d, "C", Role::writes, m.m, m.n);
      break;
    case BlasKind::scale_vector:
      add(m.d, "x", Role::updates, m.m, 1);
      break;
    case BlasKind::swap_vectors:
      add(m.a, "x", Role::updates, m.m, 1);
      add(m.d, "y", Role::updates, m.m, 1);
      break;
    default:
      if (m.m != 0) add(m.a, "x", Role::reads, m.m, 1);
      if (m.kind == BlasKind::dot && m.m != 0) add(m.b, "y", Role::reads, m.m, 1);
      if (is_reduction(m.kind)) {
        add(m.d, "the result", Role::writes, 1, 1);
      } else {
        add(m.d, "y", m.kind == BlasKind::add_scaled ? Role::updates : Role::writes, m.m, 1);
      }
      break;
  }
  return fits;
}

}  // namespace

Status BlasOperations::make(Process& process, const wire::Blas& m, OperationPtr& op) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if (m.kind > BlasKind::index_of_least || m.math > BlasMath::i32 || m.epilogue > wire::BlasEpilogue::gelu)
    return Status::invalid_value;
  for (const auto* operand : {&m.a, &m.b, &m.c, &m.d, &m.aux}) {
    if (!valid_operand(*operand)) return Status::invalid_value;
  }
  if (!valid_scalar(m.alpha) || !valid_scalar(m.beta) || !is_blas_type(m.bias_type)) return Status::invalid_value;
  if (m.m > kMostSize || m.n > kMostSize || m.k > kMostSize || m.batches > kMostSize) return Status::invalid_value;
  if (m.bias_batch_stride > kMostSize) return Status::invalid_value;
  // Only products come in batches.
  if (m.kind != BlasKind::gemm && m.batches != 1) return Status::invalid_value;
  if (m.kind != BlasKind::gemm && m.kind != BlasKind::matrix_sum && m.n != 1) return Status::invalid_value;

  auto launch = std::make_shared<BlasLaunch>();
  launch->call = m;
  clean(launch->call.name);
  clean(launch->call.where);
  op = StreamScheduler::make_operation(process, m.stream.device, "cuBLAS");
  const bool nothing = m.batches == 0 || (!is_reduction(m.kind) && (m.m == 0 || m.n == 0));
  if (nothing) return Status::ok;
  if (!list_operands(*launch)) return Status::invalid_value;
  const std::string name = name_without_line(launch->call);
  op->name = launch->call.where[0] == '\0' ? name : fmt::format("{}, {}", name, launch->call.where);
  op->payload = sizeof(BlasLaunch);
  op->kind = WorkKind::library;
  launch->op = op;
  op->on_end.push_back([this, launch] {
    launch->over = true;
    give_back(node_, *launch);
  });
  op->work = [this, launch](const OperationPtr&) { start(launch); };
  return Status::ok;
}

void BlasOperations::give_back(ProcessServices& node, BlasLaunch& launch) {
  if (const auto residents = std::exchange(launch.residents, std::nullopt)) node.engine.release(*residents);
}

bool BlasOperations::find_operands(BlasLaunch& l, std::string& fault) const {
  const OperationPtr op = l.op.lock();
  Process& process = *op->process;
  const uint32_t device = l.call.stream.device;
  const Context& context = node_.memory.context(process, device);
  const auto look = [&](uint64_t address, uint64_t bytes, const char* what) {
    Bytes found = node_.memory.find_bytes(process, address, bytes);
    if (found.host && !context.space.find(address)) found = {};
    if (!found.host && fault.empty())
      fault = fmt::format("{}: {}", op->name, explain_operand(context.space, what, address, bytes, device));
    return found;
  };
  for (auto& extra : l.extras) extra.bytes = look(extra.address, extra.size, extra.what);
  for (auto& o : l.operands) {
    if (o.about->by_pointers == 0) {
      o.bytes = look(o.about->address + static_cast<uint64_t>(o.extent.before), o.extent.bytes, o.what);
      continue;
    }
    o.bytes = look(o.about->address, l.call.batches * sizeof(uint64_t), "the array of pointers");
    for (uint64_t k = 0; k < l.call.batches && fault.empty(); ++k) {
      uint64_t address = 0;
      std::memcpy(&address, o.bytes.host + k * sizeof address, sizeof address);
      o.batches.push_back(look(address + static_cast<uint64_t>(o.extent.before), o.extent.bytes, o.what));
    }
  }
  return fault.empty();
}

// Time

void BlasOperations::plan(BlasLaunch& l) const {
  const wire::Blas& m = l.call;
  const OperationPtr op = l.op.lock();
  const auto bytes_of = [&](const BlasLaunch::Operand& o) {
    return m.batches * o.extent.rows * o.extent.columns * size_of(o.about->type) * (o.role == Role::updates ? 2 : 1);
  };
  uint64_t all = 0;
  for (const auto& o : l.operands) all += bytes_of(o);
  const bool product = m.kind == BlasKind::gemm && l.find(m.a);
  l.plan = fabric::plan_streaming(node_.platform, all, is_reduction(m.kind));
  if (product && (m.n != 1 || (m.math != BlasMath::f32 && m.math != BlasMath::f64) || size_of(m.a.type) < 4)) {
    fabric::GemmQuestion q;
    q.math = math_of(m);
    q.m = m.m;
    q.n = m.n;
    q.k = m.k;
    q.batches = m.batches;
    q.element_bytes = static_cast<uint32_t>(std::max(size_of(m.a.type), size_of(m.b.type)));
    q.result_bytes = static_cast<uint32_t>(size_of(m.d.type));
    q.reads_result = l.find(m.c) != nullptr;
    q.may_split = m.may_split != 0;
    l.plan = fabric::choose_gemm(node_.platform, q);
  }
  // What is not on the device is read anew by every tile: its L2 does not keep it.
  l.local_l2 = l.plan.l2_bytes;
  l.local_memory = l.plan.memory_bytes;
  for (const auto& o : l.operands) {
    std::map<uint32_t, uint64_t> batches_on;  // by device: matrices of one batch may be on several
    for (const Bytes& matrix : o.batches) ++batches_on[matrix.allocation->device];
    if (o.about->by_pointers == 0) batches_on[o.bytes.allocation->device] = m.batches;
    for (const auto& [owner, batches] : batches_on) {
      if (owner == op->device) continue;
      const uint64_t once = bytes_of(o) / m.batches * batches;
      uint64_t bytes = once;
      if (l.plan.tile_m != 0 && o.about == &m.a) bytes *= (m.n + l.plan.tile_n - 1) / l.plan.tile_n;
      if (l.plan.tile_m != 0 && o.about == &m.b) bytes *= (m.m + l.plan.tile_m - 1) / l.plan.tile_m;
      l.local_l2 -= std::min(l.local_l2, bytes);
      l.local_memory -= std::min(l.local_memory, once);
      l.remote.push_back({owner, bytes, o.role == Role::reads});
    }
  }
  BlasNote note;
  note.tile_m = l.plan.tile_m;
  note.tile_n = l.plan.tile_n;
  note.split = l.plan.split;
  note.blocks = l.plan.blocks;
  if (product) note.flop = 2 * m.batches * m.m * m.n * m.k;
  op->blas = note;
}

void BlasOperations::start(const LaunchPtr& launch) {
  const OperationPtr op = launch->op.lock();
  if (!op) return;
  Process& process = *op->process;
  const uint32_t device = launch->call.stream.device;
  std::string fault;
  if (!find_operands(*launch, fault)) {
    node_.log.count_fault();
    node_.report(make_incident(record::IncidentReason::kernel_fault, process.rank,
                               fmt::format("{}, device {}: {}", name_of(process), device, fault)));
    op->faulted = true;
    return node_.streams.fail(process, device, Status::illegal_address);
  }
  plan(*launch);
  BlockNeeds needs;
  needs.threads = std::min(launch->plan.threads, node_.limits.threads_per_sm);
  needs.registers =
      static_cast<uint32_t>(std::min<uint64_t>(needs.threads * kProductRegisters, node_.limits.registers_per_sm));
  // More than half of what there is: a multiprocessor holds one block.
  if (launch->plan.tile_m != 0)
    needs.shared = std::max(node_.limits.shared_reserved_per_block, node_.limits.shared_per_sm / 2 + 1);
  else
    needs.shared = node_.limits.shared_reserved_per_block;
  node_.log.add("begin of cuBLAS", {op->device, static_cast<uint64_t>(process.rank), op->begun});
  node_.engine.make_resident(op->device, needs, 1, [this, launch](Engine::Residents residents) {
    if (launch->over) return node_.engine.release(residents);
    launch->residents = std::move(residents);
    const OperationPtr self = launch->op.lock();
    const Time at = std::max(self->begun, node_.engine.acting_time());
    const Time begin = node_.platform.kernel.start + launch->plan.start;
    launch->next = node_.fabric.shares().later(at, begin, platform::Group::launch);
    // The device is not idle while the first block is prepared: others that begin at the same time get their share of
    // it.
    node_.engine.schedule(launch->next, self->tie, [this, launch] { run_waves(launch); });
  });
}

Time BlasOperations::end_of_wave(BlasLaunch& l, uint64_t blocks) const {
  const OperationPtr op = l.op.lock();
  const auto part = [&](uint64_t bytes) {
    return static_cast<uint64_t>(static_cast<double>(bytes) * static_cast<double>(blocks) /
                                 static_cast<double>(l.plan.blocks));
  };
  const uint64_t in_wave = std::max<uint64_t>(1, l.residents->sms.size());
  const Time work = (blocks + in_wave - 1) / in_wave * l.plan.block;
  const double bandwidth = node_.platform.memory.bandwidth * node_.platform.cublas.memory_share;
  const Time memory = static_cast<Time>(static_cast<double>(part(l.local_memory)) / bandwidth * 1e12);
  auto& shares = node_.fabric.shares();
  Time end = work >= memory ? shares.later(l.next, work, platform::Group::issue)
                            : shares.later(l.next, memory, platform::Group::bandwidth);
  if (l.local_l2 != 0 || l.local_memory != 0)
    end = std::max(end,
                   node_.fabric.stream(op->device, op->device, {part(l.local_l2), part(l.local_memory)}, true, l.next));
  for (const auto& r : l.remote)
    end = std::max(end, node_.fabric.stream(op->device, r.owner, part(r.bytes), r.reads, l.next));
  return end;
}

// Takes what multiprocessors are free for as many blocks as are left, and gives back what the last wave does not need.
void BlasOperations::run_waves(const LaunchPtr& launch) {
  const OperationPtr op = launch->op.lock();
  if (!op || launch->over) return;
  BlasLaunch& l = *launch;
  const uint64_t left = l.plan.blocks - l.done;
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(left, node_.platform.device.sms));
  auto& sms = l.residents->sms;
  if (sms.size() < most) {
    node_.engine.add_residents(*l.residents, most - static_cast<uint32_t>(sms.size()));
  } else if (sms.size() > most) {
    Engine::Residents rest{l.residents->gpu, l.residents->needs, {sms.begin() + most, sms.end()}};
    sms.resize(most);
    node_.engine.release(rest);
  }
  const uint64_t waves = std::max<uint64_t>(1, l.plan.blocks / sms.size() / kMostWaves);
  const uint64_t blocks = std::min<uint64_t>(left, sms.size() * waves);
  l.next = end_of_wave(l, blocks);
  l.done += blocks;
  node_.engine.charge(1);
  if (l.done < l.plan.blocks) return node_.engine.schedule(l.next, op->tie, [this, launch] { run_waves(launch); });
  l.next = node_.fabric.shares().later(l.next, l.plan.tail, platform::Group::latency);
  node_.engine.schedule(l.next, op->tie,
                        [this, launch] {
                          if (launch->over) return;
                          note_accesses(*launch);
                          compute(launch);
                        },
                        {EventAbout::Kind::memory, op->device});
}

// Values

void BlasOperations::note_accesses(BlasLaunch& l) {
  const OperationPtr op = l.op.lock();
  if (node_.checking) {
    const uint32_t agent = node_.checking->begin_part(*op, 0, name_without_line(l.call), l.call.where);
    const auto access = [&](Role role, const Bytes& bytes, uint64_t offset, uint64_t size) {
      if (role != Role::writes)
        node_.checking->access_of_part(agent, simt::AccessKind::load, *bytes.allocation, bytes.host + offset, size);
      if (role != Role::reads)
        node_.checking->access_of_part(agent, simt::AccessKind::store, *bytes.allocation, bytes.host + offset, size);
    };
    // Lines of elements that are beside each other; the gaps between them belong to others.
    const auto access_matrix = [&](const BlasLaunch::Operand& o, const Bytes& bytes, uint64_t batches) {
      const auto& about = *o.about;
      const uint64_t size = size_of(about.type);
      const bool by_rows = std::abs(about.row_stride) <= std::abs(about.column_stride) || o.extent.columns == 1;
      const uint64_t line = by_rows ? o.extent.rows : o.extent.columns,
                     lines = by_rows ? o.extent.columns : o.extent.rows;
      const int64_t step = by_rows ? about.row_stride : about.column_stride,
                    to_next = by_rows ? about.column_stride : about.row_stride;
      const uint64_t runs = std::abs(step) == 1 ? 1 : line, run = std::abs(step) == 1 ? line : 1;
      const bool dense = o.extent.bytes == line * lines * batches * size;
      if (dense || runs * lines > kMostRuns / batches) return access(o.role, bytes, 0, o.extent.bytes);
      for (uint64_t b = 0; b < batches; ++b) {
        for (uint64_t n = 0; n < lines; ++n) {
          for (uint64_t r = 0; r < runs; ++r) {
            int64_t at = static_cast<int64_t>(b) * (batches > 1 ? about.batch_stride : 0) +
                         static_cast<int64_t>(n) * to_next + static_cast<int64_t>(r) * step;
            if (run > 1 && step < 0) at -= static_cast<int64_t>(run) - 1;
            access(o.role, bytes, static_cast<uint64_t>(at * static_cast<int64_t>(size) - o.extent.before), run * size);
          }
        }
      }
    };
    for (const auto& e : l.extras) access(e.role, e.bytes, 0, e.size);
    for (const auto& o : l.operands) {
      if (o.about->by_pointers != 0) {
        access(Role::reads, o.bytes, 0, l.call.batches * sizeof(uint64_t));
        for (const Bytes& b : o.batches) access_matrix(o, b, 1);
      } else {
        access_matrix(o, o.bytes, l.call.batches);
      }
    }
    node_.checking->end_part(*op, agent);
  }
  const auto written = [&](const Bytes& b, uint64_t size) {
    node_.writes.note_operation(*b.allocation, b.host, size, "cuBLAS", op->process->number, node_.engine.now());
  };
  for (const auto& e : l.extras) {
    if (e.role != Role::reads) written(e.bytes, e.size);
  }
  for (const auto& o : l.operands) {
    if (o.role == Role::reads) continue;
    if (o.about->by_pointers == 0) written(o.bytes, o.extent.bytes);
    for (const Bytes& b : o.batches) written(b, o.extent.bytes);
  }
}

// Large ones in several events, so that the machine stays responsive.
void BlasOperations::compute(const LaunchPtr& launch) {
  BlasLaunch& l = *launch;
  const OperationPtr op = l.op.lock();
  if (!op || l.over) return;
  const wire::Blas& m = l.call;
  if (m.kind != BlasKind::gemm) {
    node_.engine.charge(1 + m.m * m.n / kPerInstruction);
    VectorValues v{
        m.kind, m.m, m.n, l.view(m.a, 0), l.view(m.b, 0), l.view(m.d, 0), l.scalar(m.alpha, 1), l.scalar(m.beta, 0)};
    compute_vectors(v);
    return finish(launch);
  }
  GemmValues g;
  g.math = m.math;
  g.epilogue = m.epilogue;
  g.m = m.m;
  g.n = m.n;
  g.k = m.k;
  g.alpha = l.scalar(m.alpha, 1) * l.scale(m.scale_a) * l.scale(m.scale_b);
  g.beta = l.scalar(m.beta, 0) * l.scale(m.scale_c);
  g.scale_d = l.scale(m.scale_d);
  const GemmPiece piece = gemm_piece(m.k);
  for (uint64_t worked = 0; l.batch < m.batches && worked < kMostWorkAtOnce;) {
    const uint64_t b = l.batch;
    g.a = g.alpha == 0 ? BlasView{} : l.view(m.a, b);
    g.b = l.view(m.b, b);
    g.c = g.beta == 0 ? BlasView{} : l.view(m.c, b);
    g.d = l.view(m.d, b);
    g.aux = l.view(m.aux, b);
    if (const auto* bias = l.find(m.bias))
      g.bias = {bias->bytes.host + b * m.bias_batch_stride * size_of(m.bias_type), 1, 0, m.bias_type};
    l.largest = std::max(l.largest, compute_gemm(g, l.row, l.column));
    // A piece at the edge is filled up to whole tiles of a kernel.
    const uint64_t rows = std::clamp<uint64_t>(m.m - l.row, kLeastRows, std::max(kLeastRows, piece.rows));
    const uint64_t columns =
        std::clamp<uint64_t>(m.n - l.column, kLeastColumns, std::max(kLeastColumns, piece.columns));
    const uint64_t work = rows * columns * (m.k + 16);
    node_.engine.charge(1 + work / kPerInstruction);
    worked += work;
    l.column += piece.columns;
    if (l.column < m.n) continue;
    l.column = 0;
    l.row += piece.rows;
    if (l.row < m.m) continue;
    l.row = 0;
    ++l.batch;
  }
  if (l.batch < m.batches)
    return node_.engine.schedule(l.next, op->tie, [this, launch] { compute(launch); },
                                 {EventAbout::Kind::memory, op->device});
  if (const auto* largest = l.find(m.largest)) {
    const auto value = static_cast<float>(l.largest);
    std::memcpy(largest->bytes.host, &value, sizeof value);
  }
  finish(launch);
}

void BlasOperations::finish(const LaunchPtr& launch) {
  BlasLaunch& l = *launch;
  const OperationPtr op = l.op.lock();
  auto& watch = node_.engine.watch();
  for (const auto& e : l.extras) {
    if (e.role != Role::reads) watch.written(e.bytes.host, e.size);
  }
  for (const auto& o : l.operands) {
    if (o.role == Role::reads) continue;
    if (o.about->by_pointers == 0) watch.written(o.bytes.host, o.extent.bytes);
    for (const Bytes& b : o.batches) watch.written(b.host, o.extent.bytes);
  }
  const Time end = node_.fabric.shares().later(l.next, node_.platform.kernel.end, platform::Group::launch);
  if (op->blas && end > op->begun)
    op->blas->tflops = static_cast<double>(op->blas->flop) / static_cast<double>(end - op->begun);
  node_.log.add("end of cuBLAS", {op->device, l.plan.blocks, end});
  give_back(node_, l);
  node_.engine.schedule(end, op->tie, [this, op, end] { node_.streams.finish(op, end); });
}

}  // namespace fb::machine
