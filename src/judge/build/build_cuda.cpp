#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "common/base/strings.h"
#include "judge/answer/border.h"
#include "judge/build/build.h"
#include "judge/build/build_cache.h"
#include "judge/build/build_sandbox.h"
#include "judge/catalog/libraries.h"
#include "toolchain/compile/diagnostics.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

}  // namespace

Result<Built> build_candidate_cuda(const BuildRequest& request) {
  const auto found = toolchain::locate_nvcc();
  if (!found) throw std::runtime_error(found.error().list[0].message);
  const std::string& nvcc = *found;
  const auto where = toolchain::locate();
  if (!where) throw std::runtime_error(to_string(where.error(), "build"));
  const std::string toolkit = fs::path(nvcc).parent_path().parent_path().string();
  const std::string headers = where->sdk + "/include/fabricbench";
  const auto objects = toolchain::locate_libraries();
  if (!objects) throw std::runtime_error(to_string(objects.error(), "build"));
  const Words flags = {"-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-std=c++20",
                       // With `a`: wgmma and setmaxnreg. -arch=sm_90a would also make PTX for all of compute_90.
                       "-gencode", "arch=compute_90a,code=sm_90a", "--expt-relaxed-constexpr", "--extended-lambda",
                       "-lineinfo", "-cudart", "shared", "-Xlinker", "--hash-style=both"};
  Words words = {"candidate for GPUs 2", file_facts(nvcc), request.sources.candidate, request.sources.driver,
                 request.args_header};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), request.libraries.begin(), request.libraries.end());
  for (const auto* name :
       {"entry.h", "border.h", "rank.h", "check.h", "peer_memory.h", "rank_barrier.h", "nccl.h", "cublas.h"})
    words.push_back(read_file(headers + "/" + name));

  return build_cached(request, words, [&](const Workplace& place, const toolchain::Cache&) -> Result<void> {
    // Of the SDK only what is the judge's: CUDA's own headers are NVIDIA's here.
    fs::create_directory_symlink(headers, place.sources() + "/fabricbench");
    Words reads = {place.sources(), headers};
    Words command = {nvcc};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-I" + place.sources(), "-o", place.object("candidate"), place.source("candidate")});
    if (!request.sources.driver.empty()) {
      // One object of both, linked on the device, too. Each object of the interface has the largest size there is.
      constexpr uint64_t kLargest = 2048, kAlignment = 16;
      for (const std::string& object : request.interface.objects()) {
        for (const std::string& macro : object_macros(object, kLargest, kAlignment)) command.push_back("-D" + macro);
      }
      command.insert(command.end(), {"-rdc=true", place.source("driver")});
    }
    command.emplace_back("-lcuda");
    // CUDA's toolkit has none of these: headers are ours, and so is what is linked, under the name that NVIDIA's has.
    for (const std::string& name : request.libraries) {
      const catalog::Library& library = *catalog::find_library(name);
      const std::string header(library.header);
      // Headers that the SDK does not have are the system's.
      if (const std::string ours = where->sdk + "/include/" + header; fs::exists(ours)) {
        reads.push_back(ours);
        fs::create_symlink(ours, place.sources() + "/" + header);
      }
      command.insert(command.end(), {"-L" + *objects, std::string(library.link)});
    }
    if (!request.libraries.empty()) reads.push_back(*objects);
    if (const std::string stubs = toolkit + "/lib64/stubs"; access(stubs.c_str(), R_OK) == 0) {
      command.push_back("-L" + stubs);
    }
    const toolchain::Invocation invocation{command, reads, {place.outputs()}};
    return run_compiler(build_wrapper(request, toolkit), invocation, request.limits,
                        [](std::string_view output) { return toolchain::parse_nvcc_diagnostics(output, ""); });
  });
}

}  // namespace fb::judge
