#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kNear = 0.25, kBlur = 0.3, kExtent = 3.33;
constexpr double kDepthMargin = 1.0 / 64, kMargin = 1.0 / 8;  // of decisions: in depth, in pixels
constexpr double kUnit = 0x1p-24;

// Bounds. Of every number there is also its magnitude: the same formula with absolute values everywhere, where a
// quotient's is that of its first-order error. A result is off by at most K units of its magnitude, where K is how many
// roundings a path from the inputs has, in any order of evaluation; quotients and roots count twice, as the fast ones
// are off by a unit in the last place.
//
// - z: a product and three additions: 4. x, y: 4 for the position, 6 for 1/z, a product with f, one with 1/z, an
//   addition: 13.
// - The Jacobian: 4 + 2 * 6 and three products, 19. A normalised quaternion: half of 4, 4 for the root and quotient, a
//   product: 7; its products, doubled and added up: 17; a column of the rotation times the deviation: 18.
// - A row of (Jacobian) (R) (rotation) (deviations): 19 + 18 + 6 for two products of matrices, 43; the covariance has
//   two of them, a product, two additions and that of the blur, 90. Products of matrices in another order have at most
//   two more additions each.
constexpr double kPositionSteps = 16, kDepthSteps = 5, kCovarianceSteps = 96;

struct Camera {
  double rotation[3][3], translation[3], fx, fy, cx, cy;
};
struct Gaussian {
  double mean[3], axis[3][3], axis_magnitude[3][3];  // axis: the rotation times the deviations, columns are the axes
};
struct Number {
  double value = 0, bound = 0;
};
struct Splat {
  Number x, y, z, conic[3], radius[2];
  bool inside = false, clear = false;
};

static Camera camera_of(const float* c) {
  Camera camera{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) camera.rotation[i][j] = c[3 * i + j];
    camera.translation[i] = c[9 + i];
  }
  camera.fx = c[12];
  camera.fy = c[13];
  camera.cx = c[14];
  camera.cy = c[15];
  return camera;
}

