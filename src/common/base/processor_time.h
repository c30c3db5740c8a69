#pragma once

// Processor time in seconds, user and system together.

#include <sys/types.h>

namespace fb {

// Of the calling thread.
double thread_seconds();

// Of a process with all its threads, those that have ended included; 0: this one. 0.0 where there is no such process.
double process_seconds(pid_t process = 0);

// Of the children of this process that were reaped, and of what these have reaped.
double reaped_seconds();

// Of this process and of what it has reaped.
inline double all_seconds() { return process_seconds() + reaped_seconds(); }

}  // namespace fb
