// Times of collectives beside other work: prints one figure a line, in microseconds of virtual time.
#include <cstdio>
#include <cstring>
#include <vector>

#include <nccl.h>

namespace {

int n = 0;
std::vector<ncclComm_t> comms;
std::vector<cudaStream_t> streams, others;
std::vector<float*> a, b, c;
constexpr size_t kBytes = size_t{32} << 20;

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void all_reduce(size_t bytes) {
  ncclGroupStart();
  for (int d = 0; d < n; ++d) ncclAllReduce(a[d], b[d], bytes / 4, ncclFloat, ncclSum, comms[d], streams[d]);
  ncclGroupEnd();
}

void copies() {
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    cudaMemcpyPeerAsync(c[(d + 1) % n], (d + 1) % n, c[d], d, kBytes / 2, others[d]);
  }
}

template <class F>
double time_of(F work, std::vector<cudaStream_t>& on) {
  std::vector<cudaEvent_t> begin(n), end(n);
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    cudaEventCreate(&begin[d]);
    cudaEventCreate(&end[d]);
    cudaEventRecord(begin[d], on[d]);
  }
  work();
  double longest = 0;
  for (int d = 0; d < n; ++d) cudaEventRecord(end[d], on[d]);
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, begin[d], end[d]);
    longest = ms * 1000 > longest ? ms * 1000 : longest;
  }
  return longest;
}

}  // namespace

int main() {
  cudaGetDeviceCount(&n);
  comms.resize(n), streams.resize(n), others.resize(n), a.resize(n), b.resize(n), c.resize(n);
  ncclCommInitAll(comms.data(), n, nullptr);
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&others[d], cudaStreamNonBlocking);
    cudaMalloc(&a[d], kBytes);
    cudaMalloc(&b[d], kBytes);
    cudaMalloc(&c[d], kBytes);
    for (int p = 0; p < n; ++p) {
      if (p != d) cudaDeviceEnablePeerAccess(p, 0);
    }
  }
  std::printf("all_reduce_small %.3f\n", time_of([] { all_reduce(1024); }, streams));
  std::printf("all_reduce %.3f\n", time_of([] { all_reduce(kBytes); }, streams));
  std::printf("copies %.3f\n", time_of([] { copies(); }, others));
  std::printf("all_reduce_beside_copies %.3f\n", time_of(
                                                     [] {
                                                       copies();
                                                       all_reduce(kBytes);
                                                     },
                                                     streams));
  std::printf("copies_beside_all_reduce %.3f\n", time_of(
                                                     [] {
                                                       all_reduce(kBytes);
                                                       copies();
                                                     },
                                                     others));
  // A kernel on all multiprocessors, which leaves no room: the collective begins behind it.
  const auto spin_all = [] {
    for (int d = 0; d < n; ++d) {
      cudaSetDevice(d);
      cudaDeviceProp p;
      cudaGetDeviceProperties(&p, d);
      spin<<<p.multiProcessorCount * 2, 1024, 0, others[d]>>>(400000);
    }
  };
  std::printf("spin %.3f\n", time_of(spin_all, others));
  std::printf("all_reduce_behind_spin %.3f\n", time_of(
                                                   [&] {
                                                     spin_all();
                                                     all_reduce(kBytes);
                                                   },
                                                   streams));
  // Ten of a group pay the start of a collective once.
  std::printf("ten_in_a_group %.3f\n", time_of(
                                           [] {
                                             ncclGroupStart();
                                             for (int k = 0; k < 10; ++k) all_reduce(4096);
                                             ncclGroupEnd();
                                           },
                                           streams));
  std::printf("ten_alone %.3f\n", time_of(
                                      [] {
                                        for (int k = 0; k < 10; ++k) all_reduce(4096);
                                      },
                                      streams));
}
