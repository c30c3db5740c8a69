#include "campaign/slurm_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/base/numbers.h"
#include "common/base/strings.h"

namespace fb::campaign {
namespace {

// Array job id and index first, then the other fields. The comment is last: it is the only free text.
constexpr std::string_view kQueueFormat = "%F|%K|%T|%N|%r|%k";
constexpr size_t kQueueFields = 6;

constexpr std::array<std::string_view, 10> kEnded = {"COMPLETED", "CANCELLED", "FAILED",    "TIMEOUT", "NODE_FAIL",
                                                     "BOOT_FAIL", "DEADLINE",  "PREEMPTED", "REVOKED", "OUT_OF_MEMORY"};
constexpr std::array<std::string_view, 3> kWaiting = {"PENDING", "REQUEUED", "REQUEUE_FED"};
// Slurm holds a task after several failed launches until an administrator releases it.
constexpr std::array<std::string_view, 4> kStuckReasons = {"launch failed requeued held", "launch_failed_requeued_held",
                                                           "DependencyNeverSatisfied", "BadConstraints"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// At most `most` parts; the last takes the rest.
std::vector<std::string_view> split_into(std::string_view text, char separator, size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

// sbatch reads % in names of files as the beginning of a placeholder.
std::string literal(std::string_view path) {
  std::string text;
  for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

std::string in_quotes(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_passed_on(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_CLUSTERS"};
  constexpr std::array<std::string_view, 4> kPrefixes = {"LC_", "XDG_", "SBATCH_", "FABRICBENCH_"};
  constexpr std::array<std::string_view, 4> kNever = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
  if (std::ranges::any_of(kNever, [&](auto part) { return name.contains(part); })) return false;
  return contains(kNames, name) ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

}  // namespace

TaskPhase phase_of(const QueuedTask& task) {
  if (contains(kEnded, task.state)) return TaskPhase::ended;
  if (task.state == "REQUEUE_HOLD" || task.state == "SPECIAL_EXIT") return TaskPhase::stuck;
  if (!contains(kWaiting, task.state)) return TaskPhase::runs;
  return contains(kStuckReasons, task.reason) ? TaskPhase::stuck : TaskPhase::waits;
}

bool ended_well(std::string_view state) { return state == "COMPLETED"; }

std::vector<std::string> queue_command(const std::string& squeue, const std::string& name) {
  return {squeue,
          "--noheader",
          "--array",
          "--states=all",
          fmt::format("--user={}", getuid()),
          "--name=" + name,
          fmt::format("--format={}", kQueueFormat)};
}

Result<std::vector<QueuedTask>> parse_queue(std::string_view output) {
  std::vector<QueuedTask> tasks;
  uint32_t number = 0;
  for (const auto line : split(output, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const auto fields = split_into(line, '|', kQueueFields);
    if (fields.size() != kQueueFields) {
      return error(fmt::format("unexpected line of squeue: \"{}\"", line), {number, 0});
    }
    QueuedTask task{.state = std::string(trim(fields[2])),
                    .node = std::string(trim(fields[3])),
                    .reason = std::string(trim(fields[4])),
                    .batch = std::string(trim(fields[5]))};
    if (trim(fields[1]) == "N/A") continue;  // not an array: not of this executor, despite its name
    if (!read_number(trim(fields[0]), task.job) || !read_number(trim(fields[1]), task.task) || task.state.empty()) {
      return error(fmt::format("unexpected line of squeue: \"{}\"", line), {number, 0});
    }
    if (task.node == "(null)" || task.node == "n/a") task.node.clear();
    if (task.batch == "(null)") task.batch.clear();
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<std::string> submit_command(const std::string& sbatch, const Submission& submission) {
  std::vector<std::string> command = {sbatch};
  command.insert(command.end(), submission.options.begin(), submission.options.end());
  // The last of repeated options counts, so those that the executor relies on follow the user's.
  for (auto& option : std::vector<std::string>{
           "--parsable", "--requeue", "--open-mode=append", "--input=/dev/null", "--job-name=" + submission.name,
           "--comment=" + submission.batch, fmt::format("--array=1-{}", submission.tasks), "--nodes=1", "--ntasks=1",
           fmt::format("--cpus-per-task={}", submission.cpus), "--chdir=" + submission.run,
           "--output=" + literal(submission.folder) + "/%a.out", "--error=" + literal(submission.folder) + "/%a.out",
           submission.script}) {
    command.push_back(std::move(option));
  }
  return command;
}

Result<uint64_t> parse_submitted(std::string_view output) {
  // "123", or "123;cluster" with several clusters; plugins of a site may print lines before it.
  std::string_view last;
  for (const auto line : split(output, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  uint64_t job = 0;
  if (!read_number(last.substr(0, last.find(';')), job) || job == 0) {
    return error(fmt::format("sbatch did not print a job id: \"{}\"", trim(output)));
  }
  return job;
}

std::vector<std::string> cancel_command(const std::string& scancel, const std::vector<std::string>& tasks) {
  std::vector<std::string> command = {scancel, "--quiet"};
  command.insert(command.end(), tasks.begin(), tasks.end());
  return command;
}

std::string batch_script(const std::vector<std::string>& worker, const std::string& folder) {
  std::string text = "#!/bin/sh\nexec";
  for (const auto& word : worker) text += fmt::format(" {}", in_quotes(word));
  return text + fmt::format(" --list {}/\"$SLURM_ARRAY_TASK_ID\".list\n", in_quotes(folder));
}

std::string list_file(const std::string& folder, size_t task) { return fmt::format("{}/{}.list", folder, task); }
std::string output_file(const std::string& folder, size_t task) { return fmt::format("{}/{}.out", folder, task); }

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // of a word, perhaps an empty one
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_space(c)) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else if (c == '\'' || c == '"') {
      const size_t end = text.find(c, i + 1);
      if (end == std::string_view::npos) return error(fmt::format("a {} without its end in: {}", c, text));
      word += text.substr(i + 1, end - i - 1);
      i = end;
      inside = true;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

std::vector<std::string> slurm_environment(const char* const* environment) {
  std::vector<std::string> passed;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (is_passed_on(entry.substr(0, entry.find('=')))) passed.emplace_back(entry);
  }
  return passed;
}

}  // namespace fb::campaign
