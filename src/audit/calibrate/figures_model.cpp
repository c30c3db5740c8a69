#include "audit/calibrate/figures_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>

#include "common/base/installed.h"
#include "common/base/jobs.h"
#include "common/base/numbers.h"
#include "common/base/process.h"
#include "common/base/strings.h"

namespace fb::calibrate {
namespace {

constexpr std::chrono::minutes kFigureTimeLimit{5};

// The program and its arguments.
std::vector<std::string> words_of(const Figure& figure) {
  std::vector<std::string> words = {figure.program};
  words.insert(words.end(), figure.arguments.begin(), figure.arguments.end());
  return words;
}

std::vector<std::string> command_of(const Figures& figures, const Figure& figure, const std::string& platform) {
  const std::string source = fmt::format("{}/{}.cu", figures.folder, figure.program);
  std::vector<std::string> command = {own_program(), "exec",  "--platform", platform, "--ranks", "1",
                                      "-std=c++20",  "-arch", figures.arch, "-lcuda", source,    "--"};
  command.insert(command.end(), figure.arguments.begin(), figure.arguments.end());
  return command;
}

// The number of the first figure of each program, then the other figures.
std::vector<size_t> in_order(const std::vector<Figure>& all, size_t& programs) {
  std::map<std::string, size_t> first;
  for (size_t k = 0; k < all.size(); ++k) first.emplace(all[k].program, k);
  std::vector<size_t> order;
  for (const auto& [program, k] : first) order.push_back(k);
  programs = order.size();
  for (size_t k = 0; k < all.size(); ++k) {
    if (first.at(all[k].program) != k) order.push_back(k);
  }
  return order;
}

// What is put before the output of a program that failed: a value that it printed does not count.
constexpr std::string_view kFailed = "failed\n";

// Outputs by figure. A program is compiled once: its first figure fills the cache before the others run beside each
// other.
std::vector<std::string> run_all(const Figures& figures, const ModelOptions& options) {
  size_t programs = 0, done = 0;
  const auto order = in_order(figures.figures, programs);
  std::vector<std::string> outputs(order.size());
  const auto run = [&](size_t begin, size_t end) {
    const auto job = [&](size_t k) {
      const Figure& figure = figures.figures[order[begin + k]];
      const auto result = run_command(command_of(figures, figure, options.platform), kFigureTimeLimit);
      return result.succeeded() ? result.output : fmt::format("{}{}", kFailed, result.output);
    };
    const auto texts = run_jobs(
        end - begin, options.side_by_side, job,
        [&](size_t, const auto&) {
          if (options.on_progress) options.on_progress(++done, order.size());
          return false;
        },
        JobSignals::delivered);
    for (size_t k = begin; k < end; ++k) outputs[order[k]] = texts[k - begin];
  };
  run(0, programs);
  run(programs, order.size());
  return outputs;
}

}  // namespace

std::optional<double> read_value(std::string_view output, std::string_view unit) {
  for (const auto line : split(output, '\n')) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.substr(space + 1) != unit) continue;
    if (const auto value = as_number<double>(line.substr(0, space)); value && *value >= 0) return value;
  }
  return std::nullopt;
}

Result<std::vector<double>> model_figures(const Figures& figures, const ModelOptions& options) {
  const auto& all = figures.figures;
  const auto outputs = run_all(figures, options);
  std::vector<double> modelled;
  Errors errors;
  for (size_t k = 0; k < all.size(); ++k) {
    const auto value = outputs[k].starts_with(kFailed) ? std::nullopt : read_value(outputs[k], all[k].unit);
    if (!value) {
      errors.list.push_back({{},
                             fmt::format("{}: {} gave no value in {}:\n{}", all[k].id, fmt::join(words_of(all[k]), " "),
                                         all[k].unit, outputs[k])});
    }
    modelled.push_back(value.value_or(0));
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return modelled;
}

}  // namespace fb::calibrate
