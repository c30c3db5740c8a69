#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cuda/atomic>
#include <numbers>
#include <vector>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 160;                   // all resident at once: they wait for their peers
constexpr int kMostPoints = 512;               // of a complex transform
constexpr int kMostThreads = kMostPoints / 2;  // a thread for two points
constexpr int kRoots = 2 * kMostPoints;        // roots of 1 in the table: exp(2 pi i k / kRoots)

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
using Ticket = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ float2 conjugate(float2 a) { return {a.x, -a.y}; }
__device__ float2 turned(float2 a) { return {-a.y, a.x}; }  // times i

// Transform of 2^log2n points (Stockham): rounds from one buffer to the other, each with a factor of 4, the first with
// a factor of 2 where log2n is odd. Returns the buffer that has the result. There are 2^(log2n - 1) threads or more.
__device__ float2* transform(float2* from, float2* to, int log2n, const float2* roots) {
  const auto j = static_cast<int>(threadIdx.x), half = 1 << (log2n - 1), quarter = half / 2;
  int log2done = 0;  // of the length of the transforms so far
  if (log2n % 2 != 0) {
    if (j < half) {
      const float2 a = from[j], b = from[j + half];
      to[2 * j] = a + b;
      to[2 * j + 1] = a - b;
    }
    __syncthreads();
    float2* swap = from;
    from = to, to = swap;
    log2done = 1;
  }
  for (; log2done < log2n; log2done += 2) {
    if (j < quarter) {
      const int done = 1 << log2done, k = j & (done - 1), root = k * (kRoots / 4 >> log2done);
      const float2 w1 = __ldg(roots + root), w2 = __ldg(roots + 2 * root), w3 = __ldg(roots + 3 * root);
      const float2 a = from[j], b = from[j + quarter] * w1, c = from[j + half] * w2, d = from[j + half + quarter] * w3;
      const float2 even = a + c, odd = a - c, other_even = b + d, other_odd = turned(b - d);
      float2* out = to + 4 * j - 3 * k;
      out[0] = even + other_even;
      out[done] = odd + other_odd;
      out[2 * done] = even - other_even;
      out[3 * done] = odd - other_odd;
    }
    __syncthreads();
    float2* swap = from;
    from = to, to = swap;
  }
  return from;
}

struct Shape {
  int fields, world, rank;
  int log2height, log2points;  // a row of 2^(log2points + 1) floats is transformed as 2^log2points complex numbers
  int pitch;                   // numbers of an inbox from column to column
  float factor;

  __host__ __device__ int height() const { return 1 << log2height; }
  __host__ __device__ int half() const { return (1 << log2points) + 1; }  // columns of a spectrum
  // Ranks divide n lines as evenly as possible.
  __host__ __device__ int first(int n, int r) const { return r * n / world; }
  __host__ __device__ int count(int n) const { return first(n, rank + 1) - first(n, rank); }
};

