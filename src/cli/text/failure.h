#pragma once

// How a command says that it failed: lines on standard error, or with --json one object on standard output.

#include <string>
#include <vector>

#include "common/base/result.h"

namespace fb::cli {

// From here on failures are JSON: {"schema": 1, "error": {"messages": ["…"]}}.
void report_failures_as_json();
bool failures_are_json();

// Prints why; returns the exit code for wrong usage or input.
int fail(const std::vector<std::string>& messages);
int fail(const std::string& message);
int fail(const Errors& errors);
// The same on standard error, whatever the form: the command goes on.
void warn(const Errors& errors);

// Ends the program's output. Where some of it could not be written: says so where that is possible, and returns the
// exit code for it instead of `exit_code`. A reader that has closed its end of a pipe wants no message.
int finish(int exit_code);

}  // namespace fb::cli
