#include <fmt/format.h>

#include <memory>
#include <thread>

#include "audit/calibrate/figures_model.h"
#include "audit/calibrate/figures_report.h"
#include "audit/calibrate/fit.h"
#include "audit/calibrate/report.h"
#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "common/platform/platform_files.h"

namespace fb::cli {
namespace {

struct CalibrateOptions {
  std::string platform = "b300x8";
  bool inside = false, json = false, fits = false, writes = false, sampling = false, within_peak = false;
  int steps = 3;
  size_t jobs = 0;
  std::string report;
  double most_median = 0, most_p90 = 0, most_max = 0, most_fit_median = 0, least_order = 0;
};

int fail_with(const Errors& errors) {
  print_error("{}", to_string(errors, "calibrate"));
  return kExitUsage;
}

// Prints the fitted constants; changes the file only with --write.
Result<void> fit_constants(const CalibrateOptions& o, const calibrate::Curves& curves, const std::string& file,
                           size_t jobs, Progress& progress) {
  const auto print_step = [&](const calibrate::FitStep& step) {
    progress.clear();
    print_error("step {}: {:.5f}", step.number, step.cost);
    for (const auto& [key, value] : step.values) print_error("  {}={:.4g}", key, value);
    print_error("\n");
  };
  const auto values = calibrate::fit(curves, {.platform_file = file,
                                              .side_by_side = jobs,
                                              .steps = o.steps,
                                              .on_step = print_step,
                                              .on_progress = [&](size_t done, size_t planned) {
                                                progress.show("fitting", done, planned, "programs");
                                              }});
  progress.clear();
  if (!values) return std::unexpected(values.error());
  for (const auto& [key, value] : *values) print_error("{} = {:.4g}\n", key, value);
  if (o.writes) write_file(file, calibrate::with_values(read_file(file), *values));
  return {};
}

// Bounds of errors that do not hold, one line each; `them`: "curves".
std::string exceeded(const CalibrateOptions& o, const calibrate::Spread& fit, const calibrate::Spread& held_out,
                     std::string_view them) {
  std::string text;
  const auto compare = [&](std::string_view what, std::string_view set, double found, double most) {
    if (most > 0 && found > most)
      text += fmt::format("the {} of {} {} is {:.1f} %, at most {:.1f} % is allowed\n", what, set, them, 100 * found,
                          100 * most);
  };
  compare("median error", "fit", fit.median, o.most_fit_median);
  compare("median error", "held-out", held_out.median, o.most_median);
  compare("90th percentile", "held-out", held_out.p90, o.most_p90);
  compare("largest error", "held-out", held_out.max, o.most_max);
  return text;
}

std::string shortcomings(const CalibrateOptions& o, const calibrate::CalibrationReport& f) {
  std::string text = exceeded(o, f.summary.fit, f.summary.held_out, "curves");
  const size_t right = calibrate::count_right(f.orders);
  const double share = f.orders.empty() ? 1 : static_cast<double>(right) / static_cast<double>(f.orders.size());
  if (share < o.least_order)
    text += fmt::format("order is right at {:.0f} % of the sizes, at least {:.0f} % is required\n", 100 * share,
                        100 * o.least_order);
  return text;
}

std::string shortcomings(const CalibrateOptions& o, const calibrate::FigureReport& f) {
  std::string text = exceeded(o, f.summary.fit, f.summary.held_out, "figures");
  const size_t beyond = f.summary.beyond_fit + f.summary.beyond_held_out;
  if (o.within_peak && beyond > 0) text += fmt::format("{} figures are beyond the hardware's peak\n", beyond);
  return text;
}

// Says what is missing, and returns the exit code.
int conclude(const std::string& missed) {
  print_error("{}", missed);
  return missed.empty() ? kExitDone : kExitNo;
}

calibrate::ModelOptions model_options(const CalibrateOptions& o, size_t jobs, Progress& progress) {
  return {.platform = o.platform, .side_by_side = jobs, .on_progress = [&](size_t done, size_t planned) {
            progress.show("", done, planned, "programs");
          }};
}

int run_inside(const CalibrateOptions& o, size_t jobs, Progress& progress) {
  const auto figures = calibrate::load_figures(o.platform);
  if (!figures) return fail_with(figures.error());
  const auto modelled = calibrate::model_figures(*figures, model_options(o, jobs, progress));
  progress.clear();
  if (!modelled) return fail_with(modelled.error());
  const calibrate::FigureReport findings{.platform = o.platform,
                                         .figures = *figures,
                                         .modelled = *modelled,
                                         .summary = calibrate::summarise(*figures, *modelled)};
  print_out("{}", o.json ? to_json(findings) : to_text(findings));
  return conclude(shortcomings(o, findings));
}

int run_calibration(const CalibrateOptions& o) {
  const size_t jobs = o.jobs > 0 ? o.jobs : std::max(1u, std::thread::hardware_concurrency());
  const auto file = platform::find_platform_file(o.platform);
  if (!file) return fail_with(file.error());
  const InterruptionGuard guard;
  Progress progress("calibrate");
  if (o.inside) return run_inside(o, jobs, progress);
  const auto curves = calibrate::load_curves(o.platform);
  if (!curves) return fail_with(curves.error());
  if (o.fits) {
    if (const auto done = fit_constants(o, *curves, *file, jobs, progress); !done) return fail_with(done.error());
  }
  const calibrate::ModelOptions options = model_options(o, jobs, progress);
  auto modelled = calibrate::model_curves(*curves, options);
  progress.clear();
  if (!modelled) return fail_with(modelled.error());
  calibrate::CalibrationReport findings{.platform = o.platform,
                                        .curves = *curves,
                                        .modelled = *modelled,
                                        .summary = calibrate::summarise(*curves, *modelled),
                                        .orders = calibrate::compare_orders(*curves, *modelled)};
  if (o.sampling) {
    auto compared = calibrate::compare_extrapolation(*curves, options);
    progress.clear();
    if (!compared) return fail_with(compared.error());
    findings.extrapolations = std::move(*compared);
  }
  print_out("{}", o.json ? to_json(findings) : to_text(findings));
  if (!o.report.empty()) write_file(o.report, to_html(findings));
  return conclude(shortcomings(o, findings));
}

}  // namespace

void add_calibrate(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<CalibrateOptions>();
  Command& command = program.add_command("calibrate", "Compare modelled times with times measured on real GPUs");
  command.footer(
      "Runs a program for each measured curve (platforms/calibration/curves.toml) on the virtual node and prints how\n"
      "far modelled times are from the measured ones: for curves that constants may be chosen by (fit) and for those\n"
      "that may not (held out), and whether the faster of two algorithms is predicted.\n"
      "--inside does the same for public figures of single GPUs: latencies, rates and bandwidths of instructions, "
      "caches,\n"
      "memories and tensor cores (platforms/calibration/inside/figures.toml).\n"
      "Exit code: 0 done, 1 an error exceeds its bound, 2 a program or a file is invalid.\n\n"
      "Examples:\n  fabricbench dev calibrate --platform b300x8 --report calibration.html\n"
      "  fabricbench dev calibrate --fit --write     fit the constants again; takes about ten minutes\n"
      "  fabricbench dev calibrate --inside --platform h100x8\n"
      "  fabricbench dev calibrate --json --most-median 0.15 --most-p90 0.35 --most-max 0.6");
  command.add_option("--platform", options->platform, "Name of a platform with measured curves").show_default();
  auto inside = command.add_flag("--inside", options->inside, "Compare with figures of single GPUs instead of curves");
  command.add_flag("--json", options->json, "As JSON: fit and held_out, each with median, p90 and max");
  command.add_option("--report", options->report, "Write a page with plots to this file (HTML)")
      .output_file()
      .excludes(inside);
  command
      .add_flag("--compare-sampling", options->sampling,
                "Also compare extrapolated with simulated times at twice the size")
      .excludes(inside);
  auto fits = command.add_flag("--fit", options->fits, "First fit the constants to the fit curves, and print them");
  fits.excludes(inside);
  command.add_flag("--write", options->writes, "Write them to the platform's file").needs(fits);
  command.add_option("--steps", options->steps, "Steps of the fit").needs(fits).check(in_range(1, 20)).show_default();
  command.add_option("--jobs", options->jobs, "Concurrent programs (default: one for each core)");
  command.add_option("--most-median", options->most_median,
                     "Fail if the median error of what is held out is larger, such as 0.15");
  command.add_option("--most-p90", options->most_p90, "Fail if their 90th percentile is larger");
  command.add_option("--most-max", options->most_max, "Fail if their largest error is larger");
  command.add_option("--most-fit-median", options->most_fit_median,
                     "Fail if the median error of what may be fitted to is larger");
  command.add_option("--least-order", options->least_order, "Fail if a smaller share of orders is right, such as 0.9")
      .excludes(inside);
  command.add_flag("--within-peak", options->within_peak, "Fail if a figure is beyond the hardware's peak")
      .needs(inside);
  command.callback([options, &command_run] { command_run.exit_code = run_calibration(*options); });
}

}  // namespace fb::cli
