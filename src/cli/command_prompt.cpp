#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "campaign/prompts/prompt.h"
#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/strings.h"

namespace fb::cli {
namespace {

struct PromptOptions {
  std::string problems, problem, feedback, answer;
  prompts::Options prompt;
  bool system = false, json = false, speed = false, list = false;
};

// A file of a campaign, or what `fabricbench check --json` printed.
Result<record::Attempt> read_attempt(const std::string& file) {
  const std::string text = read_file(file);
  auto attempt = record::parse_attempt(text);
  if (attempt) return attempt;
  auto verdict = record::parse_verdict(text);
  if (!verdict || verdict->problem.empty())
    return error(fmt::format("{} holds neither an attempt nor a verdict", file));
  record::Attempt judged;
  judged.problem = verdict->problem;
  judged.call.end = record::AnswerEnd::complete;
  judged.verdict = std::move(*verdict);
  return judged;
}

Result<prompts::Prompt> make_feedback(const catalog::Problem& problem, const PromptOptions& o) {
  const auto attempt = read_attempt(o.feedback);
  if (!attempt) return std::unexpected(attempt.error());
  if (attempt->problem != problem.name)
    return error(fmt::format("{} is about '{}', not about '{}'", o.feedback, attempt->problem, problem.name));
  const std::string answer = o.answer.empty() ? "" : read_file(o.answer);
  auto text = prompts::feedback_prompt(problem, *attempt, answer, o.prompt, o.speed);
  if (!text) return std::unexpected(text.error());
  return prompts::Prompt{.system = "", .user = std::move(*text)};
}

int show(const PromptOptions& o) {
  if (o.list) {
    for (const std::string& name : prompts::variants()) print_out("{}\n", name);
    return kExitDone;
  }
  if (o.problem.empty()) return fail("PROBLEM is required (`fabricbench list` shows the problems)");
  const auto pack = choose_problem(o.problems, o.problem);
  if (!pack) return fail(pack.error());
  const catalog::Problem& problem = pack->problems.front();
  const auto prompt = o.feedback.empty() ? prompts::first_prompt(*pack, problem, o.prompt) : make_feedback(problem, o);
  if (!prompt) return fail(prompt.error());
  if (o.json) {
    nlohmann::ordered_json json;
    if (!prompt->system.empty()) json["system"] = prompt->system;
    json["user"] = prompt->user;
    print_out("{}\n", json.dump(2));
  } else {
    print_out("{}", o.system ? prompt->system : prompt->user);
  }
  return kExitDone;
}

}  // namespace

void add_prompt(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<PromptOptions>();
  PromptOptions& o = *options;
  Command& command = program.add_command("prompt", "Print the prompt that a model gets");
  command.footer(
      "Prompts are text files (docs/guide/prompts.md), in $FABRICBENCH_PROMPTS or in the installation.\n\n"
      "Examples:\n"
      "  fabricbench dev prompt all_reduce_one_shot\n"
      "  fabricbench dev prompt all_reduce_one_shot --variant few_shot --json\n"
      "  fabricbench check all_reduce_one_shot answer.md --json > verdict.json\n"
      "  fabricbench dev prompt all_reduce_one_shot --feedback verdict.json --answer answer.md");
  command.add_option("PROBLEM", o.problem, "Its name, category/name, or its folder");
  command.add_option("--variant", o.prompt.variant, "Which first prompt").type_name("NAME").show_default();
  command.add_flag("--example", o.prompt.worked_example, "With one solved problem, another one");
  command.add_flag("--list", o.list, "Names of the variants");
  auto system = command.add_flag("--system", o.system, "The system prompt instead");
  command.add_flag("--json", o.json, "Both, as JSON: system, user").excludes(system);
  auto feedback = command.add_option("--feedback", o.feedback, "The message after this verdict or attempt (JSON)")
                      .type_name("FILE")
                      .excludes(system);
  command.add_option("--answer", o.answer, "The answer that was judged, for its lines")
      .type_name("FILE")
      .needs(feedback);
  command.add_flag("--speed", o.speed, "After a pass: ask for a faster one").needs(feedback);
  command.add_option("--limit", o.prompt.feedback_limit, "Bytes of a feedback prompt").show_default();
  add_problems_option(command, o.problems);
  command.callback([options, &command_run] { command_run.exit_code = show(*options); });
}

}  // namespace fb::cli
