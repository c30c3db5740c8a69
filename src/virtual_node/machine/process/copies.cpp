// Copies and memsets.

#include <algorithm>
#include <cstring>
#include <utility>

#include "virtual_node/machine/process/carry_on.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using wire::Status;

namespace {

constexpr uint64_t kLargestBox = uint64_t{1} << 46;
// Bytes moved before other events may run. Every row adds a fixed cost.
constexpr uint64_t kMostCopiedAtOnce = 64 << 20;
constexpr uint64_t kRowCost = 128;

}  // namespace

// Named outside: other files are compiled together with this one.
struct CopyBox {
  uint64_t width = 0, height = 0, depth = 0;

  uint64_t bytes() const { return width * height * depth; }

  // Bytes from the first to the last. None if rows or planes overlap, or if it is larger than any memory.
  std::optional<uint64_t> extent(uint64_t pitch, uint64_t plane) const {
    using Wide = unsigned __int128;
    if (width == 0 || height == 0 || depth == 0) return 0;
    if (width > kLargestBox || height > kLargestBox || depth > kLargestBox) return std::nullopt;
    if (height > 1 && pitch < width) return std::nullopt;
    const Wide of_plane = Wide{pitch} * (height - 1) + width;
    if (depth > 1 && plane < of_plane) return std::nullopt;
    const Wide all = Wide{plane} * (depth - 1) + of_plane;
    if (all > kLargestBox) return std::nullopt;
    return static_cast<uint64_t>(all);
  }

  bool is_packed(uint64_t pitch, uint64_t plane) const {
    return (height == 1 || pitch == width) && (depth == 1 || plane == width * height);
  }
};

namespace {}  // namespace

void carry_on(fabric::Fabric& fabric, Engine& engine, const OperationPtr& op, std::shared_ptr<fabric::Copy> copy,
              std::function<void(Time)> done) {
  fabric.advance(*copy);
  if (copy->done()) {
    const Time end = copy->end;
    engine.schedule(end, op->tie, [done = std::move(done), end] { done(end); }, {EventAbout::Kind::memory, op->device});
    return;
  }
  const Time next = copy->next;
  engine.schedule(next, op->tie,
                  [&fabric, &engine, op, copy = std::move(copy), done = std::move(done)]() mutable {
                    carry_on(fabric, engine, op, std::move(copy), std::move(done));
                  },
                  {EventAbout::Kind::bookkeeping, op->device});
}

// A box that is copied or set, row by row.
struct StreamScheduler::Moving {
  OperationPtr op;
  CopyBox box;
  Time end = 0;
  // Bytes [x, x + n) of row y of plane z.
  std::function<void(uint64_t z, uint64_t y, uint64_t x, uint64_t n)> move;
  uint64_t x = 0, y = 0, z = 0;
};

void StreamScheduler::move_rows(std::shared_ptr<Moving> moving) {
  Moving& m = *moving;
  if (m.op->has_ended) return;
  for (uint64_t left = kMostCopiedAtOnce; left != 0 && m.z < m.box.depth;) {
    const uint64_t n = std::min(m.box.width - m.x, left);
    m.move(m.z, m.y, m.x, n);
    left -= std::min(left, n + kRowCost);
    m.x += n;
    if (m.x < m.box.width) continue;
    m.x = 0;
    if (++m.y < m.box.height) continue;
    m.y = 0;
    ++m.z;
  }
  if (m.z == m.box.depth) return operations_.finish(m.op, m.end);
  node_.engine.schedule(m.end, m.op->tie,
                        [this, moving = std::move(moving)]() mutable { move_rows(std::move(moving)); },
                        {EventAbout::Kind::memory, m.op->device});
}

namespace {

// "file:line", from a process that is not to be believed: it goes into texts for people.
std::string line_in(std::span<const std::byte> blob) {
  constexpr size_t kLongest = 64;
  if (blob.size() > kLongest) return {};
  std::string text;
  for (const std::byte b : blob) {
    const char c = static_cast<char>(b);
    if (c < ' ' || c > '~') return {};
    text += c;
  }
  return text;
}

}  // namespace

