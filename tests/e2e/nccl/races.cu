// Buffers of collectives that are touched too early or too late, by number: odd ones are wrong, the even one before
// each is its repaired form.
#include "boot.h"

namespace {

World w;
ncclComm_t comm;
cudaStream_t stream, second;
float *a, *b;
constexpr int kCount = 1 << 12;

__global__ void fill(float* p, float value) { p[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void use(const float* p, float* sum) { atomicAdd(sum, p[blockIdx.x * blockDim.x + threadIdx.x]); }

void fill_on(cudaStream_t s, float* p) { fill<<<kCount / 256, 256, 0, s>>>(p, 1); }
void use_on(cudaStream_t s, const float* p) {
  static float* sum = nullptr;
  if (!sum) cudaMalloc(&sum, sizeof *sum);
  use<<<kCount / 256, 256, 0, s>>>(p, sum);
}
void order(cudaStream_t first, cudaStream_t then) {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(then, event, 0);
}
void all_reduce(cudaStream_t s) { NCCL(ncclAllReduce(a, b, kCount, ncclFloat, ncclSum, comm, s)); }

void written_too_late(bool right) {
  if (right) order(second, stream);
  fill_on(second, a);
  if (right) order(second, stream);
  all_reduce(stream);
}
void read_too_early(bool right) {
  all_reduce(stream);
  if (right) order(stream, second);
  use_on(second, b);
}
void overwritten_too_early(bool right) {
  all_reduce(stream);
  if (right) order(stream, second);
  fill_on(second, a);
}
void result_written_meanwhile(bool right) {
  fill_on(second, b);
  if (right) order(second, stream);
  all_reduce(stream);
}
void copy_too_early(bool right) {
  all_reduce(stream);
  if (right) order(stream, second);
  static float host[kCount];
  cudaMemcpyAsync(host, b, sizeof host, cudaMemcpyDeviceToHost, second);
}
void two_calls_of_a_group(bool right) {
  if (right) {
    all_reduce(stream);
    NCCL(ncclBroadcast(b, b, kCount, ncclFloat, 0, comm, stream));
    return;
  }
  // Calls of one group are concurrent: the second reads what the first writes.
  NCCL(ncclGroupStart());
  all_reduce(stream);
  NCCL(ncclBroadcast(b, b, kCount, ncclFloat, 0, comm, stream));
  NCCL(ncclGroupEnd());
}
void message_overwritten(bool right) {
  const int peer = w.rank ^ 1;
  NCCL(ncclGroupStart());
  NCCL(ncclSend(a, kCount, ncclFloat, peer, comm, stream));
  NCCL(ncclRecv(b, kCount, ncclFloat, peer, comm, stream));
  NCCL(ncclGroupEnd());
  if (right) order(stream, second);
  fill_on(second, a);
}
void two_streams_of_a_group(bool right) {
  NCCL(ncclGroupStart());
  NCCL(ncclAllReduce(a, b, kCount / 2, ncclFloat, ncclSum, comm, stream));
  NCCL(ncclAllReduce(a + kCount / 2, b + kCount / 2, kCount / 2, ncclFloat, ncclSum, comm, second));
  NCCL(ncclGroupEnd());
  // Each stream goes on behind the whole group; a third one does not.
  cudaStream_t third;
  cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking);
  use_on(right ? second : third, b);
}
// The peer's memory, by a kernel of the other rank: a collective orders it where data went from one to the other.
void peers_memory(bool right) {
  cudaIpcMemHandle_t own, *all = nullptr;
  cudaMallocManaged(&all, 2 * sizeof own);
  cudaIpcGetMemHandle(&own, a);
  cudaIpcMemHandle_t* device = nullptr;
  cudaMalloc(&device, 3 * sizeof own);
  cudaMemcpy(device, &own, sizeof own, cudaMemcpyHostToDevice);
  NCCL(ncclAllGather(device, device + 1, sizeof own, ncclChar, comm, stream));
  cudaMemcpyAsync(all, device + 1, 2 * sizeof own, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  void* theirs = nullptr;
  cudaIpcOpenMemHandle(&theirs, all[w.rank ^ 1], cudaIpcMemLazyEnablePeerAccess);
  fill_on(stream, a);
  // A broadcast from rank 0 orders what rank 0 did before what rank 1 does, and nothing the other way.
  NCCL(ncclBroadcast(b, b, 16, ncclFloat, 0, comm, stream));
  if (w.rank == (right ? 1 : 0)) use_on(stream, static_cast<float*>(theirs));
}

// Rank 0 puts into rank 1's window, which is read behind a wait for the signal, or without one.
ncclWindow_t window() {
  ncclWindow_t made;
  NCCL(ncclMemAlloc(reinterpret_cast<void**>(&a), 2 * kCount * sizeof(float)));
  NCCL(ncclCommWindowRegister(comm, a, 2 * kCount * sizeof(float), &made, NCCL_WIN_COLL_SYMMETRIC));
  return made;
}
void put(ncclWindow_t into, cudaStream_t s) {
  NCCL(ncclPutSignal(a, kCount, ncclFloat, 1, into, kCount * sizeof(float), 0, 0, 0, comm, s));
}
void wait(int count, cudaStream_t s) {
  ncclWaitSignalDesc_t d = {count, 0, 0, 0};
  NCCL(ncclWaitSignal(1, &d, comm, s));
}
void put_read_too_early(bool right) {
  const ncclWindow_t w1 = window();
  if (w.rank == 0) {
    fill_on(stream, a);
    put(w1, stream);
  } else {
    wait(1, stream);
    use_on(right ? stream : second, a + kCount);
  }
}
void put_overwritten_too_early(bool right) {
  const ncclWindow_t w1 = window();
  if (w.rank == 0) {
    put(w1, stream);
    if (right) order(stream, second);
    fill_on(second, a);
  } else {
    wait(1, stream);
  }
}
// The first signal says nothing of the second put.
void one_signal_for_two_puts(bool right) {
  const ncclWindow_t w1 = window();
  if (w.rank == 0) {
    NCCL(ncclSignal(1, 0, 0, 0, comm, stream));
    put(w1, stream);
  } else {
    wait(right ? 2 : 1, stream);
    use_on(stream, a + kCount);
    if (!right) wait(1, stream);
  }
}
// The window is free again when its owner says so.
void put_into_a_window_in_use(bool right) {
  const ncclWindow_t w1 = window();
  if (w.rank == 0) {
    if (right) {
      ncclWaitSignalDesc_t d = {1, 1, 0, 0};
      NCCL(ncclWaitSignal(1, &d, comm, stream));
    }
    put(w1, stream);
  } else {
    use_on(stream, a + kCount);
    NCCL(ncclSignal(0, 0, 0, 0, comm, stream));
    wait(1, stream);
  }
}

void (*const kCases[])(bool) = {written_too_late,
                                read_too_early,
                                overwritten_too_early,
                                result_written_meanwhile,
                                copy_too_early,
                                two_calls_of_a_group,
                                message_overwritten,
                                two_streams_of_a_group,
                                peers_memory,
                                put_read_too_early,
                                put_overwritten_too_early,
                                one_signal_for_two_puts,
                                put_into_a_window_in_use};

}  // namespace

int main(int, char** argv) {
  comm = w.connect();
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaMalloc(&a, kCount * sizeof(float));
  cudaMalloc(&b, kCount * sizeof(float));
  cudaMemset(a, 0, kCount * sizeof(float));
  cudaMemset(b, 0, kCount * sizeof(float));
  cudaDeviceSynchronize();
  const int number = std::atoi(argv[1]);
  kCases[number / 2](number % 2 == 0);
  cudaDeviceSynchronize();
  // Ranks that use each other's memory end together.
  NCCL(ncclAllReduce(a, b, 1, ncclFloat, ncclSum, comm, stream));
  cudaStreamSynchronize(stream);
  NCCL(ncclCommDestroy(comm));
}
