// MPI with device pointers, for ranks of `fabricbench exec --mpi`: compiled against the user's own mpi.h and loaded
// before the program's libraries. A call whose buffer is device memory is made with a buffer in pinned host memory, and
// the bytes are copied before or behind it.
//
// As in every CUDA-aware MPI, nothing here waits for the program's streams: the caller must have synchronised. The
// copies are on a stream of their own that waits for no other, so that the race detector sees a caller that has not.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void refuse(const char* call, const char* why) {
  std::fprintf(stderr, "fabricbench: %s with device memory: %s\n", call, why);
  PMPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) refuse(call, cudaGetErrorString(error));
}

// Managed and pinned memory is the host's as well, so MPI reaches it by itself.
bool is_device(const void* pointer) {
  using Ask = int (*)(const void*);
  static const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "fabricbench_is_device_memory"));
  return pointer && ask && ask(pointer) != 0;
}

cudaStream_t stream_of_copies(const char* call) {
  thread_local std::map<int, cudaStream_t> streams;  // by device
  int device = 0;
  check(cudaGetDevice(&device), call);
  cudaStream_t& stream = streams[device];
  if (!stream) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), call);
  return stream;
}

void copy(void* to, const void* from, size_t bytes, const char* call) {
  if (bytes == 0) return;
  const cudaStream_t stream = stream_of_copies(call);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), call);
  check(cudaStreamSynchronize(stream), call);
}

// Pinned memory is slow to get: buffers are kept, by size.
class Buffers {
 public:
  void* take(size_t bytes, const char* call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = free_.lower_bound(bytes);
    if (found != free_.end() && found->first <= 2 * bytes + 4096) {
      void* const buffer = found->second;
      sizes_[buffer] = found->first;
      free_.erase(found);
      return buffer;
    }
    void* made = nullptr;
    check(cudaMallocHost(&made, bytes), call);
    sizes_[made] = bytes;
    return made;
  }
  void give_back(void* buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.emplace(sizes_[buffer], buffer);
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, void*> free_;
  std::map<void*, size_t> sizes_;
};
Buffers& buffers() {
  static auto* const all = new Buffers;
  return *all;
}

size_t element_bytes(MPI_Datatype type, const char* call) {
  MPI_Aint least = 0, extent = 0, true_least = 0, true_extent = 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &least, &extent);
  PMPI_Type_get_true_extent(type, &true_least, &true_extent);
  if (least != 0 || true_least != 0 || extent != size || true_extent != size)
    refuse(call, "a datatype with gaps is not supported; pack it by a kernel, or send its parts");
  return static_cast<size_t>(size);
}

enum class Use { reads, writes, both };

// A buffer of a call: the program's, or one of the host that stands in for it.
class Staged {
 public:
  Staged() = default;
  // `bytes_of` is asked only for device memory.
  template <class BytesOf>
  Staged(const void* pointer, BytesOf bytes_of, Use use, const char* call)
      : given_(const_cast<void*>(pointer)), use_(use), call_(call) {
    if (!is_device(pointer)) return;
    bytes_ = bytes_of();
    host_ = buffers().take(bytes_ > 0 ? bytes_ : 1, call);
    if (use != Use::writes) copy(host_, given_, bytes_, call);
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  Staged(Staged&& other) noexcept { *this = std::move(other); }
  Staged& operator=(Staged&& other) noexcept {
    std::swap(given_, other.given_);
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    std::swap(use_, other.use_);
    std::swap(call_, other.call_);
    return *this;
  }
  ~Staged() {
    if (host_) buffers().give_back(host_);
  }

  bool is_staged() const { return host_ != nullptr; }
  void* get() const { return host_ ? host_ : given_; }
  // Behind the call: what arrived goes to the device; at most `bytes` of it.
  void finish(size_t bytes = SIZE_MAX) {
    if (host_ && use_ != Use::reads) copy(given_, host_, bytes < bytes_ ? bytes : bytes_, call_);
  }

 private:
  void* given_ = nullptr;
  void* host_ = nullptr;
  size_t bytes_ = 0;
  Use use_ = Use::reads;
  const char* call_ = "";
};

// `count` elements.
Staged stage(const void* pointer, long long count, MPI_Datatype type, Use use, const char* call) {
  return Staged(pointer, [&] { return static_cast<size_t>(count) * element_bytes(type, call); }, use, call);
}
// The parts of all ranks, of different lengths at displacements.
Staged stage_parts(const void* pointer, const int* counts, const int* displacements, MPI_Datatype type, MPI_Comm comm,
                   Use use, const char* call) {
  return Staged(
      pointer,
      [&] {
        int ranks = 0;
        PMPI_Comm_size(comm, &ranks);
        long long end = 0;
        for (int k = 0; k < ranks; ++k) {
          const long long last = static_cast<long long>(displacements[k]) + counts[k];
          end = last > end ? last : end;
        }
        return static_cast<size_t>(end) * element_bytes(type, call);
      },
      // Bytes between the parts must survive the copy back.
      use == Use::writes ? Use::both : use, call);
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0, inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) {
    PMPI_Comm_remote_size(comm, &ranks);
  } else {
    PMPI_Comm_size(comm, &ranks);
  }
  return ranks;
}
bool is_root(MPI_Comm comm, int root) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

