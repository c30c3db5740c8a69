#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "campaign/llm/local_providers.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

namespace fs = std::filesystem;

Response failed(std::string why) {
  Response response;
  response.call.error = std::move(why);
  response.call.tries = 1;
  return response;
}

// The layout of a run folder (common/record/campaign.h); `folder` is that of one of its models.
Response from_run(const fs::path& file) {
  auto response = parse_response(read_file(file));
  if (!response) return failed(std::string(trim(to_string(response.error(), file.string()))));
  return std::move(*response);
}

// The text of the answer, and the call if it is recorded beside it.
Response from_text(fs::path file, const std::string& label) {
  Response response;
  response.text = read_file(file);
  response.call = {.end = trim(response.text).empty() ? record::AnswerEnd::empty : record::AnswerEnd::complete,
                   .stop_reason = "recorded",
                   .model = label,
                   .tries = 1};
  file.replace_extension(".json");
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return response;
  auto call = record::parse_call(read_file(file));
  if (!call) return failed(std::string(trim(to_string(call.error(), file.string()))));
  if (call->tries == 0) call->tries = 1;
  response.call = std::move(*call);
  return response;
}

}  // namespace

Result<void> check_recorded(const std::string& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return {};
  return error(fmt::format("there is no folder '{}' with recorded answers", folder));
}

Response ask_recorded(const Request& request) {
  const std::string& problem = request.problem;
  if (problem.empty() || problem.starts_with('.') || problem.contains('/'))
    return failed(fmt::format("'{}' can't be the name of a problem with recorded answers", problem));
  const fs::path folder = request.model.model;
  const std::array<fs::path, 3> places = {folder / problem / fmt::format("{}.{}.md", request.sample, request.round),
                                          folder / problem / fmt::format("{}.md", request.round),
                                          folder / fmt::format("{}.md", problem)};
  const fs::path of_run =
      folder / problem / std::to_string(request.sample) / fmt::format("{}.response.json", request.round);
  std::error_code ignored;
  try {
    if (fs::is_regular_file(of_run, ignored)) return from_run(of_run);
    for (const fs::path& file : places) {
      if (fs::is_regular_file(file, ignored)) return from_text(file, request.model.label);
    }
  } catch (const std::exception& e) {
    return failed(e.what());
  }
  return failed(fmt::format("there is no recorded answer: {}, {} or {}", places[0].string(), places[1].string(),
                            places[2].string()));
}

}  // namespace fb::llm
