#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/text/progress.h"
#include "cli/text/style.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/terminal.h"

namespace fb::cli {
namespace {

struct HealthWord {
  const char *shown, *in_json;
  Tone tone;
};
// By Health.
constexpr auto kHealthWords = std::to_array<HealthWord>({{"ok", "ok", Tone::good},
                                                         {"-", "absent", Tone::faint},
                                                         {"warn", "warning", Tone::strong},
                                                         {"FAIL", "failed", Tone::bad}});

const HealthWord& word_of(Health health) { return kHealthWords[static_cast<size_t>(health)]; }

constexpr size_t kWidth = 80, kIndent = 20;  // of the page; of the texts

// Words in lines that begin where the first one does. A word that is longer than a line stays whole.
std::string wrapped(std::string_view text) {
  std::string out;
  size_t used = kIndent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (at > 0 && used + 1 + columns_of(word) > kWidth) {
      out += "\n" + std::string(kIndent, ' ');
      used = kIndent;
    } else if (at > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns_of(word);
    at = end + 1;
  }
  return out;
}

// A command stays in one line, to be copied.
void print_finding(const Finding& found) {
  const HealthWord& word = word_of(found.health);
  print_out("{:<14}{}  {}\n", found.name, paint(fmt::format("{:<4}", word.shown), word.tone, stdout),
            wrapped(found.text));
  if (!found.remedy.empty() && !found.text.contains(found.remedy)) print_out("{:>{}}{}\n", "", kIndent, found.remedy);
  flush(stdout);
}

std::string conclusion(const Diagnosis& d) {
  if (d.exec_runs && d.check_runs) return "exec and check can run here.";
  if (d.exec_runs) return "exec can run here, check can't.";
  return d.check_runs ? "check can run here, exec can't." : "Neither exec nor check can run here.";
}

nlohmann::ordered_json to_value(const Diagnosis& d) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& f : d.findings)
    findings.push_back(
        {{"name", f.name}, {"state", word_of(f.health).in_json}, {"text", f.text}, {"remedy", f.remedy}});
  return {{"schema", 1}, {"exec", d.exec_runs}, {"check", d.check_runs}, {"findings", findings}};
}

int run_doctor(bool json) {
  const InterruptionGuard guard;
  Progress progress("doctor");
  const Diagnosis found = diagnose([&](const std::string& name) { progress.show(name); },
                                   [&](const Finding& finding) {
                                     progress.clear();
                                     if (!json) print_finding(finding);
                                   });
  if (json) {
    print_out("{}\n", to_value(found).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print_out("\n{}\n", conclusion(found));
  }
  return found.exec_runs && found.check_runs ? kExitDone : kExitNo;
}

}  // namespace

void add_doctor(Command& program, CommandRun& command_run) {
  auto json = std::make_shared<bool>(false);
  Command& command =
      program.add_command("doctor", "Check this installation: what works, and how to get what is missing");
  command.footer(
      "Looks for what commands need in the places where they look, then runs a small program and a quick check.\n"
      "ok: found. -: absent, and needed only for what is said. warn: works, but not as well as it could. FAIL: exec "
      "or\n"
      "check can't run; below it, the command that helps (packages of Debian and Ubuntu).\n"
      "Exit code: 0 exec and check can run, 1 one of them can't.\n\n"
      "Examples:\n"
      "  fabricbench doctor\n"
      "  fabricbench doctor --json | jq -r '.findings[] | select(.state == \"failed\") | .remedy'");
  command.add_flag("--json", *json, "As JSON: exec, check; findings[].name, .state, .text, .remedy");
  command.callback([json, &command_run] { command_run.exit_code = run_doctor(*json); });
}

}  // namespace fb::cli
