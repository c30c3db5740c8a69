#pragma once

// What the machine is told of failed calls, and what cudaGetLastError gives.

#include <expected>
#include <string>

#include "common/wire/channel.h"
#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// Remembers a failure for cudaGetLastError and returns it: how every function of the runtime API ends. The machine is
// told of a function's first failure: programs often ignore it, and then it explains what goes wrong later.
Error record(Error error, const char* function = __builtin_FUNCTION());
// The same for a launch of kernel `name`, whose grid and blocks `launch` describes, or of a graph (no name). Such a
// failure is always told: a program that ignores it ends well without having done its work.
Error record_launch(Error error, const std::string& launch, const std::string& name = {});
// Tells of it and leaves no error behind: how launches of the driver API end.
Error tell_launch(Error error, const std::string& launch, const std::string& name = {});
// The same for work of a library, where the machine wants to know; `where`: the line of the call.
void tell_work(const std::string& what, const std::string& where);
// What host functions had to tell: they must not call the machine. By the thread that runs them, in between.
void tell_deferred(wire::Channel& channel);

// The answer of a call that is declared and not real. The machine counts it by name, once per process.
Error not_supported(const char* function);

// Says on standard error and in the run's record what is wrong with the program, and gives `error`.
// tell_module: device code that can't be used.
std::unexpected<Error> tell_module(const std::string& problem, Error error);
std::unexpected<Error> tell_problem(const std::string& problem, Error error);

}  // namespace fb::shim
