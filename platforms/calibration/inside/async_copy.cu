// Asynchronous copies from memory that no cache holds into shared memory, by all multiprocessors at once.
//   tensor ROWS          one tensor copy of ROWS rows of 512 bytes for each block: cycles until its barrier completes
//   tensor_rate STAGES ROWS   the same again and again, STAGES in flight: GB/s
//   bulk BLOCKS BYTES    copies of BYTES one after the other, BLOCKS a multiprocessor: cycles of one
//   cp_async THREADS     one cp.async of 16 bytes for each thread of a block: cycles until it is there
// Median of the blocks, or of the threads.
#include <cuda.h>

#include "measure.h"

constexpr int kRowFloats = 128, kRowBytes = 512;

// Rows of 128 floats.
CUtensorMap describe(float* memory, size_t rows, int box_rows) {
  CUtensorMap map{};
  const cuuint64_t sizes[] = {kRowFloats, rows};
  const cuuint64_t strides[] = {kRowBytes};
  const cuuint32_t box[] = {kRowFloats, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, sizes, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    fail("no tensor map for boxes of %d rows", box_rows);
  return map;
}

__device__ void init_barrier(unsigned barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
__device__ void make_barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred done;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra "
      "AGAIN;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ void copy_box(unsigned to, const CUtensorMap& map, int row, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(to),
      "l"(&map), "r"(0), "r"(row), "r"(barrier)
      : "memory");
}

extern __shared__ unsigned char raw[];
__device__ unsigned aligned_memory() { return (shared_address(raw) + 127) & ~127u; }
constexpr size_t kSlack = 128;

// Box k of this block is box blockIdx.x + k · gridDim.x of the matrix. The barriers are behind the tiles.
__global__ void copy_boxes(const __grid_constant__ CUtensorMap map, int box_rows, int stages, int boxes, Span* spans) {
  const unsigned tiles = aligned_memory(), tile = static_cast<unsigned>(box_rows * kRowBytes);
  const unsigned barriers = tiles + static_cast<unsigned>(stages) * tile;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) init_barrier(barriers + 8u * static_cast<unsigned>(s));
    make_barriers_visible();
  }
  __syncthreads();
  const auto load = [&](int k) {
    const auto stage = static_cast<unsigned>(k % stages);
    expect_bytes(barriers + 8 * stage, tile);
    const int box = static_cast<int>(blockIdx.x) + k * static_cast<int>(gridDim.x);
    copy_box(tiles + stage * tile, map, box * box_rows, barriers + 8 * stage);
  };
  if (threadIdx.x != 0) return;
  const long long begin = now();
  for (int k = 0; k < stages && k < boxes; ++k) load(k);
  for (int k = 0; k < boxes; ++k) {
    wait(barriers + 8u * static_cast<unsigned>(k % stages), static_cast<unsigned>(k / stages) & 1);
    if (k + stages < boxes) load(k + stages);
  }
  const long long end = now();
  if (spans != nullptr) spans[blockIdx.x] = {begin, end};
}

// Fresh memory for boxes of all blocks.
CUtensorMap fresh_boxes(int box_rows, int boxes) {
  const size_t rows = static_cast<size_t>(sm_count()) * static_cast<size_t>(boxes) * static_cast<size_t>(box_rows);
  return describe(device_memory<float>(rows * kRowFloats), rows, box_rows);
}

