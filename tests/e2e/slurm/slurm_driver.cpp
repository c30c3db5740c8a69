// Has the Slurm executor do a number of jobs, as the director of a campaign would, and says what becomes of them:
//
//   slurm_driver RUN PROGRAM LAST [--batch N] [--tasks N] [--options TEXT] [--from SAMPLE]
//
// Lines: "done SAMPLE", "failed SAMPLE WHY", "note TEXT", and "stopped" after SIGINT or SIGTERM. Job files are empty;
// PROGRAM is called as `PROGRAM worker … --list FILE`.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "campaign/files.h"
#include "campaign/judge_job.h"
#include "campaign/slurm_executor.h"
#include "common/base/interruption.h"
#include "common/base/strings.h"

namespace {

using namespace fb;
using campaign::SlurmExecutor;

void say(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

struct Wanted {
  campaign::SlurmOptions options;
  uint32_t first = 1, count = 0;  // samples
};

Wanted read_arguments(const std::vector<std::string>& words) {
  Wanted wanted;
  wanted.options.run = words.at(0);
  wanted.options.program = words.at(1);
  wanted.count = static_cast<uint32_t>(std::stoul(words.at(2)));
  for (size_t k = 3; k + 1 < words.size(); k += 2) {
    if (words[k] == "--batch") wanted.options.limits.batch = std::stoul(words[k + 1]);
    if (words[k] == "--tasks") wanted.options.limits.tasks = std::stoul(words[k + 1]);
    if (words[k] == "--from") wanted.first = static_cast<uint32_t>(std::stoul(words[k + 1]));
    if (words[k] == "--options") wanted.options.options = campaign::split_words(words[k + 1]).value();
  }
  wanted.options.note = [](const std::string& text) { say("note " + text); };
  return wanted;
}

void wait(const SlurmExecutor& executor) {
  std::vector<pollfd> watched = {{interruption_descriptor(), POLLIN, 0}};
  for (const int fd : executor.descriptors()) watched.push_back({fd, POLLIN, 0});
  poll(watched.data(), watched.size(), static_cast<int>(executor.patience().count()));
}

int drive(const Wanted& wanted) {
  auto executor = SlurmExecutor::make(wanted.options);
  if (!executor) {
    say("error " + to_string(executor.error(), "slurm"));
    return 1;
  }
  const InterruptionGuard guard;
  std::set<uint32_t> open;
  for (uint32_t sample = wanted.first; sample <= wanted.count; ++sample) {
    const record::RoundId round{.model = "model", .problem = "problem", .sample = sample, .round = 1};
    const std::string job = record::round_file(wanted.options.run, round, "job.json");
    if (std::filesystem::exists(campaign::verdict_file_of(job))) continue;
    std::filesystem::create_directories(record::sample_folder(wanted.options.run, round));
    campaign::publish(job, "");
    (*executor)->submit(round);
    open.insert(sample);
  }
  say(fmt::format("submitted {}", open.size()));
  try {
    while (!open.empty()) {
      wait(**executor);
      throw_if_interrupted();
      for (const auto& ended : (*executor)->collect()) {
        if (open.erase(ended.round.sample) == 0) say(fmt::format("twice {}", ended.round.sample));
        say(ended.failure.empty() ? fmt::format("done {}", ended.round.sample)
                                  : fmt::format("failed {} {}", ended.round.sample, ended.failure));
      }
    }
  } catch (const Interrupted&) {
    (*executor)->stop();
    say("stopped");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return drive(read_arguments({arguments + 1, arguments + count}));
  } catch (const std::exception& e) {
    say(fmt::format("error {}", e.what()));
    return 1;
  }
}
