// /sys of the virtual node. What a program asks about PCI devices and NUMA nodes by a path below /sys is answered from
// the folder $FABRICBENCH_SYSFS, which the launcher has filled; everything else of /sys is the host's. The C library's
// functions that take a path are replaced by name, so that no privilege is needed and every computer behaves alike;
// system calls that a program makes by itself, and paths relative to an open folder, see the host's.

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace {

constexpr const char* kSys = "/sys";
constexpr size_t kSysLength = 4;

bool is_below(const char* path, const char* folder) {
  const size_t length = std::strlen(folder);
  return std::strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Whole folders of ours: what is not in them does not exist on the virtual node.
bool is_ours(const char* path) {
  return is_below(path, "/sys/bus/pci") || is_below(path, "/sys/class/pci_bus") ||
         is_below(path, "/sys/devices/system/node");
}

// A path as the host's file system knows it.
class HostPath {
 public:
  explicit HostPath(const char* path) : path_(path) {
    if (!path || std::strncmp(path, "/sys/", kSysLength + 1) != 0) return;
    const char* const folder = std::getenv("FABRICBENCH_SYSFS");
    if (!folder) return;
    const int before = errno;
    const int length = std::snprintf(text_, sizeof text_, "%s%s", folder, path + kSysLength);
    if (length < 0 || static_cast<size_t>(length) >= sizeof text_) return;
    const bool device = std::strncmp(path, "/sys/devices/pci", 16) == 0;
    if (is_ours(path) || (device && syscall(SYS_access, text_, F_OK) == 0)) path_ = text_;
    errno = before;
  }
  HostPath(const HostPath&) = delete;
  HostPath& operator=(const HostPath&) = delete;

  const char* get() const { return path_; }
  bool is_replaced() const { return path_ == text_; }

 private:
  const char* path_;
  char text_[PATH_MAX];
};

// The function of that name that this library's replaces.
template <class Pointer>
Pointer next(std::atomic<Pointer>& known, const char* name) {
  Pointer found = known.load(std::memory_order_relaxed);
  if (!found) {
    found = reinterpret_cast<Pointer>(dlsym(RTLD_NEXT, name));
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

// The resolved path of a replaced one begins with the folder; programs expect /sys.
char* as_sys(char* resolved) {
  char folder[PATH_MAX];
  const char* const named = std::getenv("FABRICBENCH_SYSFS");
  static std::atomic<char* (*)(const char*, char*)> real{nullptr};
  if (!resolved || !named || !next(real, "realpath")(named, folder)) return resolved;
  if (!is_below(resolved, folder)) return resolved;
  const char* const rest = resolved + std::strlen(folder);
  std::memmove(resolved + kSysLength, rest, std::strlen(rest) + 1);
  std::memcpy(resolved, kSys, kSysLength);
  return resolved;
}

}  // namespace

// Names are given apart, because the C library's headers have inline definitions of some.
#define REPLACE(result, ours, name, ...)                                             \
  extern "C" [[gnu::visibility("default")]] result ours(__VA_ARGS__) __asm__(#name); \
  extern "C" result ours(__VA_ARGS__)
#define NEXT(name, ...)                                                 \
  ({                                                                    \
    static std::atomic<std::add_pointer_t<__VA_ARGS__>> known{nullptr}; \
    next(known, #name);                                                 \
  })

#define REPLACE_OPEN(name)                                                            \
  REPLACE(int, sys_##name, name, const char* path, int flags, ...) {                  \
    va_list more;                                                                     \
    va_start(more, flags);                                                            \
    const mode_t mode = va_arg(more, mode_t);                                         \
    va_end(more);                                                                     \
    return NEXT(name, int(const char*, int, ...))(HostPath(path).get(), flags, mode); \
  }
REPLACE_OPEN(open)
REPLACE_OPEN(open64)

#define REPLACE_OPENAT(name)                                                                       \
  REPLACE(int, sys_##name, name, int folder, const char* path, int flags, ...) {                   \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    const mode_t mode = va_arg(more, mode_t);                                                      \
    va_end(more);                                                                                  \
    return NEXT(name, int(int, const char*, int, ...))(folder, HostPath(path).get(), flags, mode); \
  }
REPLACE_OPENAT(openat)
REPLACE_OPENAT(openat64)

// Functions of one path that is their first parameter.
#define REPLACE1(result, name) \
  REPLACE(result, sys_##name, name, const char* path) { return NEXT(name, result(const char*))(HostPath(path).get()); }
#define REPLACE2(result, name, Second)                                            \
  REPLACE(result, sys_##name, name, const char* path, Second second) {            \
    return NEXT(name, result(const char*, Second))(HostPath(path).get(), second); \
  }
#define REPLACE3(result, name, Second, Third)                                                   \
  REPLACE(result, sys_##name, name, const char* path, Second second, Third third) {             \
    return NEXT(name, result(const char*, Second, Third))(HostPath(path).get(), second, third); \
  }
#define REPLACE4(result, name, Second, Third, Fourth)                                                           \
  REPLACE(result, sys_##name, name, const char* path, Second second, Third third, Fourth fourth) {              \
    return NEXT(name, result(const char*, Second, Third, Fourth))(HostPath(path).get(), second, third, fourth); \
  }

REPLACE2(int, __open_2, int)
REPLACE2(int, __open64_2, int)
REPLACE2(FILE*, fopen, const char*)
REPLACE2(FILE*, fopen64, const char*)
REPLACE1(DIR*, opendir)
REPLACE4(int, scandir, void*, void*, void*)
REPLACE4(int, scandir64, void*, void*, void*)
REPLACE2(int, access, int)
REPLACE2(int, stat, struct stat*)
REPLACE2(int, stat64, struct stat64*)
REPLACE2(int, lstat, struct stat*)
REPLACE2(int, lstat64, struct stat64*)
REPLACE3(ssize_t, readlink, char*, size_t)
REPLACE4(ssize_t, __readlink_chk, char*, size_t, size_t)

// The forms with a folder that absolute paths do not use.
#define REPLACE_AT(name, Third, Fourth)                                                                   \
  REPLACE(int, sys_##name, name, int folder, const char* path, Third third, Fourth fourth) {              \
    return NEXT(name, int(int, const char*, Third, Fourth))(folder, HostPath(path).get(), third, fourth); \
  }
REPLACE_AT(fstatat, struct stat*, int)
REPLACE_AT(fstatat64, struct stat64*, int)
REPLACE_AT(faccessat, int, int)

REPLACE(int, sys_statx, statx, int folder, const char* path, int flags, unsigned int mask, struct statx* facts) {
  return NEXT(statx, int(int, const char*, int, unsigned int, struct statx*))(folder, HostPath(path).get(), flags, mask,
                                                                              facts);
}

REPLACE(char*, sys_realpath, realpath, const char* path, char* resolved) {
  const HostPath host(path);
  char* const found = NEXT(realpath, char*(const char*, char*))(host.get(), resolved);
  return host.is_replaced() ? as_sys(found) : found;
}
REPLACE(char*, sys_realpath_chk, __realpath_chk, const char* path, char* resolved, size_t room) {
  const HostPath host(path);
  char* const found = NEXT(__realpath_chk, char*(const char*, char*, size_t))(host.get(), resolved, room);
  return host.is_replaced() ? as_sys(found) : found;
}
REPLACE(char*, sys_canonicalize, canonicalize_file_name, const char* path) {
  const HostPath host(path);
  char* const found = NEXT(canonicalize_file_name, char*(const char*))(host.get());
  return host.is_replaced() ? as_sys(found) : found;
}
