// Communicators that grow and rest, and parameters.
#pragma once

#include <cstdlib>

#include "comm_rows.h"

// Two of the four ranks, and the others join them. Rank 0 makes the id.
inline int grow(const std::function<int(ncclComm_t*)>& check, ncclUniqueId* used = nullptr) {
  ncclComm_t two[kRanks] = {}, grown[kRanks] = {};
  int e = on_all([&](int r) { return ncclCommSplit(fixture().comms[r], r < 2 ? 0 : -1, r, &two[r], nullptr); });
  ncclUniqueId id = {};
  if (e == 0) e = ncclCommGetUniqueId(two[0], &id);
  if (used) *used = id;
  if (e == 0) {
    e = on_all([&](int r) {
      cudaSetDevice(r);
      return ncclCommGrow(two[r], kRanks, r == 1 ? nullptr : &id, r < 2 ? -1 : r, &grown[r], nullptr);
    });
  }
  if (e == 0) e = check(grown);
  for (int r = 0; r < kRanks; ++r) {
    ncclCommDestroy(grown[r]);
    ncclCommDestroy(two[r]);
  }
  return e;
}
inline int grow_alone(int ranks, bool with_id, int rank, bool existing) {
  return with_single([&](ncclComm_t c) {
    ncclUniqueId id = {};
    ncclCommGetUniqueId(c, &id);
    ncclComm_t grown;
    return static_cast<int>(
        ncclCommGrow(existing ? c : nullptr, ranks, with_id ? &id : nullptr, rank, &grown, nullptr));
  });
}
inline int all_reduce_on_all(ncclComm_t* comms) {
  auto& f = fixture();
  prepare([](int r, size_t) { return static_cast<float>(r + 1); });
  const int e = on_all([&](int r) {
    return ncclAllReduce(f.send[r], f.receive[r], kCount, ncclFloat, ncclSum, comms[r], f.streams[r]);
  });
  return e != 0 ? e : compare(kCount, [](int, size_t) { return 10.f; });
}
inline int suspend_all() {
  return on_all([](int r) { return ncclCommSuspend(fixture().comms[r], NCCL_SUSPEND_MEM); });
}
inline int resume_all() {
  return on_all([](int r) { return ncclCommResume(fixture().comms[r]); });
}
inline int bound(const char* key, const std::function<int(ncclParamHandle_t)>& f) {
  ncclParamHandle_t h = nullptr;
  const int e = ncclParamBind(&h, key);
  return e != 0 ? e : f(h);
}

