#pragma once

// Source text for an impostor: a baseline whose ranks do not communicate.

namespace fb::prove {

// NCCL without peers: a rank's own data stands for that of all ranks. Receives get what the group's sends sent.
inline constexpr const char* kNcclAlone = R"(
#include <nccl.h>

#include <algorithm>
#include <utility>
#include <vector>

inline size_t alone_bytes(size_t count, ncclDataType_t type) {
  switch (type) {
    case ncclInt8: case ncclUint8: case ncclFloat8e4m3: case ncclFloat8e5m2: return count;
    case ncclFloat16: case ncclBfloat16: return 2 * count;
    case ncclInt64: case ncclUint64: case ncclFloat64: return 8 * count;
    default: return 4 * count;
  }
}
inline ncclResult_t alone_copy(const void* from, void* to, size_t bytes, cudaStream_t stream) {
  if (from != to && bytes > 0) cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  return ncclSuccess;
}
inline int alone_count(ncclComm_t comm) { int n = 1; ncclCommCount(comm, &n); return n; }
inline int alone_rank(ncclComm_t comm) { int r = 0; ncclCommUserRank(comm, &r); return r; }

struct AloneMessage { const void* from; void* to; size_t bytes; cudaStream_t stream; };
inline std::vector<AloneMessage> alone_sent, alone_received;
inline int alone_depth = 0;

inline ncclResult_t alone_group_start() { ++alone_depth; return ncclSuccess; }
inline ncclResult_t alone_group_end() {
  if (--alone_depth > 0) return ncclSuccess;
  for (size_t k = 0; k < alone_received.size() && !alone_sent.empty(); ++k) {
    const AloneMessage &to = alone_received[k], &from = alone_sent[k % alone_sent.size()];
    alone_copy(from.from, to.to, std::min(from.bytes, to.bytes), to.stream);
  }
  alone_sent.clear();
  alone_received.clear();
  return ncclSuccess;
}
inline ncclResult_t alone_send(const void* from, size_t n, ncclDataType_t t, int, ncclComm_t, cudaStream_t s) {
  alone_group_start();
  alone_sent.push_back({from, nullptr, alone_bytes(n, t), s});
  return alone_group_end();
}
inline ncclResult_t alone_recv(void* to, size_t n, ncclDataType_t t, int, ncclComm_t, cudaStream_t s) {
  alone_group_start();
  alone_received.push_back({nullptr, to, alone_bytes(n, t), s});
  return alone_group_end();
}
inline ncclResult_t alone_all_reduce(const void* from, void* to, size_t n, ncclDataType_t t, ncclRedOp_t, ncclComm_t,
                                     cudaStream_t s) {
  return alone_copy(from, to, alone_bytes(n, t), s);
}
inline ncclResult_t alone_reduce(const void* from, void* to, size_t n, ncclDataType_t t, ncclRedOp_t, int root,
                                 ncclComm_t c, cudaStream_t s) {
  return alone_rank(c) == root ? alone_copy(from, to, alone_bytes(n, t), s) : ncclSuccess;
}
inline ncclResult_t alone_broadcast(const void* from, void* to, size_t n, ncclDataType_t t, int, ncclComm_t,
                                    cudaStream_t s) {
  return alone_copy(from, to, alone_bytes(n, t), s);
}
inline ncclResult_t alone_bcast(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) { return ncclSuccess; }
inline ncclResult_t alone_all_gather(const void* from, void* to, size_t n, ncclDataType_t t, ncclComm_t c,
                                     cudaStream_t s) {
  const size_t bytes = alone_bytes(n, t);
  for (int r = 0; r < alone_count(c); ++r) alone_copy(from, static_cast<char*>(to) + r * bytes, bytes, s);
  return ncclSuccess;
}
inline ncclResult_t alone_reduce_scatter(const void* from, void* to, size_t n, ncclDataType_t t, ncclRedOp_t,
                                         ncclComm_t c, cudaStream_t s) {
  return alone_copy(static_cast<const char*>(from) + alone_rank(c) * alone_bytes(n, t), to, alone_bytes(n, t), s);
}
inline ncclResult_t alone_all_to_all(const void* from, void* to, size_t n, ncclDataType_t t, ncclComm_t c,
                                     cudaStream_t s) {
  return alone_copy(from, to, alone_bytes(n, t) * alone_count(c), s);
}
inline ncclResult_t alone_gather(const void* from, void* to, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                                 cudaStream_t s) {
  return alone_rank(c) == root ? alone_all_gather(from, to, n, t, c, s) : ncclSuccess;
}
inline ncclResult_t alone_scatter(const void* from, void* to, size_t n, ncclDataType_t t, int root, ncclComm_t c,
                                  cudaStream_t s) {
  return alone_rank(c) == root ? alone_reduce_scatter(from, to, n, t, ncclSum, c, s) : ncclSuccess;
}
#define ncclGroupStart alone_group_start
#define ncclGroupEnd alone_group_end
#define ncclSend alone_send
#define ncclRecv alone_recv
#define ncclAllReduce alone_all_reduce
#define ncclReduce alone_reduce
#define ncclBroadcast alone_broadcast
#define ncclBcast alone_bcast
#define ncclAllGather alone_all_gather
#define ncclReduceScatter alone_reduce_scatter
#define ncclAlltoAll alone_all_to_all
#define ncclGather alone_gather
#define ncclScatter alone_scatter
)";

}  // namespace fb::prove
