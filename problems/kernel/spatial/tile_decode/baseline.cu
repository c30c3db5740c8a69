#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <vector>

constexpr int kThreads = 64;

// 8 pixels side by side, as many as a latent is wide: an octet.
struct Octet {
  float at[8];
};

struct Sizes {
  int down, across, tile, overlap, channels;
  __host__ __device__ int step() const { return tile - overlap; }
  __host__ __device__ int height() const { return 8 * (step() * (down - 1) + tile); }  // of the image, in pixels
  __host__ __device__ int octets() const { return step() * (across - 1) + tile; }      // of a row of the image
};

__device__ Octet load(const int4* from) {
  const int4 bits = *from;
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  Octet values;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 v = __bfloat1622float2(pairs[i]);
    values.at[2 * i] = v.x;
    values.at[2 * i + 1] = v.y;
  }
  return values;
}

__device__ void store(int4* to, const Octet& values) {
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values.at[2 * i], values.at[2 * i + 1]);
  *to = bits;
}

__device__ float between(float a, float b, float f) { return a + f * (b - a); }

// Decoded tiles are [tile][row][colour][octet]: rows that go to one rank are adjacent.
__device__ int64_t place_of(Sizes n, int number, int row, int colour) {
  return ((int64_t{number} * 8 * n.tile + row) * 3 + colour) * n.tile;
}

// Decodes a colour of 8 rows of pixels around a row of latents. Grid: (rows of latents, colours, this rank's tiles).
// The colour of three rows of latents is made first: mixed[row][column].
__global__ void __launch_bounds__(kThreads)
    decode(const __nv_bfloat16* latents, const __nv_bfloat16* w, int4* decoded, Sizes n, int rank, int world) {
  extern __shared__ float mixed[];
  const auto row = static_cast<int>(blockIdx.x), colour = static_cast<int>(blockIdx.y),
             slot = static_cast<int>(blockIdx.z);
  const __nv_bfloat16* own = latents + int64_t{slot} * n.channels * n.tile * n.tile;
  for (int k = static_cast<int>(threadIdx.x); k < 3 * n.tile; k += kThreads) {
    const int y = min(max(row + k / n.tile - 1, 0), n.tile - 1), x = k % n.tile;
    float sum = 0;
#pragma unroll 8
    for (int c = 0; c < n.channels; ++c)
      sum += __bfloat162float(own[(c * n.tile + y) * n.tile + x]) * __bfloat162float(w[colour * n.channels + c]);
    mixed[k] = sum;
  }
  __syncthreads();

  for (int k = static_cast<int>(threadIdx.x); k < 8 * n.tile; k += kThreads) {
    const int y = k / n.tile, x = k % n.tile;
    // Rows of pixels above the centre of their latents are between these and the ones before.
    const float* above = mixed + (y < 4 ? 0 : n.tile);
    const float f = static_cast<float>(y < 4 ? 2 * y + 9 : 2 * y - 7) / 16;
    float columns[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const int j = min(max(x + i - 1, 0), n.tile - 1);
      columns[i] = between(above[j], above[n.tile + j], f);
    }
    Octet values;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = i < 4 ? between(columns[0], columns[1], static_cast<float>(2 * i + 9) / 16)
                                : between(columns[1], columns[2], static_cast<float>(2 * i - 7) / 16);
      values.at[i] = fminf(1, fmaxf(-1, value));
    }
    store(decoded + place_of(n, rank + slot * world, 8 * row + y, colour) + x, values);
  }
}

// An octet of row `y` of the tiles in row `a`, blended across.
__device__ Octet blended(const int4* decoded, Sizes n, int a, int y, int colour, int octet) {
  const int b = min(n.across - 1, octet / n.step()), x = octet - b * n.step();
  Octet values = load(decoded + place_of(n, a * n.across + b, y, colour) + x);
  if (b == 0 || x >= n.overlap) return values;
  const Octet before = load(decoded + place_of(n, a * n.across + b - 1, y, colour) + x + n.step());
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float share = static_cast<float>(2 * (8 * x + i) + 1) / static_cast<float>(16 * n.overlap);
    values.at[i] = between(before.at[i], values.at[i], share);
  }
  return values;
}

