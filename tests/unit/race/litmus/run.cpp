// Runs the family on the machine and holds every run against the model: no outcome that the model forbids, a race
// report if and only if some allowed execution has a race. Prints how much of what is allowed was seen.

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "litmus/generate.h"
#include "litmus/model.h"
#include "litmus/ptx.h"
#include "litmus/rig.h"
#include "virtual_node/race/detector.h"

namespace fb::litmus {
namespace {

struct Options {
  uint64_t seeds = 8;         // of every test
  uint64_t most_seeds = 512;  // of a test until its race, or with `thorough` each outcome, has shown up
  uint64_t every = 1;         // run one test in this many
  std::string family;         // only this one
  bool thorough = false;
  bool check = true;
  bool strict = false;
  bool print = false;  // the tests and what is expected, without running them
  uint64_t most_failures = 10;
};

constexpr uint64_t kSeedStep = 1009;

constexpr std::string_view kUsage =
    "litmus_run [--seeds N] [--most-seeds N] [--every N] [--family NAME] [--thorough] [--strict] [--no-check] "
    "[--print] [--failures N]\n";

struct Tally {
  uint64_t tests = 0, racy = 0, runs = 0;
  uint64_t weak_allowed = 0, weak_seen = 0;              // outcomes that no interleaving gives
  uint64_t weak_tests = 0, weak_tests_seen = 0;          // tests with such outcomes, and with one of them seen
  uint64_t sequential_allowed = 0, sequential_seen = 0;  // outcomes of interleavings

  void add(const Tally& t) {
    tests += t.tests, racy += t.racy, runs += t.runs;
    weak_allowed += t.weak_allowed, weak_seen += t.weak_seen;
    weak_tests += t.weak_tests, weak_tests_seen += t.weak_tests_seen;
    sequential_allowed += t.sequential_allowed, sequential_seen += t.sequential_seen;
  }
};

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

class Runner {
 public:
  explicit Runner(const Options& options) : options_(options) {}

  int run() {
    std::vector<Program> all = generate();
    uint64_t number = 0;
    for (const Program& program : all) {
      if (!options_.family.empty() && program.family != options_.family) continue;
      if (++number % options_.every != 0) continue;
      try {
        run_test(program, number);
      } catch (const std::exception& e) {
        fail(program, e.what());
      }
      if (failures_ >= options_.most_failures) {
        fmt::print("stopped after {} failures\n", failures_);
        break;
      }
    }
    report(all.size());
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void fail(const Program& program, const std::string& what) {
    ++failures_;
    fmt::print("FAILED {}\n{}\n", what, text_of(program));
    std::fflush(stdout);
  }

  void run_test(const Program& program, uint64_t number) {
    const Expectation expected = evaluate(program, {.multimem_is_a_proxy = options_.strict});
    if (options_.print) return print(program, expected);
    Rig rig(program);
    std::set<Outcome> seen;
    std::optional<std::string> race;
    Tally tally{.tests = 1, .racy = expected.racy};
    const auto wants_more = [&] {
      if (tally.runs < options_.seeds) return true;
      if (tally.runs >= options_.most_seeds) return false;
      return (options_.check && expected.racy && !race) || (options_.thorough && seen != expected.allowed);
    };
    while (wants_more()) {
      // Of its own for each test: with the same ones for all, one that shows nothing would show nothing in all.
      const uint64_t seed = number * kSeedStep + ++tally.runs;
      std::optional<race::Detector> detector;
      if (options_.check) {
        detector.emplace(
            race::Options{.seed = seed, .strict = options_.strict, .weak_lines = 1, .weak_chance = 2, .why = {}},
            [](const simt::Program&, uint32_t origin) {
              return simt::SourceLocation{.function = "litmus", .file = "kernel", .line = origin};
            },
            [&](race::Report&& report) {
              if (!race) race = fmt::format("seed {}: {}", seed, report.text);
            });
      }
      Outcome outcome = rig.run(seed, detector ? &*detector : nullptr);
      if (!expected.mixed_size && !expected.allowed.contains(outcome)) {
        return fail(program, fmt::format("seed {}: the outcome {} is forbidden; allowed are{}", seed,
                                         text_of(program, outcome), list(program, expected.allowed)));
      }
      seen.insert(std::move(outcome));
      if (race && !expected.racy) {
        return fail(program,
                    fmt::format("a race is reported, but conflicting accesses are morally strong or related in "
                                "causality order in every allowed execution:\n{}",
                                *race));
      }
    }
    if (options_.check && expected.racy && !race) {
      return fail(program, fmt::format("no race was reported under {} seeds, but {}", tally.runs, expected.race));
    }
    for (const Outcome& o : expected.allowed) {
      const bool sequential = expected.sequential.contains(o);
      (sequential ? tally.sequential_allowed : tally.weak_allowed) += 1;
      (sequential ? tally.sequential_seen : tally.weak_seen) += seen.contains(o);
    }
    tally.weak_tests = tally.weak_allowed != 0;
    tally.weak_tests_seen = tally.weak_seen != 0;
    families_[program.family].add(tally);
  }

  static std::string list(const Program& program, const std::set<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& o : outcomes) text += fmt::format(" ({})", text_of(program, o));
    return text;
  }

