#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ranks.h"

namespace harness {

struct Options {
  int ranks = 0, calls = 3, warm_up = 10, iterations = 50, samples = 15, seconds = 300;
  bool quick = false, times = true, help = false;
  uint64_t seed = 1;
  std::string results = "results";
  std::vector<std::string> sizes, solutions;
};

inline constexpr const char* kHelp =
    "Usage: ./run [-n RANKS] [OPTIONS] [SOLUTION.so …]\n"
    "       mpirun -n RANKS ./run …     srun -n RANKS ./run …     torchrun --no-python --nproc-per-node RANKS ./run …\n"
    "\n"
    "Checks solutions against the oracle and measures them, one rank on each GPU. Without names: all that were built.\n"
    "  -n RANKS         start so many ranks here; by default as many as the problem and this computer's GPUs allow\n"
    "  --quick          small sizes, without times\n"
    "  --sizes A,B      these sizes only\n"
    "  --no-times       right or wrong only\n"
    "  --calls N        calls back to back that are checked (3)\n"
    "  --iterations N   calls in a row that are timed as one (50); 1: only one call at a time\n"
    "  --samples N      how often each time is taken (15)\n"
    "  --warm-up N      calls before that (10)\n"
    "  --seed N         of the inputs and of late ranks (1)\n"
    "  --seconds N      ends a hang: a size may take so long (300)\n"
    "  --results NAME   writes NAME.json and NAME.svg (results)\n"
    "Exit code: 0 right, 1 wrong, 2 it could not be run, 3 a hang, 4 a rank died.\n";

inline Options read_options(int argc, char** argv) {
  Options o;
  const auto list_of = [](const std::string& text) {
    std::vector<std::string> list(1);
    for (const char c : text) {
      if (c == ',')
        list.emplace_back();
      else
        list.back() += c;
    }
    return list;
  };
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const auto next = [&]() -> std::string {
      if (k + 1 == argc) throw CannotRun(word + " needs a value (./run --help)");
      return argv[++k];
    };
    const auto number = [&](int least) {
      const std::string text = next();
      char* end = nullptr;
      const long value = std::strtol(text.c_str(), &end, 10);
      if (text.empty() || *end || value < least || value > 1'000'000)
        throw CannotRun(word + " takes a number from " + std::to_string(least) + ", not '" + text + "'");
      return static_cast<int>(value);
    };
    if (word == "-n")
      o.ranks = number(1);
    else if (word == "--calls")
      o.calls = number(1);
    else if (word == "--warm-up")
      o.warm_up = number(0);
    else if (word == "--iterations")
      o.iterations = number(1);
    else if (word == "--samples")
      o.samples = number(1);
    else if (word == "--seconds")
      o.seconds = number(1);
    else if (word == "--seed")
      o.seed = static_cast<uint64_t>(number(0));
    else if (word == "--results")
      o.results = next();
    else if (word == "--sizes")
      o.sizes = list_of(next());
    else if (word == "--quick")
      o.quick = true;
    else if (word == "--no-times")
      o.times = false;
    else if (word == "--help" || word == "-h")
      o.help = true;
    else if (word[0] == '-')
      throw CannotRun(word + " is unknown (./run --help)");
    else
      o.solutions.push_back(word);
  }
  if (o.quick) o.times = false;
  if (o.solutions.empty()) {
    for (const char* name : {"reference", "baseline", "alternative", "solution"}) {
      const std::string path = std::string("./") + name + ".so";
      if (access(path.c_str(), R_OK) == 0) o.solutions.push_back(path);
    }
    if (o.solutions.empty()) throw CannotRun("there is no solution here: run `make` in the folder first");
  }
  return o;
}

}  // namespace harness
