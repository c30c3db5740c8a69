// Making, asking and ending communicators.
#pragma once

#include <cstring>

#include "row.h"

inline ncclUniqueId new_id() {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  return id;
}

// One communicator of one rank, on device 0.
inline int with_single(const std::function<int(ncclComm_t)>& f, ncclConfig_t* config = nullptr) {
  cudaSetDevice(0);
  ncclComm_t comm = nullptr;
  int e = config ? ncclCommInitRankConfig(&comm, 1, new_id(), 0, config) : ncclCommInitRank(&comm, 1, new_id(), 0);
  for (ncclResult_t state = ncclInProgress; e == ncclInProgress && state == ncclInProgress;) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return kWrongValue;
    if (state != ncclInProgress) e = state;
  }
  if (e != 0) return e;
  e = f(comm);
  ncclCommDestroy(comm);
  return e;
}

inline int init_with(const std::function<void(ncclConfig_t&)>& change) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  change(config);
  return with_single([](ncclComm_t) { return 0; }, &config);
}

// The four communicators are split; `check` gets the new ones, null where there is none.
inline int split(const std::function<int(int)>& color, const std::function<int(int)>& key,
                 const std::function<int(ncclComm_t*)>& check) {
  ncclComm_t parts[kRanks] = {};
  int e = on_all([&](int r) { return ncclCommSplit(fixture().comms[r], color(r), key(r), &parts[r], nullptr); });
  if (e == 0) e = check(parts);
  for (ncclComm_t c : parts) ncclCommDestroy(c);
  return e;
}

inline int rank_of(ncclComm_t c) {
  int rank = -1;
  ncclCommUserRank(c, &rank);
  return rank;
}
inline int count_of(ncclComm_t c) {
  int count = -1;
  ncclCommCount(c, &count);
  return count;
}

