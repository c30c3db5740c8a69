// Groups, streams, memory, windows and reductions of one's own.
#pragma once

#include "row.h"

inline int windows_on_all(const std::function<int(ncclWindow_t*)>& f) {
  auto& x = fixture();
  ncclWindow_t windows[kRanks] = {};
  int e = on_all([&](int r) {
    return ncclCommWindowRegister(x.comms[r], x.send[r], kRanks * kCount * sizeof(float), &windows[r],
                                  NCCL_WIN_COLL_SYMMETRIC);
  });
  if (e == 0) e = f(windows);
  for (int r = 0; r < kRanks; ++r) {
    const int ended = ncclCommWindowDeregister(x.comms[r], windows[r]);
    if (e == 0) e = ended;
  }
  return e;
}

inline Rows other_rows() {
  auto& f = fixture();
  return {
      {"ncclGroupEnd without a start", ncclInvalidUsage, [] { return ncclGroupEnd(); }},
      {"ncclGroupSimulateEnd without a start", ncclInvalidUsage, [] { return ncclGroupSimulateEnd(nullptr); }},
      {"ncclGroupSimulateEnd says how long it would take", 0,
       [&f] {
         prepare([](int, size_t) { return 1.f; });
         ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
         ncclGroupStart();
         ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0], f.streams[0]);
         if (const int e = ncclGroupSimulateEnd(&info); e != 0) return e;
         if (info.estimatedTime < 5 || info.estimatedTime > 200) return kWrongValue;
         return compare(kCount, [](int, size_t) { return 0.f; });  // nothing was launched
       }},
      {"ncclGroupSimulateEnd: info is not initialised", ncclInvalidArgument,
       [&f] {
         ncclSimInfo_t info = {};
         ncclGroupStart();
         ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0], f.streams[0]);
         return ncclGroupSimulateEnd(&info);
       }},
      {"captured and other streams in one group", ncclInvalidUsage,
       [&f] {
         cudaSetDevice(0);
         cudaStreamBeginCapture(f.streams[0], cudaStreamCaptureModeRelaxed);
         ncclGroupStart();
         for (int r = 0; r < 2; ++r)
           ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
         const int e = ncclGroupEnd();
         cudaGraph_t graph = nullptr;
         cudaStreamEndCapture(f.streams[0], &graph);
         if (graph) cudaGraphDestroy(graph);
         cudaGetLastError();
         return e;
       }},
      {"a stream of another device", ncclInvalidArgument,
       [&f] { return ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0], f.streams[1]); }},
      {"a stream that is none", ncclUnhandledCudaError,
       [&f] {
         const int e = ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0],
                                     reinterpret_cast<cudaStream_t>(0x777));
         cudaGetLastError();
         return e;
       }},
      {"a message to oneself without its receive", ncclInvalidUsage,
       [&f] {
         ncclGroupStart();
         ncclSend(f.send[0], kCount, ncclFloat, 0, f.comms[0], f.streams[0]);
         return static_cast<int>(ncclGroupEnd());
       }},
      {"ncclMemAlloc", 0,
       [] {
         void* p = nullptr;
         const int e = ncclMemAlloc(&p, 1000);
         if (e != 0) return e;
         if (!p || cudaMemset(p, 0, 1000) != cudaSuccess) return kWrongValue;
         return static_cast<int>(ncclMemFree(p));
       }},
      {"ncclMemAlloc: no pointer", ncclUnhandledCudaError,
       [] {
         const int e = ncclMemAlloc(nullptr, 1000);
         cudaGetLastError();
         return e;
       }},
      {"ncclMemAlloc: more than there is", ncclUnhandledCudaError,
       [] {
         void* p = nullptr;
         const int e = ncclMemAlloc(&p, size_t{1} << 50);
         cudaGetLastError();
         return e;
       }},
      {"ncclMemFree(NULL)", 0, [] { return ncclMemFree(nullptr); }},
      {"ncclMemFree: a pointer that is none", ncclUnhandledCudaError,
       [] {
         int x = 0;
         const int e = ncclMemFree(&x);
         cudaGetLastError();
         return e;
       }},
      {"ncclCommRegister and ncclCommDeregister", 0,
       [&f] {
         void* handle = nullptr;
         const int e = ncclCommRegister(f.comms[0], f.send[0], 4096, &handle);
         return e != 0 ? e : static_cast<int>(ncclCommDeregister(f.comms[0], handle));
       }},
      {"ncclCommRegister: no communicator", ncclInvalidArgument,
       [&f] {
         void* handle;
         return ncclCommRegister(nullptr, f.send[0], 4096, &handle);
       }},
      {"ncclCommRegister: no buffer", ncclInvalidArgument,
       [&f] {
         void* handle;
         return ncclCommRegister(f.comms[0], nullptr, 4096, &handle);
       }},
      {"ncclCommDeregister(NULL)", 0, [&f] { return ncclCommDeregister(f.comms[0], nullptr); }},
      {"ncclCommDeregister: an unknown handle", ncclInvalidUsage,
       [&f] { return ncclCommDeregister(f.comms[0], reinterpret_cast<void*>(0x9999999)); }},
      {"windows", 0,
       [&f] {
         return windows_on_all([&f](ncclWindow_t* w) {
           if (!w[2]) return 0;  // a platform without symmetric memory
           void* user = nullptr;
           const int e = ncclWinGetUserPtr(f.comms[2], w[2], &user);
           return e != 0 ? e : user == f.send[2] ? 0 : kWrongValue;
         });
       }},
      {"results with windows are the same", 0,
       [&f] {
         return windows_on_all([&f](ncclWindow_t*) {
           prepare([](int r, size_t i) { return static_cast<float>(r + static_cast<int>(i % 5)); });
           const int e = on_all([&f](int r) {
             return ncclAllReduce(f.send[r], f.send[r], kCount, ncclFloat, ncclSum, f.comms[r], f.streams[r]);
           });
           if (e != 0) return e;
           for (int r = 0; r < kRanks; ++r)
             cudaMemcpyAsync(f.receive[r], f.send[r], kCount * sizeof(float), cudaMemcpyDeviceToDevice, f.streams[r]);
           return compare(kCount, [](int, size_t i) { return static_cast<float>(6 + 4 * (i % 5)); });
         });
       }},
      {"ncclCommWindowRegister: no buffer", ncclInvalidArgument,
       [&f] {
         ncclWindow_t w;
         return ncclCommWindowRegister(f.comms[0], nullptr, 4096, &w, NCCL_WIN_DEFAULT);
       }},
      {"ncclCommWindowRegister: no bytes", ncclInvalidArgument,
       [&f] {
         ncclWindow_t w;
         return ncclCommWindowRegister(f.comms[0], f.send[0], 0, &w, NCCL_WIN_DEFAULT);
       }},
      {"ncclCommWindowRegister: no pointer", ncclInvalidArgument,
       [&f] { return ncclCommWindowRegister(f.comms[0], f.send[0], 4096, nullptr, NCCL_WIN_DEFAULT); }},
      {"ncclCommWindowRegister: an offset of 256 bytes", ncclInvalidArgument,
       [&f] {
         ncclWindow_t w;
         return ncclCommWindowRegister(f.comms[0], f.send[0] + 64, 4096, &w, NCCL_WIN_DEFAULT);
       }},
      {"ncclCommWindowRegister: unknown flags", ncclInvalidArgument,
       [&f] {
         ncclWindow_t w;
         return ncclCommWindowRegister(f.comms[0], f.send[0], 4096, &w, 64);
       }},
      {"ncclCommWindowRegister: no communicator", ncclInvalidArgument,
       [&f] {
         ncclWindow_t w;
         return ncclCommWindowRegister(nullptr, f.send[0], 4096, &w, NCCL_WIN_DEFAULT);
       }},
      {"ncclCommWindowDeregister(NULL)", 0, [&f] { return ncclCommWindowDeregister(f.comms[0], nullptr); }},
      {"ncclCommWindowDeregister: no communicator", ncclInvalidArgument,
       [] { return ncclCommWindowDeregister(nullptr, nullptr); }},
      {"ncclRedOpCreatePreMulSum: no communicator", ncclInvalidArgument,
       [] {
         ncclRedOp_t op;
         float x = 1;
         return ncclRedOpCreatePreMulSum(&op, &x, ncclFloat, ncclScalarHostImmediate, nullptr);
       }},
      {"ncclRedOpCreatePreMulSum: no pointer", ncclInvalidArgument,
       [&f] {
         float x = 1;
         return ncclRedOpCreatePreMulSum(nullptr, &x, ncclFloat, ncclScalarHostImmediate, f.comms[0]);
       }},
      {"ncclRedOpCreatePreMulSum: no scalar", ncclInvalidArgument,
       [&f] {
         ncclRedOp_t op;
         return ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat, ncclScalarHostImmediate, f.comms[0]);
       }},
      {"ncclRedOpCreatePreMulSum: type 12", ncclInvalidArgument,
       [&f] {
         ncclRedOp_t op;
         float x = 1;
         return ncclRedOpCreatePreMulSum(&op, &x, ncclNumTypes, ncclScalarHostImmediate, f.comms[0]);
       }},
      {"ncclRedOpDestroy: one of NCCL's own", ncclInvalidArgument,
       [&f] { return ncclRedOpDestroy(ncclSum, f.comms[0]); }},
      {"ncclRedOpDestroy: one that was never made", ncclInvalidArgument,
       [&f] { return ncclRedOpDestroy(static_cast<ncclRedOp_t>(4242), f.comms[0]); }},
      {"ncclRedOpDestroy twice", ncclInvalidArgument,
       [&f] {
         ncclRedOp_t op;
         float x = 1;
         ncclRedOpCreatePreMulSum(&op, &x, ncclFloat, ncclScalarHostImmediate, f.comms[0]);
         ncclRedOpDestroy(op, f.comms[0]);
         return ncclRedOpDestroy(op, f.comms[0]);
       }},
      {"ncclRedOpDestroy: of another communicator", ncclInvalidArgument,
       [&f] {
         ncclRedOp_t op;
         float x = 1;
         ncclRedOpCreatePreMulSum(&op, &x, ncclFloat, ncclScalarHostImmediate, f.comms[0]);
         return ncclRedOpDestroy(op, f.comms[1]);
       }},
  };
}
