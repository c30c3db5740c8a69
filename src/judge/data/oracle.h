#pragma once

// The oracle of a problem: its own C++ code, compiled on first use, kept by content, loaded into the judge. It is as
// trusted as the pack that it comes from.

#include <memory>
#include <string>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fabricbench::oracle {
struct RawCase;
}

namespace fb::judge {

class Oracle {
 public:
  // Errors: what the compiler says.
  static Result<Oracle> load(const catalog::Problem& problem);

  // Both throw std::runtime_error with the oracle's own message: a problem that is broken.
  void fill(fabricbench::oracle::RawCase& raw) const;
  void expect(fabricbench::oracle::RawCase& raw) const;

 private:
  using Function = int (*)(uint32_t, fabricbench::oracle::RawCase*, char*, uint64_t);
  void call(uint32_t task, fabricbench::oracle::RawCase& raw) const;

  std::shared_ptr<void> library_;
  Function function_ = nullptr;
  std::string name_;
};

}  // namespace fb::judge
