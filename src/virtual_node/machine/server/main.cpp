// fabricbench-machine: owns the devices of one run. Started by the launcher, which reads its standard output (a line
// "ready", then an incident a line) and ends it by closing its standard input.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>

#include "common/base/strings.h"
#include "common/base/text_limits.h"
#include "common/platform/group.h"
#include "common/sandbox/confine.h"
#include "virtual_node/machine/server/server.h"
#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/exec/simd_target.h"

int main(int argc, char** argv) {
  using namespace fb;
  machine::ServerOptions options;
  std::string options_file, record_file, trace_file, driver_folder;
  uint64_t secret = 0;
  bool confined = false;
  CLI::App app{"The virtual node of one run; started by `fabricbench exec`."};
  app.add_option("--socket", options.socket, "Where ranks connect")->required();
  app.add_option("--options", options_file, "A JSON file with the run's options (common/record/run_options.h)");
  app.add_option("--record", record_file, "Write the record of the run here (JSON)");
  app.add_option("--trace", trace_file, "Write a timeline here (Chrome trace format)");
  app.add_option("--events", options.node.events,
                 "Write every event here: two runs of one seed are equal line by line");
  app.add_option("--judge", options.judge,
                 "A connected socket that the machine inherits: the judge is at its other end, and ranks connect to\n"
                 "SOCKET.0, SOCKET.1, …");
  app.add_option("--driver", driver_folder,
                 "A folder with driver.ptx, the judge's kernels, and candidate.ptx, whose functions they call");
  app.add_option("--secret", secret, "A number from which the secrets of handles are drawn");
  app.add_flag("--confine", confined, "Give up all system calls that serving ranks does not need");
  app.add_flag_callback(
         "--simd",
         [] {
           fmt::print("{}\n", fmt::join(simt::simd_targets(), " "));
           throw CLI::Success();
         },
         "Print the instruction sets that lanes can be computed with here, best first, and end")
      ->trigger_on_parse();
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    record::RunOptions& run = options.node;
    if (!options_file.empty()) {
      auto read = record::parse_run_options(read_file(options_file));
      if (!read) {
        fmt::print(stderr, "{}", to_string(read.error(), options_file));
        return 2;
      }
      run = std::move(*read);
    }
    if (options.judge >= 0 && run.ranks < 1) {
      fmt::print(stderr, "fabricbench-machine: a judged run has at least one rank\n");
      return 2;
    }
    if (!run.suppressions.empty()) {
      auto suppressed = machine::parse_suppressions(read_file(run.suppressions));
      if (!suppressed) {
        fmt::print(stderr, "{}", to_string(suppressed.error(), run.suppressions));
        return 2;
      }
      options.node.suppressed = std::move(*suppressed);
    }
    num::tensor::engine();  // while a wrong name can still be said
    if (run.verbose) cut_nothing();
    options.node.driver = driver_folder;
    options.node.secret = secret;
    options.node.trace = !trace_file.empty();
    auto platform = platform::load_platform(run.platform);
    if (platform && !run.slower.empty()) platform = platform::slower(*platform, run.slower);
    if (!platform) {
      fmt::print(stderr, "{}", to_string(platform.error(), run.platform));
      return 2;
    }
    if (run.device_memory != 0) platform->memory.size = std::min<uint64_t>(platform->memory.size, run.device_memory);
    record::RunRecord record;
    record.options = run;
    {
      machine::Server server(*platform, options);
      if (confined) sandbox::confine({}, sandbox::Filter::machine);
      std::puts("ready");
      std::fflush(stdout);
      server.run(record);
      if (const record::Trace* trace = server.finish_trace()) trace->write(trace_file);
      server.finish_events();
    }
    for (const record::Incident& incident : record.incidents) {
      if (run.ignore_errors && is_survived_error(incident)) continue;
      if (const auto ending = record::ending_of(incident)) record.ending = *ending;
    }
    if (!record_file.empty()) write_file(record_file, to_json(record) + "\n");
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fabricbench-machine: {}\n", e.what());
    return 2;
  }
}
