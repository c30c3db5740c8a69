#pragma once

// The process from which the ranks of a verdict are forked (ranks/rank/zygote.h), as seen from the judge.

#include <string>

#include "common/base/process.h"
#include "common/base/unique_fd.h"
#include "common/sandbox/zygote_link.h"

namespace fb::judge {

// One for all sessions of a verdict. Processes that are forked from this one can use it.
class RankZygote {
 public:
  // Starts `program`, fabricbench-rank; it gets ready meanwhile. Ranks have the `libraries`
  // (judge/catalog/libraries.h). Throws std::runtime_error.
  RankZygote(const std::string& program, const std::vector<std::string>& libraries);
  // Waits until it has ended, and all that it has started.
  ~RankZygote();
  RankZygote(const RankZygote&) = delete;
  RankZygote& operator=(const RankZygote&) = delete;

  int socket() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  Child process_;
};

// The ranks of one session: a process that the zygote forks for it, with a user namespace.
class ZygoteSession {
 public:
  // Throws std::runtime_error.
  explicit ZygoteSession(const RankZygote& zygote);
  // Whatever it has started is gone afterwards.
  ~ZygoteSession();
  ZygoteSession(const ZygoteSession&) = delete;
  ZygoteSession& operator=(const ZygoteSession&) = delete;

  // That of the ranks; for processes that watch them. Close-on-exec.
  int user_namespace() const { return user_namespace_.get(); }

  // `out`, `err`: where the rank writes. Must be reaped before this object ends: to reap a rank whose sandbox could not
  // be made throws std::system_error. Throws std::runtime_error.
  Child start(const sandbox::RankOrder& order, int out, int err);

 private:
  UniqueFd socket_, user_namespace_;
};

}  // namespace fb::judge
