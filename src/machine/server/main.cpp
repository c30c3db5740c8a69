// fabricbench-machine: owns the devices of one run. Started by the launcher, which reads its standard output (a line
// "ready", then an incident a line) and ends it by closing its standard input.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "fabric/group.h"
#include "machine/server/server.h"
#include "sandbox/confine.h"

int main(int argc, char** argv) {
  using namespace fb;
  machine::ServerOptions options;
  std::string platform_name = "h100x8", mode = "hardware", record_file, trace_file, slower;
  CLI::App app{"The virtual node of one run; started by `fabricbench exec`."};
  app.add_option("--socket", options.socket, "Where ranks connect")->required();
  app.add_option("--platform", platform_name, "Name of a platform, or a platform file");
  app.add_option("--slower", slower, "A group of the platform's constants is worse by a factor, as latency=1.1");
  app.add_option("--seed", options.node.seed, "0: ordered by virtual time; else a schedule drawn at random");
  std::vector<uint32_t> choices;
  auto* chosen =
      app.add_option("--choices", choices,
                     "Neither by time nor drawn: at the synchronisation steps of warps, which of those that\n"
                     "can go on does (0: the one that did); behind the list always 0. For all schedules of\n"
                     "small programs; the record has what could be chosen");
  chosen->delimiter(',')->allow_extra_args(false);
  auto* untimed = app.add_flag("--untimed", options.node.untimed, "Without the model of time: clocks mean nothing");
  app.add_option("--mode", mode, "hardware: 16-byte accesses are one transaction; strict: they may tear")
      ->check(CLI::IsMember({"hardware", "strict"}));
  app.add_flag("--check", options.node.check, "Look for races")->excludes(untimed);
  app.add_flag("--keep-going", options.node.keep_going, "Report races without ending the run");
  app.add_option("--why", options.node.why, "With --check: tell everything that touches this byte, as m7+0x40");
  app.add_option("--weak", options.node.weak_lines,
                 "With --check: one of N cache lines may deliver unordered stores late; 0: none");
  app.add_option("--ranks", options.ranks, "Processes that must have connected before time moves");
  app.add_option("--record", record_file, "Write what happened here (JSON)");
  app.add_option("--trace", trace_file, "Write a timeline here (Chrome trace format)");
  app.add_option("--events", options.node.events,
                 "Write every event here: two runs of one seed are equal line by line");
  app.add_option("--judge", options.judge,
                 "A connected socket that the machine inherits: the judge is at its other end, and ranks connect to\n"
                 "SOCKET.0, SOCKET.1, …");
  bool confined = false;
  app.add_flag("--confine", confined, "Give up all system calls that serving ranks does not need");
  app.add_flag("--hosts-spin", options.hosts_spin, "Host threads wait by spinning, as MPI does");
  app.add_option("--memory", options.node.memory, "Bytes that all devices together may use");
  app.add_option("--budget", options.node.budget, "Warp instructions until the run is stopped");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  if (options.judge >= 0 && options.ranks < 1) {
    fmt::print(stderr, "fabricbench-machine: --judge needs --ranks\n");
    return 2;
  }
  if (chosen->count() != 0) options.node.choices = choices;
  options.node.strict = mode == "strict";
  options.node.trace = !trace_file.empty();
  try {
    auto platform = fabric::load_platform(platform_name);
    if (platform && !slower.empty()) platform = fabric::slower(*platform, slower);
    if (!platform) {
      fmt::print(stderr, "{}", to_string(platform.error(), platform_name));
      return 2;
    }
    record::RunRecord record;
    record.platform = platform->name;
    record.seed = options.node.seed;
    record.mode = mode;
    record.checked = options.node.check;
    record.world = options.ranks;
    {
      machine::Server server(*platform, options);
      if (confined) sandbox::confine({}, sandbox::Filter::machine);
      std::puts("ready");
      std::fflush(stdout);
      server.run(record);
      if (const record::Trace* trace = server.finish_trace()) trace->write(trace_file);
    }
    for (const record::Incident& incident : record.incidents) {
      if (const auto ending = record::ending_of(incident)) record.ending = *ending;
    }
    if (!record_file.empty()) {
      std::ofstream file(record_file);
      file << to_json(record) << '\n';
      if (!file.flush()) throw std::runtime_error("can't write " + record_file);
    }
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fabricbench-machine: {}\n", e.what());
    return 2;
  }
}