// Grid: (octets of a row / kThreads, rows of this rank, colours).
__global__ void __launch_bounds__(kThreads) blend(const int4* decoded, int4* image, Sizes n, int first) {
  const auto octet = static_cast<int>(blockIdx.x * kThreads + threadIdx.x), colour = static_cast<int>(blockIdx.z);
  if (octet >= n.octets()) return;
  const int row = first + static_cast<int>(blockIdx.y);
  const int a = min(n.down - 1, row / (8 * n.step())), y = row - a * 8 * n.step();
  Octet values = blended(decoded, n, a, y, colour, octet);
  if (a > 0 && y < 8 * n.overlap) {
    const Octet before = blended(decoded, n, a - 1, y + 8 * n.step(), colour, octet);
    const float share = static_cast<float>(2 * y + 1) / static_cast<float>(16 * n.overlap);
#pragma unroll
    for (int i = 0; i < 8; ++i) values.at[i] = between(before.at[i], values.at[i], share);
  }
  store(image + (int64_t{colour} * gridDim.y + blockIdx.y) * n.octets() + octet, values);
}

// Decodes this rank's tiles, exchanges rows of tiles by NCCL, and blends.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        sizes_{static_cast<int>(args.down), static_cast<int>(args.across), static_cast<int>(args.tile),
               static_cast<int>(args.overlap), static_cast<int>(args.channels)},
        comm_(rank) {
    const int tiles = sizes_.down * sizes_.across, rows = 8 * sizes_.tile;
    own_ = (tiles - rank_ + world_ - 1) / world_;
    fabricbench::check_cuda(cudaMalloc(&decoded_, static_cast<size_t>(tiles) * rows * 3 * sizes_.tile * sizeof(int4)));
    for (int k = 0; k < tiles; ++k) {
      const int top = k / sizes_.across * 8 * sizes_.step();
      for (int r = 0; r < world_; ++r) {
        const int begin = std::max(top, first_row(r)), end = std::min(top + rows, first_row(r + 1));
        if (begin >= end || r == k % world_ || (r != rank_ && k % world_ != rank_)) continue;
        const int64_t row = int64_t{3} * sizes_.tile;
        messages_.push_back({decoded_ + (int64_t{k} * rows + begin - top) * row,
                             static_cast<size_t>((end - begin) * row), r == rank_ ? k % world_ : r, r == rank_});
      }
    }
    cudaFuncAttributes attributes;  // a rank without tiles launches one kernel only: both are loaded now
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, decode));
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, blend));
  }
  ~Solution() { cudaFree(decoded_); }

  void run(const Args& args, cudaStream_t stream) {
    if (own_ > 0) {
      const dim3 grid(static_cast<unsigned>(sizes_.tile), 3, static_cast<unsigned>(own_));
      decode<<<grid, kThreads, static_cast<size_t>(3 * sizes_.tile) * sizeof(float), stream>>>(
          args.latents, args.w, decoded_, sizes_, rank_, world_);
    }
    fabricbench::check_nccl(ncclGroupStart());
    for (const Message& m : messages_) {
      const size_t bytes = m.octets * sizeof(int4);
      fabricbench::check_nccl(m.receive ? ncclRecv(m.rows, bytes, ncclInt8, m.peer, comm_, stream)
                                        : ncclSend(m.rows, bytes, ncclInt8, m.peer, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    const int first = first_row(rank_), rows = first_row(rank_ + 1) - first;
    const dim3 grid(static_cast<unsigned>((sizes_.octets() + kThreads - 1) / kThreads), static_cast<unsigned>(rows), 3);
    blend<<<grid, kThreads, 0, stream>>>(decoded_, reinterpret_cast<int4*>(args.image), sizes_, first);
  }

 private:
  // Adjacent rows of a tile: from the rank that has it to one whose strip has them.
  struct Message {
    int4* rows;
    size_t octets;
    int peer;
    bool receive;
  };

  int first_row(int rank) const { return static_cast<int>(int64_t{sizes_.height()} * rank / world_); }

  int rank_, world_, own_ = 0;
  Sizes sizes_;
  fabricbench::NcclCommunicator comm_;
  int4* decoded_ = nullptr;  // all tiles; of others' only the rows that this rank needs
  std::vector<Message> messages_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue decoding, exchange and blending
//|   }
//| };
// [/solution]
