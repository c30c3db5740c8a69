// Collectives and messages that are right, and their results.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "row.h"

inline float at(int rank, size_t i) { return static_cast<float>(rank * 10 + static_cast<int>(i % 7)); }
inline float sum_at(size_t i) { return at(0, i) + at(1, i) + at(2, i) + at(3, i); }

template <class F, class G>
std::function<int()> gives(size_t count, F call, G expected) {
  return [=] {
    prepare(at);
    const int result = on_all(call);
    return result != 0 ? result : compare(count, expected);
  };
}

inline int reduce_with(ncclRedOp_t op, const std::function<float(size_t)>& expected) {
  prepare(at);
  const int result = on_all([&](int r) {
    auto& f = fixture();
    return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, op, f.comms[r], f.streams[r]);
  });
  return result != 0 ? result : compare(kCount, [&](int, size_t i) { return expected(i); });
}

// Elements of a type other than float: written and read as bytes of the buffers.
template <class T>
int sum_of(ncclDataType_t type, T first, T step, T expected) {
  auto& f = fixture();
  for (int r = 0; r < kRanks; ++r) {
    const std::vector<T> host(64, static_cast<T>(first + static_cast<T>(r) * step));
    cudaSetDevice(r);
    cudaMemcpy(f.send[r], host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  const int result = on_all(
      [&](int r) { return ncclAllReduce(f.send[r], f.receive[r], 64, type, ncclSum, f.comms[r], f.streams[r]); });
  if (result != 0) return result;
  if (const int e = synchronise(); e != 0) return e;
  for (int r = 0; r < kRanks; ++r) {
    std::vector<T> host(64);
    cudaMemcpy(host.data(), f.receive[r], host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    for (const T x : host) {
      if (x != expected) return kWrongValue;
    }
  }
  return 0;
}

inline int scaled(ncclScalarResidence_t residence) {
  auto& f = fixture();
  ncclRedOp_t ops[kRanks];
  float* on_device[kRanks] = {};
  for (int r = 0; r < kRanks; ++r) {
    float scalar = static_cast<float>(r + 1);
    void* from = &scalar;
    if (residence == ncclScalarDevice) {
      cudaSetDevice(r);
      cudaMalloc(&on_device[r], sizeof scalar);
      cudaMemcpy(on_device[r], &scalar, sizeof scalar, cudaMemcpyHostToDevice);
      from = on_device[r];
    }
    if (const int e = ncclRedOpCreatePreMulSum(&ops[r], from, ncclFloat, residence, f.comms[r]); e != 0) return e;
  }
  prepare(at);
  int result = ncclGroupStart();
  for (int r = 0; r < kRanks && result == 0; ++r)
    result = ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ops[r], f.comms[r], f.streams[r]);
  // Allowed as soon as the call that takes it has returned, also before the end of the group.
  for (int r = 0; r < kRanks && result == 0; ++r) result = ncclRedOpDestroy(ops[r], f.comms[r]);
  const int end = ncclGroupEnd();
  if (result != 0 || end != 0) return result != 0 ? result : end;
  result = compare(kCount, [](int, size_t i) { return at(0, i) + 2 * at(1, i) + 3 * at(2, i) + 4 * at(3, i); });
  for (float* p : on_device) cudaFree(p);
  return result;
}

inline Rows collective_rows() {
  auto& f = fixture();
  return {
      {"all-reduce, sum", 0, [] { return reduce_with(ncclSum, sum_at); }},
      {"all-reduce, max", 0, [] { return reduce_with(ncclMax, [](size_t i) { return at(3, i); }); }},
      {"all-reduce, min", 0, [] { return reduce_with(ncclMin, [](size_t i) { return at(0, i); }); }},
      {"all-reduce, product", 0,
       [] { return reduce_with(ncclProd, [](size_t i) { return at(0, i) * at(1, i) * at(2, i) * at(3, i); }); }},
      {"all-reduce, average", 0, [] { return reduce_with(ncclAvg, [](size_t i) { return sum_at(i) / 4; }); }},
      {"all-reduce in place", 0,
       [&f] {
         prepare(at);
         const int e = on_all([&f](int r) {
           return ncclAllReduce(f.send[r], f.send[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
         });
         if (e != 0) return e;
         for (int r = 0; r < kRanks; ++r)
           cudaMemcpyAsync(f.receive[r], f.send[r], kCount * sizeof(float), cudaMemcpyDeviceToDevice, f.streams[r]);
         return compare(kCount, [](int, size_t i) { return sum_at(i); });
       }},
      {"all-reduce of i8 wraps around", 0, [] { return sum_of<int8_t>(ncclInt8, 100, 1, static_cast<int8_t>(406)); }},
      {"all-reduce of u8", 0, [] { return sum_of<uint8_t>(ncclUint8, 10, 1, 46); }},
      {"all-reduce of i32", 0, [] { return sum_of<int32_t>(ncclInt32, -5, 1, -14); }},
      {"all-reduce of u32", 0, [] { return sum_of<uint32_t>(ncclUint32, 5, 1, 26); }},
      {"all-reduce of i64", 0, [] { return sum_of<int64_t>(ncclInt64, int64_t{1} << 40, 1, (int64_t{4} << 40) + 6); }},
      {"all-reduce of u64", 0, [] { return sum_of<uint64_t>(ncclUint64, 7, 1, 34); }},
      {"all-reduce of f64", 0, [] { return sum_of<double>(ncclFloat64, 0.5, 0.25, 3.5); }},
      {"all-reduce of f16", 0, [] { return sum_of<uint16_t>(ncclFloat16, 0x3c00, 0, 0x4400); }},
      {"all-reduce of bf16", 0, [] { return sum_of<uint16_t>(ncclBfloat16, 0x3f80, 0, 0x4080); }},
      {"all-reduce of e4m3", 0, [] { return sum_of<uint8_t>(ncclFloat8e4m3, 0x38, 0, 0x48); }},
      {"all-reduce of e5m2", 0, [] { return sum_of<uint8_t>(ncclFloat8e5m2, 0x3c, 0, 0x44); }},
      {"all-reduce of a sum scaled by immediates", 0, [] { return scaled(ncclScalarHostImmediate); }},
      {"all-reduce of a sum scaled from device memory", 0, [] { return scaled(ncclScalarDevice); }},
      {"broadcast", 0,
       gives(
           kCount,
           [&f](int r) {
             return ncclBroadcast(f.send[r], f.receive[r], kCount, ncclFloat, 2, f.comms[r], f.streams[r]);
           },
           [](int, size_t i) { return at(2, i); })},
      {"broadcast: other ranks need no send buffer", 0,
       gives(
           kCount,
           [&f](int r) {
             return ncclBroadcast(r == 1 ? f.send[r] : nullptr, f.receive[r], kCount, ncclFloat, 1, f.comms[r],
                                  f.streams[r]);
           },
           [](int, size_t i) { return at(1, i); })},
      {"ncclBcast in place", 0,
       [&f] {
         prepare(at);
         const int e =
             on_all([&f](int r) { return ncclBcast(f.send[r], kCount, ncclFloat, 3, f.comms[r], f.streams[r]); });
         if (e != 0) return e;
         for (int r = 0; r < kRanks; ++r)
           cudaMemcpyAsync(f.receive[r], f.send[r], kCount * sizeof(float), cudaMemcpyDeviceToDevice, f.streams[r]);
         return compare(kCount, [](int, size_t i) { return at(3, i); });
       }},
      {"reduce writes at the root alone", 0,
       gives(
           kCount,
           [&f](int r) {
             return ncclReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, 1, f.comms[r], f.streams[r]);
           },
           [](int r, size_t i) { return r == 1 ? sum_at(i) : 0; })},
      {"reduce: other ranks need no receive buffer", 0,
       gives(
           kCount,
           [&f](int r) {
             return ncclReduce(f.send[r], r == 0 ? f.receive[r] : nullptr, kCount, ncclFloat, ncclMax, 0, f.comms[r],
                               f.streams[r]);
           },
           [](int r, size_t i) { return r == 0 ? at(3, i) : 0; })},
      {"all-gather", 0,
       gives(
           kRanks * kCount,
           [&f](int r) { return ncclAllGather(f.send[r], f.receive[r], kCount, ncclFloat, f.comms[r], f.streams[r]); },
           [](int, size_t i) { return at(static_cast<int>(i / kCount), i % kCount); })},
      {"all-gather in place", 0,
       [&f] {
         prepare(at);
         for (int r = 0; r < kRanks; ++r)
           cudaMemcpyAsync(f.receive[r] + static_cast<size_t>(r) * kCount, f.send[r], kCount * sizeof(float),
                           cudaMemcpyDeviceToDevice, f.streams[r]);
         const int e = on_all([&f](int r) {
           return ncclAllGather(f.receive[r] + static_cast<size_t>(r) * kCount, f.receive[r], kCount, ncclFloat,
                                f.comms[r], f.streams[r]);
         });
         return e != 0 ? e : compare(kRanks * kCount, [](int, size_t i) {
           return at(static_cast<int>(i / kCount), i % kCount);
         });
       }},
      {"reduce-scatter", 0,
       gives(
           kCount,
           [&f](int r) {
             return ncclReduceScatter(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
           },
           [](int r, size_t i) { return sum_at(static_cast<size_t>(r) * kCount + i); })},
      {"all-to-all", 0,
       gives(
           kRanks * kCount,
           [&f](int r) { return ncclAlltoAll(f.send[r], f.receive[r], kCount, ncclFloat, f.comms[r], f.streams[r]); },
           [](int r, size_t i) {
             return at(static_cast<int>(i / kCount), static_cast<size_t>(r) * kCount + i % kCount);
           })},
      {"gather", 0,
       gives(
           kRanks * kCount,
           [&f](int r) { return ncclGather(f.send[r], f.receive[r], kCount, ncclFloat, 3, f.comms[r], f.streams[r]); },
           [](int r, size_t i) { return r == 3 ? at(static_cast<int>(i / kCount), i % kCount) : 0; })},
      {"scatter", 0,
       gives(
           kCount,
           [&f](int r) { return ncclScatter(f.send[r], f.receive[r], kCount, ncclFloat, 1, f.comms[r], f.streams[r]); },
           [](int r, size_t i) { return at(1, static_cast<size_t>(r) * kCount + i); })},
      {"a ring of messages in one group", 0,
       gives(
           kCount,
           [&f](int r) {
             const int e = ncclSend(f.send[r], kCount, ncclFloat, (r + 1) % kRanks, f.comms[r], f.streams[r]);
             if (e != 0) return e;
             return static_cast<int>(
                 ncclRecv(f.receive[r], kCount, ncclFloat, (r + kRanks - 1) % kRanks, f.comms[r], f.streams[r]));
           },
           [](int r, size_t i) { return at((r + kRanks - 1) % kRanks, i); })},
      {"messages of one pair are matched in order", 0,
       [&f] {
         prepare(at);
         const int e = on_all([&f](int r) {
           int result = 0;
           for (size_t k = 0; k < 4 && result == 0; ++k) {
             float* part = (r == 0 ? f.send[0] : f.receive[1]) + k * 256;
             if (r == 0) result = ncclSend(part, 256, ncclFloat, 1, f.comms[0], f.streams[0]);
             if (r == 1) result = ncclRecv(part, 256, ncclFloat, 0, f.comms[1], f.streams[1]);
           }
           return result;
         });
         return e != 0 ? e : compare(kCount, [](int r, size_t i) { return r == 1 ? at(0, i) : 0; });
       }},
      {"a message to oneself in a group", 0,
       gives(
           kCount,
           [&f](int r) {
             const int e = ncclSend(f.send[r], kCount, ncclFloat, r, f.comms[r], f.streams[r]);
             return e != 0 ? e
                           : static_cast<int>(ncclRecv(f.receive[r], kCount, ncclFloat, r, f.comms[r], f.streams[r]));
           },
           [](int r, size_t i) { return at(r, i); })},
      {"messages of nothing are matched", 0,
       [&f] {
         const int e = on_all([&f](int r) {
           if (r == 0) return static_cast<int>(ncclSend(nullptr, 0, ncclFloat, 1, f.comms[0], f.streams[0]));
           if (r == 1) return static_cast<int>(ncclRecv(nullptr, 0, ncclFloat, 0, f.comms[1], f.streams[1]));
           return 0;
         });
         return e != 0 ? e : synchronise();
       }},
      {"a collective of nothing needs no other rank", 0,
       [&f] {
         const int e = ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, f.comms[0], f.streams[0]);
         return e != 0 ? e : synchronise();
       }},
      {"collectives of different kinds in one group", 0,
       [&f] {
         prepare(at);
         const int e = on_all([&f](int r) {
           int result = ncclAllReduce(f.send[r], f.receive[r], 256, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
           if (result == 0)
             result = ncclBroadcast(f.send[r] + 256, f.receive[r] + 256, 256, ncclFloat, 0, f.comms[r], f.streams[r]);
           if (result == 0)
             result =
                 ncclReduce(f.send[r] + 512, f.receive[r] + 512, 256, ncclFloat, ncclMax, 2, f.comms[r], f.streams[r]);
           return result;
         });
         return e != 0 ? e : compare(768, [](int r, size_t i) {
           return i < 256 ? sum_at(i) : i < 512 ? at(0, i) : r == 2 ? at(3, i) : 0;
         });
       }},
      {"groups nest", 0,
       [&f] {
         prepare(at);
         ncclGroupStart();
         const int e = on_all([&f](int r) {
           return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
         });
         const int end = ncclGroupEnd();
         return e != 0 ? e : end != 0 ? end : compare(kCount, [](int, size_t i) { return sum_at(i); });
       }},
      {"an empty group", 0,
       [] {
         ncclGroupStart();
         return static_cast<int>(ncclGroupEnd());
       }},
      {"two streams of one group", 0,
       [&f] {
         prepare(at);
         cudaStream_t more[kRanks];
         for (int r = 0; r < kRanks; ++r) {
           cudaSetDevice(r);
           cudaStreamCreateWithFlags(&more[r], cudaStreamNonBlocking);
         }
         const int e = on_all([&](int r) {
           int result = ncclAllReduce(f.send[r], f.receive[r], 512, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
           if (result == 0)
             result = ncclAllReduce(f.send[r] + 512, f.receive[r] + 512, 512, ncclFloat, ncclSum, f.comms[r], more[r]);
           return result;
         });
         // Both streams go on behind the whole group.
         const int wrong = e != 0 ? e : compare(kCount, [](int, size_t i) { return sum_at(i); });
         for (cudaStream_t s : more) cudaStreamDestroy(s);
         return wrong;
       }},
      {"the default stream", 0,
       [&f] {
         prepare(at);
         const int e = on_all(
             [&f](int r) { return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], 0); });
         for (int r = 0; r < kRanks; ++r) {
           cudaSetDevice(r);
           cudaDeviceSynchronize();
         }
         return e != 0 ? e : compare(kCount, [](int, size_t i) { return sum_at(i); });
       }},
      {"a graph replays", 0,
       [&f] {
         cudaGraph_t graphs[kRanks];
         cudaGraphExec_t execs[kRanks];
         for (int r = 0; r < kRanks; ++r) {
           cudaSetDevice(r);
           cudaStreamBeginCapture(f.streams[r], cudaStreamCaptureModeRelaxed);
         }
         const int e = on_all([&f](int r) {
           return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
         });
         for (int r = 0; r < kRanks; ++r) {
           if (cudaStreamEndCapture(f.streams[r], &graphs[r]) != cudaSuccess) return kCudaFailed;
           if (cudaGraphInstantiate(&execs[r], graphs[r], 0) != cudaSuccess) return kCudaFailed;
         }
         int wrong = e;
         for (int k = 1; k < 4 && wrong == 0; ++k) {
           prepare([k](int r, size_t i) { return at(r, i) * static_cast<float>(k); });
           for (int r = 0; r < kRanks; ++r) {
             cudaSetDevice(r);
             if (cudaGraphLaunch(execs[r], f.streams[r]) != cudaSuccess) return kCudaFailed;
           }
           wrong = compare(kCount, [k](int, size_t i) { return sum_at(i) * static_cast<float>(k); });
         }
         for (int r = 0; r < kRanks; ++r) {
           cudaGraphExecDestroy(execs[r]);
           cudaGraphDestroy(graphs[r]);
         }
         return wrong;
       }},
      {"the p names are the same functions", 0,
       [&f] {
         prepare(at);
         pncclGroupStart();
         int e = 0;
         for (int r = 0; r < kRanks && e == 0; ++r)
           e = pncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
         const int end = pncclGroupEnd();
         return e != 0 ? e : end != 0 ? end : compare(kCount, [](int, size_t i) { return sum_at(i); });
       }},
  };
}
