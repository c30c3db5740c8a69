#include "audit/prove/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "audit/prove/branch_coverage.h"
#include "audit/prove/impostor_sources.h"
#include "audit/prove/impostors.h"
#include "audit/prove/sensitivity.h"
#include "audit/prove/stated_cost.h"
#include "common/base/hash.h"
#include "common/base/interruption.h"
#include "common/base/strings.h"
#include "judge/catalog/source.h"
#include "judge/catalog/statement.h"
#include "judge/judge.h"
#include "judge/score/extrapolation.h"
#include "toolchain/compile/locate.h"

namespace fb::prove {
namespace {

using judge::Thoroughness;
using record::VerdictClass;

constexpr uint64_t kFullSeeds = 8;
constexpr uint64_t kCostSeeds = 16;  // over which moved bytes that depend on the inputs are averaged
// The oracle is asked many times: sizes above this many elements in all are left to the judge.
constexpr int64_t kMostElements = 1 << 16;

// What a check says when it fails.
[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

// Thrown by a check that can't be made here.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Prover {
 public:
  Prover(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options)
      : pack_(pack), problem_(problem), of_baseline_(judge::with_rules_of_baseline(problem)), options_(options) {
    report_.problem = problem.name;
  }

  Report run() {
    check("nothing is left to do in its texts", [&] { return nothing_to_do(); });
    check("statement names every tensor, parameter and rule", [&] { return statement(); });
    check(problem_.has_expert ? "reference passes" : "baseline passes", [&] { return reference(); });
    if (has_both() && !quick()) {
      check("baseline passes", [&] { return pass_under_seeds(problem_.baseline); });
      check("reference is faster than the baseline", [&] { return faster_than_baseline(); });
    }
    if (!quick()) check("reference moves the bytes that [cost] states", [&] { return cost(); });
    if (!quick()) check("every branch of the reference goes both ways", [&] { return coverage(); });
    check("template compiles and does not pass", [&] { return template_is_refused(); });
    check("oracle is deterministic", [&] { return deterministic(); });
    check("oracle depends on every input and on other ranks", [&] { return sensitive(); });
    check("outputs of impostors are refused", [&] { return impostors(); });
    check("impostors do not pass", [&] { return impostor_candidates(); });
    check("an independent alternative passes", [&] { return alternative(); });
    if (options_.with_nvcc && !quick()) {
      check("reference compiles with nvcc", [&] { return nvcc(problem_, problem_.reference, "reference.cu"); });
      if (has_both())
        check("baseline compiles with nvcc", [&] { return nvcc(of_baseline_, problem_.baseline, "baseline.cu"); });
    }
    return std::move(report_);
  }

 private:
  template <class Do>
  void check(std::string name, Do&& work) {
    const auto begin = std::chrono::steady_clock::now();
    Check done{.name = std::move(name)};
    if (options_.on_begin) options_.on_begin(done.name);
    try {
      done.detail = work();
      done.good = true;
    } catch (const Interrupted&) {
      throw;
    } catch (const Skipped& e) {
      done.good = done.skipped = true;
      done.detail = e.what();
    } catch (const std::exception& e) {
      done.detail = e.what();
    }
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options_.on_check) options_.on_check(done);
    report_.checks.push_back(std::move(done));
  }

  // The baseline may call what the problem forbids to solutions.
  record::Verdict judge(const std::string& answer, Thoroughness thoroughness, uint64_t seed,
                        std::vector<record::BranchWays>* branches = nullptr, bool of_baseline = false) const {
    judge::JudgeRequest request;
    request.pack = &pack_;
    request.problem = of_baseline || is_baseline(answer) ? &of_baseline_ : &problem_;
    request.answer = answer;
    request.answer_file = kReferenceFile;
    request.thoroughness = thoroughness;
    request.seed = seed;
    request.use_sandbox = options_.use_sandbox;
    request.device_compiler = options_.device_compiler;
    request.measure_yardstick = false;
    request.measure_sensitivity = false;
    request.branches = branches;
    return judge::judge(request);
  }

  bool is_baseline(const std::string& answer) const {
    return !problem_.baseline.empty() && answer == problem_.baseline;
  }

  static std::string said(const record::Verdict& verdict) {
    return fmt::format("{}: {}\n{}(seed {})", to_string(verdict.verdict), verdict.summary, verdict.explanation,
                       verdict.seed);
  }

  // A problem that was begun from the skeleton. The template's own TODOs are for the solver.
  std::string nothing_to_do() const {
    std::string text;
    for (const char* name : {"problem.toml", "variant.toml", "statement.md", "oracle.cpp", "reference.cu",
                             "baseline.cu", "alternative.cu", "driver.cu"}) {
      const std::string file = problem_.folder + "/" + name;
      if (!std::filesystem::exists(file)) continue;
      size_t number = 0;
      const std::string content = read_file(file);
      for (const std::string_view line : split(content, '\n')) {
        ++number;
        if (line.starts_with("//|") || line.find("TODO") == std::string_view::npos) continue;
        text += fmt::format("{}:{}: {}\n", name, number, trim(line));
      }
    }
    if (!text.empty()) fail("still to do:\n" + text);
    return "";
  }