inline Rows comm_rows() {
  auto& f = fixture();
  return {
      {"ncclGetVersion", 0,
       [] {
         int version = 0;
         const int e = ncclGetVersion(&version);
         return e != 0 ? e : version == NCCL_VERSION_CODE && version / 100 == 230 ? 0 : kWrongValue;
       }},
      {"ncclGetVersion: no pointer", ncclInvalidArgument, [] { return ncclGetVersion(nullptr); }},
      {"ncclGetUniqueId: no pointer", ncclInvalidArgument, [] { return ncclGetUniqueId(nullptr); }},
      {"ids differ", 0,
       [] {
         const ncclUniqueId a = new_id(), b = new_id();
         return std::memcmp(&a, &b, sizeof a) != 0 ? 0 : kWrongValue;
       }},
      {"every result has a text", 0,
       [] {
         for (int k = -1; k < 20; ++k) {
           if (!ncclGetErrorString(static_cast<ncclResult_t>(k))) return kWrongValue;
         }
         return std::strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0 ? 0 : kWrongValue;
       }},
      {"ncclGetLastError says what was wrong", 0,
       [] {
         ncclCommCount(nullptr, nullptr);
         return std::strstr(ncclGetLastError(nullptr), "comm is NULL") ? 0 : kWrongValue;
       }},
      {"ncclCommInitRank: no pointer", ncclInvalidArgument, [] { return ncclCommInitRank(nullptr, 1, new_id(), 0); }},
      {"ncclCommInitRank: 0 ranks", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         return ncclCommInitRank(&c, 0, new_id(), 0);
       }},
      {"ncclCommInitRank: rank -1", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         return ncclCommInitRank(&c, 2, new_id(), -1);
       }},
      {"ncclCommInitRank: rank behind the last", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         return ncclCommInitRank(&c, 2, new_id(), 2);
       }},
      {"ncclCommInitRank: an id that is none", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         ncclUniqueId id = {};
         return ncclCommInitRank(&c, 1, id, 0);
       }},
      {"ncclCommInitRank: an id that was changed", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         ncclUniqueId id = new_id();
         id.internal[9] = static_cast<char>(id.internal[9] ^ 1);
         return ncclCommInitRank(&c, 1, id, 0);
       }},
      {"one rank", 0, [] { return with_single([](ncclComm_t c) { return count_of(c) == 1 ? 0 : kWrongValue; }); }},
      {"an all-reduce of one rank copies", 0,
       [&f] {
         return with_single([&f](ncclComm_t c) {
           prepare([](int, size_t i) { return static_cast<float>(i); });
           const int e = ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, c, f.streams[0]);
           return e != 0 ? e : compare(kCount, [](int r, size_t i) { return r == 0 ? static_cast<float>(i) : 0; });
         });
       }},
      {"two ranks on one device", ncclInvalidUsage,
       [] {
         ncclComm_t c[2] = {};
         const ncclUniqueId id = new_id();
         ncclGroupStart();
         for (int r = 0; r < 2; ++r) {
           cudaSetDevice(0);
           if (const int e = ncclCommInitRank(&c[r], 2, id, r); e != 0) return e;
         }
         const int e = ncclGroupEnd();
         for (ncclComm_t x : c) ncclCommAbort(x);
         return e;
       }},
      {"ncclCommInitAll: no devices", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         return ncclCommInitAll(&c, 0, nullptr);
       }},
      {"ncclCommInitAll: no pointer", ncclInvalidArgument, [] { return ncclCommInitAll(nullptr, 1, nullptr); }},
      {"ncclCommInitAll: a device that is not there", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         const int device = 99;
         return ncclCommInitAll(&c, 1, &device);
       }},
      {"ncclCommInitAll: device -1", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         const int device = -1;
         return ncclCommInitAll(&c, 1, &device);
       }},
      {"ncclCommInitAll: a device twice", ncclInvalidUsage,
       [] {
         ncclComm_t c[2];
         const int devices[2] = {1, 1};
         return ncclCommInitAll(c, 2, devices);
       }},
      {"ncclCommInitAll: devices in another order", 0,
       [] {
         ncclComm_t c[2];
         const int devices[2] = {3, 1};
         if (const int e = ncclCommInitAll(c, 2, devices); e != 0) return e;
         int device = 0;
         ncclCommCuDevice(c[0], &device);
         const int right = device == 3 && rank_of(c[1]) == 1 ? 0 : kWrongValue;
         for (ncclComm_t x : c) ncclCommDestroy(x);
         return right;
       }},
      {"ncclCommInitAll keeps the current device", 0,
       [] {
         cudaSetDevice(2);
         ncclComm_t c[2];
         ncclCommInitAll(c, 2, nullptr);
         int device = -1;
         cudaGetDevice(&device);
         for (ncclComm_t x : c) ncclCommDestroy(x);
         return device == 2 ? 0 : kWrongValue;
       }},
      {"ncclCommInitRankScalable: no ids", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         ncclUniqueId id = new_id();
         return ncclCommInitRankScalable(&c, 1, 0, 0, &id, nullptr);
       }},
      {"ncclCommInitRankScalable: more ids than ranks", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         ncclUniqueId ids[2] = {new_id(), new_id()};
         return ncclCommInitRankScalable(&c, 1, 0, 2, ids, nullptr);
       }},
      {"ncclCommInitRankScalable", 0,
       [] {
         ncclComm_t c;
         ncclUniqueId id = new_id();
         cudaSetDevice(0);
         const int e = ncclCommInitRankScalable(&c, 1, 0, 1, &id, nullptr);
         return e != 0 ? e : static_cast<int>(ncclCommDestroy(c));
       }},
      {"config: not initialised", ncclInvalidArgument,
       [] { return init_with([](ncclConfig_t& c) { std::memset(&c, 0, sizeof c); }); }},
      {"config: wrong magic", ncclInvalidArgument, [] { return init_with([](ncclConfig_t& c) { c.magic = 1; }); }},
      {"config: blocking 2", ncclInvalidArgument, [] { return init_with([](ncclConfig_t& c) { c.blocking = 2; }); }},
      {"config: blocking", 0, [] { return init_with([](ncclConfig_t& c) { c.blocking = 1; }); }},
      {"config: minCTAs 0", ncclInvalidArgument, [] { return init_with([](ncclConfig_t& c) { c.minCTAs = 0; }); }},
      {"config: maxCTAs -3", ncclInvalidArgument, [] { return init_with([](ncclConfig_t& c) { c.maxCTAs = -3; }); }},
      {"config: minCTAs above maxCTAs", ncclInvalidArgument,
       [] {
         return init_with([](ncclConfig_t& c) {
           c.minCTAs = 8;
           c.maxCTAs = 4;
         });
       }},
      {"config: cgaClusterSize -1", ncclInvalidArgument,
       [] { return init_with([](ncclConfig_t& c) { c.cgaClusterSize = -1; }); }},
      {"config: splitShare 7", ncclInvalidArgument,
       [] { return init_with([](ncclConfig_t& c) { c.splitShare = 7; }); }},
      {"config: CTAPolicy 9", ncclInvalidArgument, [] { return init_with([](ncclConfig_t& c) { c.CTAPolicy = 9; }); }},
      {"config: a shorter one of an older header", 0,
       [] { return init_with([](ncclConfig_t& c) { c.size = offsetof(ncclConfig_t, commName); }); }},
      {"nonblocking: not ready at once, ready later", 0,
       [] {
         ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
         config.blocking = 0;
         cudaSetDevice(0);
         ncclComm_t c = nullptr;
         if (ncclCommInitRankConfig(&c, 1, new_id(), 0, &config) != ncclInProgress || !c) return kWrongValue;
         int count = 0;
         if (ncclCommCount(c, &count) != ncclInvalidArgument) return kWrongValue;
         ncclResult_t state = ncclInProgress;
         while (state == ncclInProgress) {
           if (const int e = ncclCommGetAsyncError(c, &state); e != 0) return e;
         }
         if (state != ncclSuccess || ncclCommCount(c, &count) != ncclSuccess) return kWrongValue;
         const int finalize = ncclCommFinalize(c);
         if (finalize != ncclInProgress) return kWrongValue;
         state = ncclInProgress;
         while (state == ncclInProgress) ncclCommGetAsyncError(c, &state);
         return static_cast<int>(ncclCommDestroy(c));
       }},
      {"blocking and nonblocking in one group", ncclInvalidArgument,
       [] {
         ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
         config.blocking = 0;
         ncclComm_t a = nullptr, b = nullptr;
         ncclGroupStart();
         cudaSetDevice(0);
         ncclCommInitRankConfig(&a, 1, new_id(), 0, &config);
         ncclCommInitRank(&b, 1, new_id(), 0);
         const int e = ncclGroupEnd();
         ncclCommAbort(a);
         ncclCommAbort(b);
         return e;
       }},
      {"making and using communicators in one group", ncclInvalidUsage,
       [&f] {
         ncclComm_t c = nullptr;
         ncclGroupStart();
         cudaSetDevice(0);
         ncclCommInitRank(&c, 1, new_id(), 0);
         ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0], f.streams[0]);
         const int e = ncclGroupEnd();
         ncclCommAbort(c);
         return e;
       }},
      {"ncclCommCount: no communicator", ncclInvalidArgument,
       [] {
         int n;
         return ncclCommCount(nullptr, &n);
       }},
      {"ncclCommCount: no pointer", ncclInvalidArgument, [&f] { return ncclCommCount(f.comms[0], nullptr); }},
      {"ncclCommCuDevice: no communicator", ncclInvalidArgument,
       [] {
         int n;
         return ncclCommCuDevice(nullptr, &n);
       }},
      {"ncclCommCuDevice: no pointer", ncclInvalidArgument, [&f] { return ncclCommCuDevice(f.comms[0], nullptr); }},
      {"ncclCommUserRank: no communicator", ncclInvalidArgument,
       [] {
         int n;
         return ncclCommUserRank(nullptr, &n);
       }},
      {"ncclCommUserRank: no pointer", ncclInvalidArgument, [&f] { return ncclCommUserRank(f.comms[0], nullptr); }},
      {"count, device and rank", 0,
       [&f] {
         for (int r = 0; r < kRanks; ++r) {
           int device = -1;
           ncclCommCuDevice(f.comms[r], &device);
           if (count_of(f.comms[r]) != kRanks || rank_of(f.comms[r]) != r || device != r) return kWrongValue;
         }
         return 0;
       }},
      {"ncclCommGetAsyncError: no communicator", ncclInvalidArgument,
       [] {
         ncclResult_t r;
         return ncclCommGetAsyncError(nullptr, &r);
       }},
      {"ncclCommGetAsyncError: no pointer", ncclInvalidArgument,
       [&f] { return ncclCommGetAsyncError(f.comms[0], nullptr); }},
      {"ncclCommGetAsyncError of a good one", 0,
       [&f] {
         ncclResult_t state = ncclInternalError;
         const int e = ncclCommGetAsyncError(f.comms[0], &state);
         return e != 0 ? e : static_cast<int>(state);
       }},
      {"split by color", 0,
       [] {
         return split([](int r) { return r % 2; }, [](int r) { return r; },
                      [](ncclComm_t* c) {
                        for (int r = 0; r < kRanks; ++r) {
                          if (count_of(c[r]) != 2 || rank_of(c[r]) != r / 2) return kWrongValue;
                        }
                        return 0;
                      });
       }},
      {"split orders by key, then by rank", 0,
       [] {
         return split([](int) { return 5; }, [](int r) { return r == 3 ? -1 : 0; },
                      [](ncclComm_t* c) {
                        return rank_of(c[3]) == 0 && rank_of(c[0]) == 1 && rank_of(c[2]) == 3 ? 0 : kWrongValue;
                      });
       }},
      {"split without a color gives none", 0,
       [] {
         return split([](int r) { return r == 0 ? NCCL_SPLIT_NOCOLOR : 1; }, [](int r) { return r; },
                      [](ncclComm_t* c) { return !c[0] && count_of(c[1]) == 3 ? 0 : kWrongValue; });
       }},
      {"parts of a split work at the same time", 0,
       [&f] {
         return split([](int r) { return r / 2; }, [](int r) { return r; },
                      [&f](ncclComm_t* c) {
                        prepare([](int r, size_t) { return static_cast<float>(1 << r); });
                        const int e = on_all([&](int r) {
                          return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, c[r], f.streams[r]);
                        });
                        return e != 0 ? e : compare(kCount, [](int r, size_t) { return r < 2 ? 3.f : 12.f; });
                      });
       }},
      {"ncclCommSplit: no communicator", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         return ncclCommSplit(nullptr, 0, 0, &c, nullptr);
       }},
      {"ncclCommSplit: no pointer", ncclInvalidArgument,
       [&f] { return ncclCommSplit(f.comms[0], 0, 0, nullptr, nullptr); }},
      {"ncclCommSplit: color -2", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         return ncclCommSplit(f.comms[0], -2, 0, &c, nullptr);
       }},
      {"shrink", 0,
       [&f] {
         ncclComm_t c[kRanks] = {};
         int excluded[] = {1};
         int e = on_all([&](int r) {
           return r == 1
                      ? 0
                      : static_cast<int>(ncclCommShrink(f.comms[r], excluded, 1, &c[r], nullptr, NCCL_SHRINK_DEFAULT));
         });
         if (e == 0 && (count_of(c[0]) != 3 || rank_of(c[3]) != 2)) e = kWrongValue;
         for (ncclComm_t x : c) ncclCommDestroy(x);
         return e;
       }},
      {"ncclCommShrink: an empty list", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         int none = 1;
         return ncclCommShrink(f.comms[0], &none, 0, &c, nullptr, NCCL_SHRINK_DEFAULT);
       }},
      {"ncclCommShrink: no list", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         return ncclCommShrink(f.comms[0], nullptr, 1, &c, nullptr, NCCL_SHRINK_DEFAULT);
       }},
      {"ncclCommShrink: the caller is left out", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         int own = 0;
         return ncclCommShrink(f.comms[0], &own, 1, &c, nullptr, NCCL_SHRINK_DEFAULT);
       }},
      {"ncclCommShrink: a rank that is not there", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         int other = kRanks;
         return ncclCommShrink(f.comms[0], &other, 1, &c, nullptr, NCCL_SHRINK_DEFAULT);
       }},
      {"ncclCommShrink: unknown flags", ncclInvalidArgument,
       [&f] {
         ncclComm_t c;
         int other = 1;
         return ncclCommShrink(f.comms[0], &other, 1, &c, nullptr, 64);
       }},
      {"ncclCommDestroy(NULL)", 0, [] { return ncclCommDestroy(nullptr); }},
      {"ncclCommAbort(NULL)", 0, [] { return ncclCommAbort(nullptr); }},
      {"ncclCommFinalize(NULL)", 0, [] { return ncclCommFinalize(nullptr); }},
      {"ncclCommRevoke(NULL)", 0, [] { return ncclCommRevoke(nullptr, 0); }},
      {"ncclCommDestroy twice", ncclInvalidArgument,
       [] {
         ncclComm_t kept = nullptr;
         if (const int e = with_single([&](ncclComm_t c) {
               kept = c;
               return 0;
             });
             e != 0)
           return e;
         return static_cast<int>(ncclCommDestroy(kept));
       }},
      {"ncclCommFinalize twice", ncclInvalidArgument,
       [] {
         return with_single([](ncclComm_t c) {
           const int e = ncclCommFinalize(c);
           return e != 0 ? e : static_cast<int>(ncclCommFinalize(c));
         });
       }},
      {"a call behind ncclCommFinalize", ncclInvalidArgument,
       [&f] {
         return with_single([&f](ncclComm_t c) {
           ncclCommFinalize(c);
           return static_cast<int>(ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, c, f.streams[0]));
         });
       }},
      {"ncclCommRevoke: flags", ncclInvalidArgument, [&f] { return ncclCommRevoke(f.comms[0], 1); }},
      {"ncclCommRevoke twice", ncclInvalidArgument,
       [] {
         return with_single([](ncclComm_t c) {
           const int e = ncclCommRevoke(c, NCCL_REVOKE_DEFAULT);
           return e != 0 ? e : static_cast<int>(ncclCommRevoke(c, NCCL_REVOKE_DEFAULT));
         });
       }},
      {"ncclCommFinalize behind ncclCommRevoke", ncclInvalidArgument,
       [] {
         return with_single([](ncclComm_t c) {
           ncclCommRevoke(c, NCCL_REVOKE_DEFAULT);
           return static_cast<int>(ncclCommFinalize(c));
         });
       }},
      {"ncclCommAbort ends a collective that waits", 0,
       [&f] {
         ncclComm_t c[2];
         if (const int e = ncclCommInitAll(c, 2, nullptr); e != 0) return e;
         int e = ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, c[0], f.streams[0]);
         if (e == 0) e = ncclCommAbort(c[0]);
         if (e == 0) e = ncclCommAbort(c[1]);
         return e != 0 ? e : synchronise();
       }},
      {"ncclCommMemStats", 0,
       [&f] {
         uint64_t value = 1;
         const int e = ncclCommMemStats(f.comms[0], ncclStatGpuMemTotal, &value);
         return e != 0 ? e : value == 0 ? 0 : kWrongValue;
       }},
  };
}
