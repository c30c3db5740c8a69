#include "common/sandbox/cell.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace fb::sandbox {
namespace {

constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;
constexpr const char* kHostName = "fabricbench";

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

void must(bool good, const std::string& what) {
  if (!good) fail(what);
}

// Names inside begin with a slash; until the root is changed they are relative to the working directory.
std::string here(const std::string& inside) { return "." + inside; }

void make_parents(const std::string& path) {
  for (size_t at = path.find('/', 2); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    must(mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST, "mkdir " + folder);
  }
}

UniqueFd create(const std::string& inside, mode_t mode) {
  const std::string path = here(inside);
  make_parents(path);
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  must(static_cast<bool>(file), "create " + inside);
  return file;
}

void mount_files(const std::string& at, uint64_t bytes, const char* mode) {
  const std::string options = "size=" + std::to_string(bytes) + ",mode=" + mode;
  must(mount("tmpfs", at.c_str(), "tmpfs", kPlain, options.c_str()) == 0, "mount tmpfs at " + at);
}

constexpr auto kMountFlags = std::to_array<std::pair<unsigned long, unsigned long>>({{ST_NOSUID, MS_NOSUID},
                                                                                     {ST_NODEV, MS_NODEV},
                                                                                     {ST_NOEXEC, MS_NOEXEC},
                                                                                     {ST_NOATIME, MS_NOATIME},
                                                                                     {ST_NODIRATIME, MS_NODIRATIME},
                                                                                     {ST_RELATIME, MS_RELATIME}});

// Read-only: devices and sockets can be used all the same, but not changed.
enum class Missing : uint8_t { refused, allowed };

void bind(const std::string& from, const std::string& inside, Missing missing = Missing::refused) {
  create(inside, 0644);
  const std::string at = here(inside);
  if (mount(from.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    if (errno == ENOENT && missing == Missing::allowed && unlink(at.c_str()) == 0) return;
    fail("bind " + from);
  }
  struct statvfs facts{};
  must(statvfs(at.c_str(), &facts) == 0, "statvfs " + from);
  // Flags that the host's mount has stay: to clear one is refused.
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  for (const auto& [has, flag] : kMountFlags) flags |= (facts.f_flag & has) != 0 ? flag : 0;
  must(mount(nullptr, at.c_str(), nullptr, flags, nullptr) == 0, "make " + inside + " read-only");
}

void copy(const std::string& from, const std::string& inside) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  must(static_cast<bool>(source), "open " + from);
  const UniqueFd target = create(inside, 0555);
  constexpr size_t kAtOnce = 1u << 30;
  ssize_t sent = 0;
  while ((sent = sendfile(target.get(), source.get(), nullptr, kAtOnce)) > 0) continue;
  must(sent == 0, "copy " + from);
}

uint64_t bytes_of(const std::string& path) {
  struct stat facts{};
  must(stat(path.c_str(), &facts) == 0, "stat " + path);
  return static_cast<uint64_t>(facts.st_size);
}

void make_files(const RankOrder& order) {
  must(mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0, "separate mounts");
  constexpr uint64_t kFolders = 256u << 10, kPage = 4096;
  uint64_t bytes = kFolders;
  for (const auto& [from, to] : order.files) bytes += bytes_of(from) + kPage;
  mount_files(order.folder, bytes, "0755");
  must(chdir(order.folder.c_str()) == 0, "chdir");
  for (const auto& [from, to] : order.files) copy(from, to);
  for (const std::string name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    bind(name, name);
  // Another rank may have ended the run, and the machine has removed its sockets: the rank will not reach it, and end.
  if (!order.socket.first.empty()) bind(order.socket.first, order.socket.second, Missing::allowed);
  must(mkdir("tmp", 0700) == 0, "mkdir /tmp");
  mount_files("tmp", order.tmp_bytes, "0700");
  // The old root is mounted over the new one, and leaves.
  must(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
  must(umount2(".", MNT_DETACH) == 0, "leave the host's files");
  must(chdir("/") == 0, "chdir /");
  must(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kPlain, nullptr) == 0, "make / read-only");
}

void drop_capabilities() {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    must(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0, "drop a capability");
  must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0, "drop ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  must(syscall(SYS_capset, &header, none.data()) == 0, "drop capabilities");
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
}

}  // namespace

void enter_cell(const RankOrder& order) {
  make_files(order);
  must(sethostname(kHostName, std::char_traits<char>::length(kHostName)) == 0, "host name");
  drop_capabilities();
  // The machine, which has the same user namespace and no capabilities either, looks what system call a thread is in.
  must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "dumpable");
}

}  // namespace fb::sandbox
