#pragma once

// Times measured on real hardware, each with the program that does the same work here:
// platforms/calibration/curves.toml.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace fb::calibrate {

enum class CurveUse : uint8_t { fit, held_out };

struct Point {
  uint64_t size = 0;
  double microseconds = 0;
};

// Overhead of the measuring harness, in microseconds.
struct Harness {
  double before = 0;    // before each operation
  double at_least = 0;  // a floor: the host enqueues no faster
  double per_byte = 0;  // the host copies
};

struct Curve {
  std::string id = {}, about = {}, platform = {};
  CurveUse split = CurveUse::held_out;
  std::string program = {}, algorithm = {};
  bool cards = false;  // the program uses network cards, and the host's clock
  uint32_t ranks = 0;  // 0: the sizes are numbers of ranks
  uint64_t exact = 0;  // the largest size that is simulated; 0: all
  Harness harness = {};
  std::vector<Point> points = {};
};

// Two ways to do the same work, by the number of their curve.
struct Pair {
  size_t first = 0, second = 0;
};

struct Curves {
  std::string folder = {};  // of the programs
  std::vector<Curve> curves = {};
  std::vector<Pair> pairs = {};
};

// The curves of one platform. Messages name the file and the line.
Result<Curves> load_curves(const std::string& platform);

}  // namespace fb::calibrate
