#include "virtual_node/simt/shared_matrix.h"

#include <fmt/format.h>

#include <cstring>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/shared_ref.h"

namespace fb::simt {
namespace {

constexpr uint32_t kChunk = SharedMatrix::kChunk;
constexpr uint32_t kRowBytes = 32;  // of one instruction, along K

uint32_t field(uint64_t descriptor, int first, int bits) {
  return static_cast<uint32_t>(descriptor >> first & ((uint64_t{1} << bits) - 1));
}

void read_offsets(uint64_t descriptor, SharedMatrix& m) {
  m.start = field(descriptor, 0, 14) * kChunk;
  m.leading = field(descriptor, 16, 14) * kChunk;
  m.stride = field(descriptor, 32, 14) * kChunk;
  m.phase = field(descriptor, 49, 3);
}

// f(row, chunk, address) for the two chunks of eight rows. K-major only.
template <class F>
[[gnu::always_inline]] inline void each_chunk(const SharedMatrix m, uint32_t first_row, F f) {
  for (uint32_t row = 0; row < 8; ++row) {
    for (uint32_t chunk = 0; chunk < 2; ++chunk) f(row, chunk, m.chunk_address(first_row + row, chunk * kChunk));
  }
}

void set_swizzle(uint32_t bytes, SharedMatrix& m) {
  m.row_chunks = bytes / kChunk;
  m.mask = bytes == 0 ? 0 : (m.row_chunks - 1) * kChunk;
}

}  // namespace

// By columns, a chunk holds elements of neighbouring rows. Eight k are one group.
uint32_t SharedMatrix::element_address(uint32_t row, uint32_t k) const {
  if (!by_columns) return chunk_address(row, k * element_bytes) + k * element_bytes % kChunk;
  const uint32_t in_chunk = kChunk / element_bytes, chunk = row / in_chunk;
  const uint32_t inside = row % in_chunk * element_bytes;
  if (row_chunks == 0) return swizzle(start + chunk * stride + k / 8 * leading + k % 8 * kChunk) + inside;
  const uint32_t atom = start + chunk / row_chunks * leading + k / 8 * stride;
  return swizzle(atom + k % 8 * row_chunks * kChunk + chunk % row_chunks * kChunk) + inside;
}

bool read_wgmma_descriptor(uint64_t descriptor, SharedMatrix& m) {
  read_offsets(descriptor, m);
  constexpr uint32_t kSwizzles[] = {0, 128, 64, 32};
  set_swizzle(kSwizzles[field(descriptor, 62, 2)], m);
  return true;
}

bool read_tcgen05_descriptor(uint64_t descriptor, SharedMatrix& m) {
  read_offsets(descriptor, m);
  if (field(descriptor, 46, 3) != 1) return false;
  if (field(descriptor, 52, 1) != 0) return false;  // an absolute address instead of `leading`
  switch (field(descriptor, 61, 3)) {
    case 0:
      set_swizzle(0, m);
      return true;
    case 1:  // 128 bytes, in units of 32
      set_swizzle(128, m);
      m.mask = 0x60;
      m.shift = 2;
      return true;
    case 2:
      set_swizzle(128, m);
      return true;
    case 4:
      set_swizzle(64, m);
      return true;
    case 6:
      set_swizzle(32, m);
      return true;
    default:
      return false;
  }
}

const std::byte* MatrixReader::at(uint32_t address, uint32_t bytes) {
  const uint32_t offset = address - static_cast<uint32_t>(mem::kSharedReserved);
  if (address < mem::kSharedReserved || offset > block_.shared_bytes() || bytes > block_.shared_bytes() - offset) {
    w_.trap(TrapKind::out_of_bounds, i_, 0,
            fmt::format("a matrix descriptor leads to shared address {:#x}, outside the block's {} bytes", address,
                        block_.shared_bytes()),
            address, bytes);
  }
  std::byte* host = block_.shared() + offset;
  if (block_.grid().check_uninitialised_shared) w_.check_initialised(i_, 0, host, mem::kSharedWindow + address, bytes);
  if (is_observed()) report(address, bytes);
  return host;
}

bool MatrixReader::is_observed() const { return w_.listener() != nullptr && block_.shared_observed; }

void MatrixReader::report(uint32_t address, uint32_t bytes) {
  if (count_ == kLanes || bytes != piece_) finish();
  piece_ = bytes;
  const SharedRef ref{nullptr, &block_, address};
  const mem::Address a = mem::kSharedWindow + (&block_ == &w_.block() ? address : ref.cluster_address());
  if (lane_ < kLanes) return report_range(w_, i_, AccessKind::load, lane_, a, bytes);
  reads_[count_++] = a;
}

void MatrixReader::finish() {
  if (count_ == 0) return;
  const Mask lanes = count_ == kLanes ? kAllLanes : (Mask{1} << count_) - 1;
  w_.listener()->on_access(w_, {AccessKind::load, MemoryOrder::weak, Scope::none, Proxy::async,
                                static_cast<uint8_t>(piece_), lanes, reads_, &i_});
  count_ = 0;
}

// One test for all eight rows: swizzling leaves an address in its 128 bytes.
bool MatrixReader::has_rows(const SharedMatrix& m, uint32_t first_row) const {
  constexpr uint32_t kSpan = 128;
  const uint64_t group = uint64_t{m.start} + uint64_t{first_row / 8} * m.stride;
  const uint64_t begin = group / kSpan * kSpan;
  const uint64_t end = (group + 7 * m.row_pitch() + m.chunk_pitch()) / kSpan * kSpan + kSpan;
  return begin >= mem::kSharedReserved && end - mem::kSharedReserved <= block_.shared_bytes();
}

void MatrixReader::load(const SharedMatrix& m, uint32_t first_row, uint32_t (*registers)[num::tensor::kThreads]) {
  bytes_ += 8 * kRowBytes;
  if (!m.by_columns) {
    if (!has_rows(m, first_row) || block_.grid().check_uninitialised_shared) {
      each_chunk(m, first_row, [&](uint32_t row, uint32_t chunk, uint32_t address) {
        std::memcpy(&registers[chunk][4 * row], at(address, kChunk), kChunk);
      });
      return;
    }
    const std::byte* shared = block_.shared();
    each_chunk(m, first_row, [=](uint32_t row, uint32_t chunk, uint32_t address) {
      std::memcpy(&registers[chunk][4 * row], shared + (address - mem::kSharedReserved), kChunk);
    });
    if (is_observed()) each_chunk(m, first_row, [&](uint32_t, uint32_t, uint32_t address) { report(address, kChunk); });
    return;
  }
  // Eight rows of one k are neighbours, in one chunk or (tf32) two.
  const uint32_t size = m.element_bytes, together = kChunk / size < 8 ? kChunk / size : 8;
  for (uint32_t k = 0; k < kRowBytes / size; ++k) {
    auto* to = reinterpret_cast<std::byte*>(registers[k * size / kChunk]) + k * size % kChunk;
    for (uint32_t row = 0; row < 8; row += together) {
      const std::byte* from = at(m.element_address(first_row + row, k), together * size);
      for (uint32_t n = 0; n < together; ++n) std::memcpy(to + (row + n) * kChunk, from + n * size, size);
    }
  }
}

}  // namespace fb::simt