  void print(const Program& program, const Expectation& expected) {
    fmt::print("{}", text_of(program));
    for (const Outcome& o : expected.allowed) {
      fmt::print("  {}{}\n", text_of(program, o), expected.sequential.contains(o) ? "" : "  (weak)");
    }
    fmt::print("  {}\n\n", expected.racy ? "race: " + expected.race : std::string("no race"));
    families_[program.family].add({.tests = 1, .racy = expected.racy});
  }

  void report(size_t generated) const {
    constexpr std::string_view kRow = "{:<20} {:>7} {:>7} {:>9} {:>14} {:>14} {:>14}\n";
    fmt::print(kRow, "family", "tests", "racy", "runs", "interleavings", "weak outcomes", "weak tests");
    Tally all;
    const auto row = [&](std::string_view name, const Tally& t) {
      fmt::print(kRow, name, t.tests, t.racy, t.runs, percent(t.sequential_seen, t.sequential_allowed),
                 percent(t.weak_seen, t.weak_allowed), percent(t.weak_tests_seen, t.weak_tests));
    };
    for (const auto& [name, tally] : families_) {
      row(name, tally);
      all.add(tally);
    }
    row("all", all);
    fmt::print(
        "{} tests generated, {} run, {} racy; {} of {} weak outcomes seen in {} of {} tests that allow one; {} "
        "failures\n",
        generated, all.tests, all.racy, all.weak_seen, all.weak_allowed, all.weak_tests_seen, all.weak_tests,
        failures_);
  }

  Options options_;
  std::map<std::string, Tally> families_;
  uint64_t failures_ = 0;
};

bool read_options(int argc, char** argv, Options& options) {
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const auto number = [&](uint64_t& value) {
      if (++k >= argc) return false;
      const char* end = argv[k] + std::strlen(argv[k]);
      return std::from_chars(argv[k], end, value).ptr == end && value > 0;
    };
    if (word == "--thorough") {
      options.thorough = true;
    } else if (word == "--no-check") {
      options.check = false;
    } else if (word == "--strict") {
      options.strict = true;
    } else if (word == "--print") {
      options.print = true;
    } else if (word == "--family" && k + 1 < argc) {
      options.family = argv[++k];
    } else if (word == "--seeds"        ? !number(options.seeds)
               : word == "--most-seeds" ? !number(options.most_seeds)
               : word == "--every"      ? !number(options.every)
               : word == "--failures"   ? !number(options.most_failures)
                                        : true) {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace fb::litmus

int main(int argc, char** argv) {
  fb::litmus::Options options;
  if (!fb::litmus::read_options(argc, argv, options)) {
    fmt::print(stderr, "{}", fb::litmus::kUsage);
    return 2;
  }
  return fb::litmus::Runner(options).run();
}
