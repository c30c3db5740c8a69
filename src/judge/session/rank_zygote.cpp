#include "judge/session/rank_zygote.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "common/base/numbers.h"
#include "judge/catalog/libraries.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

struct Ends {
  UniqueFd ours, theirs;
};

// Messages keep their borders.
Ends make_ends() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

constexpr const char* kGone = "the process from which ranks are forked has ended";

// How the rank ended. When this is called, all processes that could write it have ended.
int read_end(int pipe) {
  std::array<char, 512> bytes{};
  ssize_t got = 0;
  while ((got = read(pipe, bytes.data(), bytes.size())) < 0 && errno == EINTR) continue;
  sandbox::RankEnd end;
  if (got < static_cast<ssize_t>(sizeof end)) return SIGKILL;  // a status: ended by this signal
  std::memcpy(&end, bytes.data(), sizeof end);
  const std::string_view text(bytes.data() + sizeof end, static_cast<size_t>(got) - sizeof end);
  if (end.error != 0) throw std::runtime_error("no sandbox for a rank: " + std::string(text));
  return end.status;
}

}  // namespace

RankZygote::RankZygote(const std::string& program, const std::vector<std::string>& libraries) {
  Ends ends = make_ends();
  socket_ = std::move(ends.ours);
  SpawnOptions start;
  start.command = {program, "--zygote", std::to_string(ends.theirs.get())};
  for (const std::string& name : libraries) start.command.emplace_back(catalog::find_library(name)->object);
  auto folder = toolchain::locate_libraries();
  if (!folder) throw std::runtime_error(folder.error().list[0].message);
  start.environment = {"LD_LIBRARY_PATH=" + *folder};
  start.err = STDERR_FILENO;
  start.inherited = {ends.theirs.get()};
  start.fixed_addresses = true;  // ranks are forks of it
  process_ = spawn(start);
}

RankZygote::~RankZygote() {
  socket_.reset();
  constexpr int kMilliseconds = 5000;
  pollfd ended{process_.handle(), POLLIN, 0};
  // Otherwise the end of process_ kills it, and what it has started follows.
  if (poll(&ended, 1, kMilliseconds) == 1) process_.reap();
}

ZygoteSession::ZygoteSession(const RankZygote& zygote) {
  Ends ends = make_ends();
  socket_ = std::move(ends.ours);
  const int theirs = ends.theirs.get();
  if (!sandbox::send_message(zygote.socket(), sandbox::kNewSession, {&theirs, 1})) throw std::runtime_error(kGone);
  ends.theirs.reset();
  auto answer = sandbox::receive_message(socket_.get());
  if (!answer) throw std::runtime_error(kGone);
  if (answer->descriptors.size() != 1) throw std::runtime_error("cannot make a user namespace: " + answer->bytes);
  user_namespace_ = std::move(answer->descriptors[0]);
}

ZygoteSession::~ZygoteSession() {
  shutdown(socket_.get(), SHUT_WR);
  while (sandbox::receive_message(socket_.get())) continue;
}

Child ZygoteSession::start(const sandbox::RankOrder& order, int out, int err) {
  Pipe end = make_pipe();
  const std::array<int, 3> descriptors = {out, err, end.writer.get()};
  if (!sandbox::send_message(socket_.get(), to_bytes(order), descriptors)) throw std::runtime_error(kGone);
  auto answer = sandbox::receive_message(socket_.get());
  if (!answer) throw std::runtime_error(kGone);
  const auto id = as_number<pid_t>(answer->bytes);
  if (!id || answer->descriptors.size() != 1) throw std::runtime_error("cannot start a rank: " + answer->bytes);
  // std::function wants to be copied.
  auto reader = std::make_shared<UniqueFd>(std::move(end.reader));
  return adopt(*id, std::move(answer->descriptors[0]), [reader] { return read_end(reader->get()); });
}

}  // namespace fb::judge
