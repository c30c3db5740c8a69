#pragma once

// A problem in a folder of its own, made of what a test says of it.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "judge/catalog/problem.h"
#include "judge/data/call_data.h"
#include "judge/data/oracle.h"

namespace fb::judge {

struct Sample {
  std::string_view oracle = "";   // the body of oracle.cpp
  std::string_view tensors = "";  // tables of problem.toml
  std::string_view worlds = "2";
  std::string_view sizes =
      "[[size]]\nname = \"small\"\nn = 8\nquick = true\n[[size]]\nname = \"large\"\nn = 32\ntimed = true\n";
};

// One f32 input that is summed over the ranks into a replicated output.
inline constexpr std::string_view kSumTensors = R"(
[[tensor]]
name = "in"
role = "in"
dtype = "f32"
shape = ["n"]
fill = "spread"
about = "a term"
[[tensor]]
name = "out"
role = "out"
dtype = "f32"
shape = ["n"]
replicated = true
about = "the sum"
)";
inline constexpr std::string_view kSumOracle = R"(
void expect(Case& c) {
  Output out = c.output("out");
  for (int64_t i = 0; i < c["n"]; ++i) {
    Sum sum;
    for (int r = 0; r < c.world(); ++r) sum.add(c.input<float>("in", r)[static_cast<size_t>(i)]);
    out.set(i, sum);
  }
}
FABRICBENCH_ORACLE(expect)
)";

class SampleProblem {
 public:
  explicit SampleProblem(const Sample& sample = {}) {
    // Oracles are compiled once, and found again by the next test.
    setenv("FABRICBENCH_CACHE", FB_BINARY_DIR "/tests/oracle_cache", 1);
    const std::string folder = folder_.path() + "/comm/p2p/sample";
    std::filesystem::create_directories(folder);
    write_file(folder + "/problem.toml",
               fmt::format("title = \"A sample\"\ntrack = \"comm\"\ncategory = \"p2p\"\nlibrary = \"cuda\"\nlevel = 1\n"
                           "level_reason = \"One.\"\ntags = [\"a\"]\nprovenance = \"Here.\"\nworlds = [{}]\n"
                           "[parameters]\nn = \"elements\"\n{}{}\n"
                           "[cost]\nlink_bytes = \"(world - 1) * n * 4\"\nmemory_bytes = \"n * 4\"\nflops = \"n\"\n",
                           sample.worlds, sample.sizes, sample.tensors.empty() ? kSumTensors : sample.tensors));
    write_file(folder + "/statement.md", "From `in` to `out`, `n` of them.\n");
    write_file(folder + "/reference.cu",
               "#include \"args.h\"\n// [solution]\nclass Solution {};\n// [template]\n//| class Solution {};\n"
               "// [/solution]\n");
    write_file(folder + "/oracle.cpp", "#include <fabricbench/oracle.h>\nusing namespace fabricbench::oracle;\n" +
                                           std::string(sample.oracle.empty() ? kSumOracle : sample.oracle));
    auto loaded = catalog::load_problem(folder);
    if (!loaded) throw std::runtime_error(to_string(loaded.error(), "sample"));
    problem_ = std::move(*loaded);
  }

  const catalog::Problem& problem() const { return problem_; }
  const catalog::SizeClass& size(size_t k = 0) const { return problem_.sizes.at(k); }
  Oracle oracle() const {
    auto loaded = Oracle::load(problem_);
    if (!loaded) throw std::runtime_error(to_string(loaded.error(), "oracle"));
    return std::move(*loaded);
  }

 private:
  TempDir folder_;
  catalog::Problem problem_;
};

// What `work` throws, as text; empty if nothing.
template <class Work>
std::string thrown_by(Work&& work) {
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

// One oracle that does something else at each size: size k (n = 8 + k) does line k. One compilation for many tests.
inline std::string oracle_of_lines(const std::vector<std::string>& lines) {
  std::string text = "void expect(Case& c) {\n  switch (c[\"n\"]) {\n";
  for (size_t k = 0; k < lines.size(); ++k) text += fmt::format("    case {}: {{ {} break; }}\n", 8 + k, lines[k]);
  return text + "  }\n}\nFABRICBENCH_ORACLE(expect)\n";
}
inline std::string sizes_of_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t k = 0; k < lines.size(); ++k)
    text += fmt::format("[[size]]\nname = \"s{}\"\nn = {}\nquick = true\ntimed = true\n", k, 8 + k);
  return text;
}
// What each line makes of one call of two ranks: what is thrown, or nothing.
inline std::vector<std::string> complaints_of(const std::vector<std::string>& lines, std::string_view tensors = "") {
  const std::string oracle = oracle_of_lines(lines), sizes = sizes_of_lines(lines);
  const SampleProblem sample({.oracle = oracle, .tensors = tensors, .sizes = sizes});
  const Oracle loaded = sample.oracle();
  std::vector<std::string> complaints;
  for (size_t k = 0; k < lines.size(); ++k) {
    const Layout layout(sample.problem(), sample.size(k), 2);
    complaints.push_back(thrown_by([&] { CallData(layout, loaded, 1, 0); }));
  }
  return complaints;
}

}  // namespace fb::judge
