#pragma once

// What a judge and its zygote say to each other. The zygote (ranks/rank/zygote.h) is a process that has loaded what
// every rank needs. For each session it forks a process that makes a user namespace, and that forks the session's
// ranks, each into namespaces of its own. Depends on no other layer but headers of base, so that small programs can use
// it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"

namespace fb::sandbox {

// How a rank is started. Inside, names begin with a slash.
struct RankOrder {
  std::string folder = {};                                      // of the host: its file system is mounted over this
  std::vector<std::pair<std::string, std::string>> files = {};  // of the host, and the names inside of their copies
  std::pair<std::string, std::string> socket = {};              // of the host, and its name inside
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::string> arguments = {};  // options of fabricbench-rank
  uint64_t tmp_bytes = 0;                   // of its /tmp
  uint64_t data_bytes = 0;                  // private memory; 0: no limit
};
std::string to_bytes(const RankOrder& order);
std::optional<RankOrder> order_from(std::string_view bytes);

// One message with descriptors, over a socket that keeps the borders of messages.
struct Message {
  std::string bytes = {};
  std::vector<UniqueFd> descriptors = {};
};
inline constexpr size_t kMostDescriptors = 4;
inline constexpr size_t kMostMessage = 64u << 10;

bool send_message(int socket, std::string_view bytes, std::span<const int> descriptors);
// None: the other end is closed, or failed. Descriptors are close-on-exec.
std::optional<Message> receive_message(int socket);

// To the zygote: a socket, at whose other end a session is. From the session's process: a user namespace, or nothing
// but text if there is none. Then orders, with the rank's output, its error output, and a pipe for its end (RankEnd);
// each is answered with the rank's process id, as text, and a handle of the process (pidfd).
inline constexpr std::string_view kNewSession = "session";

// What comes out of the pipe at the end of a rank: the status as waitpid gives it; or why its sandbox could not be
// made, followed by text that says what failed. Nothing: all its processes were killed.
struct RankEnd {
  int32_t status = 0;
  int32_t error = 0;
};

}  // namespace fb::sandbox