// First all columns: a transformed column goes piece by piece into the inboxes of the ranks that have its rows,
// [field][column][row] there. Then rows: those of a field begin as soon as all of its columns are there, while other
// fields are still on their way. Blocks take lines in turn.
//
// `arrived[field][source]` is the last call of which all columns of that source are there. Inboxes take turns, two of
// them: in call e a rank writes where call e - 2 was, and its owner has read that. Before the writer's call e - 1
// ended, it had waited for columns of call e - 1 from all ranks, and the owner sent those in a kernel that its stream
// started after that of call e - 2.
__global__ void __launch_bounds__(kMostThreads)
    transform_spectra(Shape shape, const float2* spectrum, Peers<float2> inbox, Peers<uint32_t> arrived,
                      uint32_t* tickets, float2* x, const float2* roots, uint32_t call) {
  __shared__ float2 buffers[2][kMostPoints + 1];
  __shared__ bool last;
  const int points = 1 << shape.log2points, height = shape.height(), half = shape.half();
  const int rows = shape.count(height), columns = shape.count(half), first_column = shape.first(half, shape.rank);
  const auto thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);

  for (int line = block; line < shape.fields * columns; line += blocks) {
    const int field = line / columns, column = line % columns;
    for (int u = thread; u < height; u += threads) buffers[0][u] = __ldg(spectrum + int64_t{line} * height + u);
    __syncthreads();
    const float2* z = transform(buffers[0], buffers[1], shape.log2height, roots);
    for (int h = thread; h < height; h += threads) {
      const int owner = ((h + 1) * shape.world - 1) / height;
      float2* to = inbox.of[owner] + (int64_t{field} * half + first_column + column) * shape.pitch;
      to[h - shape.first(height, owner)] = {z[h].x * shape.factor, z[h].y * shape.factor};
    }
    // The last column of a field to be ready says so to all ranks, for all columns: barriers and the ticket put the
    // stores of all threads of all blocks before its releases. The ticket is 0 again for the next call, which the
    // stream orders.
    __syncthreads();
    if (thread == 0) {
      const Ticket ticket(tickets[field]);
      last = ticket.fetch_add(1, cuda::memory_order_acq_rel) + 1 == static_cast<uint32_t>(columns);
      if (last) ticket.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (last && thread < shape.world)
      Flag(arrived.of[thread][field * shape.world + shape.rank]).store(call, cuda::memory_order_release);
  }

  for (int line = block; line < shape.fields * rows; line += blocks) {
    const int field = line / rows, row = line % rows;
    if (thread < shape.world) {
      const Flag flag(arrived.of[shape.rank][field * shape.world + thread]);
      while (flag.load(cuda::memory_order_acquire) < call) {
      }
    }
    __syncthreads();  // what these threads have acquired all may read; the last line has left the buffers
    const float2* from = inbox.of[shape.rank] + int64_t{field} * half * shape.pitch + row;
    for (int k = thread; k < half; k += threads) {
      float2 value = from[k * shape.pitch];
      if (k == 0 || k == points) value.y = 0;  // adds to the imaginary part of the field, which is left out
      buffers[1][k] = value;
    }
    __syncthreads();
    // Even columns of the field and odd ones are transforms of half the length. Both are real: one is the real part of
    // the numbers that are transformed, the other the imaginary part.
    for (int k = thread; k < points; k += threads) {
      const float2 a = buffers[1][k], b = conjugate(buffers[1][points - k]);
      buffers[0][k] = a + b + turned((a - b) * __ldg(roots + k * (kRoots / 2 >> shape.log2points)));
    }
    __syncthreads();
    const float2* z = transform(buffers[0], buffers[1], shape.log2points, roots);
    for (int k = thread; k < points; k += threads) x[int64_t{line} * points + k] = z[k];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_(shape_of(rank, args)),
        inbox_bytes_(static_cast<size_t>(args.fields * shape_.half() * shape_.pitch) * sizeof(float2)),
        inboxes_(rank, 2 * inbox_bytes_),
        flags_(rank, static_cast<size_t>(args.fields * rank.world()) * sizeof(uint32_t)) {
    std::vector<float2> roots(kRoots);
    for (int k = 0; k < kRoots; ++k) {
      const double angle = 2 * std::numbers::pi * k / kRoots;
      roots[static_cast<size_t>(k)] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    fabricbench::check_cuda(cudaMalloc(&roots_, kRoots * sizeof(float2)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemcpy(roots_, roots.data(), kRoots * sizeof(float2), cudaMemcpyHostToDevice),
                            "cudaMemcpy");
    const size_t tickets = static_cast<size_t>(args.fields) * sizeof(uint32_t);
    fabricbench::check_cuda(cudaMalloc(&tickets_, tickets), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(tickets_, 0, tickets), "cudaMemset");
  }
  ~Solution() {
    cudaFree(roots_);
    cudaFree(tickets_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const size_t inbox = call_ % 2 * inbox_bytes_;
    const int lines = shape_.fields * std::max(shape_.count(shape_.height()), shape_.count(shape_.half()));
    const int threads = std::max(64, std::max(shape_.height(), 1 << shape_.log2points) / 2);
    transform_spectra<<<static_cast<unsigned>(std::min(kBlocks, lines)), static_cast<unsigned>(threads), 0, stream>>>(
        shape_, reinterpret_cast<const float2*>(args.spectrum), inboxes_.peers<float2>(inbox), flags_.peers<uint32_t>(),
        tickets_, reinterpret_cast<float2*>(args.x), roots_, call_);
  }

 private:
  static Shape shape_of(const fabricbench::Rank& rank, const Args& args) {
    Shape shape = {};
    shape.fields = static_cast<int>(args.fields);
    shape.world = rank.world();
    shape.rank = rank.rank();
    while (1 << shape.log2height < args.height) ++shape.log2height;
    while (2 << shape.log2points < args.width) ++shape.log2points;
    // The same on all ranks; columns of an inbox begin at multiples of 32 bytes.
    shape.pitch = ((shape.height() + shape.world - 1) / shape.world + 3) / 4 * 4;
    shape.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(args.height * args.width)));
    return shape;
  }

  Shape shape_;
  uint32_t call_ = 0;
  size_t inbox_bytes_;
  fabricbench::PeerMemory inboxes_, flags_;  // begin as zeros
  float2* roots_ = nullptr;
  uint32_t* tickets_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the transform
//|   }
//| };
// [/solution]
