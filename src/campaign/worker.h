#pragma once

// A process that makes judgements: job file in, verdict file out. Executors start it, locally or on a cluster.

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace fb::campaign {

// Makes the judgement and writes the verdict file, unless it exists. Errors are infrastructure failures: no verdict
// file is written, and the job may be repeated.
Result<void> judge_job_file(const std::string& job_file);

// Answers each line of standard input, the path of a job file, by "done" or "failed <why>"; ends with the input.
int serve_lines();

// The jobs of a list, one path a line, by number from 0; more than there are end with the last one. All are tried; the
// result is the number of those that failed, each of which is explained on standard error.
Result<size_t> work_through(const std::string& list, size_t first, size_t count);

}  // namespace fb::campaign
