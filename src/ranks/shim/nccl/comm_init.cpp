// How communicators are made.

#include "ranks/shim/nccl/comm_init.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

#include "ranks/shim/nccl/export.h"
#include "ranks/shim/nccl/group.h"

namespace fb::shim::nccl {

ncclResult_t read_config(const ncclConfig_t* given, const char* function, Config& into) {
  if (!given) return ncclSuccess;
  const auto wrong = [&](const char* what) {
    return fail(ncclInvalidArgument, fmt::format("{}: config: {}", function, what));
  };
  if (given->magic != NCCL_API_MAGIC) return wrong("not made by NCCL_CONFIG_INITIALIZER");
  if (given->size < offsetof(ncclConfig_t, netName)) return wrong("too short");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&config, given, std::min(given->size, sizeof config));
  const auto is_set = [](int value) { return value != NCCL_CONFIG_UNDEF_INT; };
  const auto is_flag = [&](int value) { return !is_set(value) || value == 0 || value == 1; };
  if (!is_flag(config.blocking)) return wrong("blocking is neither 0 nor 1");
  if (is_set(config.cgaClusterSize) && config.cgaClusterSize < 0) return wrong("cgaClusterSize is negative");
  if (is_set(config.minCTAs) && config.minCTAs <= 0) return wrong("minCTAs is not positive");
  if (is_set(config.maxCTAs) && config.maxCTAs <= 0) return wrong("maxCTAs is not positive");
  if (is_set(config.minCTAs) && is_set(config.maxCTAs) && config.minCTAs > config.maxCTAs)
    return wrong("minCTAs is larger than maxCTAs");
  if (!is_flag(config.splitShare)) return wrong("splitShare is neither 0 nor 1");
  if (!is_flag(config.shrinkShare)) return wrong("shrinkShare is neither 0 nor 1");
  if (!is_flag(config.collnetEnable)) return wrong("collnetEnable is neither 0 nor 1");
  if (is_set(config.CTAPolicy) && (config.CTAPolicy < 0 || config.CTAPolicy > 3)) return wrong("no such CTAPolicy");
  if (is_set(config.nvlsCTAs) && config.nvlsCTAs <= 0) return wrong("nvlsCTAs is not positive");
  if (is_set(config.blocking)) into.blocking = config.blocking == 1;
  if (is_set(config.maxCTAs)) into.most_channels = static_cast<uint32_t>(config.maxCTAs);
  return ncclSuccess;
}

namespace {

// Asks the machine for one; it is made when all its ranks have asked.
ncclResult_t create(const wire::CommCreate& message, const Config& config, const char* function, CommPtr& made,
                    const void* excluded = nullptr, size_t excluded_bytes = 0) {
  wire::Handle handle;
  const int e = request<wire::Kind::comm_create>(message, &handle, excluded, excluded_bytes);
  if (e != 0) return from_cuda(e, function);
  made = std::make_shared<Comm>();
  made->id = handle.handle;
  made->rank = message.rank;
  made->ranks = message.ranks;
  made->device = static_cast<int>(message.device);
  made->blocking = config.blocking;
  publish(made);
  return ncclSuccess;
}

ncclResult_t init(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* given,
                  const char* function) {
  if (!comm) return fail(ncclInvalidArgument, fmt::format("{}: comm is NULL", function));
  *comm = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return fail(ncclInvalidArgument, fmt::format("{}: rank {} of {} ranks", function, rank, ranks));
  Config config;
  if (const ncclResult_t r = read_config(given, function, config); r != ncclSuccess) return r;
  int device = 0;
  if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return from_cuda(e, function);
  wire::CommCreate message;
  message.origin = wire::CommOrigin::init;
  message.device = static_cast<uint32_t>(device);
  message.ranks = ranks;
  message.rank = rank;
  message.most_channels = config.most_channels;
  static_assert(sizeof message.id == sizeof id);
  message.id = std::bit_cast<wire::CommId>(id);
  CommPtr made;
  if (const ncclResult_t r = create(message, config, function, made); r != ncclSuccess) return r;
  *comm = made->handle;
  add_job(made);
  return ncclSuccess;
}

}  // namespace
}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;
namespace wire = fb::wire;

