// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// The colours of all latents of this rank: colours[place][colour][latent]. Grid: (latents / 128, colours, places).
__global__ void mix(const __nv_bfloat16* latents, const __nv_bfloat16* w, float* colours, int count, int channels) {
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  float sum = 0;
  for (int c = channels; c-- > 0;)
    sum += __bfloat162float(w[blockIdx.y * channels + c]) *
           __bfloat162float(latents[(int64_t{blockIdx.z} * channels + c) * count + i]);
  colours[(int64_t{blockIdx.z} * 3 + blockIdx.y) * count + i] = sum;
}

struct Sizes {
  int down, across, tile, overlap, world;
};

// 8 pixels of row y of a tile, as wide as latent x: the colours are read where they are, on the tile's rank. All four
// weights of a pixel are multiplied first.
__device__ void add_tile(const Peers<float>& colours, Sizes n, int number, int colour, int y, int x, float weight,
                         const float (&weights)[8], float (&sums)[8]) {
  const float* own = colours.of[number % n.world] + (int64_t{number / n.world} * 3 + colour) * n.tile * n.tile;
  const int i = (y + 4) / 8 - 1;
  const float f = static_cast<float>((2 * y + 9) % 16) / 16;
  float corner[2][3];
  for (int p = 0; p < 2; ++p) {
    for (int q = 0; q < 3; ++q)
      corner[p][q] = own[min(max(i + p, 0), n.tile - 1) * n.tile + min(max(x + q - 1, 0), n.tile - 1)];
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int q = k < 4 ? 0 : 1;
    const float g = static_cast<float>((2 * k + 9) % 16) / 16;
    const float value = (1 - f) * (1 - g) * corner[0][q] + (1 - f) * g * corner[0][q + 1] + f * (1 - g) * corner[1][q] +
                        f * g * corner[1][q + 1];
    sums[k] += weight * weights[k] * fminf(1, fmaxf(-1, value));
  }
}

// Every pixel from all tiles that have it. Grid: (octets of a row / 64, rows, colours).
__global__ void stitch(Peers<float> colours, int4* image, Sizes n, int first) {
  const int step = n.tile - n.overlap, octets = step * (n.across - 1) + n.tile;
  const auto octet = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), colour = static_cast<int>(blockIdx.z);
  if (octet >= octets) return;
  const int row = first + static_cast<int>(blockIdx.y);
  float sums[8] = {};
  for (int a = min(n.down - 1, row / (8 * step)); a >= 0 && row - 8 * step * a < 8 * n.tile; --a) {
    const int y = row - 8 * step * a;
    float weight = 1;
    if (a > 0 && y < 8 * n.overlap) weight *= static_cast<float>(2 * y + 1) / static_cast<float>(16 * n.overlap);
    if (a < n.down - 1 && y >= 8 * step)
      weight *= 1 - static_cast<float>(2 * (y - 8 * step) + 1) / static_cast<float>(16 * n.overlap);
    for (int b = min(n.across - 1, octet / step); b >= 0 && octet - step * b < n.tile; --b) {
      const int x = octet - step * b;
      float weights[8];
      for (int k = 0; k < 8; ++k) {
        weights[k] = 1;
        if (b > 0 && x < n.overlap)
          weights[k] *= static_cast<float>(2 * (8 * x + k) + 1) / static_cast<float>(16 * n.overlap);
        if (b < n.across - 1 && x >= step)
          weights[k] *= 1 - static_cast<float>(2 * (8 * (x - step) + k) + 1) / static_cast<float>(16 * n.overlap);
      }
      add_tile(colours, n, a * n.across + b, colour, y, x, weight, weights, sums);
    }
  }
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(sums[2 * k], sums[2 * k + 1]);
  image[(int64_t{colour} * gridDim.y + blockIdx.y) * octets + octet] = bits;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        places_((args.down * args.across + world_ - 1) / world_),
        words_(rank, 64 * sizeof(uint32_t)),
        colours_(rank, static_cast<size_t>(places_ * 3 * args.tile * args.tile) * sizeof(float)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t latents = args.tile * args.tile, step = args.tile - args.overlap;
    const int64_t octets = step * (args.across - 1) + args.tile, height = 8 * (step * (args.down - 1) + args.tile);
    const int64_t first = height * rank_ / world_, rows = height * (rank_ + 1) / world_ - first;
    const Sizes sizes{static_cast<int>(args.down), static_cast<int>(args.across), static_cast<int>(args.tile),
                      static_cast<int>(args.overlap), world_};
    mix<<<dim3(static_cast<unsigned>((latents + 127) / 128), 3, static_cast<unsigned>(places_)), 128, 0, stream>>>(
        args.latents, args.w, colours_.mine<float>(), static_cast<int>(latents), static_cast<int>(args.channels));
    // all colours are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    stitch<<<dim3(static_cast<unsigned>((octets + 63) / 64), static_cast<unsigned>(rows), 3), 64, 0, stream>>>(
        colours_.peers<float>(), reinterpret_cast<int4*>(args.image), sizes, static_cast<int>(first));
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  int64_t places_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, colours_;
};
// [/solution]