  std::string statement() const {
    const auto errors = catalog::lint_statement(problem_);
    if (errors.empty()) return "";
    std::string text;
    for (const auto& diagnostic : errors) text += diagnostic.message + "\n";
    fail(text);
  }

  bool quick() const { return options_.form == Form::quick; }

  // `moved`: gets the timings of the first seed. `branches`: gets the ways that branches went; null: not counted.
  std::string pass_under_seeds(const std::string& answer, MovedBytes* moved = nullptr,
                               std::vector<record::BranchWays>* branches = nullptr) const {
    const uint64_t seeds = options_.form == Form::full ? kFullSeeds : 1;
    const auto thoroughness = quick() ? Thoroughness::quick : Thoroughness::full;
    uint64_t sessions = 0;
    for (uint64_t k = 0; k < seeds; ++k) {
      const auto verdict = judge(answer, thoroughness, mix(options_.seed, k), branches);
      if (verdict.verdict != VerdictClass::pass) fail(said(verdict));
      if (moved != nullptr && k == 0) moved->add(verdict.timings);
      sessions += verdict.sessions;
    }
    return fmt::format("{} sessions", sessions);
  }

  std::string reference() { return pass_under_seeds(problem_.reference, &moved_, quick() ? nullptr : &branches_); }

  std::string coverage() const {
    const Coverage found = cover(problem_, branches_);
    if (!found.missing.empty()) fail(found.missing);
    return fmt::format("{} branches and kernels, {} of them argued", found.branches, found.argued);
  }

  bool has_both() const { return problem_.has_expert && !problem_.baseline.empty(); }

  // At every timed size; where one of both is not extrapolated, at the largest sample. The ratio is the geometric mean.
  std::string faster_than_baseline() const {
    judge::JudgeRequest request;
    request.pack = &pack_;
    request.problem = &problem_;
    request.use_sandbox = options_.use_sandbox;
    request.device_compiler = options_.device_compiler;
    request.measure_sensitivity = false;
    const auto times = [&](judge::Yardstick which) {
      auto found = judge::yardstick_times(request, which);
      if (!found) fail(found.error().list[0].message);
      return std::move(*found);
    };
    const auto reference = times(judge::Yardstick::reference), baseline = times(judge::Yardstick::baseline);
    double sum = 0;
    for (size_t k = 0; k < reference.size(); ++k) {
      const auto [fast, plain] = judge::comparable_seconds(reference[k], baseline.at(k));
      const double ratio = plain / fast;
      if (!(ratio > 1)) fail(fmt::format("size {}: {:.2f} of its speed", reference[k].size, ratio));
      sum += std::log(ratio);
    }
    return fmt::format("{:.2f} times as fast",
                       std::exp(sum / static_cast<double>(std::max<size_t>(reference.size(), 1))));
  }

  // The judgement of the reference has counted the bytes of one seed. If they differ they may depend on the inputs: the
  // mean over more seeds decides.
  std::string cost() {
    std::string difference = moved_.difference(problem_);
    if (difference.empty()) return "";
    for (uint64_t seed = 1; seed < kCostSeeds; ++seed) {
      const auto verdict = judge(problem_.reference, Thoroughness::times_alone, mix(options_.seed, seed));
      if (verdict.verdict != VerdictClass::pass) fail(said(verdict));
      const bool first = moved_.counted(problem_) == 0;
      moved_.add(verdict.timings);
      // The seeds before had two calls in a row at the size that counts.
      if (first && moved_.counted(problem_) != 0 && moved_.difference(problem_).empty()) return "";
    }
    difference = moved_.difference(problem_);
    if (!difference.empty()) fail(difference);
    return fmt::format("mean of {} seeds", kCostSeeds);
  }

  std::string alternative() const {
    if (problem_.alternative.empty()) fail("there is no alternative.cu");
    return quick() ? "not judged in the quick form" : pass_under_seeds(problem_.alternative);
  }

  // The class it got.
  std::string must_be_refused(const std::string& name, const std::string& answer, bool of_baseline = false) const {
    const auto verdict = judge(answer, Thoroughness::quick, options_.seed, nullptr, of_baseline);
    switch (verdict.verdict) {
      case VerdictClass::pass:
        fail(name + " passes");
      case VerdictClass::compile_error:
      case VerdictClass::unsupported:
      case VerdictClass::infra:
        fail(name + " was not judged: " + said(verdict));
      default:
        return std::string(to_string(verdict.verdict));
    }
  }