static Gaussian gaussian_of(const float* mean, const float* quaternion, const float* deviation) {
  double norm = 0;
  for (int i = 0; i < 4; ++i) norm += double{quaternion[i]} * quaternion[i];
  norm = std::sqrt(norm);
  const double w = quaternion[0] / norm, x = quaternion[1] / norm, y = quaternion[2] / norm, z = quaternion[3] / norm;
  const double rotation[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                                 {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                                 {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  const double square[3] = {x * x, y * y, z * z}, with_w[3] = {std::fabs(w * x), std::fabs(w * y), std::fabs(w * z)};
  const double part[3] = {std::fabs(x), std::fabs(y), std::fabs(z)};
  Gaussian g{};
  for (int i = 0; i < 3; ++i) {
    g.mean[i] = mean[i];
    for (int j = 0; j < 3; ++j) {
      g.axis[i][j] = rotation[i][j] * deviation[j];
      const double magnitude =
          i == j ? 1 + 2 * (square[(i + 1) % 3] + square[(i + 2) % 3]) : 2 * (part[i] * part[j] + with_w[3 - i - j]);
      g.axis_magnitude[i][j] = magnitude * deviation[j];
    }
  }
  return g;
}

// A quotient of numbers with bounds; the divisor is above 0, and its bound below it.
static Number quotient(double a, double a_bound, double d, double d_bound) {
  const double value = a / d;
  return {value, (a_bound + std::fabs(value) * d_bound) / (d - d_bound) + 4 * kUnit * std::fabs(value)};
}

static Splat project(const Gaussian& g, const Camera& c, double width, double height) {
  double p[3], m[3];  // the position and its magnitude
  for (int i = 0; i < 3; ++i) {
    p[i] = c.translation[i];
    m[i] = std::fabs(p[i]);
    for (int j = 0; j < 3; ++j) {
      p[i] += c.rotation[i][j] * g.mean[j];
      m[i] += std::fabs(c.rotation[i][j] * g.mean[j]);
    }
  }
  Splat s;
  const double z = p[2];
  s.z = {z, kDepthSteps * kUnit * m[2]};
  if (z < kNear + kDepthMargin) {
    s.clear = z < kNear - kDepthMargin;
    return s;
  }
  const auto position = [&](int i, double f, double center) {
    const double magnitude = f * (m[i] / z + std::fabs(p[i]) * m[2] / (z * z)) + std::fabs(center);
    return Number{f * p[i] / z + center, kPositionSteps * kUnit * magnitude};
  };
  s.x = position(0, c.fx, c.cx);
  s.y = position(1, c.fy, c.cy);

  // Rows of the Jacobian have two numbers each: at i, and at 2. Then times R, times the axes.
  double row[2][3], row_magnitude[2][3];
  for (int i = 0; i < 2; ++i) {
    const double f = i == 0 ? c.fx : c.fy;
    const double at = f / z, last = -f * p[i] / (z * z);
    const double at_magnitude = f * m[2] / (z * z);
    const double last_magnitude = f * (m[i] / (z * z) + 2 * std::fabs(p[i]) * m[2] / (z * z * z));
    double turned[3], turned_magnitude[3];
    for (int j = 0; j < 3; ++j) {
      turned[j] = at * c.rotation[i][j] + last * c.rotation[2][j];
      turned_magnitude[j] = at_magnitude * std::fabs(c.rotation[i][j]) + last_magnitude * std::fabs(c.rotation[2][j]);
    }
    for (int k = 0; k < 3; ++k) {
      row[i][k] = row_magnitude[i][k] = 0;
      for (int j = 0; j < 3; ++j) {
        row[i][k] += turned[j] * g.axis[j][k];
        row_magnitude[i][k] += turned_magnitude[j] * g.axis_magnitude[j][k];
      }
    }
  }
  Number covariance[3];
  for (int e = 0; e < 3; ++e) {
    const int i = e / 2, j = (e + 1) / 2;  // (0, 0), (0, 1), (1, 1)
    double value = i == j ? kBlur : 0, magnitude = value;
    for (int k = 0; k < 3; ++k) {
      value += row[i][k] * row[j][k];
      magnitude += row_magnitude[i][k] * row_magnitude[j][k];
    }
    covariance[e] = {value, kCovarianceSteps * kUnit * magnitude};
  }
  const auto [a, b, d] = covariance;
  const double determinant = a.value * d.value - b.value * b.value;
  const double determinant_bound = a.bound * (d.value + d.bound) + d.bound * a.value +
                                   b.bound * (2 * std::fabs(b.value) + b.bound) +
                                   3 * kUnit * (a.value * d.value + b.value * b.value);
  for (int i = 0; i < 2; ++i) {
    const Number& of = i == 0 ? a : d;
    const double radius = kExtent * std::sqrt(of.value);
    s.radius[i] = {radius,
                   kExtent * of.bound / (2 * std::sqrt(std::max(of.value - of.bound, kBlur / 2))) + 4 * kUnit * radius};
  }

  // Distances by which the Gaussian is inside of the four borders.
  const double distance[4] = {s.x.value + s.radius[0].value, width - s.x.value + s.radius[0].value,
                              s.y.value + s.radius[1].value, height - s.y.value + s.radius[1].value};
  const double x_margin = std::max(kMargin, 2 * (s.x.bound + s.radius[0].bound));
  const double y_margin = std::max(kMargin, 2 * (s.y.bound + s.radius[1].bound));
  bool outside = false;
  s.inside = true;
  for (int k = 0; k < 4; ++k) {
    const double margin = k < 2 ? x_margin : y_margin;
    if (distance[k] <= margin) s.inside = false;
    if (distance[k] < -margin) outside = true;
  }
  s.clear = outside || (s.inside && determinant_bound < determinant / 16);
  if (s.inside && s.clear) {
    s.conic[0] = quotient(d.value, d.bound, determinant, determinant_bound);
    s.conic[1] = quotient(-b.value, b.bound, determinant, determinant_bound);
    s.conic[2] = quotient(a.value, a.bound, determinant, determinant_bound);
  }
  return s;
}

// Cameras stand around the Gaussians, which fill a ball of radius 2, and look at them. Where sizes are not timed
// (`gaussians` is no multiple of 32), some stand among them, and some look away. Gaussians that are neither clearly
// inside nor clearly outside for one of the cameras are drawn again.
void fill(Case& c) {
  const int64_t gaussians = c["gaussians"];
  const auto width = static_cast<double>(c["width"]), height = static_cast<double>(c["height"]);
  const int world = c.world();
  const bool timed = gaussians % 32 == 0;
  std::vector<Camera> cameras;
  for (int rank = 0; rank < world; ++rank) {
    const int64_t kind = timed ? 0 : c.random.below(4);  // 0, 1: around; 2: among; 3: looks away
    const double angle = 6.283185307 * (rank + c.random.unit()) / world;
    double place[3] = {5 * std::cos(angle), 5 * std::sin(angle), c.random.between(-0.5, 0.5)}, look[3];
    for (int i = 0; i < 3; ++i) {
      if (kind == 2) place[i] = c.random.between(-1, 1);
      look[i] = kind == 2 ? c.random.between(-1, 1) : c.random.between(-0.125, 0.125) - place[i];
      if (kind == 3) look[i] = -look[i];
    }
    // Rows of the rotation: right, down, forward.
    const double length = std::sqrt(look[0] * look[0] + look[1] * look[1] + look[2] * look[2]) + 1e-3;
    const double flat = std::sqrt(look[0] * look[0] + look[1] * look[1]) + 1e-3;
    const double forward[3] = {look[0] / length, look[1] / length, look[2] / length};
    const double right[3] = {look[1] / flat, -look[0] / flat, 0};
    const double down[3] = {forward[1] * right[2] - forward[2] * right[1],
                            forward[2] * right[0] - forward[0] * right[2],
                            forward[0] * right[1] - forward[1] * right[0]};
    const auto camera = c.input<float>("camera", rank);
    for (size_t i = 0; i < 3; ++i) {
      const double* row = i == 0 ? right : i == 1 ? down : forward;
      double offset = 0;
      for (size_t j = 0; j < 3; ++j) {
        camera[3 * i + j] = static_cast<float>(row[j]);
        offset -= row[j] * place[j];
      }
      camera[9 + i] = static_cast<float>(offset);
    }
    const double focal = kind == 2 ? 0.7 : c.random.between(2.15, 2.25);
    camera[12] = static_cast<float>(focal * width * c.random.between(0.98, 1.02));
    camera[13] = static_cast<float>(focal * width * c.random.between(0.98, 1.02));
    camera[14] = static_cast<float>(width * c.random.between(0.48, 0.52));
    camera[15] = static_cast<float>(height * c.random.between(0.48, 0.52));
    cameras.push_back(camera_of(camera.data()));
  }
  for (int rank = 0; rank < world; ++rank) {
    float* mean = c.input<float>("mean", rank).data();
    float* quaternion = c.input<float>("quaternion", rank).data();
    float* deviation = c.input<float>("deviation", rank).data();
    for (int64_t n = 0; n < gaussians; ++n, mean += 3, quaternion += 4, deviation += 3) {
      bool clear = false;
      while (!clear) {
        double norm = 0, distance = 0;
        for (int i = 0; i < 4; ++i) {
          quaternion[i] = static_cast<float>(c.random.between(-1, 1));
          norm += quaternion[i] * quaternion[i];
        }
        for (int i = 0; i < 3; ++i) {
          mean[i] = static_cast<float>(c.random.between(-2, 2));
          distance += mean[i] * mean[i];
          deviation[i] = static_cast<float>(std::exp2(c.random.between(-8, -5)));
        }
        if (norm < 0.25 || distance > 4) continue;
        const Gaussian g = gaussian_of(mean, quaternion, deviation);
        clear = std::all_of(cameras.begin(), cameras.end(),
                            [&](const Camera& camera) { return project(g, camera, width, height).clear; });
      }
    }
  }
}

void expect(Case& c) {
  const int64_t gaussians = c["gaussians"];
  const auto width = static_cast<double>(c["width"]), height = static_cast<double>(c["height"]);
  const int world = c.world();
  std::vector<Camera> cameras;
  std::vector<Output> offsets, id, splat, appearance;
  for (int rank = 0; rank < world; ++rank) {
    cameras.push_back(camera_of(c.input<float>("camera", rank).data()));
    offsets.push_back(c.output("offsets", rank));
    id.push_back(c.output("id", rank));
    splat.push_back(c.output("splat", rank));
    appearance.push_back(c.output("seen_appearance", rank));
  }
  std::vector<int64_t> next(static_cast<size_t>(world));
  for (int source = 0; source < world; ++source) {
    for (size_t w = 0; w < next.size(); ++w) offsets[w].set(source, static_cast<double>(next[w]));
    const float* mean = c.input<float>("mean", source).data();
    const float* quaternion = c.input<float>("quaternion", source).data();
    const float* deviation = c.input<float>("deviation", source).data();
    const float* own = c.input<float>("appearance", source).data();
    for (int64_t n = 0; n < gaussians; ++n, mean += 3, quaternion += 4, deviation += 3, own += 4) {
      const Gaussian g = gaussian_of(mean, quaternion, deviation);
      for (size_t w = 0; w < next.size(); ++w) {
        const Splat s = project(g, cameras[w], width, height);
        if (!s.inside) continue;
        const int64_t to = next[w]++;
        id[w].set(to, static_cast<double>(source * gaussians + n));
        const Number numbers[8] = {s.x, s.y, s.z, s.conic[0], s.conic[1], s.conic[2], s.radius[0], s.radius[1]};
        for (int k = 0; k < 8; ++k) splat[w].set(to * 8 + k, numbers[k].value, numbers[k].bound);
        for (int k = 0; k < 4; ++k) appearance[w].set(to * 4 + k, own[k]);
      }
    }
  }
  for (size_t w = 0; w < next.size(); ++w) {
    offsets[w].set(world, static_cast<double>(next[w]));
    for (int64_t i = next[w]; i < id[w].size(); ++i) id[w].ignore(i);
    for (int64_t i = next[w] * 8; i < splat[w].size(); ++i) splat[w].ignore(i);
    for (int64_t i = next[w] * 4; i < appearance[w].size(); ++i) appearance[w].ignore(i);
  }
}

FABRICBENCH_ORACLE(expect, fill)
