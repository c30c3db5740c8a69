#pragma once

// What oracles of this family share.

#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace fabricbench::oracle {

using Complex = std::complex<double>;

// Fourier transforms of n points, n a power of two, without a factor: y[k] = sum over j of x[j] exp(sign 2 pi i j k /
// n).
class Fourier {
 public:
  Fourier(size_t n, int sign) : n_(n), scratch_(n), roots_(n) {
    for (size_t k = 0; k < n; ++k)
      roots_[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  }

  // In place, of the points x[0], x[stride], …
  void transform(Complex* x, size_t stride = 1) {
    std::vector<Complex>&from = points_, &to = scratch_;
    from.resize(n_);
    for (size_t j = 0; j < n_; ++j) from[j] = x[j * stride];
    for (size_t done = 1; done < n_; done *= 2) {  // the length of the transforms so far; each round joins two of them
      for (size_t j = 0; j < n_ / 2; ++j) {
        const size_t k = j % done;
        const Complex a = from[j], b = from[j + n_ / 2] * roots_[k * (n_ / 2 / done)];
        to[2 * j - k] = a + b;
        to[2 * j - k + done] = a - b;
      }
      std::swap(from, to);
    }
    for (size_t j = 0; j < n_; ++j) x[j * stride] = from[j];
  }

 private:
  size_t n_;
  std::vector<Complex> points_, scratch_, roots_;
};

// Of n items that are divided over `world` ranks as evenly as possible, rank r has those from first_of(n, r, world) to
// first_of(n, r + 1, world) - 1.
inline int64_t first_of(int64_t n, int64_t rank, int64_t world) { return rank * n / world; }

}  // namespace fabricbench::oracle