  std::string template_is_refused() const {
    const auto text = catalog::make_template(problem_);
    if (!text) fail(to_string(text.error(), "reference.cu"));
    return must_be_refused("the template", *text);
  }

  std::string impostor_candidates() const {
    std::string text;
    const auto impostors = impostor_sources(problem_);
    uint64_t hash = 0;
    for (const char letter : problem_.name) hash = mix(hash, static_cast<uint64_t>(letter));
    for (const auto& impostor : impostors) {
      const bool brief = impostor.name == "zeros" || impostor.name == "result of the call before" ||
                         impostor.name == "baseline without communication";
      if (options_.form == Form::usual && !brief) continue;
      if (quick() && &impostor != &impostors[hash % impostors.size()]) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", impostor.name,
                          must_be_refused(impostor.name, impostor.answer, impostor.of_baseline));
    }
    return text.empty() ? "none: the class is used by a driver" : text;
  }

  const judge::Oracle& oracle() {
    if (!oracle_) {
      auto loaded = judge::Oracle::load(problem_);
      if (!loaded) fail(loaded.error().list[0].message);
      oracle_ = std::move(*loaded);
    }
    return *oracle_;
  }

  // For each size and world that is small enough.
  template <class Do>
  std::string for_layouts(Do&& work) {
    int done = 0;
    for (const auto& size : problem_.sizes) {
      for (const int world : problem_.worlds) {
        if (size.timed && world != judge::timed_world(problem_)) continue;  // never judged
        const judge::Layout layout(problem_, size, world);
        int64_t elements = 0;
        for (const auto& slots : layout.ranks) {
          for (const auto& slot : slots) elements += slot.elements;
        }
        if (elements > kMostElements) continue;
        const std::string wrong = work(layout);
        if (!wrong.empty()) fail(fmt::format("size {}, {} ranks: {}", size.name, world, wrong));
        ++done;
      }
    }
    if (done == 0) fail("no size is small enough");
    return fmt::format("{} sizes and worlds", done);
  }

  std::string deterministic() {
    return for_layouts(
        [&](const judge::Layout& layout) { return find_nondeterminism(layout, oracle(), options_.seed); });
  }

  // An input may matter at some sizes only.
  std::string sensitive() {
    std::string last = "no size is small enough";
    for_layouts([&](const judge::Layout& layout) -> std::string {
      if (!last.empty())
        last = find_insensitivity(layout, oracle(), mix(options_.seed, static_cast<uint64_t>(layout.world)));
      return "";
    });
    if (!last.empty()) fail(last);
    return "";
  }

  // An impostor is judged at all sizes and worlds: being refused at one of them is enough, and at some it may happen to
  // be right.
  std::string impostors() {
    std::map<std::string, bool> refused;
    for_layouts([&](const judge::Layout& layout) -> std::string {
      const judge::CallData call(layout, oracle(), options_.seed, 1),
          before(layout, oracle(), mix(options_.seed, 9), 0);
      if (const auto wrong = refusal(layout, call, right_outputs(layout, call)))
        return "the right answer is refused: " + *wrong;
      for (const auto& impostor : make_impostors(layout, oracle(), call, before))
        refused[impostor.name] |= refusal(layout, call, impostor.outputs).has_value();
      return "";
    });
    // With one rank a copy from GPU to GPU leaves the values of the input.
    if (problem_.worlds == std::vector{1}) refused.erase("inputs returned");
    for (const auto& [name, was_refused] : refused) {
      if (!was_refused) fail(name + " is accepted");
    }
    return fmt::format("{} impostors", refused.size());
  }

  std::string nvcc(const catalog::Problem& rules, const std::string& answer, const char* file) const {
    if (const auto found = toolchain::locate_nvcc(); !found) throw Skipped(found.error().list[0].message);
    judge::JudgeRequest request;
    request.pack = &pack_;
    request.problem = &rules;
    request.answer = answer;
    request.answer_file = file;
    request.backend = judge::Backend::cuda;
    request.use_sandbox = options_.use_sandbox;
    const auto verdict = judge::judge(request);
    if (verdict.verdict == VerdictClass::compile_error || verdict.verdict == VerdictClass::rule_violation)
      fail(said(verdict));
    if (verdict.wall_seconds.find("build") == verdict.wall_seconds.end()) fail(said(verdict));
    return "";
  }

  const catalog::Pack& pack_;
  const catalog::Problem& problem_;
  const catalog::Problem of_baseline_;  // as it is judged
  const Options& options_;
  std::optional<judge::Oracle> oracle_;
  MovedBytes moved_;
  std::vector<record::BranchWays> branches_ = {};
  Report report_;
};

}  // namespace

bool Report::good() const { return std::ranges::all_of(checks, &Check::good); }

Report prove(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options) {
  return Prover(pack, problem, options).run();
}

}  // namespace fb::prove
