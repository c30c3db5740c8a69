// Puts, signals and waits for signals.
#pragma once

#include "other_rows.h"

// On a platform on which ranks can't map each other's memory there are no windows: nothing to see there.
inline int with_windows(const std::function<int(ncclWindow_t*)>& f, int otherwise = 0) {
  prepare([](int r, size_t i) { return static_cast<float>(100 * r + static_cast<int>(i % 7)); });
  return windows_on_all([&](ncclWindow_t* w) { return w[0] ? f(w) : otherwise; });
}

inline ncclWaitSignalDesc_t signals_of(int peer, int count = 1) { return {count, peer, 0, 0}; }

// Each rank puts the first half of its window into the second half of the next rank's.
constexpr size_t kHalf = kRanks * kCount / 2;
inline int put_to_next(int r, ncclWindow_t* w, size_t count = kHalf) {
  auto& x = fixture();
  return ncclPutSignal(x.send[r], count, ncclFloat, (r + 1) % kRanks, w[r], kHalf * sizeof(float), 0, 0, 0, x.comms[r],
                       x.streams[r]);
}
inline int wait_for(int r, int peer, int count = 1) {
  ncclWaitSignalDesc_t d = signals_of(peer, count);
  return ncclWaitSignal(1, &d, fixture().comms[r], fixture().streams[r]);
}
inline int previous(int r) { return (r + kRanks - 1) % kRanks; }
// The second halves go where `compare` looks.
inline int compare_second_halves(const std::function<float(int, size_t)>& f) {
  auto& x = fixture();
  for (int r = 0; r < kRanks; ++r)
    cudaMemcpyAsync(x.receive[r], x.send[r] + kHalf, kHalf * sizeof(float), cudaMemcpyDeviceToDevice, x.streams[r]);
  return compare(kHalf, f);
}
inline float from_previous(int r, size_t i) { return static_cast<float>(100 * previous(r) + static_cast<int>(i % 7)); }
inline int put_with(int peer, size_t offset, int signal, int context, unsigned flags, const float* local = nullptr,
                    ncclDataType_t type = ncclFloat) {
  return with_windows(
      [=](ncclWindow_t* w) {
        auto& x = fixture();
        return ncclPutSignal(local ? local : x.send[0], 16, type, peer, w[0], offset, signal, context, flags,
                             x.comms[0], x.streams[0]);
      },
      ncclInvalidArgument);
}
inline int wait_with(ncclWaitSignalDesc_t d, int count = 1) {
  return ncclWaitSignal(count, &d, fixture().comms[0], fixture().streams[0]);
}

