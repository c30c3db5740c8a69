// All-gather by copy engines: no kernel at all, the SMs stay free for computing.
//
// Teaches: a stream can wait for a word in memory and write one (cuStreamWaitValue32, cuStreamWriteValue32). So copies
// of several processes can be ordered among each other on the devices, without kernels, events or the host. Watch out:
// two barriers, as in every collective that pushes: "my output may be overwritten" before the copies, and "my copies
// have landed" after. Work in a stream is in order, so the word that follows a copy is written after it. A wait that is
// never fulfilled blocks the stream for ever.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/20_copy_engine_all_gather.cu
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check_driver.h"
#include "common/peers.h"

// In front of each rank's output. Entry r is written by rank r.
struct Words {
  unsigned int ready[kMostRanks];
  unsigned int landed[kMostRanks];
};
constexpr size_t kOutputAt = (sizeof(Words) + 255) / 256 * 256;

// Sets entry `rank` on all ranks to `epoch`, then waits until all own entries have it.
void barrier(const Peers<Words>& words, unsigned int (Words::*entries)[kMostRanks], int rank, int world,
             unsigned int epoch, cudaStream_t stream) {
  for (int peer = 0; peer < world; ++peer) {
    const auto address = reinterpret_cast<CUdeviceptr>(&(words.of[peer]->*entries)[rank]);
    CHECK(cuStreamWriteValue32(stream, address, epoch, CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  for (int peer = 0; peer < world; ++peer) {
    const auto address = reinterpret_cast<CUdeviceptr>(&(words.of[rank]->*entries)[peer]);
    CHECK(cuStreamWaitValue32(stream, address, epoch, CU_STREAM_WAIT_VALUE_GEQ));
  }
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  constexpr size_t kBytes = 50021;

  char *mine = nullptr, *input = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMalloc(&mine, kOutputAt + static_cast<size_t>(world) * kBytes));
  CHECK(cudaMalloc(&input, kBytes));
  CHECK(cudaMemset(mine, 0, kOutputAt));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto words = buffers.at<Words>(0);
    const auto outputs = buffers.at<char>(kOutputAt);
    std::vector<char> host(static_cast<size_t>(world) * kBytes);
    for (unsigned int epoch = 1; epoch <= 2; ++epoch) {
      CHECK(cudaMemsetAsync(input, rank * 10 + static_cast<int>(epoch), kBytes, stream));
      barrier(words, &Words::ready, rank, world, epoch, stream);
      for (int step = 0; step < world; ++step) {
        char* const place = outputs.of[(rank + step) % world] + static_cast<size_t>(rank) * kBytes;
        CHECK(cudaMemcpyAsync(place, input, kBytes, cudaMemcpyDeviceToDevice, stream));
      }
      barrier(words, &Words::landed, rank, world, epoch, stream);
      CHECK(cudaMemcpyAsync(host.data(), outputs.of[rank], host.size(), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
      for (size_t i = 0; i < host.size(); ++i) {
        const int expected = static_cast<int>(i / kBytes) * 10 + static_cast<int>(epoch);
        if (host[i] != static_cast<char>(expected)) fail("rank %d: byte %zu is %d, not %d", rank, i, host[i], expected);
      }
    }
  }
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(mine));
  CHECK(cudaFree(input));
  if (rank == 0) std::printf("OK all-gather by copy engines on %d ranks\n", world);
}