Status StreamScheduler::make_copy(Process& process, const wire::Copy& m, std::span<const std::byte> blob,
                                  OperationPtr& op, std::shared_ptr<std::vector<std::byte>>* read) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  CopyBox box{m.width, m.height, m.depth};
  if (m.to == 0 && m.from == 0) return Status::invalid_value;
  // A side without an address is packed.
  const auto to_extent = m.to == 0 ? std::optional<uint64_t>(0) : box.extent(m.to_pitch, m.to_plane);
  const auto from_extent = m.from == 0 ? std::optional<uint64_t>(0) : box.extent(m.from_pitch, m.from_plane);
  if (!to_extent || !from_extent) return Status::invalid_value;
  const Bytes to = *to_extent != 0 ? node_.memory.find_bytes(process, m.to, *to_extent) : Bytes{};
  const Bytes from = *from_extent != 0 ? node_.memory.find_bytes(process, m.from, *from_extent) : Bytes{};
  if ((*to_extent != 0 && !to.host) || (*from_extent != 0 && !from.host)) return Status::invalid_value;
  std::shared_ptr<std::vector<std::byte>> payload;
  if (m.from == 0) {
    if (blob.size() != box.bytes()) return Status::invalid_value;
    payload = std::make_shared<std::vector<std::byte>>(blob.begin(), blob.end());
  } else if (m.to == 0) {
    if (box.bytes() > wire::kLargestBlob || !read) return Status::invalid_value;
    payload = std::make_shared<std::vector<std::byte>>(box.bytes());
    *read = payload;
  }
  op = make_operation(process, m.stream.device, "copy");
  if (box.bytes() == 0) return Status::ok;
  op->kind = WorkKind::copy;
  if (payload) op->payload = payload->size();
  note_target(*op, to.allocation, to.host, *to_extent);
  const auto owner = [](const Bytes& b) { return b.allocation ? b.allocation->device : mem::kHostMemory; };
  op->name = owner(to) == mem::kHostMemory     ? (owner(from) == mem::kHostMemory ? "copy on host" : "copy to host")
             : owner(from) == mem::kHostMemory ? "copy from host"
             : owner(to) == owner(from)        ? "copy"
             : owner(to) == op->device         ? "copy from peer"
                                               : "copy to peer";
  // Bytes that do not travel leave the blob to the line of the host's call.
  if (m.to != 0 && m.from != 0) op->where = line_in(blob);
  bool through_host = false;
  if (m.to != 0 && m.from != 0 && owner(to) != mem::kHostMemory && owner(from) != mem::kHostMemory &&
      owner(to) != owner(from))
    through_host = !node_.memory.is_direct(process, m.stream.device, {m.from, m.to, owner(from), owner(to)});
  const uint64_t bytes = box.bytes();
  if ((m.to == 0 || box.is_packed(m.to_pitch, m.to_plane)) &&
      (m.from == 0 || box.is_packed(m.from_pitch, m.from_plane)))
    box = {bytes, 1, 1};
  op->work = [this, m, box, to, from, payload, through_host, a = owner(from), b = owner(to)](const OperationPtr& self) {
    node_.log.count_copy(self->device);
    node_.log.add("copy", {self->device, box.bytes(), self->begun});
    const auto perform = [this, m, box, to, from, payload, self](Time end) {
      auto moving = std::make_shared<Moving>(Moving{self, box, end, {}});
      moving->move = [this, m, box, to, from, payload, op = self.get()](uint64_t z, uint64_t y, uint64_t x,
                                                                        uint64_t n) {
        const uint64_t packed = (z * box.height + y) * box.width + x;
        std::byte* target = m.to != 0 ? to.host + z * m.to_plane + y * m.to_pitch + x : payload->data() + packed;
        const std::byte* source =
            m.from != 0 ? from.host + z * m.from_plane + y * m.from_pitch + x : payload->data() + packed;
        if (node_.checking) {
          if (m.from != 0) node_.checking->access(*op, simt::AccessKind::load, from.allocation.get(), source, n);
          if (m.to != 0) node_.checking->access(*op, simt::AccessKind::store, to.allocation.get(), target, n);
        }
        if (m.to != 0)
          node_.writes.note_operation(*to.allocation, target, n, "a copy", op->process->number, node_.engine.now());
        std::memmove(target, source, n);
        if (m.to != 0) node_.engine.watch().written(target, n);
      };
      move_rows(std::move(moving));
    };
    carry_on(node_.fabric, node_.engine, self,
             std::make_shared<fabric::Copy>(node_.fabric.start_copy(
                 self->device, a, b, box.bytes(), self->begun, m.pageable != 0 || payload != nullptr, through_host)),
             perform);
  };
  return Status::ok;
}

Status StreamScheduler::make_memset(Process& process, const wire::Memset& m, OperationPtr& op) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if (m.element != 1 && m.element != 2 && m.element != 4) return Status::invalid_value;
  if (m.to % m.element != 0 || (m.height > 1 && m.pitch % m.element != 0)) return Status::invalid_value;
  if (m.width > kLargestBox) return Status::invalid_value;
  CopyBox box{m.width * m.element, m.height, m.depth};
  const auto extent = box.extent(m.pitch, m.plane);
  if (!extent) return Status::invalid_value;
  const Bytes to = *extent != 0 ? node_.memory.find_bytes(process, m.to, *extent) : Bytes{};
  if (*extent != 0 && !to.host) return Status::invalid_value;
  op = make_operation(process, m.stream.device, "memset");
  if (*extent == 0) return Status::ok;
  op->kind = WorkKind::copy;
  note_target(*op, to.allocation, to.host, *extent);
  const uint64_t bytes = box.bytes();
  if (box.is_packed(m.pitch, m.plane)) box = {bytes, 1, 1};
  op->work = [this, m, box, to](const OperationPtr& self) {
    node_.log.add("memset", {self->device, box.bytes(), self->begun});
    const auto perform = [this, m, box, to, self](Time end) {
      auto moving = std::make_shared<Moving>(Moving{self, box, end, {}});
      moving->move = [this, m, to, op = self.get()](uint64_t z, uint64_t y, uint64_t x, uint64_t n) {
        std::byte* target = to.host + z * m.plane + y * m.pitch + x;
        if (node_.checking) node_.checking->access(*op, simt::AccessKind::store, to.allocation.get(), target, n);
        node_.writes.note_operation(*to.allocation, target, n, "a memset", op->process->number, node_.engine.now());
        std::byte pattern[4];
        std::memcpy(pattern, &m.value, sizeof pattern);
        if (m.element == 1) {
          std::memset(target, static_cast<int>(m.value & 255), n);
        } else {
          for (uint64_t k = 0; k < n; k += m.element) std::memcpy(target + k, pattern, m.element);
        }
        node_.engine.watch().written(target, n);
      };
      move_rows(std::move(moving));
    };
    carry_on(node_.fabric, node_.engine, self,
             std::make_shared<fabric::Copy>(
                 node_.fabric.start_fill(self->device, to.allocation->device, box.bytes(), self->begun)),
             perform);
  };
  return Status::ok;
}

}  // namespace fb::machine
