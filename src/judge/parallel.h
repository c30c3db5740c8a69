#pragma once

// Jobs side by side, each in a process of its own: a session that goes wrong takes nothing with it, and two cores do
// two sessions.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace fb::judge {

// Runs job(0) … job(count - 1), at most `side_by_side` at once, and returns what each returned, as text. Jobs begin in
// order. When `is_last(k, text)` says so, jobs after k are not begun, or ended if they run: their text is empty. A job
// that died has returned an empty text, too. Jobs have SIGINT, SIGTERM and SIGHUP blocked, and end when one is pending,
// as launcher::run_program does. Throws Interrupted, when all have ended.
std::vector<std::string> run_jobs(size_t count, size_t side_by_side, const std::function<std::string(size_t)>& job,
                                  const std::function<bool(size_t, const std::string&)>& is_last);

}  // namespace fb::judge