inline Rows one_sided_rows() {
  auto& f = fixture();
  return {
      {"a put and a wait", 0,
       [] {
         return with_windows([](ncclWindow_t* w) {
           if (const int e = on_all([w](int r) { return put_to_next(r, w); }); e != 0) return e;
           if (const int e = on_all([](int r) { return wait_for(r, previous(r)); }); e != 0) return e;
           return compare_second_halves(from_previous);
         });
       }},
      {"a put and a wait in one group", 0,
       [] {
         return with_windows([](ncclWindow_t* w) {
           const int e = on_all([w](int r) {
             const int put = put_to_next(r, w);
             return put != 0 ? put : wait_for(r, previous(r));
           });
           return e != 0 ? e : compare_second_halves(from_previous);
         });
       }},
      {"waits count signals, and each signal counts once", 0,
       [&f] {
         return with_windows([&f](ncclWindow_t* w) {
           const int e = on_all([&](int r) {
             for (int k = 0; k < 3; ++k) {
               if (const int s = ncclSignal((r + 1) % kRanks, 0, 0, 0, f.comms[r], f.streams[r]); s != 0) return s;
             }
             return put_to_next(r, w);
           });
           if (e != 0) return e;
           for (const int count : {1, 2, 1}) {
             if (const int s = on_all([count](int r) { return wait_for(r, previous(r), count); }); s != 0) return s;
           }
           return compare_second_halves(from_previous);
         });
       }},
      {"a barrier of signals", 0,
       [&f] {
         return with_windows([&f](ncclWindow_t*) {
           const int e = on_all([&f](int r) {
             for (int peer = 0; peer < kRanks; ++peer) {
               if (const int s = ncclSignal(peer, 0, 0, 0, f.comms[r], f.streams[r]); s != 0) return s;
             }
             return 0;
           });
           if (e != 0) return e;
           for (int r = 0; r < kRanks; ++r) {
             ncclWaitSignalDesc_t all[kRanks];
             for (int peer = 0; peer < kRanks; ++peer) all[peer] = signals_of(peer);
             if (const int s = ncclWaitSignal(kRanks, all, f.comms[r], f.streams[r]); s != 0) return s;
           }
           return synchronise();
         });
       }},
      {"puts to one rank are delivered in the order of their calls", 0,
       [&f] {
         return with_windows([&f](ncclWindow_t* w) {
           const int e = on_all([&](int r) {
             const int first = ncclPutSignal(f.send[r] + 7, kHalf - 7, ncclFloat, (r + 1) % kRanks, w[r],
                                             kHalf * sizeof(float), 0, 0, 0, f.comms[r], f.streams[r]);
             return first != 0 ? first : put_to_next(r, w);
           });
           if (e != 0) return e;
           if (const int s = on_all([](int r) { return wait_for(r, previous(r), 2); }); s != 0) return s;
           return compare_second_halves(from_previous);
         });
       }},
      {"a put of nothing signals", 0,
       [] {
         return with_windows([](ncclWindow_t* w) {
           if (const int e = on_all([w](int r) { return put_to_next(r, w, 0); }); e != 0) return e;
           if (const int e = on_all([](int r) { return wait_for(r, previous(r)); }); e != 0) return e;
           return synchronise();
         });
       }},
      {"a put to oneself", 0,
       [&f] {
         return with_windows([&f](ncclWindow_t* w) {
           for (int r = 0; r < kRanks; ++r) {
             int e = ncclPutSignal(f.send[r], kHalf, ncclFloat, r, w[r], kHalf * sizeof(float), 0, 0, 0, f.comms[r],
                                   f.streams[r]);
             if (e == 0) e = wait_for(r, r);
             if (e != 0) return e;
           }
           return compare_second_halves(
               [](int r, size_t i) { return static_cast<float>(100 * r + static_cast<int>(i % 7)); });
         });
       }},
      {"captured puts and waits are replayed", 0,
       [&f] {
         return with_windows([&f](ncclWindow_t* w) {
           cudaGraphExec_t graphs[kRanks] = {};
           for (int r = 0; r < kRanks; ++r) {
             cudaSetDevice(r);
             cudaStreamBeginCapture(f.streams[r], cudaStreamCaptureModeRelaxed);
             int e = put_to_next(r, w);
             if (e == 0) e = wait_for(r, previous(r));
             cudaGraph_t graph = nullptr;
             cudaStreamEndCapture(f.streams[r], &graph);
             if (e != 0) return e;
             if (cudaGraphInstantiate(&graphs[r], graph, 0) != cudaSuccess) return kCudaFailed;
             cudaGraphDestroy(graph);
           }
           for (int k = 0; k < 2; ++k) {
             for (int r = 0; r < kRanks; ++r) cudaGraphLaunch(graphs[r], f.streams[r]);
           }
           const int e = compare_second_halves(from_previous);
           for (cudaGraphExec_t graph : graphs) cudaGraphExecDestroy(graph);
           return e;
         });
       }},
      {"ncclPutSignal: rank 4", ncclInvalidArgument, [] { return put_with(kRanks, 0, 0, 0, 0); }},
      {"ncclPutSignal: sigIdx 1", ncclInvalidArgument, [] { return put_with(1, 0, 1, 0, 0); }},
      {"ncclPutSignal: ctx 1", ncclInvalidArgument, [] { return put_with(1, 0, 0, 1, 0); }},
      {"ncclPutSignal: flags 1", ncclInvalidArgument, [] { return put_with(1, 0, 0, 0, 1); }},
      {"ncclPutSignal: type 12", ncclInvalidArgument, [] { return put_with(1, 0, 0, 0, 0, nullptr, ncclNumTypes); }},
      {"ncclPutSignal: a buffer in no window", ncclInvalidArgument,
       [&f] { return put_with(1, 0, 0, 0, 0, f.receive[0]); }},
      {"ncclPutSignal: no window", ncclInvalidArgument,
       [&f] { return ncclPutSignal(f.send[0], 1, ncclFloat, 1, nullptr, 0, 0, 0, 0, f.comms[0], f.streams[0]); }},
      {"ncclPutSignal: a window of another rank", ncclInvalidArgument,
       [&f] {
         return with_windows(
             [&f](ncclWindow_t* w) {
               return ncclPutSignal(f.send[0], 1, ncclFloat, 1, w[1], 0, 0, 0, 0, f.comms[0], f.streams[0]);
             },
             ncclInvalidArgument);
       }},
      {"ncclPutSignal: no communicator", ncclInvalidArgument,
       [&f] { return ncclPutSignal(f.send[0], 1, ncclFloat, 1, nullptr, 0, 0, 0, 0, nullptr, f.streams[0]); }},
      {"ncclSignal: rank -1", ncclInvalidArgument, [&f] { return ncclSignal(-1, 0, 0, 0, f.comms[0], f.streams[0]); }},
      {"ncclSignal: sigIdx 1", ncclInvalidArgument, [&f] { return ncclSignal(1, 1, 0, 0, f.comms[0], f.streams[0]); }},
      {"ncclSignal: flags 1", ncclInvalidArgument, [&f] { return ncclSignal(1, 0, 0, 1, f.comms[0], f.streams[0]); }},
      {"ncclSignal: no communicator", ncclInvalidArgument,
       [&f] { return ncclSignal(1, 0, 0, 0, nullptr, f.streams[0]); }},
      {"ncclWaitSignal: no descriptors", ncclInvalidArgument, [] { return wait_with(signals_of(1), 0); }},
      {"ncclWaitSignal: NULL", ncclInvalidArgument,
       [&f] { return ncclWaitSignal(1, nullptr, f.comms[0], f.streams[0]); }},
      {"ncclWaitSignal: 0 signals", ncclInvalidArgument, [] { return wait_with(signals_of(1, 0)); }},
      {"ncclWaitSignal: rank 4", ncclInvalidArgument, [] { return wait_with(signals_of(kRanks)); }},
      {"ncclWaitSignal: sigIdx 1", ncclInvalidArgument, [] { return wait_with({1, 1, 1, 0}); }},
      {"ncclWaitSignal: ctx 1", ncclInvalidArgument, [] { return wait_with({1, 1, 0, 1}); }},
      {"ncclWaitSignal: no communicator", ncclInvalidArgument,
       [&f] {
         ncclWaitSignalDesc_t d = signals_of(1);
         return ncclWaitSignal(1, &d, nullptr, f.streams[0]);
       }},
  };
}
