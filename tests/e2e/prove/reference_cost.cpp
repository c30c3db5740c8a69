// Compares what a problem says that its algorithm moves ([cost] of problem.toml) with what its reference moved on the
// virtual node, as the machine counted it.
//
//   reference_cost FOLDER        a problem's folder, as problems/p2p/push_copy
//
// Figures that depend on the inputs are means over some of them.
//
// Exit code 0: within 10 % at the timed size with the most bytes, on the largest world; 1: not; 2: could not be
// measured.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "catalog/pack.h"
#include "judge/judge.h"

namespace {

using namespace fb;

constexpr double kTolerance = 0.1;
constexpr uint64_t kSeeds = 16;  // over which figures that depend on the inputs are averaged

double stated(const catalog::Expression& cost, const catalog::Problem& problem, const record::Timing& t) {
  const auto size = std::ranges::find(problem.sizes, t.size, &catalog::SizeClass::name);
  return static_cast<double>(cost.evaluate(problem.values(*size, t.world, 0)).value_or(0));
}

// As docs/problems.md defines it.
uint64_t link_bytes(const record::Moved& m) { return std::max({m.peer_out, m.peer_in, m.to_host, m.from_host}); }

bool compare(const char* what, double says, double counted) {
  const double ratio = says > 0 ? counted / says : counted == 0 ? 1 : INFINITY;
  const bool agree = std::abs(ratio - 1) <= kTolerance;
  fmt::print("   {:<13} stated {:>10.0f}   counted {:>10.0f}   {:.3f}{}\n", what, says, counted, ratio,
             agree ? "" : "   (more than 10 %)");
  return agree;
}

// Of the timed sizes, with the inputs of one seed; none after a complaint.
std::optional<std::vector<record::Timing>> timings_of(const catalog::Pack& pack, uint64_t seed) {
  judge::JudgeRequest request;
  request.pack = &pack;
  request.problem = &pack.problems.front();
  request.answer = request.problem->reference;
  request.answer_file = "reference.cu";
  request.thoroughness = judge::Thoroughness::times;
  request.seed = seed;
  request.use_sandbox = false;  // a reference is as trusted as its oracle
  request.measure_sensitivity = false;
  const record::Verdict verdict = judge::judge(request);
  if (verdict.verdict == record::VerdictClass::pass && !verdict.timings.empty()) return verdict.timings;
  fmt::print(stderr, "{}: {}\n{}\n", to_string(verdict.verdict), verdict.summary, verdict.explanation);
  return std::nullopt;
}

// Sums over seeds, by timed size.
struct Means {
  explicit Means(const std::vector<record::Timing>& first) : links(first.size()), memory(first.size()) { add(first); }

  // Whether they are those of the seeds before, but for a flag here and there.
  bool add(const std::vector<record::Timing>& timings) {
    bool same = true;
    for (size_t k = 0; k < timings.size(); ++k) {
      const auto add_to = [&](double& sum, uint64_t bytes) {
        const auto one = static_cast<double>(bytes);
        same &= count == 0 || std::abs(one - sum / count) <= 0.01 * one;
        sum += one;
      };
      add_to(links[k], link_bytes(timings[k].moved));
      add_to(memory[k], timings[k].moved.memory);
    }
    ++count;
    return same;
  }

  std::vector<double> links, memory;
  int count = 0;
};

int run(const std::string& folder) {
  setenv("FABRICBENCH_LIB", FB_BINARY_DIR "/lib/fabricbench", 0);
  setenv("FABRICBENCH_CONFINE", FB_BINARY_DIR "/bin/fabricbench-confine", 0);
  setenv("FABRICBENCH_MACHINE", FB_BINARY_DIR "/bin/fabricbench-machine", 0);
  const auto pack = catalog::load_from_pack(FB_SOURCE_DIR "/problems", folder);
  if (!pack) {
    fmt::print(stderr, "{}", to_string(pack.error(), folder));
    return 2;
  }
  const catalog::Problem& problem = pack->problems.front();
  const auto first = timings_of(*pack, 1), second = timings_of(*pack, 2);
  if (!first || !second) return 2;
  const auto links = [&](const record::Timing& t) { return stated(problem.cost.link_bytes, problem, t); };
  const auto largest = std::ranges::max_element(*first, {}, links) - first->begin();
  Means means(*first);
  if (!means.add(*second)) {  // they depend on the inputs
    for (uint64_t seed = 3; seed <= kSeeds; ++seed) {
      const auto more = timings_of(*pack, seed);
      if (!more) return 2;
      means.add(*more);
    }
  }
  bool agree = true;
  for (size_t k = 0; k < first->size(); ++k) {
    const record::Timing& t = (*first)[k];
    fmt::print("{} {} on {} ranks, mean of {}\n", problem.name, t.size, t.world, means.count);
    const bool same_links = compare("link_bytes", links(t), means.links[k] / means.count);
    const bool same_memory =
        compare("memory_bytes", stated(problem.cost.memory_bytes, problem, t), means.memory[k] / means.count);
    if (static_cast<ptrdiff_t>(k) == largest) agree = same_links && same_memory;
  }
  return agree ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: reference_cost FOLDER\n");
    return 2;
  }
  return run(argv[1]);
}
