// cause: never signalled
// A stream waits for a value that is never written.
// says: a stream of rank 0, device 0 needs >= 3 and sees 0
#include <cuda.h>

#include "hang.h"

int main() {
  Word* flag = make_words(0);
  cudaStream_t stream = make_stream();
  if (cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(flag), 3, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
    fail("cuStreamWaitValue32");
  wait_for_devices(1);
}
