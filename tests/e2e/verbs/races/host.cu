// Races of network cards with host code, by name: the wrong form, or with "right" its repaired form. Lines that a
// report must name are marked.
#include <atomic>

#include "pair.h"

namespace {

constexpr size_t kData = 4096;  // at 0; a second buffer at kHalf
constexpr size_t kFlag = kHalf - 64;
constexpr size_t kWord = kHalf - 128;

int right;
volatile unsigned result;

__attribute__((noinline)) void fill(char* p, size_t bytes, char value) {
  for (size_t k = 0; k < bytes; ++k) p[k] = static_cast<char>(value + k);  //@ fill
}
__attribute__((noinline)) void use(const char* p, size_t bytes) {
  unsigned sum = 0;
  for (size_t k = 0; k < bytes; ++k) sum += static_cast<unsigned char>(p[k]);  //@ use
  result = sum;
}
int* flag(const Side& s) { return reinterpret_cast<int*>(s.host + kFlag); }
uint64_t* word(const Side& s) { return reinterpret_cast<uint64_t*>(s.host + kWord); }
void wait_for(const int* flag) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) continue;
}

void read_before_completion() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ read_before_completion
    s.complete();
  } else {
    RECEIVE_HOST(s, 0, 0, 0);
    if (right) s.complete();
    use(s.host, kData);
    if (!right) s.complete();
  }
  s.barrier();
}
void received_before_completion() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ received_before_completion
    s.complete();
  } else {
    RECEIVE_HOST(s, 0, 0, kData);
    if (right) s.complete();
    use(s.host, kData);
    if (!right) s.complete();
  }
  s.barrier();
}
// Time is no synchronisation.
void slept() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, kData, 0, kSignaled);  //@ slept
    s.complete();
  } else {
    RECEIVE_HOST(s, 0, 0, 0);
    if (!right) usleep(200000);
    if (right) s.complete();
    use(s.host, kData);
    if (!right) s.complete();
  }
  s.barrier();
}
void source_refilled() {
  Side s;
  if (s.rank == 0) {
    fill(s.host, kData, 1);
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ source_refilled
    if (right) s.complete();
    fill(s.host, kData, 2);
    if (!right) s.complete();
  }
  s.barrier();
}
// An inlined payload is free when the call returns.
void source_not_inlined() {
  Side s;
  if (s.rank == 0) {
    fill(s.host, 64, 1);
    const unsigned inlined = right ? IBV_SEND_INLINE : 0;
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, 64, 0, kSignaled | inlined);  //@ source_not_inlined
    fill(s.host, 64, 2);
    s.complete();
  }
  s.barrier();
}
// A completion covers what was posted before it on its own queue pair.
void completion_of_other() {
  Side s;
  if (s.rank == 0) {
    fill(s.host, kData, 1);
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, 0);  //@ completion_of_other
    POST_HOST(s, right ? 0 : 1, IBV_WR_RDMA_WRITE, kHalf, 64, kHalf, kSignaled);
    s.complete();
    fill(s.host, kData, 2);
  }
  s.barrier();
}
void flag_of_other() {
  Side s;
  if (s.rank == 0) {
    *flag(s) = 1;
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ flag_of_other
    POST_HOST(s, right ? 0 : 1, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    wait_for(flag(s));
    use(s.host, kData);
  }
  s.barrier();
}
void flag_in_message() {
  Side s;
  if (s.rank == 0) {
    *flag(s) = 1;
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, right ? kFlag : kFlag + 4, 0, kSignaled);  //@ flag_in_message
    if (right) POST_HOST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(right ? 2 : 1);
  } else {
    wait_for(flag(s));
    use(s.host, kData);
  }
  s.barrier();
}
void flag_relaxed() {
  Side s;
  if (s.rank == 0) {
    *flag(s) = 1;
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ flag_relaxed
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);
    s.complete(2);
  } else {
    while (__atomic_load_n(flag(s), __ATOMIC_RELAXED) == 0) continue;
    if (right) std::atomic_thread_fence(std::memory_order_acquire);
    use(s.host, kData);
  }
  s.barrier();
}
void flag_reset_early() {
  Side s;
  if (s.rank == 0) {
    *flag(s) = 1;
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, kFlag, 4, kFlag, kSignaled);  //@ flag_reset_early
    s.complete();
  } else {
    if (right) wait_for(flag(s));
    *flag(s) = 0;  //@ flag_reset_early
    if (!right) usleep(1000);
  }
  s.barrier();
}
void result_used_early() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_READ, 0, kData, 0, kSignaled);  //@ result_used_early
    if (right) s.complete();
    use(s.host, kData);
    if (!right) s.complete();
  }
  s.barrier();
}
void filled_while_read() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_READ, kHalf, kData, 0, kSignaled);  //@ filled_while_read
    s.complete();
    if (right) s.tell();
  } else {
    if (right) s.hear();
    fill(s.host, kData, 1);
  }
  s.barrier();
}
void counted_by_both() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, kWord, kSignaled);  //@ counted_by_both
    s.complete();
    if (right) s.tell();
  } else {
    if (right) s.hear();
    __atomic_fetch_add(word(s), 1, __ATOMIC_SEQ_CST);  //@ counted_by_both
  }
  s.barrier();
}
void received_again() {
  Side s;
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);
    POST_HOST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ received_again
    s.complete(2);
  } else {
    RECEIVE_HOST(s, 0, 0, kData);
    if (!right) RECEIVE_HOST(s, 0, 0, kData);
    s.complete();
    use(s.host, kData);
    if (right) RECEIVE_HOST(s, 0, 0, kData);
    s.complete();
  }
  s.barrier();
}
// The peer polls a flag by reading it, and then reads the data.
void published_early() {
  Side s;
  if (s.rank == 0) {
    while (true) {
      POST_HOST(s, 0, IBV_WR_RDMA_READ, kFlag, 4, kFlag, kSignaled);
      s.complete();
      if (*flag(s) != 0) break;
    }
    POST_HOST(s, 0, IBV_WR_RDMA_READ, 0, kData, 0, kSignaled);  //@ published_early
    s.complete();
  } else {
    if (right) fill(s.host, kData, 1);
    __atomic_store_n(flag(s), 1, __ATOMIC_RELEASE);
    if (!right) fill(s.host, kData, 1);
  }
  s.barrier();
}
// Ranks that talk through a file.
void told_before_completion() {
  Side s;
  const char* folder = std::getenv("TMPDIR");
  const std::string name = std::string(folder ? folder : "/tmp") + "/told." + std::to_string(getppid());
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ told_before_completion
    if (right) s.complete();
    std::fclose(std::fopen(name.c_str(), "wb"));
    if (!right) s.complete();
  } else {
    while (access(name.c_str(), R_OK) != 0) usleep(500);
    use(s.host, kData);
  }
  s.barrier();
  if (s.rank == 1) unlink(name.c_str());
}
// A kernel has to be waited for before its result is sent; here it is the host's own store behind the call.
void filled_behind_the_call() {
  Side s;
  if (s.rank == 0) {
    if (right) fill(s.host, kData, 1);
    POST_HOST(s, 0, IBV_WR_SEND, 0, kData, 0, kSignaled);  //@ filled_behind_the_call
    if (!right) fill(s.host, kData, 1);
    s.complete();
  } else {
    RECEIVE_HOST(s, 0, 0, kData);
    s.complete();
    use(s.host, kData);
  }
  s.barrier();
}
void unreliable_completion() {
  Side s(right ? IBV_QPT_RC : IBV_QPT_UC);
  if (s.rank == 0) {
    POST_HOST(s, 0, IBV_WR_RDMA_WRITE, 0, kData, 0, kSignaled);  //@ unreliable_completion
    s.complete();
    s.tell();
  } else {
    s.hear();
    use(s.host, kData);
  }
  s.barrier();
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {
    {"read_before_completion", read_before_completion},
    {"received_before_completion", received_before_completion},
    {"slept", slept},
    {"source_refilled", source_refilled},
    {"source_not_inlined", source_not_inlined},
    {"completion_of_other", completion_of_other},
    {"flag_of_other", flag_of_other},
    {"flag_in_message", flag_in_message},
    {"flag_relaxed", flag_relaxed},
    {"flag_reset_early", flag_reset_early},
    {"result_used_early", result_used_early},
    {"filled_while_read", filled_while_read},
    {"counted_by_both", counted_by_both},
    {"received_again", received_again},
    {"published_early", published_early},
    {"told_before_completion", told_before_completion},
    {"filled_behind_the_call", filled_behind_the_call},
    {"unreliable_completion", unreliable_completion},
};

}  // namespace

int main(int argc, char** argv) {
  right = argc > 2 && std::strcmp(argv[2], "right") == 0;
  for (const Case& c : kCases) {
    if (argc < 2 || std::strcmp(c.name, argv[1]) != 0) continue;
    c.run();
    return 0;
  }
  return 4;
}