size_t bytes_that_came(const MPI_Status& status) {
  int count = 0;
  PMPI_Get_count(&status, MPI_BYTE, &count);
  return count == MPI_UNDEFINED ? SIZE_MAX : static_cast<size_t>(count);
}

// Requests that have not ended, with the buffers that stand in.
struct Pending {
  std::vector<Staged> staged;
  bool is_receive = false;  // of one message: only what came is copied
};
class Requests {
 public:
  void add(MPI_Request request, Pending pending) {
    bool any = false;
    for (const Staged& s : pending.staged) any = any || s.is_staged();
    if (!any) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_[request] = std::move(pending);
  }
  bool none() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pending_.empty();
  }
  void ended(MPI_Request request, const MPI_Status& status) {
    Pending done;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = pending_.find(request);
      if (found == pending_.end()) return;
      done = std::move(found->second);
      pending_.erase(found);
    }
    size_t bytes = SIZE_MAX;
    int cancelled = 0;
    PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled) bytes = 0;
    if (done.is_receive && !cancelled) {
      bytes = bytes_that_came(status);
    }
    for (Staged& s : done.staged) s.finish(bytes);
  }

 private:
  std::mutex mutex_;
  std::map<MPI_Request, Pending> pending_;
};
Requests& requests() {
  static auto* const all = new Requests;
  return *all;
}

template <class... Buffers>
Pending pending_of(Buffers&&... staged) {
  Pending pending;
  (pending.staged.push_back(std::move(staged)), ...);
  return pending;
}

MPI_Status& own_status() {
  thread_local MPI_Status status;
  return status;
}

}  // namespace

extern "C" {

int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) { return 1; }

// One message

#define SEND(name)                                                                                   \
  int MPI_##name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    const Staged from = stage(buffer, count, type, Use::reads, "MPI_" #name);                        \
    return PMPI_##name(from.get(), count, type, to, tag, comm);                                      \
  }
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)
#undef SEND

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  Staged to = stage(buffer, count, type, Use::writes, "MPI_Recv");
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Recv(to.get(), count, type, from, tag, comm, known);
  if (result == MPI_SUCCESS && to.is_staged()) to.finish(bytes_that_came(*known));
  return result;
}

int MPI_Sendrecv(const void* sent, int send_count, MPI_Datatype send_type, int to, int send_tag, void* received,
                 int receive_count, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                 MPI_Status* status) {
  const Staged out = stage(sent, send_count, send_type, Use::reads, "MPI_Sendrecv");
  Staged in = stage(received, receive_count, receive_type, Use::writes, "MPI_Sendrecv");
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Sendrecv(out.get(), send_count, send_type, to, send_tag, in.get(), receive_count,
                                   receive_type, from, receive_tag, comm, known);
  if (result == MPI_SUCCESS && in.is_staged()) in.finish(bytes_that_came(*known));
  return result;
}

int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
                         MPI_Comm comm, MPI_Status* status) {
  Staged both = stage(buffer, count, type, Use::both, "MPI_Sendrecv_replace");
  const int result = PMPI_Sendrecv_replace(both.get(), count, type, to, send_tag, from, receive_tag, comm, status);
  if (result == MPI_SUCCESS) both.finish();
  return result;
}

