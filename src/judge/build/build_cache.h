#pragma once

// What builds with any compiler have in common: a place to work in, and a cache in front.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/temp_dir.h"
#include "judge/build/build_request.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/invocation.h"

namespace fb::judge {

// Sources and args.h in a folder that is read, and a folder that is written.
class Workplace {
 public:
  explicit Workplace(const BuildRequest& request);

  std::string sources() const { return scratch_.path() + "/source"; }
  std::string outputs() const { return scratch_.path() + "/out"; }
  // `unit` is "candidate" or "driver".
  std::string source(const std::string& unit) const { return sources() + "/" + unit + ".cu"; }
  std::string object(const std::string& unit) const { return outputs() + "/" + unit + ".so"; }
  std::string unsupported() const { return outputs() + "/unsupported.txt"; }
  std::string ptx(const std::string& unit) const { return outputs() + "/" + unit + ".ptx"; }

 private:
  TempDir scratch_;
};

using Files = std::map<std::string, std::string>;  // name → content

// What the cache keeps of a build: "name size\n", then the bytes, for each file.
std::string pack(const Files& files);
// None: damaged, or not packed here.
std::optional<Files> unpack(std::string_view bytes);

// `make` writes objects and PTX of the units or says why not; not called where the cache has what is made of `words`.
Result<Built> build_cached(const BuildRequest& request, const std::vector<std::string>& words,
                           const std::function<Result<void>(const Workplace&, const toolchain::Cache&)>& make);

// Runs a compiler; `parse` makes Errors of what it said where it failed.
Result<void> run_compiler(const toolchain::Wrapper& wrapper, const toolchain::Invocation& invocation,
                          const BuildLimits& limits, const std::function<Errors(std::string_view)>& parse);

// Path, size and time of a program: another one has others.
std::string file_facts(const std::string& path);

}  // namespace fb::judge
