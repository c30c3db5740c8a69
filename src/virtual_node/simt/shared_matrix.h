#pragma once

// Factors of wgmma and tcgen05.mma in shared memory, as a matrix descriptor names them. PTX ISA, "Matrix descriptor
// format" and "Canonical layouts".

#include <cstddef>
#include <cstdint>

#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

// Rows are rows of A or columns of B. Shared memory is swizzled in units of 16 bytes: bits of the address above `unit`
// are flipped by the bits `shift` above them.
struct SharedMatrix {
  static constexpr uint32_t kChunk = 16;  // bytes

  uint32_t start = 0;       // address in the shared window
  uint32_t leading = 0;     // bytes
  uint32_t stride = 0;      // bytes
  uint32_t row_chunks = 0;  // 16-byte chunks in a row of the swizzled atom; 0: no swizzling
  uint32_t mask = 0;        // address bits that are flipped
  uint32_t shift = 3;
  uint32_t phase = 0;  // of the swizzling pattern, in units of 128 bytes
  uint32_t element_bytes = 2;
  bool by_columns = false;  // elements of neighbouring rows are neighbours (MN-major), not those along K

  // Groups of eight rows are `stride` apart. Without swizzling, rows of a group are 16 bytes apart, chunks of a row
  // `leading`.
  uint32_t row_pitch() const { return row_chunks == 0 ? kChunk : row_chunks * kChunk; }
  uint32_t chunk_pitch() const { return row_chunks == 0 ? leading : kChunk; }
  // Of the chunk that begins with byte `byte` of a row. K-major only.
  uint32_t chunk_address(uint32_t row, uint32_t byte) const {
    return swizzle(start + row / 8 * stride + row % 8 * row_pitch() + byte / kChunk * chunk_pitch());
  }
  uint32_t element_address(uint32_t row, uint32_t k) const;

 private:
  uint32_t swizzle(uint32_t address) const { return address ^ ((address - phase * 128) >> shift & mask); }
};

// Of wgmma, and of tcgen05; false: a field has a value that means nothing.
bool read_wgmma_descriptor(uint64_t descriptor, SharedMatrix& m);
bool read_tcgen05_descriptor(uint64_t descriptor, SharedMatrix& m);

// Reads rows of matrices in the shared memory of one block, for one instruction of a warp, and tells the listener.
class MatrixReader {
 public:
  // The warp as a whole, or one lane of it.
  MatrixReader(Warp& w, const Inst& i, Block& block, uint32_t lane = kLanes)
      : w_(w), i_(i), block_(block), lane_(lane) {}

  // Eight rows of 32 bytes, as two registers of a fragment (tensor_engine.h). Throws Trap.
  void load(const SharedMatrix& m, uint32_t first_row, uint32_t (*registers)[num::tensor::kThreads]);
  // Bytes at an address of the block's own shared window. Throws Trap.
  const std::byte* at(uint32_t address, uint32_t bytes);
  // Reports what was read since the last call.
  void finish();
  uint64_t bytes() const { return bytes_; }

 private:
  // Eight rows are inside the block's shared memory. Not, if in doubt.
  bool has_rows(const SharedMatrix& m, uint32_t first_row) const;
  bool is_observed() const;
  void report(uint32_t address, uint32_t bytes);

  Warp& w_;
  const Inst& i_;
  Block& block_;
  uint32_t lane_;
  uint64_t bytes_ = 0;
  uint32_t piece_ = 0;  // bytes of the reads that are collected
  uint32_t count_ = 0;
  mem::Address reads_[kLanes] = {};
};

}  // namespace fb::simt