void allow_shared(size_t bytes) {
  CHECK(cudaFuncSetAttribute(copy_boxes, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

double cycles_of_tensor(int box_rows) {
  const size_t shared = static_cast<size_t>(box_rows) * kRowBytes + kSlack + 64;
  const auto blocks = static_cast<unsigned>(sm_count());
  allow_shared(shared);
  const CUtensorMap map = fresh_boxes(box_rows, 1);
  return median_span(
      spans_of(blocks, [&](Span* spans) { copy_boxes<<<blocks, 32, shared>>>(map, box_rows, 1, 1, spans); }, true));
}

double rate_of_tensor(int stages, int box_rows) {
  const size_t shared = static_cast<size_t>(stages * box_rows) * kRowBytes + kSlack + 64;
  const auto blocks = static_cast<unsigned>(sm_count());
  allow_shared(shared);
  const auto time = [&](int boxes) {
    const CUtensorMap map = fresh_boxes(box_rows, boxes);
    return elapsed([&] { copy_boxes<<<blocks, 32, shared>>>(map, box_rows, stages, boxes, nullptr); });
  };
  constexpr int kFew = 8, kMany = 24;
  const double few = time(kFew), many = time(kMany);
  return static_cast<double>(box_rows) * kRowBytes * blocks * (kMany - kFew) / (many - few) / 1e3;
}

constexpr int kBulkCopies = 16;

__global__ void copy_bulk(const char* memory, unsigned bytes, Span* spans) {
  const unsigned to = aligned_memory(), barrier = to + bytes;
  init_barrier(barrier);
  make_barriers_visible();
  const long long begin = now();
#pragma unroll 1
  for (int k = 0; k < kBulkCopies; ++k) {
    const char* const from = memory + (size_t{blockIdx.x} + static_cast<size_t>(k) * gridDim.x) * bytes;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
    expect_bytes(barrier, bytes);
    wait(barrier, static_cast<unsigned>(k) & 1);
  }
  const long long end = now();
  spans[blockIdx.x] = {begin, end};
}

double cycles_of_bulk(int blocks_per_sm, int bytes) {
  const auto blocks = static_cast<unsigned>(sm_count() * blocks_per_sm);
  const auto size = static_cast<size_t>(bytes);
  const char* const memory = device_memory<char>(size * blocks * kBulkCopies);
  const auto launch = [&](Span* spans) {
    copy_bulk<<<blocks, 1, size + kSlack + 64>>>(memory, static_cast<unsigned>(bytes), spans);
  };
  return median_span(spans_of(blocks, launch, true)) / kBulkCopies;
}

__global__ void copy_words(const uint4* memory, Span* spans, unsigned* sink) {
  __shared__ uint4 words[1024];
  const size_t thread = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const long long begin = now();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;" ::"r"(
                   shared_address(&words[threadIdx.x])),
               "l"(memory + thread)
               : "memory");
  const unsigned value = *reinterpret_cast<volatile unsigned*>(&words[threadIdx.x]);
  const long long end = now();
  spans[thread] = {begin, end};
  sink[thread] = value;
}

double cycles_of_cp_async(int threads) {
  const auto blocks = static_cast<unsigned>(sm_count());
  const size_t all = size_t{blocks} * static_cast<size_t>(threads);
  const auto* const memory = device_memory<uint4>(all);
  auto* const sink = device_memory<unsigned>(all);
  const auto launch = [&](Span* spans) { copy_words<<<blocks, static_cast<unsigned>(threads)>>>(memory, spans, sink); };
  return median_span(spans_of(all, launch, true));
}

int main(int count, char** values) {
  Arguments arguments(count, values,
                      "async_copy tensor ROWS|tensor_rate STAGES ROWS|bulk BLOCKS BYTES|cp_async THREADS");
  const std::string what = arguments.text();
  if (what == "tensor") {
    report(cycles_of_tensor(arguments.number()), "cycles");
  } else if (what == "tensor_rate") {
    const int stages = arguments.number(), rows = arguments.number();
    report(rate_of_tensor(stages, rows), "GB/s");
  } else if (what == "bulk") {
    const int blocks = arguments.number(), bytes = arguments.number();
    report(cycles_of_bulk(blocks, bytes), "cycles");
  } else if (what == "cp_async") {
    report(cycles_of_cp_async(arguments.number()), "cycles");
  } else {
    arguments.refuse(what);
  }
}
