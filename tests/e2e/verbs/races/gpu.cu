// Races of network cards with GPUs, by name: the wrong form, or with "right" its repaired form. Lines that a report
// must name are marked with the case, and with the side that comes first in the program text.
#include "pair.h"

namespace {

constexpr int kCount = 1024;                      // floats
constexpr size_t kData = kCount * sizeof(float);  // at 0; a second buffer at kHalf
constexpr size_t kFlag = kHalf - 64;              // an int, and a long at kWord
constexpr size_t kWord = kHalf - 128;

__global__ void fill(float* p, float value) {
  p[blockIdx.x * blockDim.x + threadIdx.x] = value;  //@ fill
}
__global__ void use(const float* p, float* sum) {
  atomicAdd(sum, p[blockIdx.x * blockDim.x + threadIdx.x]);  //@ use
}
__device__ int acquire_sys(const int* p) {
  int v;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ int acquire_gpu(const int* p) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");  //@ acquire_gpu
  return v;
}
enum class How { acquire, volatile_fence, volatile_only, narrow };
__global__ void poll(How how, const int* flag, const float* p, float* sum) {
  if (how == How::acquire) {
    while (acquire_sys(flag) == 0) __nanosleep(100);
  } else if (how == How::narrow) {
    while (acquire_gpu(flag) == 0) __nanosleep(100);
  } else {
    while (*reinterpret_cast<const volatile int*>(flag) == 0) __nanosleep(100);  //@ poll_volatile
    if (how == How::volatile_fence) __threadfence_system();
  }
  float s = 0;
  for (int k = 0; k < kCount; ++k) s += p[k];  //@ poll_use
  *sum = s;
}
__global__ void count(unsigned long long* word) { atomicAdd_system(word, 1); }  //@ count

float *sum, *pinned;
int right;

float* data(const Side& s) { return reinterpret_cast<float*>(s.gpu); }
float* second(const Side& s) { return reinterpret_cast<float*>(s.gpu + kHalf); }
const int* flag(const Side& s) { return reinterpret_cast<const int*>(s.gpu + kFlag); }
void fill_on(Side& s, float* p) { fill<<<kCount / 256, 256, 0, s.stream>>>(p, 1); }
void use_on(Side& s, const float* p) { use<<<kCount / 256, 256, 0, s.stream>>>(p, sum); }
// A word of one in the own memory, to be written as a flag.
void make_flag(Side& s) {
  const int one = 1;
  cudaMemcpy(s.gpu + kFlag, &one, sizeof one, cudaMemcpyHostToDevice);
}

void read_before_completion() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ read_before_completion
    s.complete();
  } else {
    RECEIVE(s, 0, 0, 0);
    if (right) s.complete();
    use_on(s, data(s));
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
void received_before_completion() {
  Side s;
  if (s.rank == 0) {
    s.hear();
    POST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ received_before_completion
    s.complete();
  } else {
    RECEIVE(s, 0, 0, kData);
    s.tell();
    if (right) s.complete();
    use_on(s, data(s));
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
void copied_before_completion() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ copied_before_completion
    s.complete();
  } else {
    RECEIVE(s, 0, 0, 0);
    if (right) s.complete();
    cudaMemcpyAsync(pinned, s.gpu, kData, cudaMemcpyDeviceToHost, s.stream);  //@ copied_before_completion
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
void source_refilled() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ source_refilled
    if (right) s.complete();
    fill_on(s, data(s));
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
void source_copied_over() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ source_copied_over
    if (right) s.complete();
    cudaMemcpyAsync(s.gpu, pinned, kData, cudaMemcpyHostToDevice, s.stream);  //@ source_copied_over
    if (!right) s.complete();
    s.synchronise();
  } else {
    RECEIVE(s, 0, 0, kData);
    s.complete();
  }
  s.barrier();
}
// The other way to post: call by call.
void built_by_calls() {
  Side s;
  if (s.rank == 0) {
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(s.qp[0]);
    ibv_wr_start(qp);
    qp->wr_flags = kSignaled;
    ibv_wr_rdma_write(qp, s.peer.gpu_key, s.peer.gpu);  //@ built_by_calls
    ibv_wr_set_sge(qp, s.gpu_mr->lkey, reinterpret_cast<uint64_t>(s.gpu), kData);
    REQUIRE(ibv_wr_complete(qp) == 0);
    if (right) s.complete();
    fill_on(s, data(s));
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
// The completion is that of another queue pair.
void completion_of_other() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, right ? kSignaled : 0);  //@ completion_of_other
    if (!right) POST(s, 1, IBV_WR_RDMA_WRITE, kHalf, 64, kHalf, kSignaled);
    s.complete();
    fill_on(s, data(s));
    s.synchronise();
  }
  s.barrier();
}
void source_not_ready() {
  Side s;
  if (s.rank == 0) {
    fill_on(s, data(s));
    if (right) s.synchronise();
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ source_not_ready
    s.complete();
    s.synchronise();
  }
  s.barrier();
}
void flag_of_other() {
  Side s;
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ flag_of_other
    POST(s, right ? 0 : 1, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    poll<<<1, 1, 0, s.stream>>>(How::acquire, flag(s), data(s), sum);
    s.synchronise();
  }
  s.barrier();
}
void flag_in_message() {
  Side s;
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, right ? kFlag : kFlag + 4, 0, kSignaled);  //@ flag_in_message
    if (right) POST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(right ? 2 : 1);
  } else {
    poll<<<1, 1, 0, s.stream>>>(How::acquire, flag(s), data(s), sum);
    s.synchronise();
  }
  s.barrier();
}
void flag_not_acquired() {
  Side s;
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ flag_not_acquired
    POST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    poll<<<1, 1, 0, s.stream>>>(right ? How::volatile_fence : How::volatile_only, flag(s), data(s), sum);
    s.synchronise();
  }
  s.barrier();
}
void flag_of_narrow_scope() {
  Side s;
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);
    POST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);  //@ flag_of_narrow_scope
    s.complete(2);
  } else {
    poll<<<1, 1, 0, s.stream>>>(right ? How::acquire : How::narrow, flag(s), data(s), sum);
    s.synchronise();
  }
  s.barrier();
}
void relaxed_ordering() {
  Side s(IBV_QPT_RC, right ? 0 : IBV_ACCESS_RELAXED_ORDERING);
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ relaxed_ordering
    POST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    poll<<<1, 1, 0, s.stream>>>(How::acquire, flag(s), data(s), sum);
    s.synchronise();
  }
  s.barrier();
}
void result_used_early() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_READ, 0, kData, 0, kSignaled);  //@ result_used_early
    if (right) s.complete();
    use_on(s, data(s));
    if (!right) s.complete();
    s.synchronise();
  }
  s.barrier();
}
// What is read is sent on, without a fence.
void read_overtaken() {
  Side s;
  const unsigned fence = right ? IBV_SEND_FENCE : 0;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_READ, 0, kData, 0, kSignaled);               //@ read_overtaken
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, kHalf, kSignaled | fence);  //@ read_overtaken
    s.complete(2);
  }
  s.barrier();
}
void filled_while_read() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_READ, kHalf, kData, 0, kSignaled);  //@ filled_while_read
    s.complete();
    if (right) s.tell();
  } else {
    if (right) s.hear();
    fill_on(s, data(s));
    s.synchronise();
  }
  s.barrier();
}
void two_writers() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ two_writers
    if (right) s.complete();
    POST(s, 1, IBV_WR_RDMA_WRITE, kHalf, kData, 0, kSignaled);  //@ two_writers
    s.complete(right ? 1 : 2);
  }
  s.barrier();
}
void counted_by_both() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, kWord, kSignaled);  //@ counted_by_both
    s.complete();
    if (right) s.tell();
  } else {
    if (right) s.hear();
    count<<<1, 1, 0, s.stream>>>(reinterpret_cast<unsigned long long*>(s.gpu + kWord));
    s.synchronise();
  }
  s.barrier();
}
// The next message may land while the last one is used: the sender has no credit.
void received_again() {
  Side s;
  if (s.rank == 0) {
    s.hear();
    POST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);
    POST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ received_again
    s.complete(2);
  } else {
    RECEIVE(s, 0, 0, kData);
    if (!right) RECEIVE(s, 0, 0, kData);
    s.tell();
    s.complete();
    use_on(s, data(s));
    if (right) {
      s.synchronise();
      RECEIVE(s, 0, 0, kData);
    }
    s.complete();
    s.synchronise();
  }
  s.barrier();
}
void written_without_credit() {
  Side s;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);
    if (right) s.hear();
    POST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ written_without_credit
    s.complete(2);
  } else {
    RECEIVE(s, 0, 0, 0);
    RECEIVE(s, 0, 0, 0);
    s.complete();
    use_on(s, data(s));
    if (right) {
      s.synchronise();
      s.tell();
    }
    s.complete();
    s.synchronise();
  }
  s.barrier();
}
// A completion of an unreliable queue pair means that the source is free, not that anything has arrived.
void unreliable_completion() {
  Side s(right ? IBV_QPT_RC : IBV_QPT_UC);
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ unreliable_completion
    s.complete();
    s.tell();
  } else {
    s.hear();
    use_on(s, data(s));
    s.synchronise();
  }
  s.barrier();
}
// A kernel that runs already is told by its host, through pinned memory.
void told_too_early() {
  Side s;
  static volatile int* told = nullptr;
  if (s.rank == 0) {
    POST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ told_too_early
    s.complete();
  } else {
    told = reinterpret_cast<volatile int*>(pinned);
    *told = 0;
    RECEIVE(s, 0, 0, 0);
    poll<<<1, 1, 0, s.stream>>>(How::acquire, reinterpret_cast<const int*>(pinned), data(s), sum);
    if (right) s.complete();
    *told = 1;
    if (!right) {
      s.synchronise();
      s.complete();
    }
    s.synchronise();
  }
  s.barrier();
}
// A kernel waits for the flag, and the next one on its stream uses the data.
void next_kernel() {
  Side s;
  if (s.rank == 0) {
    make_flag(s);
    POST(s, 0, IBV_WR_RDMA_WRITE, kHalf, kData, kHalf, kSignaled);  //@ next_kernel
    POST(s, right ? 0 : 1, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    poll<<<1, 1, 0, s.stream>>>(How::acquire, flag(s), data(s), sum);
    use_on(s, second(s));
    s.synchronise();
  }
  s.barrier();
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {
    {"read_before_completion", read_before_completion},
    {"received_before_completion", received_before_completion},
    {"copied_before_completion", copied_before_completion},
    {"source_refilled", source_refilled},
    {"source_copied_over", source_copied_over},
    {"built_by_calls", built_by_calls},
    {"completion_of_other", completion_of_other},
    {"source_not_ready", source_not_ready},
    {"flag_of_other", flag_of_other},
    {"flag_in_message", flag_in_message},
    {"flag_not_acquired", flag_not_acquired},
    {"flag_of_narrow_scope", flag_of_narrow_scope},
    {"relaxed_ordering", relaxed_ordering},
    {"result_used_early", result_used_early},
    {"read_overtaken", read_overtaken},
    {"filled_while_read", filled_while_read},
    {"two_writers", two_writers},
    {"counted_by_both", counted_by_both},
    {"received_again", received_again},
    {"written_without_credit", written_without_credit},
    {"unreliable_completion", unreliable_completion},
    {"told_too_early", told_too_early},
    {"next_kernel", next_kernel},
};

}  // namespace

int main(int argc, char** argv) {
  right = argc > 2 && std::strcmp(argv[2], "right") == 0;
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  cudaMallocHost(&pinned, kData);
  cudaDeviceSynchronize();
  for (const Case& c : kCases) {
    if (argc < 2 || std::strcmp(c.name, argv[1]) != 0) continue;
    c.run();
    return 0;
  }
  return 4;
}
