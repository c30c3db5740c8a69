// Where pointers point, clocks, and the scopes of __threadfence.

__constant__ int constant_word = 4;

// run: address_spaces grid=1 block=1 shared=0
// in:  i32[1] = const 42
// out: u32[8]
// expect: list 1 1 1 1 42 7 0 1
extern "C" __global__ void address_spaces(const int* in, unsigned* out, int n) {
  __shared__ int shared_word;
  volatile int local_words[2] = {n, 7};
  shared_word = 7;
  out[0] = __isGlobal(in) != 0;
  out[1] = __isShared(&shared_word) != 0;
  out[2] = __isLocal(const_cast<const int*>(&local_words[in[0] & 1])) != 0;
  out[3] = __isConstant(&constant_word) != 0;
  unsigned value;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(in)));
  out[4] = value;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&shared_word));
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  out[5] = value;
  out[6] = __isShared(in) != 0;
  out[7] = __cvta_shared_to_generic(address) == &shared_word;
}

// run: clocks grid=1 block=1 shared=0
// in:  i32[1] = const 1
// out: u32[3]
// expect: list 1 1 1
extern "C" __global__ void clocks(const int* in, unsigned* out, int n) {
  const long long start = clock64();
  const auto start_short = clock();
  unsigned long long ns, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  __nanosleep(1000);
  __threadfence_block();
  __threadfence();
  __threadfence_system();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  out[0] = clock64() > start;
  out[1] = clock() != start_short;
  out[2] = later >= ns;
}

// run: dependent_launch grid=1 block=32 shared=0
// in:  i32[32] = iota
// out: i32[32]
extern "C" __global__ void dependent_launch(const int* in, int* out, int n) {
  cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x] + 1;
  cudaTriggerProgrammaticLaunchCompletion();
}
extern "C" void expect_dependent_launch(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] + 1;
}
