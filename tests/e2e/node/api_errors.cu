// Wrong uses of CUDA's APIs and the error codes they give: one row each, run one after the other on a fresh state.
//
// Prints `ok NAME`, `skip NAME` or `FAIL NAME: expected X got Y`; exit code 1 where a row failed.
// Rows that ruin their context, or need another process, run in a child each. They come first: a process that has used
// CUDA must not fork.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 tests/e2e/node/api_errors.cu
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api_errors/capture_rows.h"
#include "api_errors/device_rows.h"
#include "api_errors/driver_rows.h"
#include "api_errors/launch_rows.h"
#include "api_errors/memory_rows.h"
#include "api_errors/process_rows.h"
#include "api_errors/sticky_rows.h"
#include "api_errors/stream_rows.h"

namespace {

int failures = 0;

void run(const Row& row) {
  const int got = row.act().number;
  if (got == kNotApplicable) {
    std::printf("skip %s\n", row.name);
  } else if (got == row.expected || got == row.or_this) {
    std::printf("ok %s\n", row.name);
  } else {
    ++failures;
    std::printf("FAIL %s: expected %d got %d (%s)\n", row.name, row.expected, got,
                cudaGetErrorName(static_cast<cudaError_t>(got)));
  }
  std::fflush(stdout);
}

void run_in_child(const Row& row) {
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    run(row);
    _exit(failures);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    std::printf("FAIL %s: its process ended by signal %d\n", row.name, WTERMSIG(status));
    ++failures;
  } else {
    failures += WEXITSTATUS(status);
  }
}

void run_all(const Rows& rows, const char* only) {
  for (const Row& row : rows) {
    if (only && !std::strstr(row.name, only)) continue;
    run(row);
    cudaSetDevice(0);
    cudaGetLastError();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* only = argc > 1 ? argv[1] : nullptr;  // part of a row's name
  for (const Rows& rows : {sticky_rows(), process_rows()}) {
    for (const Row& row : rows) {
      if (!only || std::strstr(row.name, only)) run_in_child(row);
    }
  }
  for (const Rows& rows : {device_rows(), memory_rows(), stream_rows(), launch_rows(), capture_rows(), driver_rows()}) {
    run_all(rows, only);
  }
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
