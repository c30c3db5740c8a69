// Rank 0 asks for streams, events and launches without end and without waiting for anything.
#include "waits_for_other.h"

__global__ void nothing() {}

int main() {
  begin(0);
  for (;;) {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    for (int i = 0; i < 1000; ++i) {
      nothing<<<1, 32, 0, stream>>>();
      cudaEventRecord(event, stream);
    }
  }
}
