#pragma once

// What untrusted programs can see and do: namespaces by bubblewrap from outside, and limits and a filter of system
// calls that a program of ours puts on itself before it lets anything untrusted in.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/confine.h"

namespace fb::sandbox {

// A file or a folder of the host, under a name inside.
struct Bind {
  std::string from, to;
  bool writable = false;
};

// Inside there are: the system's programs and libraries, read-only (/usr and what belongs to it, no /etc but the
// loader's cache), /dev with null, zero, full, random and urandom, an empty /tmp, and `binds`. The rest of the host
// does not exist: no files, no network, no processes, no environment. Descriptors that the command inherits stay open.
struct Policy {
  std::vector<Bind> binds = {};          // in order: a later one may lie in an earlier one
  std::vector<std::string> hidden = {};  // folders that look empty where they are in a visible one; binds come after
  std::map<std::string, std::string> environment = {};
  std::string working_directory = "/";
  uint64_t tmp_bytes = 64u << 20;
  bool share_process_ids = false;  // it sees the host's process ids, and may be told them by SO_PEERCRED
  bool proc = false;               // /proc: its own, or where it shares process ids the host's, read-only
  int user_namespace = -1;         // descriptor of a UserNamespace that it shares with others; -1: one of its own
};

// How this host can make a sandbox.
struct SandboxSupport {
  std::string bubblewrap;        // path
  bool root = false;             // we are root
  bool user_namespaces = false;  // always, unless we are root
};

// Runs bubblewrap once in the life of the process. Errors name what is missing and how to get it. Throws Interrupted.
Result<SandboxSupport> probe();

// The path of fabricbench-confine, which takes limits, a filter and a command: $FABRICBENCH_CONFINE, else beside the
// running program.
Result<std::string> find_confine();

// The command line that runs `command` (command[0] is a path inside) in a sandbox. Its exit code is the command's, 128
// + number where a signal ended the command. It ends when the thread that started it does, and everything in it ends
// with it. To end it at any moment, even while it is being set up, start it in a process group and kill the group.
std::vector<std::string> wrap(const SandboxSupport& support, const Policy& policy, std::vector<std::string> command);

// A user namespace that sandboxes may share. Of two processes that have the same one, and no capabilities, one may look
// at the other in /proc (what system call it is in) if it can see its process id. The descriptor is close-on-exec: a
// sandbox that uses it names it in SpawnOptions::inherited.
class UserNamespace {
 public:
  // Throws std::system_error.
  UserNamespace();

  int descriptor() const { return descriptor_.get(); }

 private:
  UniqueFd descriptor_;
};

}  // namespace fb::sandbox
