#include "ranks/rank/zygote.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/unique_fd.h"
#include "common/sandbox/cell.h"
#include "common/sandbox/filter.h"
#include "common/sandbox/user_namespace.h"
#include "common/sandbox/zygote_link.h"
#include "ranks/rank/own_pages.h"

namespace fb::rank {
namespace {

using sandbox::enter_cell;
using sandbox::kCellNamespaces;
using sandbox::Message;
using sandbox::RankOrder;

// A rank is the second process of its namespace.
constexpr pid_t kRank = 2;
// Where the first process of a rank keeps the pipe for the rank's end.
constexpr int kEndDescriptor = 3;

// Libraries that a candidate may be linked with (judge/build/forbidden_symbols.def), by all names: in a cell there are
// no files of them.
constexpr auto kLibraries = std::to_array<const char*>(
    {"libcudart.so.13", "libcuda.so.1", "libcudart.so", "libcuda.so", "libc.so.6", "libm.so.6", "libstdc++.so.6",
     "libgcc_s.so.1", "libpthread.so.0", "librt.so.1", "libdl.so.2", "libfmt.so.9", "ld-linux-x86-64.so.2"});

[[noreturn]] void leave(std::string_view what) {
  std::fprintf(stderr, "fabricbench-rank: zygote: %.*s\n", static_cast<int>(what.size()), what.data());
  _exit(1);
}

void reap(int options) {
  pid_t ended = 0;
  do ended = waitpid(-1, nullptr, options);
  while (ended > 0 || (ended < 0 && errno == EINTR));
}

// Ranks get their own; this one's text would stay in their memory.
void forget_environment() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    explicit_bzero(*variable, std::strlen(*variable));
  clearenv();
}

// Ends with its parent, also if that has ended already.
void follow_parent(pid_t parent_was) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent_was) _exit(1);
}

// The first process of a rank's namespaces: with it all others end. Its own memory is that of the zygote.
[[noreturn]] void wait_for_rank(pid_t rank) {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(standard);
  sandbox::RankEnd end;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended != rank && ended > 0) continue;
    end.status = status;
    _exit(ended == rank && write(kEndDescriptor, &end, sizeof end) == sizeof end ? 0 : 1);
  }
}

[[noreturn]] void report_failure(const std::system_error& failed) {
  const sandbox::RankEnd end{.status = 0, .error = failed.code().value() == 0 ? EIO : failed.code().value()};
  std::array<char, 512> bytes{};
  std::memcpy(bytes.data(), &end, sizeof end);
  const std::string_view text = failed.what();
  const size_t shown = text.copy(bytes.data() + sizeof end, bytes.size() - sizeof end);
  _exit(write(kEndDescriptor, bytes.data(), sizeof end + shown) > 0 ? 0 : 1);
}

// Standard descriptors and the pipe; nothing else stays open.
void take_descriptors(const std::vector<UniqueFd>& received) {
  // In this order none takes the place of one that is still needed: the zygote has standard descriptors of its own, so
  // that all received ones are above.
  const bool good = dup2(received[0].get(), STDOUT_FILENO) >= 0 && dup2(received[1].get(), STDERR_FILENO) >= 0 &&
                    dup2(received[2].get(), kEndDescriptor) >= 0;
  if (!good) _exit(1);
  close_range(kEndDescriptor + 1, ~0u, 0);
}

// Returns in the rank.
void live_in_cell(const RankOrder& order, const std::vector<UniqueFd>& received) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Its parent is in another namespace: 0 either way. The session's process looks after those that it has started.
  take_descriptors(received);
  try {
    enter_cell(order);
    const pid_t rank = fork();
    if (rank < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (rank > 0) wait_for_rank(rank);
  } catch (const std::system_error& e) {
    report_failure(e);
  }
  close(kEndDescriptor);
  // That of the cell, which is read-only: a descriptor of the host's would let a rank of root change the device.
  const UniqueFd null(open("/dev/null", O_RDONLY));
  if (!null || dup2(null.get(), STDIN_FILENO) < 0) leave("/dev/null");
  const rlimit data{order.data_bytes, order.data_bytes};
  if (order.data_bytes != 0 && setrlimit(RLIMIT_DATA, &data) != 0) leave("limit of memory");
  clearenv();
  for (const auto& [name, value] : order.variables) setenv(name.c_str(), value.c_str(), 1);
}

// Returns in a rank.
std::vector<std::string> serve_session(UniqueFd judge) {
  const int why = sandbox::enter_user_namespace();
  const UniqueFd user(why == 0 ? open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC) : -1);
  if (user) {
    const int descriptor = user.get();
    sandbox::send_message(judge.get(), "ready", {&descriptor, 1});
  } else {
    sandbox::send_message(judge.get(), std::generic_category().message(why != 0 ? why : errno), {});
  }
  std::vector<pid_t> started;
  while (std::optional<Message> message = sandbox::receive_message(judge.get())) {
    std::optional<RankOrder> order = sandbox::order_from(message->bytes);
    if (!order || message->descriptors.size() != 3) break;
    int handle = -1;
    // Not fork(), which can make no namespaces. The child calls nothing that needs to know its thread's number before
    // it forks.
    const auto make = [&](int namespaces) {
      return static_cast<pid_t>(
          syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, nullptr, &handle, nullptr, nullptr));
    };
    pid_t child = make(kCellNamespaces);
    if (child < 0 && errno == EINVAL) child = make(kCellNamespaces & ~CLONE_NEWCGROUP);  // a kernel without
    if (child == 0) {
      live_in_cell(*order, message->descriptors);
      return std::move(order->arguments);
    }
    if (child < 0) {
      sandbox::send_message(judge.get(), "cannot fork: " + std::generic_category().message(errno), {});
      continue;
    }
    setpgid(child, child);
    started.push_back(child);
    const UniqueFd owned(handle);
    if (!sandbox::send_message(judge.get(), std::to_string(child), {&handle, 1})) break;
  }
  // None was reaped: their numbers are still theirs.
  for (const pid_t child : started) kill(child, SIGKILL);
  reap(0);
  _exit(0);
}

}  // namespace

Forked serve_as_zygote(int control, std::span<const std::string> libraries) {
  static sandbox::CompiledFilter filter;
  UniqueFd judge(control);
  try {
    for (const char* name : kLibraries) dlopen(name, RTLD_NOW | RTLD_LOCAL);  // what a system lacks no candidate needs
    for (const std::string& name : libraries) {
      if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) leave("cannot load " + name);
    }
    forget_environment();
    filter = sandbox::compile(sandbox::Filter::rank, kRank);
    own_all_pages();
  } catch (const std::exception& e) {
    leave(e.what());
  }
  const pid_t self = getpid();
  while (std::optional<Message> message = sandbox::receive_message(judge.get())) {
    if (message->bytes != sandbox::kNewSession || message->descriptors.size() != 1)
      leave("a message is not understood");
    const pid_t session = fork();
    if (session == 0) {
      follow_parent(self);
      judge.reset();
      return {serve_session(std::move(message->descriptors[0])), &filter};
    }
    reap(WNOHANG);
  }
  reap(0);
  _exit(0);
}

}  // namespace fb::rank