#define ISEND(name)                                                                                \
  int MPI_##name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                 MPI_Request* request) {                                                           \
    Staged from = stage(buffer, count, type, Use::reads, "MPI_" #name);                            \
    const int result = PMPI_##name(from.get(), count, type, to, tag, comm, request);               \
    if (result == MPI_SUCCESS) requests().add(*request, pending_of(from));                         \
    return result;                                                                                 \
  }
ISEND(Isend)
ISEND(Issend)
ISEND(Irsend)
ISEND(Ibsend)
#undef ISEND

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  Staged to = stage(buffer, count, type, Use::writes, "MPI_Irecv");
  const int result = PMPI_Irecv(to.get(), count, type, from, tag, comm, request);
  if (result != MPI_SUCCESS) return result;
  Pending pending = pending_of(to);
  pending.is_receive = true;
  requests().add(*request, std::move(pending));
  return result;
}

// The ends of requests. A request is gone when it has ended, so its handle is kept.

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (requests().none()) return PMPI_Wait(request, status);
  const MPI_Request kept = *request;
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Wait(request, known);
  if (result == MPI_SUCCESS) requests().ended(kept, *known);
  return result;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (requests().none()) return PMPI_Test(request, flag, status);
  const MPI_Request kept = *request;
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Test(request, flag, known);
  if (result == MPI_SUCCESS && *flag) requests().ended(kept, *known);
  return result;
}

int MPI_Waitall(int count, MPI_Request* list, MPI_Status* statuses) {
  if (requests().none()) return PMPI_Waitall(count, list, statuses);
  const std::vector<MPI_Request> kept(list, list + count);
  std::vector<MPI_Status> own(statuses == MPI_STATUSES_IGNORE ? static_cast<size_t>(count) : 0);
  MPI_Status* const known = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
  const int result = PMPI_Waitall(count, list, known);
  if (result != MPI_SUCCESS) return result;
  for (int k = 0; k < count; ++k) requests().ended(kept[k], known[k]);
  return result;
}

int MPI_Testall(int count, MPI_Request* list, int* flag, MPI_Status* statuses) {
  if (requests().none()) return PMPI_Testall(count, list, flag, statuses);
  const std::vector<MPI_Request> kept(list, list + count);
  std::vector<MPI_Status> own(statuses == MPI_STATUSES_IGNORE ? static_cast<size_t>(count) : 0);
  MPI_Status* const known = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
  const int result = PMPI_Testall(count, list, flag, known);
  if (result != MPI_SUCCESS || !*flag) return result;
  for (int k = 0; k < count; ++k) requests().ended(kept[k], known[k]);
  return result;
}

int MPI_Waitany(int count, MPI_Request* list, int* index, MPI_Status* status) {
  if (requests().none()) return PMPI_Waitany(count, list, index, status);
  const std::vector<MPI_Request> kept(list, list + count);
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Waitany(count, list, index, known);
  if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) requests().ended(kept[*index], *known);
  return result;
}

int MPI_Testany(int count, MPI_Request* list, int* index, int* flag, MPI_Status* status) {
  if (requests().none()) return PMPI_Testany(count, list, index, flag, status);
  const std::vector<MPI_Request> kept(list, list + count);
  MPI_Status* const known = status == MPI_STATUS_IGNORE ? &own_status() : status;
  const int result = PMPI_Testany(count, list, index, flag, known);
  if (result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) requests().ended(kept[*index], *known);
  return result;
}

#define SOME(name)                                                                                 \
  int MPI_##name(int count, MPI_Request* list, int* ended, int* indices, MPI_Status* statuses) {   \
    if (requests().none()) return PMPI_##name(count, list, ended, indices, statuses);              \
    const std::vector<MPI_Request> kept(list, list + count);                                       \
    std::vector<MPI_Status> own(statuses == MPI_STATUSES_IGNORE ? static_cast<size_t>(count) : 0); \
    MPI_Status* const known = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;             \
    const int result = PMPI_##name(count, list, ended, indices, known);                            \
    if (result != MPI_SUCCESS || *ended == MPI_UNDEFINED) return result;                           \
    for (int k = 0; k < *ended; ++k) requests().ended(kept[indices[k]], known[k]);                 \
    return result;                                                                                 \
  }
SOME(Waitsome)
SOME(Testsome)
#undef SOME

