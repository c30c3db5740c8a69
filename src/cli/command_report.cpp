#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "campaign/report/printers.h"
#include "campaign/report/site/site.h"
#include "campaign/report/summary.h"
#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/measured_results.h"
#include "common/base/output.h"
#include "common/base/terminal.h"
#include "common/record/campaign.h"

namespace fb::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> folders, measured;
  std::string problems;
  bool json = false, csv = false, attempts = false, markdown = false, matrix = false;
  std::string html, title;
  size_t attempt_pages = report::SiteOptions{}.attempt_pages;
  double good = report::kGoodSpeed;
  std::vector<uint32_t> k;
};

report::Look look_of_terminal() {
  const auto columns = terminal_columns(STDOUT_FILENO);
  if (!columns) return {};
  constexpr size_t kLeast = 40;  // less is no table
  return {.width = static_cast<uint32_t>(std::max(kLeast, *columns)), .colour = std::getenv("NO_COLOR") == nullptr};
}

Result<std::vector<record::Run>> read_runs(const std::vector<std::string>& folders) {
  std::vector<record::Run> runs;
  std::set<std::filesystem::path> seen;
  for (const std::string& folder : folders) {
    std::error_code failed;
    const std::filesystem::path real = std::filesystem::canonical(folder, failed);
    if (!failed && !seen.insert(real).second)
      return error(fmt::format("{} is named twice: its samples would count twice", folder));
    auto run = record::read_run(folder);
    if (!run) return std::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  return runs;
}

int report_runs(const ReportOptions& o) {
  const auto runs = read_runs(o.folders);
  if (!runs) return fail(runs.error());
  auto summary = report::summarise(*runs, {.good = o.good, .k = o.k});
  if (!summary) return fail(summary.error());
  auto measured = read_measured(o.measured, *runs, o.problems);
  if (!measured) return fail(measured.error());
  summary->measured = std::move(*measured);
  if (!o.html.empty()) {
    const report::SiteOptions pages{.title = o.title, .attempt_pages = o.attempt_pages};
    const auto written = report::write_site(*summary, *runs, pages, o.html);
    if (!written) return fail(written.error());
  }
  if (o.json) {
    print_out("{}", report::to_json(*summary));
  } else if (o.attempts) {
    print_out("{}", report::attempts_csv(*summary, *runs));
  } else if (o.csv) {
    print_out("{}", report::leaderboard_csv(*summary));
  } else if (o.markdown) {
    print_out("{}", report::to_markdown(*summary));
  } else if (o.html.empty()) {
    print_out("{}", report::to_console(*summary, {.look = look_of_terminal(), .matrix = o.matrix}));
  } else {
    print_out("{}\n", (std::filesystem::path(o.html) / "index.html").string());
  }
  return summary->attempts > 0 ? kExitDone : kExitNo;
}

}  // namespace

void add_report(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ReportOptions>();
  Command& command = program.add_command("report", "Report on campaigns: leaderboard, breakdowns, pages");
  command.footer(
      "Several folders make one report: the same model with the same settings is pooled. Models are ranked by Pass×GM, "
      "pass rate times geometric mean of speed; where intervals overlap there is no strict order. Failures that are "
      "ours (failed calls, classes infra and unsupported) never count. docs/reference/report.md has formulas and "
      "fields.\n"
      "Exit code: 0 reported, 1 no attempt is done yet, 2 a folder can't be read.\n\n"
      "Examples:\n"
      "  fabricbench report runs/monday\n"
      "  fabricbench report runs/monday runs/tuesday --html site\n"
      "  fabricbench report runs/monday --json | jq '.models[] | [.label, .scores.pass_gm.value]'");
  command.add_option("DIR", options->folders, "Folders of runs").required();
  auto json = command.add_flag("--json", options->json, "summary.json: everything but texts");
  auto csv = command.add_flag("--csv", options->csv, "The leaderboard, one row for each model");
  auto attempts = command.add_flag("--attempts", options->attempts, "One row of CSV for each attempt");
  auto markdown = command.add_flag("--markdown", options->markdown, "All tables, for a page of text");
  json.excludes(csv, attempts, markdown);
  csv.excludes(attempts, markdown);
  attempts.excludes(markdown);
  command.add_flag("--matrix", options->matrix, "On the console: models × problems as well");
  auto html = command.add_option("--html", options->html, "Write a static site into this folder").output_folder();
  command
      .add_option("--measured", options->measured,
                  "results.json of an exported folder: self-reported times, beside modelled ones and verdicts")
      .type_name("FILE")
      .one_value_each();
  add_problems_option(command, options->problems);
  command.add_option("--title", options->title, "Of the site; else the campaign's name").needs(html);
  command.add_option("--attempt-pages", options->attempt_pages, "Of the site: most pages for single attempts")
      .needs(html)
      .show_default();
  command.add_option("--good", options->good, "PASS+Good: least speed, as a share of the reference's")
      .check(positive_number())
      .show_default();
  command.add_option("--k", options->k, "Of pass@k, as 1,5,10; else 1 to the number of samples")
      .delimiter(',')
      .one_value_each()  // DIR may follow
      .check(positive_number());
  command.callback([options, &command_run] { command_run.exit_code = report_runs(*options); });
}

}  // namespace fb::cli
