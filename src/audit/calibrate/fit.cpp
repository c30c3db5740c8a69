#include "audit/calibrate/fit.h"

#include <algorithm>
#include <cmath>

#include "audit/calibrate/model.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"

namespace fb::calibrate {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

// The step of finite differences.
constexpr double kProbe = 0.05;
// The largest change of a constant in one step: the model is not linear.
constexpr double kLongestStep = 0.5;

// Solves a x = b by Gaussian elimination; `a` is symmetric positive definite, because of the prior.
Vector solve(Matrix a, Vector b) {
  const size_t n = b.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

double square(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum;
}

class Fit {
 public:
  Fit(const Curves& curves, const FitOptions& options, const std::vector<Parameter>& parameters, Values start)
      : curves_(curves),
        options_(options),
        parameters_(parameters),
        text_(read_file(options.platform_file)),
        start_(std::move(start)) {}

  Result<Values> run() {
    Vector x(parameters_.size());  // ln(value / start)
    auto residuals = residuals_at(x);
    if (!residuals) return std::unexpected(residuals.error());
    Vector best = x;
    double least = square(*residuals);
    report_step(0, least, x);
    for (int step = 1; step <= options_.steps; ++step) {
      Matrix slopes;  // by parameter
      for (size_t p = 0; p < x.size(); ++p) {
        Vector moved = x;
        moved[p] += kProbe;
        auto there = residuals_at(moved);
        if (!there) return std::unexpected(there.error());
        for (size_t i = 0; i < there->size(); ++i) (*there)[i] = ((*there)[i] - (*residuals)[i]) / kProbe;
        slopes.push_back(std::move(*there));
      }
      const Vector change = newton_step(slopes, *residuals);
      for (size_t p = 0; p < x.size(); ++p) x[p] += std::clamp(change[p], -kLongestStep, kLongestStep);
      residuals = residuals_at(x);
      if (!residuals) return std::unexpected(residuals.error());
      const double cost = square(*residuals);
      report_step(step, cost, x);
      if (cost < least) {
        best = x;
        least = cost;
      }
    }
    return values_at(best);
  }

 private:
  static Vector newton_step(const Matrix& slopes, const Vector& residuals) {
    const size_t n = slopes.size();
    Matrix a(n, Vector(n));
    Vector b(n);
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = 0; q < n; ++q) {
        for (size_t i = 0; i < residuals.size(); ++i) a[p][q] += slopes[p][i] * slopes[q][i];
      }
      for (size_t i = 0; i < residuals.size(); ++i) b[p] -= slopes[p][i] * residuals[i];
    }
    return solve(std::move(a), std::move(b));
  }

  Values values_at(const Vector& x) const {
    Values values;
    for (size_t p = 0; p < x.size(); ++p) {
      const std::string key = parameters_[p].key;
      values[key] = start_.at(key) * std::exp(x[p]);
    }
    return values;
  }

  // Residuals of the points and of the prior.
  Result<Vector> residuals_at(const Vector& x) const {
    const TempDir scratch;
    const std::string file = scratch.path() + "/platform.toml";
    write_file(file, with_values(text_, values_at(x)));
    const auto modelled = model_curves(curves_, {.platform = file,
                                                 .side_by_side = options_.side_by_side,
                                                 .fit_only = true,
                                                 .on_progress = options_.on_progress});
    if (!modelled) return std::unexpected(modelled.error());
    Vector residuals;
    for (size_t c = 0; c < curves_.curves.size(); ++c) {
      const auto& times = (*modelled)[c].microseconds;
      for (size_t k = 0; k < times.size(); ++k) {
        residuals.push_back(std::log(times[k] / curves_.curves[c].points[k].microseconds) /
                            std::sqrt(static_cast<double>(times.size())));
      }
    }
    // Moving a constant by its freedom costs as much as this error in one curve.
    constexpr double kUnit = 0.05;
    for (size_t p = 0; p < x.size(); ++p) residuals.push_back(kUnit * x[p] / parameters_[p].freedom);
    return residuals;
  }

  void report_step(int step, double cost, const Vector& x) const {
    if (options_.on_step) options_.on_step({step, cost, values_at(x)});
  }

  const Curves& curves_;
  const FitOptions& options_;
  const std::vector<Parameter>& parameters_;
  std::string text_;
  Values start_;
};

}  // namespace

// Constants that no curve determines are not listed: their values are priors, as their sources in the file say.
std::vector<Parameter> fitted_parameters(const Curves& curves, std::string_view platform_text) {
  static const std::vector<Parameter> kDevices = {
      {"peer.latency", 0.1},          {"peer.copy_bandwidth", 0.3},
      {"peer.store_bandwidth", 0.3},  {"multicast.duplex_bandwidth", 0.3},
      {"memory.latency", 0.3},        {"memory.l2_latency", 0.3},
      {"memory.atomic_latency", 0.3}, {"in_flight.loads", 0.3},
      {"fence.system", 0.3},          {"copy.start", 0.3},
      {"kernel.launch", 0.3},         {"kernel.start", 0.3},
  };
  static const std::vector<Parameter> kCards = {
      {"nic.bandwidth", 0.3}, {"nic.loopback_bandwidth", 0.3}, {"nic.loopback", 0.3}, {"nic.message", 0.3}};
  std::vector<Parameter> all;
  for (const auto& [kind, of_cards] : {std::pair(&kDevices, false), std::pair(&kCards, true)}) {
    const bool measured = std::ranges::any_of(
        curves.curves, [&](const Curve& c) { return c.split == CurveUse::fit && c.cards == of_cards; });
    if (!measured) continue;
    for (const Parameter& p : *kind) {
      if (read_values(platform_text, {p.key})) all.push_back(p);
    }
  }
  return all;
}

Result<Values> fit(const Curves& curves, const FitOptions& options) {
  const std::string text = read_file(options.platform_file);
  const std::vector<Parameter> parameters = fitted_parameters(curves, text);
  std::vector<std::string> keys;
  for (const Parameter& parameter : parameters) keys.emplace_back(parameter.key);
  auto start = read_values(text, keys);
  if (!start) return start;
  return Fit(curves, options, parameters, std::move(*start)).run();
}

}  // namespace fb::calibrate
