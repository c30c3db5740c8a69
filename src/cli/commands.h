#pragma once

// One function per command: adds it to the program. The command's callback sets `exit_code`.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fb::cli {

// 0: done; 1: the answer is no (not supported, not passed); 2: wrong usage or wrong input.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitUsage = 2;

void add_bench(CLI::App& program, int& exit_code);
void add_calibrate(CLI::App& program, int& exit_code);
void add_caller(CLI::App& program, int& exit_code);
void add_check(CLI::App& program, int& exit_code);
void add_coverage(CLI::App& program, int& exit_code);
void add_exec(CLI::App& program, int& exit_code, std::vector<std::string> program_arguments);
void add_prove(CLI::App& program, int& exit_code);
void add_list(CLI::App& program, int& exit_code);
void add_mutate(CLI::App& program, int& exit_code);
void add_new(CLI::App& program, int& exit_code);
void add_prompt(CLI::App& program, int& exit_code);
void add_ptx(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_report(CLI::App& program, int& exit_code);
void add_show(CLI::App& program, int& exit_code);
void add_template(CLI::App& program, int& exit_code);
void add_worker(CLI::App& program, int& exit_code);

}  // namespace fb::cli