// Collectives. MPI_IN_PLACE is no device pointer and goes through as it is; then the other buffer is read as well.

static Use use_of_result(const void* sent) { return sent == MPI_IN_PLACE ? Use::both : Use::writes; }

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Staged both = stage(buffer, count, type, is_root(comm, root) ? Use::reads : Use::writes, "MPI_Bcast");
  const int result = PMPI_Bcast(both.get(), count, type, root, comm);
  if (result == MPI_SUCCESS) both.finish();
  return result;
}

int MPI_Reduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const Staged out = stage(sent, count, type, Use::reads, "MPI_Reduce");
  Staged in;
  void* target = received;
  if (is_root(comm, root)) {
    in = stage(received, count, type, use_of_result(sent), "MPI_Reduce");
    target = in.get();
  }
  const int result = PMPI_Reduce(out.get(), target, count, type, op, root, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

#define REDUCTION(name)                                                                                      \
  int MPI_##name(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) { \
    const Staged out = stage(sent, count, type, Use::reads, "MPI_" #name);                                   \
    Staged in = stage(received, count, type, use_of_result(sent), "MPI_" #name);                             \
    const int result = PMPI_##name(out.get(), in.get(), count, type, op, comm);                              \
    if (result == MPI_SUCCESS) in.finish();                                                                  \
    return result;                                                                                           \
  }
REDUCTION(Allreduce)
REDUCTION(Scan)
REDUCTION(Exscan)
#undef REDUCTION

int MPI_Iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  Staged out = stage(sent, count, type, Use::reads, "MPI_Iallreduce");
  Staged in = stage(received, count, type, use_of_result(sent), "MPI_Iallreduce");
  const int result = PMPI_Iallreduce(out.get(), in.get(), count, type, op, comm, request);
  if (result == MPI_SUCCESS) requests().add(*request, pending_of(out, in));
  return result;
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  Staged both = stage(buffer, count, type, is_root(comm, root) ? Use::reads : Use::writes, "MPI_Ibcast");
  const int result = PMPI_Ibcast(both.get(), count, type, root, comm, request);
  if (result == MPI_SUCCESS) requests().add(*request, pending_of(both));
  return result;
}

int MPI_Reduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const long long all = static_cast<long long>(count) * ranks_of(comm);
  const Staged out = stage(sent, all, type, Use::reads, "MPI_Reduce_scatter_block");
  Staged in =
      stage(received, sent == MPI_IN_PLACE ? all : count, type, use_of_result(sent), "MPI_Reduce_scatter_block");
  const int result = PMPI_Reduce_scatter_block(out.get(), in.get(), count, type, op, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Reduce_scatter(const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  long long all = 0;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  for (int k = 0; k < ranks_of(comm); ++k) all += counts[k];
  const Staged out = stage(sent, all, type, Use::reads, "MPI_Reduce_scatter");
  Staged in =
      stage(received, sent == MPI_IN_PLACE ? all : counts[rank], type, use_of_result(sent), "MPI_Reduce_scatter");
  const int result = PMPI_Reduce_scatter(out.get(), in.get(), counts, type, op, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

// Every rank sends `count` to all or to each, and receives as much of each.
#define EXCHANGE(name, sends)                                                                                      \
  int MPI_##name(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,      \
                 MPI_Datatype receive_type, MPI_Comm comm) {                                                       \
    const long long ranks = ranks_of(comm);                                                                        \
    const Staged out = stage(sent, (sends) * send_count, send_type, Use::reads, "MPI_" #name);                     \
    Staged in = stage(received, ranks * receive_count, receive_type, use_of_result(sent), "MPI_" #name);           \
    const int result = PMPI_##name(out.get(), send_count, send_type, in.get(), receive_count, receive_type, comm); \
    if (result == MPI_SUCCESS) in.finish();                                                                        \
    return result;                                                                                                 \
  }
EXCHANGE(Allgather, 1LL)
EXCHANGE(Alltoall, ranks)
#undef EXCHANGE

int MPI_Allgatherv(const void* sent, int send_count, MPI_Datatype send_type, void* received, const int* counts,
                   const int* displacements, MPI_Datatype receive_type, MPI_Comm comm) {
  const Staged out = stage(sent, send_count, send_type, Use::reads, "MPI_Allgatherv");
  Staged in = stage_parts(received, counts, displacements, receive_type, comm, Use::both, "MPI_Allgatherv");
  const int result =
      PMPI_Allgatherv(out.get(), send_count, send_type, in.get(), counts, displacements, receive_type, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Alltoallv(const void* sent, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
                  void* received, const int* counts, const int* displacements, MPI_Datatype receive_type,
                  MPI_Comm comm) {
  const Staged out = stage_parts(sent, send_counts, send_displacements, send_type, comm, Use::reads, "MPI_Alltoallv");
  Staged in = stage_parts(received, counts, displacements, receive_type, comm, Use::both, "MPI_Alltoallv");
  const int result = PMPI_Alltoallv(out.get(), send_counts, send_displacements, send_type, in.get(), counts,
                                    displacements, receive_type, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Gather(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const Staged out = stage(sent, send_count, send_type, Use::reads, "MPI_Gather");
  Staged in;
  void* target = received;
  if (is_root(comm, root)) {
    in = stage(received, 1LL * ranks_of(comm) * receive_count, receive_type, use_of_result(sent), "MPI_Gather");
    target = in.get();
  }
  const int result = PMPI_Gather(out.get(), send_count, send_type, target, receive_count, receive_type, root, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Gatherv(const void* sent, int send_count, MPI_Datatype send_type, void* received, const int* counts,
                const int* displacements, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const Staged out = stage(sent, send_count, send_type, Use::reads, "MPI_Gatherv");
  Staged in;
  void* target = received;
  if (is_root(comm, root)) {
    in = stage_parts(received, counts, displacements, receive_type, comm, Use::both, "MPI_Gatherv");
    target = in.get();
  }
  const int result =
      PMPI_Gatherv(out.get(), send_count, send_type, target, counts, displacements, receive_type, root, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Scatter(const void* sent, int send_count, MPI_Datatype send_type, void* received, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
  Staged out;
  const void* source = sent;
  if (is_root(comm, root)) {
    out = stage(sent, 1LL * ranks_of(comm) * send_count, send_type, Use::reads, "MPI_Scatter");
    source = out.get();
  }
  Staged in = stage(received, receive_count, receive_type, Use::writes, "MPI_Scatter");
  const int result = PMPI_Scatter(source, send_count, send_type, in.get(), receive_count, receive_type, root, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

int MPI_Scatterv(const void* sent, const int* counts, const int* displacements, MPI_Datatype send_type, void* received,
                 int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  Staged out;
  const void* source = sent;
  if (is_root(comm, root)) {
    out = stage_parts(sent, counts, displacements, send_type, comm, Use::reads, "MPI_Scatterv");
    source = out.get();
  }
  Staged in = stage(received, receive_count, receive_type, Use::writes, "MPI_Scatterv");
  const int result =
      PMPI_Scatterv(source, counts, displacements, send_type, in.get(), receive_count, receive_type, root, comm);
  if (result == MPI_SUCCESS) in.finish();
  return result;
}

// What is not done: a message instead of a fault inside of MPI.

#define REFUSED(name, pointer, parameters, arguments)                          \
  int MPI_##name parameters {                                                  \
    if (is_device(pointer)) refuse("MPI_" #name, "the call is not supported"); \
    return PMPI_##name arguments;                                              \
  }
REFUSED(Send_init, buffer,
        (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
        (buffer, count, type, to, tag, comm, request))
REFUSED(Recv_init, buffer,
        (void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
        (buffer, count, type, from, tag, comm, request))
REFUSED(Win_create, base, (void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
        (base, bytes, unit, info, comm, window))
REFUSED(Put, buffer,
        (const void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint at, int there, MPI_Datatype there_type,
         MPI_Win window),
        (buffer, count, type, rank, at, there, there_type, window))
REFUSED(Get, buffer,
        (void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint at, int there, MPI_Datatype there_type,
         MPI_Win window),
        (buffer, count, type, rank, at, there, there_type, window))
REFUSED(Pack, from, (const void* from, int count, MPI_Datatype type, void* to, int bytes, int* position, MPI_Comm comm),
        (from, count, type, to, bytes, position, comm))
REFUSED(Unpack, to, (const void* from, int bytes, int* position, void* to, int count, MPI_Datatype type, MPI_Comm comm),
        (from, bytes, position, to, count, type, comm))
#undef REFUSED

}  // extern "C"
