#include "campaign/caller.h"

#include <unistd.h>

#include <filesystem>

#include "campaign/files.h"
#include "common/base/strings.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;
using record::round_file;

// A file that exists while the call runs: one that is left over is a call without a recorded end.
class Mark {
 public:
  Mark(const std::string& run, const record::RoundId& round) {
    const std::string stem = round_file(run, round, "calling.");
    while (fs::exists(stem + std::to_string(earlier_ + 1))) ++earlier_;
    path_ = stem + std::to_string(earlier_ + 1);
    publish(path_, "");
  }
  ~Mark() { unlink(path_.c_str()); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  uint32_t earlier() const { return earlier_; }

 private:
  std::string path_;
  uint32_t earlier_ = 0;
};

}  // namespace

Result<void> call_round(const std::string& run, const record::RoundId& round, const llm::AskOptions& options) {
  try {
    if (fs::exists(round_file(run, round, "response.json"))) return {};
    const std::string file = round_file(run, round, "request.json");
    const auto request = llm::parse_request(read_file(file));
    if (!request) return error(file + ": " + in_one_line(request.error()));
    // Recorded answers cost nothing and can be read again.
    const bool precious = request->model.provider != "recorded";
    std::optional<Mark> mark;
    if (precious) mark.emplace(run, round);
    llm::Response response = llm::ask(*request, options);
    response.call.lost += mark ? mark->earlier() : 0;
    const bool failed = response.call.end == record::AnswerEnd::failed;
    publish(round_file(run, round, failed ? "failed.json" : "response.json"), to_json(response),
            precious ? Durable::yes : Durable::no);
  } catch (const std::exception& e) {
    return error(e.what());
  }
  return {};
}

std::optional<Child> start_caller(const std::string& program, const std::string& run, const record::RoundId& round,
                                  const std::string& prices) {
  const auto lock = try_lock(round_file(run, round, "request.json"));
  if (!lock) return std::nullopt;
  SpawnOptions start;
  start.command = {program,     "caller",
                   "--run",     run,
                   "--model",   round.model,
                   "--problem", round.problem,
                   "--sample",  std::to_string(round.sample),
                   "--round",   std::to_string(round.round)};
  if (!prices.empty()) start.command.insert(start.command.end(), {"--prices", prices});
  start.inherited = {lock->get()};
  start.outlives = true;
  return spawn(start);
}

bool is_being_called(const std::string& run, const record::RoundId& round) {
  return !try_lock(round_file(run, round, "request.json"));
}

}  // namespace fb::campaign
