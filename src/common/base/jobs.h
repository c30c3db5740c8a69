#pragma once

// A fork pool: each job runs in a process of its own, so that a crash of one does not affect the others.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fb {

// SIGINT, SIGTERM and SIGHUP in the processes of jobs.
enum class JobSignals : uint8_t {
  held,       // blocked: the job itself looks for pending ones, as launcher::run_program does
  delivered,  // as in this process: by an InterruptionGuard's handler if there is one
};

// Runs job(0) … job(count - 1), at most `parallelism` at once, and returns the text that each returned. Jobs start in
// order. After is_last(k, text) has returned true, jobs after k are not started, and running ones get SIGTERM; their
// texts are empty. The text of a job that died is empty, too. is_last is called in this process, once for each job that
// ended, in the order in which they end. Throws Interrupted after all jobs have ended.
std::vector<std::string> run_jobs(size_t count, size_t parallelism, const std::function<std::string(size_t)>& job,
                                  const std::function<bool(size_t, const std::string&)>& is_last,
                                  JobSignals signals = JobSignals::held);

}  // namespace fb
