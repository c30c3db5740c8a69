#pragma once

// One run: the machine, the ranks, and what becomes of them.

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/record/run_record.h"
#include "launcher/launch_request.h"
#include "launcher/run_directory.h"

namespace fb::launcher {

// Wrong requests and a machine that does not start are Errors. Whatever happens, no process, socket or file of the run
// is left when this returns. Ends early on SIGINT, SIGTERM and SIGHUP.
Result<LaunchResult> run_program(const LaunchRequest& request, const RunDirectory& directory);

// $FABRICBENCH_MACHINE, else fabricbench-machine beside the running program.
Result<std::string> find_machine();

// 2 GiB, or less where this computer could not give that much to every rank. Enough for programs with their data on the
// devices, and little enough that one which allocates without end is found out in a second.
uint64_t default_rank_memory(int ranks);

// For people, after a run that went wrong: which rank, how it ended, what else happened. Empty where all is well.
std::string describe(const LaunchResult& result);

// The last line of a run, or of many: what was checked and what was found. `schedules`: which they were, "20 schedules
// (seeds from 1)"; `counts`: of all of them; `last`: the one that went wrong, or any.
std::string closing_line(const std::string& schedules, const record::Checked& counts, const LaunchResult& last);
// Nothing ran in which anything could have been found, though it was to be looked for.
bool checked_nothing(const record::Checked& counts, const LaunchResult& last);

// An incident as it is printed, with the lines of the sources that it is about where these can be read.
std::string text_of(const record::Incident& incident);

// What would have been on the screen if the run had not been silent: the ends of the ranks' outputs, and the incidents.
std::string transcript(const LaunchResult& result);

}  // namespace fb::launcher
