// Functions by which processes talk with each other without the machine: sockets, files, pipes, semaphores. The race
// detector must know that they may have, and so programs whose accesses are observed (ranks/shim/verbs/observe.h) are
// linked with these in front of the C library's. What they call is that.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {
void fabricbench_note_talk();
void fabricbench_note_hear();
}

namespace {

// Where our own libraries are that talk with the machine, and with nothing else.
struct Own {
  struct {
    uintptr_t begin, end;
  } ranges[16] = {};
  int count = 0;
};

int add_library(dl_phdr_info* info, size_t, void* into) {
  auto& own = *static_cast<Own*>(into);
  const bool talks_to_machine =
      std::strstr(info->dlpi_name, "/libfabricbench_cuda") || std::strstr(info->dlpi_name, "/libibverbs.so");
  if (!talks_to_machine || own.count == 16) return 0;
  uintptr_t end = 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& header = info->dlpi_phdr[k];
    if (header.p_type == PT_LOAD && header.p_vaddr + header.p_memsz > end) end = header.p_vaddr + header.p_memsz;
  }
  own.ranges[own.count++] = {info->dlpi_addr, info->dlpi_addr + end};
  return 0;
}

bool is_own(const void* caller) {
  static const Own own = [] {
    Own found;
    dl_iterate_phdr(&add_library, &found);
    return found;
  }();
  const auto at = reinterpret_cast<uintptr_t>(caller);
  for (int k = 0; k < own.count; ++k) {
    if (at >= own.ranges[k].begin && at < own.ranges[k].end) return true;
  }
  return false;
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define CALLER __builtin_return_address(0)
// The function of the C library, with the program's own contact before it and behind it.
#define CONTACT(result, name, parameters, arguments) CONTACT_AS(result, name, parameters, arguments, noexcept(false))
#define CONTACT_AS(result, name, parameters, arguments, specifier)                     \
  extern "C" __attribute__((visibility("default"))) result name parameters specifier { \
    static auto* const real = next<result parameters>(#name);                          \
    const bool own = is_own(CALLER);                                                   \
    if (!own) fabricbench_note_talk();                                                 \
    auto const value = real arguments;                                                 \
    if (!own) fabricbench_note_hear();                                                 \
    return value;                                                                      \
  }

CONTACT(ssize_t, read, (int f, void* to, size_t n), (f, to, n))
CONTACT(ssize_t, readv, (int f, const iovec* to, int n), (f, to, n))
CONTACT(ssize_t, pread, (int f, void* to, size_t n, off_t at), (f, to, n, at))
CONTACT(ssize_t, write, (int f, const void* from, size_t n), (f, from, n))
CONTACT(ssize_t, writev, (int f, const iovec* from, int n), (f, from, n))
CONTACT(ssize_t, pwrite, (int f, const void* from, size_t n, off_t at), (f, from, n, at))
CONTACT(ssize_t, send, (int f, const void* from, size_t n, int flags), (f, from, n, flags))
CONTACT(ssize_t, sendto, (int f, const void* from, size_t n, int flags, const sockaddr* to, socklen_t length),
        (f, from, n, flags, to, length))
CONTACT(ssize_t, sendmsg, (int f, const msghdr* m, int flags), (f, m, flags))
CONTACT(ssize_t, recv, (int f, void* to, size_t n, int flags), (f, to, n, flags))
CONTACT(ssize_t, recvfrom, (int f, void* to, size_t n, int flags, sockaddr* from, socklen_t* length),
        (f, to, n, flags, from, length))
CONTACT(ssize_t, recvmsg, (int f, msghdr* m, int flags), (f, m, flags))
CONTACT(int, poll, (pollfd * list, nfds_t n, int timeout), (list, n, timeout))
CONTACT(int, select, (int n, fd_set* r, fd_set* w, fd_set* e, timeval* timeout), (n, r, w, e, timeout))
CONTACT(int, epoll_wait, (int f, epoll_event* events, int n, int timeout), (f, events, n, timeout))
CONTACT(int, accept, (int f, sockaddr* from, socklen_t* length), (f, from, length))
CONTACT(int, accept4, (int f, sockaddr* from, socklen_t* length, int flags), (f, from, length, flags))
CONTACT(int, connect, (int f, const sockaddr* to, socklen_t length), (f, to, length))
CONTACT(int, close, (int f), (f))
CONTACT_AS(int, rename, (const char* from, const char* to), (from, to), noexcept)
CONTACT_AS(int, unlink, (const char* path), (path), noexcept)
CONTACT_AS(int, access, (const char* path, int mode), (path, mode), noexcept)
CONTACT(FILE*, fopen, (const char* path, const char* mode), (path, mode))
CONTACT(FILE*, fopen64, (const char* path, const char* mode), (path, mode))
CONTACT(int, fclose, (FILE * file), (file))
CONTACT(int, fflush, (FILE * file), (file))
CONTACT(size_t, fread, (void* to, size_t size, size_t n, FILE* file), (to, size, n, file))
CONTACT(char*, fgets, (char* to, int n, FILE* file), (to, n, file))
CONTACT(int, fgetc, (FILE * file), (file))
CONTACT(ssize_t, __getdelim, (char** line, size_t* n, int end, FILE* file), (line, n, end, file))
CONTACT_AS(int, sem_post, (sem_t * s), (s), noexcept)
CONTACT(int, sem_wait, (sem_t * s), (s))
CONTACT_AS(int, sem_trywait, (sem_t * s), (s), noexcept)
CONTACT_AS(int, pthread_barrier_wait, (pthread_barrier_t * b), (b), noexcept)

// open takes its mode only where it makes a file.
#define OPEN(name, parameters, arguments)                                                \
  extern "C" __attribute__((visibility("default"))) int name parameters {                \
    static auto* const real = next<int parameters>(#name);                               \
    va_list list;                                                                        \
    va_start(list, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0; \
    va_end(list);                                                                        \
    const int value = real arguments;                                                    \
    if (!is_own(CALLER)) fabricbench_note_hear();                                        \
    return value;                                                                        \
  }
OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
