#include "common/sandbox/filter.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace fb::sandbox {
namespace {

enum class Act : uint8_t {
  allow,
  refuse,
  absent,
  ignore,
  end,
  threads,
  unix_only,
  not_shared,
  own_process,
  harmless,
  terminal,
  descriptors,
  ask,
};

struct Row {
  const char* name;
  Act rank, machine, build;
};

constexpr auto kRows = std::to_array<Row>({
#define CALL(name, rank, machine, build, why) {#name, Act::rank, Act::machine, Act::build},
#include "common/sandbox/calls.def"
#undef CALL
});

constexpr auto kTable = std::to_array<CallRow>({
#define CALL(name, rank, machine, build, why) {#name, #rank, #machine, #build, why},
#include "common/sandbox/calls.def"
#undef CALL
});

Act act_of(const Row& row, Filter filter) {
  return filter == Filter::rank ? row.rank : filter == Filter::machine ? row.machine : row.build;
}

void check(int status, const std::string& what) {
  if (status < 0) throw std::system_error(-status, std::generic_category(), "system call filter: " + what);
}

scmp_arg_cmp is(unsigned argument, scmp_datum_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp is_not(unsigned argument, scmp_datum_t value) { return {argument, SCMP_CMP_NE, value, 0}; }
scmp_arg_cmp has(unsigned argument, scmp_datum_t mask, scmp_datum_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

constexpr uint32_t kDefault = SCMP_ACT_ERRNO(ENOSYS);

// The rules of one call. libseccomp accepts several as long as no two can match at once; without a match the default
// applies.
class Rules {
 public:
  // `self`: the id of the process that will have the filter.
  Rules(scmp_filter_ctx context, const Row& row, pid_t self)
      : context_(context), name_(row.name), call_(seccomp_syscall_resolve_name(row.name)), self_(self) {}

  void add(Act act) {
    if (call_ < 0) return;  // not on this architecture
    switch (act) {
      case Act::allow:
        return always(SCMP_ACT_ALLOW);
      case Act::refuse:
        return always(SCMP_ACT_ERRNO(EPERM));
      case Act::absent:
        return;  // the default
      case Act::ignore:
        return always(SCMP_ACT_ERRNO(0));
      case Act::end:
        return always(SCMP_ACT_KILL_PROCESS);
      case Act::threads:
        when(SCMP_ACT_ALLOW, has(0, CLONE_THREAD, CLONE_THREAD));
        return when(SCMP_ACT_KILL_PROCESS, has(0, CLONE_THREAD, 0));
      case Act::unix_only:
        when(SCMP_ACT_ALLOW, is(0, AF_UNIX));
        return when(SCMP_ACT_KILL_PROCESS, is_not(0, AF_UNIX));
      case Act::not_shared:
        return not_shared();
      case Act::own_process: {
        const auto self = static_cast<scmp_datum_t>(self_);
        when(SCMP_ACT_ALLOW, is(0, self));
        return when(SCMP_ACT_KILL_PROCESS, is_not(0, self));
      }
      case Act::harmless:
        for (const int option : {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_DUMPABLE, PR_GET_TIMERSLACK,
                                 PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ}) {
          when(SCMP_ACT_ALLOW, is(0, static_cast<scmp_datum_t>(option)));
        }
        return;
      case Act::terminal:
        for (const int request : {TCGETS, TIOCGWINSZ, TIOCOUTQ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX}) {
          when(SCMP_ACT_ALLOW, is(1, static_cast<scmp_datum_t>(request)));
        }
        return;
      case Act::descriptors:
        for (const int command :
             {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS}) {
          when(SCMP_ACT_ALLOW, is(1, static_cast<scmp_datum_t>(command)));
        }
        return;
      case Act::ask:
        when(SCMP_ACT_ALLOW, is(0, 0xffffffff));
        return when(SCMP_ACT_KILL_PROCESS, is_not(0, 0xffffffff));
    }
  }

 private:
  void always(uint32_t action) { check(seccomp_rule_add(context_, action, call_, 0), name_); }
  void when(uint32_t action, scmp_arg_cmp condition) {
    check(seccomp_rule_add_array(context_, action, call_, 1, &condition), name_);
  }
  void not_shared() {
    constexpr scmp_datum_t kBoth = MAP_SHARED | MAP_ANONYMOUS;
    for (const scmp_datum_t bits : {scmp_datum_t{0}, scmp_datum_t{MAP_SHARED}, scmp_datum_t{MAP_ANONYMOUS}}) {
      when(SCMP_ACT_ALLOW, has(3, kBoth, bits));
    }
    when(SCMP_ACT_ERRNO(ENOMEM), has(3, kBoth, kBoth));
  }

  scmp_filter_ctx context_;
  std::string name_;
  int call_;
  pid_t self_;
};

}  // namespace

CompiledFilter compile(Filter filter, pid_t self) {
  if (filter == Filter::none) return {};
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> context(seccomp_init(kDefault), seccomp_release);
  if (!context) throw std::system_error(ENOMEM, std::generic_category(), "system call filter");
  // Calls of other architectures have other numbers: refuse them. A binary tree, because every call passes the filter.
  check(seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "architecture");
  check(seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "tree");
  for (const Row& row : kRows) Rules(context.get(), row, self).add(act_of(row, filter));
  const int file = memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "system call filter: memory");
  const int written = seccomp_export_bpf(context.get(), file);
  const off_t bytes = lseek(file, 0, SEEK_END);
  CompiledFilter compiled;
  static_assert(sizeof(sock_filter) == sizeof compiled.instructions[0]);
  compiled.instructions.resize(static_cast<size_t>(std::max<off_t>(bytes, 0)) / sizeof(sock_filter));
  const ssize_t got = pread(file, compiled.instructions.data(), static_cast<size_t>(bytes), 0);
  close(file);
  check(written, "export");
  if (bytes <= 0 || got != bytes) throw std::system_error(EIO, std::generic_category(), "system call filter: export");
  return compiled;
}

void load(const CompiledFilter& filter) {
  if (filter.instructions.empty()) return;
  // The kernel only reads it.
  auto* const first = reinterpret_cast<sock_filter*>(const_cast<uint64_t*>(filter.instructions.data()));
  const sock_fprog program{static_cast<unsigned short>(filter.instructions.size()), first};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    throw std::system_error(errno, std::generic_category(), "system call filter: load");
}

std::optional<Filter> filter_named(std::string_view name) {
  if (name == "none") return Filter::none;
  if (name == "rank") return Filter::rank;
  if (name == "machine") return Filter::machine;
  if (name == "build") return Filter::build;
  return std::nullopt;
}

std::span<const CallRow> call_table() { return kTable; }

}  // namespace fb::sandbox
