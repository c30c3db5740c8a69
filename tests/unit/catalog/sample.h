#pragma once

// A folder with a problem that is right; tests spoil it.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/base/result.h"
#include "common/base/strings.h"
#include "judge/catalog/problem.h"
#include "scratch_folder.h"

namespace fb::catalog {

inline constexpr std::string_view kToml = R"(title = "A title"
track = "comm"
category = "p2p"
library = "cuda"
level = 2
level_reason = "A reason."
tags = ["a", "b-c"]
provenance = "Here."
worlds = [4, 2, 3]

[parameters]
zeta = "comes first"
alpha = "comes second"

[[size]]
name = "one"
zeta = 1
alpha = 2
quick = true

[[size]]
name = "large"
zeta = 100
alpha = 3
timed = true

[[tensor]]
name = "in"
role = "in"
dtype = "bf16"
shape = ["zeta", "alpha + rank"]
fill = "spread"
about = "what goes in"

[[tensor]]
name = "out"
role = "out"
dtype = "i64"
shape = ["zeta * world"]
replicated = true
about = "what comes out"

[rules]
forbid_in_run = ["copy"]
forbid_symbols = ["dlopen"]

[cost]
link_bytes = "(world - 1) * zeta"
memory_bytes = "zeta"
flops = 0
)";

inline constexpr std::string_view kReference = R"(#include <cuda_runtime.h>
#include "args.h"
// given
// [solution]
class Solution {};
// [template]
//| class Solution {
//|   // TODO
//| };
// [/solution]
// also given
)";

inline constexpr std::string_view kStatement =
    "From `in` to `out`, `zeta` times `alpha`. No `cudaMemcpyAsync` in `run`, no `dlopen`.\n";

class ProblemFolder : public testing::Test {
 protected:
  ProblemFolder() {
    write("problem.toml", kToml);
    write("statement.md", kStatement);
    write("reference.cu", kReference);
    write("oracle.cpp", "FABRICBENCH_ORACLE(expect)\n");
  }

  std::string folder() const { return root_.path() + "/comm/p2p/sample"; }
  void write(const std::string& file, std::string_view content) const {
    root_.write("comm/p2p/sample/" + file, content);
  }
  void remove(const std::string& file) const { std::filesystem::remove(folder() + "/" + file); }

  // problem.toml with `from` replaced by `to`.
  void spoil(std::string_view from, std::string_view to) {
    const size_t at = toml_.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    toml_.replace(at, from.size(), to);
    write("problem.toml", toml_);
  }

  void add_to_toml(std::string_view text) {
    toml_ += text;
    write("problem.toml", toml_);
  }

  // All messages, with the folder's path left out; empty if it loads.
  std::string messages() const {
    const auto problem = load_problem(folder());
    if (problem) return "";
    std::string text;
    for (const Diagnostic& d : problem.error().list) {
      EXPECT_TRUE(d.message.starts_with(folder())) << d.message;
      text += d.message.substr(std::min(d.message.size(), folder().size() + 1)) + "\n";
    }
    return text;
  }

  Problem load() const {
    auto problem = load_problem(folder());
    EXPECT_TRUE(problem) << messages();
    return problem ? std::move(*problem) : Problem{};
  }

  ScratchFolder root_;
  std::string toml_{kToml};
};

}  // namespace fb::catalog
