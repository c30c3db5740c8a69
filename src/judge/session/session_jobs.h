#pragma once

// Sessions side by side, each in a process of its own. What is no fault of the candidate is tried again: a process of
// ours that was killed, a machine that was lost, a full disk, a rank that a signal from outside may have ended.

#include <functional>
#include <string>
#include <vector>

#include "judge/session/outcome.h"
#include "judge/session/session.h"

namespace fb::judge {

// Of each session that fails because of us.
inline constexpr int kTries = 3;

// The outcomes in the order of the requests, as JSON; sessions after the first finding are not run, or stopped, and
// have empty texts. `on_end` is called for each session that counts. Throws Interrupted.
std::vector<std::string> run_sessions(const std::vector<SessionRequest>& requests, size_t side_by_side,
                                      const std::function<void()>& on_end = {});

}  // namespace fb::judge
