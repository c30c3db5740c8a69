// What a program inside a sandbox tries to do: `sandbox_prisoner FILTER ACTION [ARGUMENT]`. It says "done" where it
// could, else the system's message.

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/sandbox/confine.h"

namespace {

int fd_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0 ? 0 : -1; }

int open_and_close(const char* path, int flags) {
  const int fd = open(path, flags, 0600);
  if (fd >= 0) close(fd);
  return fd;
}

int unix_socket() {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{AF_UNIX, "/tmp/socket"};
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  if (bind(listener, address, sizeof name) != 0 || listen(listener, 1) != 0) return -1;
  return connect(client, address, sizeof name);
}

int connect_to_port(int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<const sockaddr*>(&name), sizeof name);
}

int shared_memfd() {
  const int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ftruncate(fd, 1 << 16) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return -1;
  void* const place = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const memory = mmap(place, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) return -1;
  *static_cast<volatile int*>(memory) = 1;
  return 0;
}

int use_threads() {
  int sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&sum] { __atomic_fetch_add(&sum, 1, __ATOMIC_SEQ_CST); });
  for (auto& thread : threads) thread.join();
  return sum == 4 ? 0 : -1;
}

// Children that wait, until no more can be made; says how many there were.
int fork_many(int most) {
  int made = 0;
  for (; made < most; ++made) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) break;
  }
  std::printf("%d children\n", made);
  return made == most ? 0 : -1;
}

int touch_memory(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  std::memset(memory, 1, bytes);
  return 0;
}

int write_bytes(size_t bytes) {
  const int fd = open("/tmp/large", O_WRONLY | O_CREAT, 0600);
  const std::vector<char> block(1 << 16);
  for (size_t done = 0; done < bytes; done += block.size()) {
    if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return -1;
  }
  return 0;
}

int count_processes() {
  int count = 0;
  DIR* const folder = opendir("/proc");
  if (!folder) return -1;
  while (const dirent* entry = readdir(folder)) count += std::atoi(entry->d_name) > 0 ? 1 : 0;
  closedir(folder);
  std::printf("%d processes\n", count);
  return 0;
}

int print_environment() {
  for (char** entry = environ; *entry; ++entry) std::printf("%s\n", *entry);
  return 0;
}

int print_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  char text[4096];
  const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);
  if (got >= 0) std::printf("%.*s\n", static_cast<int>(got), text);
  return got < 0 ? -1 : 0;
}

int exec_itself() {
  char* const arguments[] = {const_cast<char*>("/bin/true"), nullptr};
  return execv(arguments[0], arguments);
}

int attach() { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0 ? 0 : -1; }

}  // namespace

int main(int argc, char** argv) {
  const std::string argument = argc > 3 ? argv[3] : "";
  const int number = std::atoi(argument.c_str());
  const std::map<std::string, std::function<int()>> actions = {
      {"nothing", [] { return 0; }},
      {"threads", use_threads},
      {"memfd", shared_memfd},
      {"unix", unix_socket},
      {"load", [&] { return dlopen(argument.c_str(), RTLD_NOW) ? 0 : -1; }},
      {"abort", []() -> int { std::abort(); }},
      {"terminal", [] { return isatty(0) == 0 && errno == ENOSYS ? -1 : 0; }},
      {"name", [] { return prctl(PR_SET_NAME, "renamed"); }},
      {"fork", [] { return fork(); }},
      {"clone3",
       [] {
         clone_args how{};
         how.exit_signal = SIGCHLD;
         return static_cast<int>(syscall(SYS_clone3, &how, sizeof how));
       }},
      {"vfork", [] { return static_cast<int>(syscall(SYS_vfork)); }},
      {"spawn", [] { return std::system("true"); }},
      {"exec", exec_itself},
      {"inet", [] { return socket(AF_INET, SOCK_STREAM, 0); }},
      {"netlink", [] { return socket(AF_NETLINK, SOCK_RAW, 0); }},
      {"connect", [&] { return connect_to_port(number); }},
      {"read", [&] { return open_and_close(argument.c_str(), O_RDONLY); }},
      {"print", [&] { return print_file(argument); }},
      {"write", [&] { return open_and_close(argument.c_str(), O_WRONLY | O_CREAT); }},
      {"ptrace", attach},
      {"kill", [&] { return kill(number, SIGKILL); }},
      {"processes", count_processes},
      {"environment", print_environment},
      {"descriptor", [&] { return fd_is_open(number); }},
      {"memory", [&] { return touch_memory(static_cast<size_t>(number) << 20); }},
      {"shared",
       [] { return mmap(nullptr, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0; }},
      {"file", [&] { return write_bytes(static_cast<size_t>(number) << 20); }},
      {"forks", [&] { return fork_many(number); }},
      {"unshare", [] { return unshare(CLONE_NEWUSER); }},
      {"seccomp", [] { return static_cast<int>(syscall(SYS_seccomp, 0, 0, nullptr)); }},
      {"personality", [] { return personality(ADDR_NO_RANDOMIZE); }},
      {"undumpable", [] { return prctl(PR_SET_DUMPABLE, 0); }},
      {"uring", [] { return static_cast<int>(syscall(SYS_io_uring_setup, 1, nullptr)); }},
      {"sleep", [] { return static_cast<int>(sleep(60)); }},
      {"spin",
       []() -> int {
         const volatile bool for_ever = true;  // a loop that no compiler leaves out
         while (for_ever) continue;
         return 0;
       }},
  };
  const auto filter = argc > 2 ? fb::sandbox::filter_named(argv[1]) : std::nullopt;
  const auto action = argc > 2 ? actions.find(argv[2]) : actions.end();
  if (!filter || action == actions.end()) return 99;
  if (*filter != fb::sandbox::Filter::none) fb::sandbox::confine({}, *filter);
  if (action->second() < 0) {
    std::printf("%s\n", std::strerror(errno));
    return 1;
  }
  std::printf("done\n");
  return 0;
}
