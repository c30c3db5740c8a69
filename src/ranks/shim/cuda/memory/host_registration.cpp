// cudaHostRegister, and memory of network cards: memory that the program has already becomes shared memory, in place.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/memory/host_ranges.h"
#include "ranks/shim/cuda/streams/capture.h"

namespace fb::shim {
namespace {

// Whole pages that one registration has made shared. Neighbours that share a page with it share the run.
struct PageRun {
  uint64_t begin = 0, bytes = 0;
  ~PageRun();
  void make_private() const;
};

struct Registrations {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<PageRun>> runs;                     // by begin
  std::map<uint64_t, std::vector<std::shared_ptr<PageRun>>> of_range;  // of cudaHostRegister
  std::map<uint64_t, std::vector<std::shared_ptr<PageRun>>> of_token;  // of network cards
  uint64_t next_token = 1;
};
Registrations& registrations() {
  static Registrations* const made = new Registrations;
  return *made;
}

bool write_all(int fd, const std::byte* from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t wrote = ::pwrite(fd, from + done, bytes - done, static_cast<off_t>(done));
    if (wrote <= 0) return false;
    done += static_cast<uint64_t>(wrote);
  }
  return true;
}

// Runs `work` on another thread if the pages hold the caller's own stack, which would change while it is copied.
template <class Work>
void beside_stack(uint64_t begin, uint64_t bytes, Work work) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  // What is called from here lies below; some room for it.
  constexpr uint64_t kRoom = 1 << 16;
  if (here + kRoom < begin || here >= begin + bytes + kRoom) return work();
  pthread_t other{};
  const auto run = [](void* of) -> void* {
    (*static_cast<Work*>(of))();
    return nullptr;
  };
  if (::pthread_create(&other, nullptr, run, &work) == 0) ::pthread_join(other, nullptr);
}

// Private pages with the same content again.
PageRun::~PageRun() {
  if (bytes == 0) return;
  call<wire::Kind::unregister_host>({.address = begin, .kind = wire::MemoryKind::registered});
  beside_stack(begin, bytes, [this] { make_private(); });
}

void PageRun::make_private() const {
  void* const copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;
  std::copy_n(reinterpret_cast<const std::byte*>(begin), bytes, static_cast<std::byte*>(copy));
  ::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(begin));
}

// The file whose pages these are for other mappings, too; empty: they are this process's own.
std::string shared_file_at(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char access[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &begin, &end, access, &path) < 3) continue;
    if (address < begin || address >= end) continue;
    return access[3] == 's' && path > 0 ? line.substr(static_cast<size_t>(path)) : "";
  }
  return "";
}

// Other mappings of the file keep its pages, and a kernel's stores do not reach them.
void note_shared_file(uint64_t address) {
  const std::string file = shared_file_at(address);
  if (file.empty()) return;
  (void)tell_problem("cudaHostRegister: devices see the pages of " + file +
                         " through this mapping alone; another mapping of the file sees other memory from here on",
                     cudaErrorNotSupported);
}

Expected<std::shared_ptr<PageRun>> share_pages(uint64_t begin, uint64_t bytes) {
  note_shared_file(begin);
  UniqueFd memory(::memfd_create("fabricbench-registered", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return failure(cudaErrorMemoryAllocation);
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  Error moved = cudaSuccess;
  beside_stack(begin, bytes, [&] {
    // Reads through the system, so that memory that is not there is an error and no crash.
    void* const place = reinterpret_cast<void*>(begin);
    if (!write_all(memory.get(), static_cast<const std::byte*>(place), bytes)) {
      moved = cudaErrorInvalidValue;
    } else if (::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0) != place) {
      moved = cudaErrorMemoryAllocation;
    }
  });
  if (moved != cudaSuccess) return failure(moved);
  const Error e =
      call<wire::Kind::register_host>({.address = begin, .bytes = bytes}, nullptr, {}, nullptr, memory.get());
  if (e != cudaSuccess) return failure(e);  // The pages are then shared with no process, which is harmless.
  auto run = std::make_shared<PageRun>();
  run->begin = begin;
  run->bytes = bytes;
  return run;
}

// All pages of the range. `all.mutex` is held.
Error share_range(Registrations& all, uint64_t address, uint64_t bytes, std::vector<std::shared_ptr<PageRun>>& runs) {
  const uint64_t page = round_to_pages(1);
  const uint64_t end = round_to_pages(address + bytes);
  for (uint64_t at = address / page * page; at < end;) {
    // What a neighbour has shared already, then the pages up to the next neighbour.
    uint64_t stop = end;
    std::shared_ptr<PageRun> there;
    for (const auto& [begin, weak] : all.runs) {
      const auto run = weak.lock();
      if (!run) continue;
      if (run->begin <= at && at < run->begin + run->bytes) there = run;
      if (run->begin > at) stop = std::min(stop, run->begin);
    }
    if (there) {
      at = there->begin + there->bytes;
    } else {
      auto made = share_pages(at, stop - at);
      if (!made) return made.error();
      there = *made;
      all.runs[at] = there;
      at = stop;
    }
    runs.push_back(std::move(there));
  }
  return cudaSuccess;
}

}  // namespace

Error register_host(void* pointer, size_t bytes, unsigned int flags) {
  if (!pointer || bytes == 0) return cudaErrorInvalidValue;
  if (flags & cudaHostRegisterIoMemory) return cudaErrorNotSupported;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (session.owns(address)) return cudaErrorInvalidValue;
  if (host_ranges().overlaps(address, bytes)) return cudaErrorHostMemoryAlreadyRegistered;

  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<PageRun>> runs;
  if (const Error e = share_range(all, address, bytes, runs); e != cudaSuccess) return e;
  all.of_range[address] = std::move(runs);
  host_ranges().add({.begin = address, .bytes = bytes, .kind = wire::MemoryKind::registered, .flags = flags});
  return cudaSuccess;
}

Error share_memory(void* pointer, size_t bytes, uint64_t* token) {
  *token = 0;
  if (!pointer || bytes == 0) return cudaErrorInvalidValue;
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (session.owns(address)) return cudaSuccess;  // device memory, and pinned memory: the machine's own
  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<PageRun>> runs;
  if (const Error e = share_range(all, address, bytes, runs); e != cudaSuccess) return e;
  *token = all.next_token++;
  all.of_token[*token] = std::move(runs);
  return cudaSuccess;
}

void unshare_memory(uint64_t token) {
  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  all.of_token.erase(token);
  std::erase_if(all.runs, [](const auto& entry) { return entry.second.expired(); });
}

Error register_managed(void* pointer, size_t bytes) {
  if (const Error e = register_host(pointer, bytes, 0); e != cudaSuccess) return e;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  host_ranges().take(address, wire::MemoryKind::registered);
  host_ranges().add({.begin = address, .bytes = bytes, .kind = wire::MemoryKind::managed});
  return cudaSuccess;
}

Expected<void*> make_managed(size_t bytes) {
  void* const memory =
      ::mmap(nullptr, round_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return failure(cudaErrorMemoryAllocation);
  if (const Error e = register_managed(memory, bytes); e != cudaSuccess) {
    ::munmap(memory, round_to_pages(bytes));
    return failure(e);
  }
  return memory;
}

Error unregister_host(void* pointer) {
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!host_ranges().take(address, wire::MemoryKind::registered))
    return pointer ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue;
  Registrations& all = registrations();
  const std::lock_guard lock(all.mutex);
  all.of_range.erase(address);
  std::erase_if(all.runs, [](const auto& entry) { return entry.second.expired(); });
  return cudaSuccess;
}

}  // namespace fb::shim
