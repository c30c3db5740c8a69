// Programs that hang in NCCL, by number; run_hangs.py says what the machine has to say of each.
#include "boot.h"

namespace {

World w;
ncclComm_t comm, second;
cudaStream_t stream, other_stream;
float *a, *b;
constexpr size_t kCount = 4096;

void all_reduce(ncclComm_t c, size_t count = kCount, ncclDataType_t type = ncclFloat, ncclRedOp_t op = ncclSum) {
  NCCL(ncclAllReduce(a, b, count, type, op, c, stream));
}
void broadcast(int root, size_t count = kCount) { NCCL(ncclBroadcast(a, b, count, ncclFloat, root, comm, stream)); }
void send(int peer, size_t count = kCount) { NCCL(ncclSend(a, count, ncclFloat, peer, comm, stream)); }
void receive(int peer, size_t count = kCount) { NCCL(ncclRecv(b, count, ncclFloat, peer, comm, stream)); }
void group(void (*calls)()) {
  NCCL(ncclGroupStart());
  calls();
  NCCL(ncclGroupEnd());
}
void make_second() { NCCL(ncclCommSplit(comm, 0, w.rank, &second, nullptr)); }

void wait_signals(int peer, int count) {
  ncclWaitSignalDesc_t d = {count, peer, 0, 0};
  NCCL(ncclWaitSignal(1, &d, comm, stream));
}

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}

void (*const kCases[])() = {
    [] { w.rank == 0 ? all_reduce(comm) : broadcast(0); },                         // 0
    [] { all_reduce(comm, w.rank == 0 ? kCount : kCount / 2); },                   // 1
    [] { all_reduce(comm, kCount, w.rank == 0 ? ncclFloat : ncclInt32); },         // 2
    [] { all_reduce(comm, kCount, ncclFloat, w.rank == 0 ? ncclSum : ncclMax); },  // 3
    [] { broadcast(w.rank); },                                                     // 4
    [] {                                                                           // 5
      if (w.rank != 1) all_reduce(comm);
    },
    [] {  // 6
      for (int k = 0; k < (w.rank == 1 ? 2 : 3); ++k) all_reduce(comm);
    },
    [] {  // 7
      send(w.rank ^ 1);
      receive(w.rank ^ 1);
    },
    [] {  // 8
      receive(w.rank ^ 1);
      send(w.rank ^ 1);
    },
    [] {  // 9
      if (w.rank == 0) send(1);
    },
    [] {  // 10
      if (w.rank == 0) receive(1);
    },
    [] { w.rank == 0 ? send(1, kCount) : receive(0, kCount / 2); },  // 11
    [] {                                                             // 12
      make_second();
      all_reduce(w.rank == 0 ? comm : second);
      all_reduce(w.rank == 0 ? second : comm);
    },
    [] {  // 13
      ncclComm_t late;
      const ncclUniqueId id = w.share_id();
      if (w.rank != 1) NCCL(ncclCommInitRank(&late, w.ranks, id, w.rank));
    },
    [] {  // 14
      if (w.rank == 0) make_second();
    },
    [] { send((w.rank + 1) % w.ranks); },  // 15
    [] {                                   // 16: a ring of three, one after the other
      send((w.rank + 1) % w.ranks);
      receive((w.rank + w.ranks - 1) % w.ranks);
    },
    [] {  // 17: both ends send, then wait on the host
      send(w.rank ^ 1);
      cudaStreamSynchronize(stream);
      receive(w.rank ^ 1);
    },
    [] { w.rank == 2 ? broadcast(0) : all_reduce(comm); },  // 18
    [] {                                                    // 19
      if (w.rank == 0) {
        all_reduce(comm);
        broadcast(0);
      } else {
        broadcast(0);
        all_reduce(comm);
      }
    },
    [] { NCCL(ncclReduce(a, b, kCount, ncclFloat, ncclSum, w.rank == 0 ? 0 : 1, comm, stream)); },     // 20
    [] { NCCL(ncclAllGather(a, b, w.rank == 0 ? 256 : 512, ncclFloat, comm, stream)); },               // 21
    [] { NCCL(ncclReduceScatter(a, b, w.rank == 0 ? 256 : 512, ncclFloat, ncclSum, comm, stream)); },  // 22
    [] { NCCL(ncclAlltoAll(a, b, 256, w.rank == 0 ? ncclFloat : ncclBfloat16, comm, stream)); },       // 23
    [] { NCCL(ncclGather(a, b, 256, ncclFloat, w.rank, comm, stream)); },                              // 24
    [] {                                                                                               // 25
      if (w.rank == 1) std::exit(0);
      all_reduce(comm);
    },
    [] {  // 26
      if (w.rank == 1) ncclCommDestroy(comm);
      if (w.rank == 0) all_reduce(comm);
    },
    [] {  // 27
      if (w.rank == 1) ncclCommAbort(comm);
      if (w.rank == 0) all_reduce(comm);
    },
    [] {  // 28: more sends than receives
      group([] {
        if (w.rank == 0) send(1);
        if (w.rank == 0) send(1);
        if (w.rank == 1) receive(0);
      });
    },
    [] {  // 29: the wrong peer
      group([] {
        if (w.rank == 0) send(1);
        if (w.rank == 1) receive(2);
        if (w.rank == 2) receive(0);
      });
    },
    [] {  // 30: a window that one rank does not register
      ncclWindow_t window;
      if (w.rank == 0) NCCL(ncclCommWindowRegister(comm, a, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
    },
    [] {  // 31: a kernel of one rank keeps its stream
      int* flag;
      cudaMalloc(&flag, sizeof *flag);
      if (w.rank == 0) wait_for<<<1, 1, 0, stream>>>(flag);
      all_reduce(comm);
    },
    [] {  // 32: streams that wait for each other's communicators through an event
      make_second();
      if (w.rank == 0) {
        all_reduce(comm);
        cudaEvent_t done;
        cudaEventCreate(&done);
        cudaEventRecord(done, stream);
        cudaStreamWaitEvent(other_stream, done, 0);
        NCCL(ncclAllReduce(a, b, kCount, ncclFloat, ncclSum, second, other_stream));
      } else {
        all_reduce(second);
        all_reduce(comm);
      }
    },
    [] {  // 33: one signal less than is waited for
      if (w.rank == 1) NCCL(ncclSignal(0, 0, 0, 0, comm, stream));
      if (w.rank == 0) wait_signals(1, 2);
    },
    [] {  // 34: each waits before it signals
      wait_signals(w.rank ^ 1, 1);
      NCCL(ncclSignal(w.rank ^ 1, 0, 0, 0, comm, stream));
    },
    [] {  // 35: the signal goes to another rank
      if (w.rank == 1) NCCL(ncclSignal(2, 0, 0, 0, comm, stream));
      if (w.rank == 0) wait_signals(1, 1);
    },
    [] {  // 36: a rank does not grow
      ncclComm_t grown;
      if (w.rank == 0) NCCL(ncclCommGrow(comm, 3, nullptr, -1, &grown, nullptr));
    },
    [] {  // 37: a rank does not suspend
      if (w.rank == 0) NCCL(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
    },
};

}  // namespace

int main(int, char** argv) {
  comm = w.connect();
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking);
  cudaMalloc(&a, kCount * 16);
  cudaMalloc(&b, kCount * 16);
  kCases[std::atoi(argv[1])]();
  cudaDeviceSynchronize();
}
