#include "ranks/shim/cuda/memory/memory.h"

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/graph_memory.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace fb::shim {
namespace {

// What this process has allocated and imported: for cudaDeviceReset, and for handles that are opened more than once.
struct Import {
  std::string token;
  int device = 0, count = 0;
};
struct Book {
  std::mutex mutex;
  std::map<uint64_t, int> allocations;  // address → device
  std::map<uint64_t, Import> imports;   // address → handle
  std::set<std::string> exports;        // handles of this process's own memory
};
Book& book() {
  static Book* const made = new Book;
  return *made;
}

std::string text_of(const cudaIpcMemHandle_t& token) { return {token.reserved, sizeof token.reserved}; }

}  // namespace

Expected<uint64_t> allocate_device(size_t bytes) {
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return failure(e);
  const int device = thread().device;
  wire::Address made;
  const wire::Allocate request{
      .device = static_cast<uint32_t>(device), .kind = wire::MemoryKind::device, .bytes = bytes};
  if (const Error e = call<wire::Kind::allocate>(request, &made); e != cudaSuccess) return failure(e);
  const std::lock_guard lock(book().mutex);
  book().allocations[made.address] = device;
  return made.address;
}

Error free_device(void* pointer) {
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  // Freeing nothing still reports what a device died of: programs use it to start and to test a context.
  if (!pointer) return Session::get().sticky(thread().device);
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  if (is_managed(pointer)) return free_managed(pointer);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!Session::get().owns(address) || find_host_range(pointer)) return cudaErrorInvalidValue;
  if (const auto of_graph = find_graph_memory(address)) {
    const int device = of_graph->device;
    call_on<wire::Kind::device_wait>(device, {.device = static_cast<uint32_t>(device), .zero = 0});
    return free_graph_memory(*of_graph);
  }
  const Error e = call<wire::Kind::free>({.address = address, .kind = wire::MemoryKind::device});
  if (e == cudaSuccess) {
    const std::lock_guard lock(book().mutex);
    book().allocations.erase(address);
  }
  return e;
}

Expected<uint64_t> allocate_ordered(size_t bytes, cudaStream_t handle, const PoolRef& pool) {
  const auto stream = find_stream(handle);
  if (!stream) return failure(stream.error());
  if (capturing(**stream)) {
    const auto memory = allocate_for_graph(pool.device, bytes);
    if (!memory) return failure(memory.error());
    const Error e = capture_work(**stream, MemoryWork{.memory = *memory, .frees = false});
    if (e != cudaSuccess) return failure(e);
    return (*memory)->address;
  }
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return failure(e);
  wire::Address made;
  const wire::AllocateOrdered request{.stream = (*stream)->ref(),
                                      .bytes = bytes,
                                      .pool = pool.pool,
                                      .owner = static_cast<uint32_t>(pool.device),
                                      .zero = 0};
  const Error e = call_on<wire::Kind::allocate_ordered>((*stream)->device, request, &made);
  if (e != cudaSuccess) return failure(e);
  const std::lock_guard lock(book().mutex);
  book().allocations[made.address] = pool.device;
  return made.address;
}

Error free_ordered(void* pointer, cudaStream_t handle) {
  if (!pointer) return cudaErrorInvalidValue;
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto of_graph = find_graph_memory(address);
  if (capturing(**stream)) {
    if (!of_graph) return refuse_captured(**stream);
    return capture_work(**stream, MemoryWork{.memory = of_graph, .frees = true});
  }
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
  if (of_graph) return free_graph_memory(*of_graph);
  const Error e =
      call_on<wire::Kind::free_ordered>((*stream)->device, {.stream = (*stream)->ref(), .address = address});
  if (e == cudaSuccess) {
    const std::lock_guard lock(book().mutex);
    book().allocations.erase(address);
  }
  return e;
}

Expected<wire::PointerFacts> describe(const void* pointer) {
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  wire::PointerFacts facts;
  // Registered memory is known to the machine by whole pages, to the program by its own bounds.
  if (const auto range = find_host_range(pointer); !range && !Session::get().owns(reinterpret_cast<uint64_t>(pointer)))
    return facts;
  const Error e = call<wire::Kind::describe_pointer>({.address = reinterpret_cast<uint64_t>(pointer)}, &facts);
  if (e != cudaSuccess) return failure(e);
  // Managed variables are registered memory, too.
  if (const auto range = find_host_range(pointer); range && facts.kind == wire::MemoryKind::registered) {
    facts.begin = range->begin;
    facts.bytes = range->bytes;
    facts.kind = range->kind;
  }
  return facts;
}