FB_NCCL(ncclResult_t, ncclGetUniqueId, ncclUniqueId* id) {
  if (!id) return fail(ncclInvalidArgument, "ncclGetUniqueId: uniqueId is NULL");
  wire::CommId made;
  const int e = request<wire::Kind::comm_id>({.handle = 0}, &made);
  if (e != 0) return from_cuda(e, "ncclGetUniqueId");
  std::memcpy(id, &made, sizeof *id);
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
        ncclConfig_t* config) {
  Scope scope;
  return scope.end(init(comm, ranks, id, rank, config, "ncclCommInitRankConfig"));
}

FB_NCCL(ncclResult_t, ncclCommInitRank, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  Scope scope;
  return scope.end(init(comm, ranks, id, rank, nullptr, "ncclCommInitRank"));
}

// The first id is enough: the machine needs no others to bootstrap.
FB_NCCL(ncclResult_t, ncclCommInitRankScalable, ncclComm_t* comm, int ranks, int rank, int ids, ncclUniqueId* id,
        ncclConfig_t* config) {
  Scope scope;
  if (!id || ids < 1 || ids > ranks)
    return scope.end(fail(ncclInvalidArgument, "ncclCommInitRankScalable: 1 to nranks ids are needed"));
  return scope.end(init(comm, ranks, *id, rank, config, "ncclCommInitRankScalable"));
}

FB_NCCL(ncclResult_t, ncclCommInitAll, ncclComm_t* comms, int devices, const int* list) {
  constexpr const char* kName = "ncclCommInitAll";
  if (!comms || devices < 1) return fail(ncclInvalidArgument, "ncclCommInitAll: no devices, or comm is NULL");
  int there = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&there); e != cudaSuccess) return from_cuda(e, kName);
  std::vector<int> chosen;
  for (int k = 0; k < devices; ++k) chosen.push_back(list ? list[k] : k);
  for (const int device : chosen) {
    if (device < 0 || device >= there)
      return fail(ncclInvalidArgument, fmt::format("ncclCommInitAll: device {} is none of {}", device, there));
  }
  if (std::set(chosen.begin(), chosen.end()).size() != chosen.size())
    return fail(ncclInvalidUsage, "ncclCommInitAll: a device is named twice");
  ncclUniqueId id;
  if (const ncclResult_t r = pncclGetUniqueId(&id); r != ncclSuccess) return r;
  Scope scope;
  ncclResult_t result = ncclSuccess;
  for (int k = 0; k < devices && result == ncclSuccess; ++k) {
    const OnDevice on(chosen[static_cast<size_t>(k)]);
    result = init(&comms[k], devices, id, k, nullptr, kName);
  }
  return scope.end(result);
}

FB_NCCL(ncclResult_t, ncclCommSplit, ncclComm_t parent, int color, int key, ncclComm_t* comm, ncclConfig_t* given) {
  constexpr const char* kName = "ncclCommSplit";
  CommPtr from;
  if (const ncclResult_t r = check_comm(parent, kName, from); r != ncclSuccess) return r;
  if (!comm) return fail(ncclInvalidArgument, "ncclCommSplit: newcomm is NULL");
  *comm = nullptr;
  if (color < NCCL_SPLIT_NOCOLOR) return fail(ncclInvalidArgument, "ncclCommSplit: color is negative");
  if (from->finalized) return fail(ncclInvalidArgument, "ncclCommSplit: the communicator was finalized");
  Config config{.blocking = from->blocking};
  Scope scope;
  if (const ncclResult_t r = read_config(given, kName, config); r != ncclSuccess) return scope.end(r);
  wire::CommCreate message;
  message.origin = wire::CommOrigin::split;
  message.device = static_cast<uint32_t>(from->device);
  message.parent = from->id;
  message.color = color;
  message.key = key;
  message.most_channels = config.most_channels;
  CommPtr made;
  const ncclResult_t r = create(message, config, kName, made);
  if (r != ncclSuccess) return scope.end(r);
  add_job(made);
  if (color == NCCL_SPLIT_NOCOLOR) {
    take_comm(made->handle);  // it takes part, and gets none
  } else {
    *comm = made->handle;
  }
  return scope.end(ncclSuccess);
}

