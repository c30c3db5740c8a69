// Wrong arguments of collectives and messages: the same mistakes for each of them.
#pragma once

#include "row.h"

struct Arguments {
  ncclComm_t comm;
  ncclDataType_t type = ncclFloat;
  ncclRedOp_t op = ncclSum;
  int peer = 0;
};

struct CallUnderTest {
  const char* name;
  bool has_peer, reduces, message;
  std::function<ncclResult_t(const Arguments&)> call;
};

inline std::vector<CallUnderTest> calls_under_test() {
  auto& f = fixture();
  float *s = f.send[0], *r = f.receive[0];
  const cudaStream_t stream = f.streams[0];
  return {
      {"ncclAllReduce", false, true, false,
       [=](const Arguments& a) { return ncclAllReduce(s, r, kCount, a.type, a.op, a.comm, stream); }},
      {"ncclBroadcast", true, false, false,
       [=](const Arguments& a) { return ncclBroadcast(s, r, kCount, a.type, a.peer, a.comm, stream); }},
      {"ncclBcast", true, false, false,
       [=](const Arguments& a) { return ncclBcast(r, kCount, a.type, a.peer, a.comm, stream); }},
      {"ncclReduce", true, true, false,
       [=](const Arguments& a) { return ncclReduce(s, r, kCount, a.type, a.op, a.peer, a.comm, stream); }},
      {"ncclAllGather", false, false, false,
       [=](const Arguments& a) { return ncclAllGather(s, r, kCount, a.type, a.comm, stream); }},
      {"ncclReduceScatter", false, true, false,
       [=](const Arguments& a) { return ncclReduceScatter(s, r, kCount, a.type, a.op, a.comm, stream); }},
      {"ncclAlltoAll", false, false, false,
       [=](const Arguments& a) { return ncclAlltoAll(s, r, kCount, a.type, a.comm, stream); }},
      {"ncclGather", true, false, false,
       [=](const Arguments& a) { return ncclGather(s, r, kCount, a.type, a.peer, a.comm, stream); }},
      {"ncclScatter", true, false, false,
       [=](const Arguments& a) { return ncclScatter(s, r, kCount, a.type, a.peer, a.comm, stream); }},
      {"ncclSend", true, false, true,
       [=](const Arguments& a) { return ncclSend(s, kCount, a.type, a.peer, a.comm, stream); }},
      {"ncclRecv", true, false, true,
       [=](const Arguments& a) { return ncclRecv(r, kCount, a.type, a.peer, a.comm, stream); }},
  };
}

inline Rows misuse_rows(ncclComm_t destroyed, ncclRedOp_t foreign_op, ncclRedOp_t op_of_other_type) {
  Rows rows;
  const ncclComm_t comm = fixture().comms[0];
  for (const CallUnderTest& c : calls_under_test()) {
    const auto add = [&](const char* what, int expected, const Arguments& a) {
      rows.push_back({std::string(c.name) + ": " + what, expected, [call = c.call, a] { return call(a); }});
    };
    add("no communicator", ncclInvalidArgument, {nullptr});
    add("a destroyed communicator", ncclInvalidArgument, {destroyed});
    add("a pointer to nothing of NCCL", ncclInvalidArgument, {reinterpret_cast<ncclComm_t>(0x1234)});
    add("type -1", ncclInvalidArgument, {comm, static_cast<ncclDataType_t>(-1)});
    add("type 12", ncclInvalidArgument, {comm, ncclNumTypes});
    add("type 1000", ncclInvalidArgument, {comm, static_cast<ncclDataType_t>(1000)});
    if (c.has_peer) {
      add("rank -1", ncclInvalidArgument, {comm, ncclFloat, ncclSum, -1});
      add("a rank that is not there", ncclInvalidArgument, {comm, ncclFloat, ncclSum, kRanks});
    }
    if (c.reduces) {
      add("operation -1", ncclInvalidArgument, {comm, ncclFloat, static_cast<ncclRedOp_t>(-1)});
      add("an operation that was never made", ncclInvalidArgument, {comm, ncclFloat, static_cast<ncclRedOp_t>(12345)});
      add("an operation of another communicator", ncclInvalidArgument, {comm, ncclFloat, foreign_op});
      add("an operation of another type", ncclInvalidArgument, {comm, ncclFloat, op_of_other_type});
    }
    if (c.message) add("to oneself, alone", ncclInvalidUsage, {comm, ncclFloat, ncclSum, 0});
    // An error in a group is given again at its end, which drops the whole group.
    rows.push_back(
        {std::string(c.name) + ": an error in a group comes out at its end", ncclInvalidArgument, [call = c.call] {
           ncclGroupStart();
           if (call({nullptr}) != ncclInvalidArgument) return kWrongValue;
           return static_cast<int>(ncclGroupEnd());
         }});
  }
  return rows;
}
