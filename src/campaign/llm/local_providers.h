#pragma once

// Answers without a network: from a program, or from files.

#include "campaign/llm/ask_options.h"
#include "campaign/llm/exchange.h"
#include "common/base/result.h"

namespace fb::llm {

// Runs request.model.model by `sh -c`: the prompt is its standard input, the answer its standard output. Its
// environment is this process's with FABRICBENCH_PROBLEM, _SAMPLE, _ROUND and _MODEL (the label). After the time limit
// its process group is killed.
Response ask_command(const Request& request, const AskOptions& options);
Result<void> check_command(const std::string& command);

// The standard input of a command.
std::string prompt_text(const Request& request);

// Reads FOLDER/<problem>/<sample>.<round>.md, or <problem>/<round>.md, or <problem>.md; a .json beside it may hold the
// record::Call.
Response ask_recorded(const Request& request);
Result<void> check_recorded(const std::string& folder);

}  // namespace fb::llm