inline Rows later_rows() {
  auto& f = fixture();
  return {
      {"a communicator grows", 0,
       [] {
         return grow([](ncclComm_t* c) {
           for (int r = 0; r < kRanks; ++r) {
             if (rank_of(c[r]) != r || count_of(c[r]) != kRanks) return kWrongValue;
           }
           return all_reduce_on_all(c);
         });
       }},
      {"ncclCommGrow: an id counts once", ncclInvalidArgument,
       [] {
         ncclUniqueId id;
         if (const int e = grow([](ncclComm_t*) { return 0; }, &id); e != 0) return kWrongValue;
         ncclComm_t c;
         return static_cast<int>(ncclCommGrow(nullptr, kRanks, &id, 2, &c, nullptr));
       }},
      {"ncclCommGetUniqueId twice", ncclInvalidUsage,
       [] {
         return with_single([](ncclComm_t c) {
           ncclUniqueId id;
           const int e = ncclCommGetUniqueId(c, &id);
           return e != 0 ? e : static_cast<int>(ncclCommGetUniqueId(c, &id));
         });
       }},
      {"ncclCommGetUniqueId: no communicator", ncclInvalidArgument,
       [] {
         ncclUniqueId id;
         return ncclCommGetUniqueId(nullptr, &id);
       }},
      {"ncclCommGetUniqueId: no pointer", ncclInvalidArgument,
       [&f] { return ncclCommGetUniqueId(f.comms[0], nullptr); }},
      {"ncclCommGrow: no pointer", ncclInvalidArgument,
       [&f] { return ncclCommGrow(f.comms[0], kRanks + 1, nullptr, -1, nullptr, nullptr); }},
      {"ncclCommGrow: as many ranks as before", ncclInvalidArgument, [] { return grow_alone(1, true, -1, true); }},
      {"ncclCommGrow: 0 ranks", ncclInvalidArgument, [] { return grow_alone(0, true, 0, false); }},
      {"ncclCommGrow: a rank of the communicator gives its rank", ncclInvalidArgument,
       [] { return grow_alone(2, true, 0, true); }},
      {"ncclCommGrow: a new rank gives -1", ncclInvalidArgument, [] { return grow_alone(2, true, -1, false); }},
      {"ncclCommGrow: a new rank without an id", ncclInvalidArgument, [] { return grow_alone(2, false, 1, false); }},
      {"ncclCommGrow: a new rank behind the last", ncclInvalidArgument, [] { return grow_alone(2, true, 2, false); }},
      {"ncclCommGrow: a new rank in the place of another", ncclInvalidArgument,
       [] { return grow_alone(2, true, 0, false); }},
      {"ncclCommGrow: the id of ncclGetUniqueId", ncclInvalidArgument,
       [] {
         ncclComm_t c;
         const ncclUniqueId id = new_id();
         return ncclCommGrow(nullptr, 2, &id, 1, &c, nullptr);
       }},
      {"ncclCommInitRank: the id of ncclCommGetUniqueId", ncclInvalidArgument,
       [] {
         return with_single([](ncclComm_t c) {
           ncclUniqueId id;
           ncclCommGetUniqueId(c, &id);
           ncclComm_t other;
           return static_cast<int>(ncclCommInitRank(&other, 1, id, 0));
         });
       }},
      {"suspended and resumed", 0,
       [&f] {
         if (const int e = suspend_all(); e != 0) return e;
         uint64_t suspended = 0;
         ncclCommMemStats(f.comms[0], ncclStatGpuMemSuspended, &suspended);
         const int e = resume_all();
         if (e != 0 || suspended != 1) return e != 0 ? e : kWrongValue;
         return all_reduce_on_all(f.comms);
       }},
      {"a suspended communicator can't be used", ncclInvalidUsage,
       [&f] {
         if (const int e = suspend_all(); e != 0) return e;
         const int e = ncclAllReduce(f.send[0], f.receive[0], kCount, ncclFloat, ncclSum, f.comms[0], f.streams[0]);
         return resume_all() != 0 ? kWrongValue : e;
       }},
      {"ncclCommSuspend twice", ncclInvalidUsage,
       [] {
         return with_single([](ncclComm_t c) {
           const int e = ncclCommSuspend(c, NCCL_SUSPEND_MEM);
           return e != 0 ? e : static_cast<int>(ncclCommSuspend(c, NCCL_SUSPEND_MEM));
         });
       }},
      {"ncclCommSuspend of nothing", 0, [&f] { return ncclCommSuspend(f.comms[0], 0); }},
      {"ncclCommResume: not suspended", ncclInvalidUsage, [&f] { return ncclCommResume(f.comms[0]); }},
      {"ncclCommSuspend: no communicator", ncclInvalidArgument,
       [] { return ncclCommSuspend(nullptr, NCCL_SUSPEND_MEM); }},
      {"ncclCommResume: no communicator", ncclInvalidArgument, [] { return ncclCommResume(nullptr); }},
      {"a parameter has its default", 0,
       [] {
         return bound("NCCL_IB_TIMEOUT", [](ncclParamHandle_t h) {
           int32_t value = 0;
           const int e = ncclParamGetI32(h, &value);
           return e != 0 ? e : value == 20 ? 0 : kWrongValue;
         });
       }},
      {"a parameter is what the environment says", 0,
       [] {
         setenv("NCCL_IB_TIMEOUT", "22", 1);
         const int e = bound("NCCL_IB_TIMEOUT", [](ncclParamHandle_t h) {
           uint64_t value = 0;
           const char* text = "";
           ncclParamGetStr(h, &text);
           const int got = ncclParamGetU64(h, &value);
           return got != 0 ? got : value == 22 && std::strcmp(text, "22") == 0 ? 0 : kWrongValue;
         });
         unsetenv("NCCL_IB_TIMEOUT");
         return e;
       }},
      {"ncclParamBind: an unknown key", ncclInvalidArgument,
       [] { return bound("NCCL_NO_SUCH_THING", [](ncclParamHandle_t) { return 0; }); }},
      {"ncclParamBind: no key", ncclInvalidArgument,
       [] { return bound(nullptr, [](ncclParamHandle_t) { return 0; }); }},
      {"ncclParamGetI8: too large", ncclInvalidArgument,
       [] {
         return bound("NCCL_BUFFSIZE", [](ncclParamHandle_t h) {
           int8_t value;
           return ncclParamGetI8(h, &value);
         });
       }},
      {"ncclParamGetU32: negative", ncclInvalidArgument,
       [] {
         return bound("NCCL_IB_GID_INDEX", [](ncclParamHandle_t h) {
           uint32_t value;
           return ncclParamGetU32(h, &value);
         });
       }},
      {"ncclParamGetI64: a text", ncclInvalidArgument,
       [] {
         return bound("NCCL_ALGO", [](ncclParamHandle_t h) {
           int64_t value;
           return ncclParamGetI64(h, &value);
         });
       }},
      {"ncclParamGetI16: no handle", ncclInvalidArgument,
       [] {
         int16_t value;
         return ncclParamGetI16(nullptr, &value);
       }},
      {"ncclParamGet: too little room", ncclInvalidArgument,
       [] {
         return bound("NCCL_BUFFSIZE", [](ncclParamHandle_t h) {
           int16_t value;
           int length = 0;
           const int e = ncclParamGet(h, &value, sizeof value, &length);
           return length == 8 ? e : kWrongValue;
         });
       }},
      {"ncclParamGetParameter", 0,
       [] {
         const char* value = "";
         int length = 0;
         const int e = ncclParamGetParameter("NCCL_BUFFSIZE", &value, &length);
         return e != 0 ? e : std::strcmp(value, "4194304") == 0 && length == 7 ? 0 : kWrongValue;
       }},
      {"ncclParamGetParameter: an unknown key", ncclInvalidArgument,
       [] {
         const char* value;
         int length;
         return ncclParamGetParameter("NCCL_NO_SUCH_THING", &value, &length);
       }},
      {"ncclParamGetAllParameterKeys", 0,
       [] {
         const char** keys = nullptr;
         int published = 0, all = 0;
         ncclParamGetAllParameterKeys(&keys, &published);
         setenv("NCCL_PARAM_DUMP_ALL", "true", 1);
         const int e = ncclParamGetAllParameterKeys(&keys, &all);
         unsetenv("NCCL_PARAM_DUMP_ALL");
         return e != 0 ? e : published > 20 && all == published + 1 ? 0 : kWrongValue;
       }},
  };
}