FB_NCCL(ncclResult_t, ncclCommShrink, ncclComm_t parent, int* excluded, int count, ncclComm_t* comm,
        ncclConfig_t* given, int flags) {
  constexpr const char* kName = "ncclCommShrink";
  CommPtr from;
  if (const ncclResult_t r = check_comm(parent, kName, from); r != ncclSuccess) return r;
  if (!comm) return fail(ncclInvalidArgument, "ncclCommShrink: newcomm is NULL");
  *comm = nullptr;
  if (!excluded || count < 1 || count >= from->ranks)
    return fail(ncclInvalidArgument, "ncclCommShrink: at least one rank has to go, and one to stay");
  if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT)
    return fail(ncclInvalidArgument, "ncclCommShrink: no such flags");
  for (int k = 0; k < count; ++k) {
    if (excluded[k] == from->rank || excluded[k] < 0 || excluded[k] >= from->ranks)
      return fail(ncclInvalidArgument, "ncclCommShrink: the list names the caller, or no rank");
  }
  Config config{.blocking = from->blocking};
  Scope scope;
  if (const ncclResult_t r = read_config(given, kName, config); r != ncclSuccess) return scope.end(r);
  wire::CommCreate message;
  message.origin = wire::CommOrigin::shrink;
  message.device = static_cast<uint32_t>(from->device);
  message.parent = from->id;
  message.ends_parent = flags == NCCL_SHRINK_ABORT ? 1 : 0;
  message.most_channels = config.most_channels;
  CommPtr made;
  const ncclResult_t r = create(message, config, kName, made, excluded, static_cast<size_t>(count) * sizeof(int32_t));
  if (r != ncclSuccess) return scope.end(r);
  add_job(made);
  *comm = made->handle;
  return scope.end(ncclSuccess);
}

FB_NCCL(ncclResult_t, ncclCommGetUniqueId, ncclComm_t handle, ncclUniqueId* id) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommGetUniqueId", comm); r != ncclSuccess) return r;
  if (!id) return fail(ncclInvalidArgument, "ncclCommGetUniqueId: uniqueId is NULL");
  wire::CommId made;
  const int e = request<wire::Kind::comm_id>({.handle = comm->id}, &made);
  if (e != 0) return from_cuda(e, "ncclCommGetUniqueId");
  std::memcpy(id, &made, sizeof *id);
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclCommGrow, ncclComm_t parent, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* comm,
        ncclConfig_t* given) {
  constexpr const char* kName = "ncclCommGrow";
  if (!comm) return fail(ncclInvalidArgument, "ncclCommGrow: newcomm is NULL");
  *comm = nullptr;
  CommPtr from;
  if (parent) {
    if (const ncclResult_t r = check_comm(parent, kName, from); r != ncclSuccess) return r;
    if (rank != -1) return fail(ncclInvalidArgument, "ncclCommGrow: ranks of the communicator give -1 as rank");
  } else if (!id || rank < 0 || rank >= ranks) {
    return fail(ncclInvalidArgument, "ncclCommGrow: new ranks need the id, and a rank below nRanks");
  }
  if (ranks <= (from ? from->ranks : 0))
    return fail(ncclInvalidArgument, "ncclCommGrow: nRanks is not larger than the communicator");
  Config config{.blocking = from ? from->blocking : true};
  Scope scope;
  if (const ncclResult_t r = read_config(given, kName, config); r != ncclSuccess) return scope.end(r);
  wire::CommCreate message;
  message.origin = wire::CommOrigin::grow;
  int device = from ? from->device : 0;
  if (!from) cudaGetDevice(&device);
  message.device = static_cast<uint32_t>(device);
  message.ranks = ranks;
  message.rank = from ? from->rank : rank;
  message.parent = from ? from->id : 0;
  message.most_channels = config.most_channels;
  if (id) {
    message.has_id = 1;
    message.id = std::bit_cast<wire::CommId>(*id);
  }
  CommPtr made;
  const ncclResult_t r = create(message, config, kName, made);
  if (r != ncclSuccess) return scope.end(r);
  *comm = made->handle;
  add_job(made);
  return scope.end(ncclSuccess);
}