Error export_memory(cudaIpcMemHandle_t* token, void* pointer) {
  if (!token || !pointer) return cudaErrorInvalidValue;
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  // Only memory of cudaMalloc goes to other processes this way.
  if (find_host_range(pointer) || !Session::get().owns(reinterpret_cast<uint64_t>(pointer)))
    return cudaErrorInvalidValue;
  wire::IpcToken reply;
  const Error e = call<wire::Kind::ipc_export>({.address = reinterpret_cast<uint64_t>(pointer)}, &reply);
  static_assert(sizeof reply == sizeof *token);
  if (e != cudaSuccess) return e;
  std::memcpy(token, &reply, sizeof reply);
  const std::lock_guard lock(book().mutex);
  book().exports.insert(text_of(*token));
  return cudaSuccess;
}

Expected<uint64_t> import_memory(const cudaIpcMemHandle_t& token) {
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return failure(e);
  const int device = thread().device;
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  const std::lock_guard lock(book().mutex);
  // Handles are for other processes; the one that made them has the pointer.
  if (book().exports.contains(text_of(token))) return failure(cudaErrorDeviceUninitialized);
  for (auto& [address, import] : book().imports) {
    if (import.device != device || import.token != text_of(token)) continue;
    ++import.count;
    return address;
  }
  wire::IpcImport request;
  std::memcpy(request.token.bytes, token.reserved, sizeof token.reserved);
  request.device = static_cast<uint32_t>(device);
  wire::Address made;
  if (const Error e = call<wire::Kind::ipc_import>(request, &made); e != cudaSuccess) return failure(e);
  book().imports[made.address] = {.token = text_of(token), .device = device, .count = 1};
  return made.address;
}

Error close_imported(void* pointer) {
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const std::lock_guard lock(book().mutex);
  const auto found = book().imports.find(address);
  if (found == book().imports.end()) return cudaErrorInvalidValue;
  if (--found->second.count > 0) return cudaSuccess;
  const int device = found->second.device;
  book().imports.erase(found);
  return call_on<wire::Kind::ipc_close>(device, {.address = address, .kind = wire::MemoryKind::imported});
}

bool can_access_peer(int device, int peer) {
  const auto& bits = Session::get().device(device).peers;
  return device != peer && ((bits[static_cast<size_t>(peer) / 64] >> (peer % 64)) & 1);
}

Error enable_peer(int peer, unsigned int flags) {
  if (const Error e = check_device(peer); e != cudaSuccess) return e;
  if (flags != 0) return cudaErrorInvalidValue;
  const int device = thread().device;
  if (device == peer) return cudaErrorInvalidDevice;
  if (!can_access_peer(device, peer)) return cudaErrorPeerAccessUnsupported;
  return call<wire::Kind::enable_peer>({.device = static_cast<uint32_t>(device), .peer = static_cast<uint32_t>(peer)});
}

Error disable_peer(int peer) {
  if (const Error e = check_device(peer); e != cudaSuccess) return e;
  return call<wire::Kind::disable_peer>(
      {.device = static_cast<uint32_t>(thread().device), .peer = static_cast<uint32_t>(peer)});
}

Error reset_device(int device) {
  if (const Error e = check_device(device); e != cudaSuccess) return e;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  // A context that died is given up as it is: the machine lets nothing of it be used again.
  if (const Error e = Session::get().sticky(device); e != cudaSuccess) return e;
  Error e = call_on<wire::Kind::device_wait>(device, {.device = static_cast<uint32_t>(device)});
  if (e != cudaSuccess) return e;
  std::set<uint64_t> addresses;
  {
    const std::lock_guard lock(book().mutex);
    for (const auto& [address, owner] : book().allocations) {
      if (owner == device) addresses.insert(address);
    }
    std::erase_if(book().allocations, [&](const auto& entry) { return entry.second == device; });
  }
  for (const uint64_t address : addresses) {
    const Error one = call_on<wire::Kind::free>(device, {.address = address, .kind = wire::MemoryKind::device});
    if (one != cudaSuccess) e = one;
  }
  return e;
}

}  // namespace fb::shim

// For sdk/mpi: whether the host can't touch this memory. Opens no connection.
FB_API int fabricbench_is_device_memory(const void* pointer) {
  using namespace fb::shim;
  return Session::get().connected() && Session::get().owns(reinterpret_cast<uint64_t>(pointer)) &&
                 !find_host_range(pointer)
             ? 1
             : 0;
}
