// cuda::atomic and cuda::atomic_ref on objects of 1 to 8 bytes, at every scope.
#include <cuda/atomic>

// run: atomic_ref_integers grid=2 block=64 shared=0
// in:  i32[128] = random 61
// out: i32[10]
extern "C" __global__ void atomic_ref_integers(const int* in, int* out, int n) {
  const int v = in[blockIdx.x * blockDim.x + threadIdx.x] >> 8;
  using Device = cuda::atomic_ref<int, cuda::thread_scope_device>;
  using System = cuda::atomic_ref<int, cuda::thread_scope_system>;
  Device(out[0]).fetch_add(v, cuda::memory_order_relaxed);
  System(out[1]).fetch_sub(v, cuda::memory_order_release);
  Device(out[2]).fetch_max(v, cuda::memory_order_acquire);
  System(out[3]).fetch_min(v);
  Device(out[4]).fetch_or(v, cuda::memory_order_acq_rel);
  Device(out[5]).fetch_xor(v, cuda::memory_order_relaxed);
  Device(out[6])++;
  int old = 0;
  while (!Device(out[7]).compare_exchange_weak(old, old + v, cuda::memory_order_relaxed)) continue;
  if (v == in[n - 1] >> 8 && threadIdx.x == blockDim.x - 1 && blockIdx.x == 1) {
    System(out[8]).store(v, cuda::memory_order_release);
    out[9] = System(out[8]).load(cuda::memory_order_acquire);
  }
}
extern "C" void expect_atomic_ref_integers(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int v = in[i] >> 8;
    cuda::atomic_ref<int>(out[0]).fetch_add(v);
    cuda::atomic_ref<int>(out[1]).fetch_sub(v);
    cuda::atomic_ref<int>(out[2]).fetch_max(v);
    cuda::atomic_ref<int>(out[3]).fetch_min(v);
    cuda::atomic_ref<int>(out[4]).fetch_or(v);
    cuda::atomic_ref<int>(out[5]).fetch_xor(v);
    out[6] += 1;
    out[7] += v;
    out[8] = out[9] = v;
  }
}

// run: atomic_ref_small grid=1 block=64 shared=0
// in:  u8[64] = iota
// out: u8[8]
// expect: list 224 63 0 0 64 8 0 0
extern "C" __global__ void atomic_ref_small(const unsigned char* in, unsigned char* out, int n) {
  const unsigned char v = in[threadIdx.x];
  cuda::atomic_ref<unsigned char, cuda::thread_scope_block>(out[0]).fetch_add(v, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(out[1]).fetch_max(v, cuda::memory_order_relaxed);
  auto& wide = reinterpret_cast<unsigned short*>(out)[2];
  cuda::atomic_ref<unsigned short, cuda::thread_scope_system>(wide).fetch_add(33, cuda::memory_order_relaxed);
}

// run: atomic_floats_by_ref grid=1 block=64 shared=0
// in:  f64[64] = iota
// out: f64[4]
// expect: list 2016 63 -63 2016
extern "C" __global__ void atomic_floats_by_ref(const double* in, double* out, int n) {
  const double v = in[threadIdx.x];
  cuda::atomic_ref<double, cuda::thread_scope_device>(out[0]).fetch_add(v, cuda::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device>(out[1]).fetch_max(v, cuda::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device>(out[2]).fetch_min(-v, cuda::memory_order_relaxed);
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  cuda::atomic_ref<float, cuda::thread_scope_block>(sum).fetch_add(float(v), cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) out[3] = sum;
}

// One block writes, raises a flag and fences; the other waits for the flag and reads.
// run: message_passing grid=2 block=32 shared=0
// in:  i32[32] = random 62
// out: i32[65]
extern "C" __global__ void message_passing(const int* in, int* out, int n) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(out[64]);
  const int i = int(threadIdx.x);
  if (blockIdx.x == 0) {
    out[i] = in[i] + 1;
    __syncthreads();
    if (i == 0) flag.store(1, cuda::memory_order_release);
  } else {
    if (i == 0) {
      while (flag.load(cuda::memory_order_acquire) == 0) continue;
    }
    __syncthreads();
    out[32 + i] = out[i] * 2;
  }
}
extern "C" void expect_message_passing(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i] = in[i] + 1;
    out[32 + i] = out[i] * 2;
  }
  out[64] = 1;
}

// The same with a relaxed flag between two fences.
// run: fences grid=2 block=32 shared=0
// in:  i32[32] = random 63
// out: i32[65]
extern "C" __global__ void fences(const int* in, int* out, int n) {
  cuda::atomic_ref<int, cuda::thread_scope_system> flag(out[64]);
  const int i = int(threadIdx.x);
  if (blockIdx.x == 1) {
    out[i] = in[i] + 1;
    __syncthreads();
    if (i == 0) {
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      flag.store(1, cuda::memory_order_relaxed);
    }
  } else {
    if (i == 0) {
      while (flag.load(cuda::memory_order_relaxed) == 0) __nanosleep(20);
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
    }
    __syncthreads();
    out[32 + i] = out[i] * 2;
  }
}
extern "C" void expect_fences(const int* in, int* out, int n) { expect_message_passing(in, out, n); }

__device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets{100};

// run: atomic_object grid=1 block=32 shared=0
// in:  u32[1] = const 3
// out: u32[3]
// expect: list 32 3696 7
extern "C" __global__ void atomic_object(const unsigned* in, unsigned* out, int n) {
  __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> count;
  if (threadIdx.x == 0) count.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  count.fetch_add(1, cuda::memory_order_relaxed);
  atomicAdd(&out[1], tickets.fetch_add(1));
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = count.load();
    cuda::atomic_ref<unsigned, cuda::thread_scope_thread> mine(out[2]);
    const unsigned first = mine.exchange(*in), second = mine.exchange(9);
    out[2] = first + second + 4;
  }
}

template <cuda::memory_order order>
__device__ void raise(int& flag) {
  cuda::atomic_ref<int, cuda::thread_scope_system>(flag).store(1, order);
}
__device__ int wait_for(int& flag, cuda::memory_order order) {
  cuda::atomic_ref<int, cuda::thread_scope_system> ref(flag);
  int value;
  while ((value = ref.load(order)) == 0) continue;
  return value;
}

// The order as a template's parameter and as an argument.
// run: memory_orders grid=2 block=1 shared=0
// in:  i32[1] = const 5
// out: i32[4]
// expect: list 5 1 6 1
extern "C" __global__ void memory_orders(const int* in, int* out, int n) {
  if (blockIdx.x == 0) {
    out[0] = *in;
    raise<cuda::memory_order_release>(out[1]);
    out[3] = wait_for(out[3], cuda::memory_order_acquire);
  } else {
    wait_for(out[1], n == 1 ? cuda::memory_order_acquire : cuda::memory_order_relaxed);
    out[2] = out[0] + 1;
    raise<cuda::memory_order_seq_cst>(out[3]);
  }
}
