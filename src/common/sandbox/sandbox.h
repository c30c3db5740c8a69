#pragma once

// What untrusted programs can see and do: namespaces by bubblewrap from outside, and limits and a filter of system
// calls that a program of ours puts on itself before it lets anything untrusted in.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/sandbox/confine.h"

namespace fb::sandbox {

// A file or a folder of the host, under a name inside.
struct Bind {
  std::string from, to;
  bool writable = false;
};

// A sandbox contains the system's programs and libraries, read-only (/usr and its links, of /etc only the loader's
// cache), /dev with null, zero, full, random and urandom, an empty /tmp, and `binds`. Nothing else of the host is
// visible: no files, network, processes or environment. Descriptors that the command inherits stay open.
struct Policy {
  std::vector<Bind> binds = {};          // in order: a later one may be inside an earlier one
  std::vector<std::string> hidden = {};  // folders that appear empty; binds are mounted after them
  std::map<std::string, std::string> environment = {};
  std::string working_directory = "/";
  uint64_t tmp_bytes = 64u << 20;
  bool share_process_ids = false;  // it sees the host's process ids, also through SO_PEERCRED
  bool proc = false;               // /proc: its own, or the host's, read-only, with share_process_ids
  int user_namespace = -1;         // descriptor of one that others share (user_namespace.h); -1: its own
};

// How this host can make a sandbox.
struct SandboxSupport {
  std::string bubblewrap;        // path
  bool root = false;             // we are root
  bool user_namespaces = false;  // always true without root
};

// Runs bubblewrap once in the life of the process. Two errors: what is missing, and what helps. Throws Interrupted.
Result<SandboxSupport> probe();

// Where user namespaces or mounts are refused: what an administrator must change, as far as this host tells.
std::string what_helps();

// The path of fabricbench-confine, which takes limits, a filter and a command: $FABRICBENCH_CONFINE, else beside the
// running program.
Result<std::string> find_confine();

// The command line that runs `command` (command[0] is a path inside the sandbox). Its exit code is the command's, or
// 128 + signal number if a signal ended the command. The sandbox ends with the thread that started it, and everything
// in it ends with the sandbox. To end it at any moment, also during set-up, kill its process group.
std::vector<std::string> wrap(const SandboxSupport& support, const Policy& policy, std::vector<std::string> command);

}  // namespace fb::sandbox
