#include "audit/prove/impostor_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "audit/prove/nccl_alone.h"
#include "judge/catalog/source.h"

namespace fb::prove {
namespace {

constexpr const char* kTools = R"(
#include <cuda.h>

__global__ void impostor_fill(unsigned char* to, size_t bytes, unsigned char value) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < bytes; i += gridDim.x * size_t{blockDim.x}) to[i] = value;
}
__global__ void impostor_swap(unsigned char* one, unsigned char* other, size_t bytes) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < bytes; i += gridDim.x * size_t{blockDim.x}) {
    const unsigned char kept = one[i];
    one[i] = other[i];
    other[i] = kept;
  }
}
__global__ void impostor_break(unsigned char* to) { to[0] ^= 0xFF; }

inline size_t impostor_bytes(const void* p) {
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(p));
  return bytes;
}
)";

// `each` stands once for every output, with {0} its field.
std::string for_outputs(const catalog::Problem& problem, std::string_view each) {
  std::string text;
  for (const auto& tensor : problem.tensors) {
    if (tensor.output) text += fmt::format(fmt::runtime(each), tensor.name) + "\n";
  }
  return text;
}

std::string alone(const catalog::Problem& problem, std::string_view run) {
  return std::string("// [solution]\n") + kTools + R"(
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {
)" + for_outputs(problem, run) +
         "  }\n};\n// [/solution]\n";
}

// Behind the reference, whose class gets another name.
std::string behind_reference(const catalog::Problem& problem, const std::string& reference, std::string_view members,
                             std::string_view run) {
  return std::string("// [solution]\n#define Solution Reference\n") + reference + "#undef Solution\n" + kTools + R"(
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : reference_(rank, args), rank_(rank.rank()) {
)" + for_outputs(problem, members.empty() ? "" : "    cudaMalloc(&kept_{0}_, impostor_bytes(args.{0}));") +
         "  }\n  void run(const Args& args, cudaStream_t stream) {\n    reference_.run(args, stream);\n" +
         for_outputs(problem, run) + "  }\n\n private:\n  Reference reference_;\n  int rank_;\n" +
         for_outputs(problem, members) + "};\n// [/solution]\n";
}

// Nothing where the baseline calls no NCCL.
std::vector<ImpostorSource> baseline_without_communication(const catalog::Problem& problem) {
  if (!problem.baseline.contains("<nccl.h>")) return {};
  const auto regions = catalog::regions_of(problem.baseline);
  if (!regions || regions->size() != 1) return {};
  return {{.name = "baseline without communication",
           .answer = std::string("// [solution]\n") + kNcclAlone + regions->front().solution + "// [/solution]\n",
           .of_baseline = true}};
}

}  // namespace

std::vector<ImpostorSource> impostor_sources(const catalog::Problem& problem) {
  const auto regions = catalog::regions_of(problem.reference);
  if (!problem.driver.empty() || !regions || regions->size() != 1) return {};
  const std::string& reference = regions->front().solution;
  std::vector<ImpostorSource> sources = {
      {"zeros",
       alone(problem,
             "    impostor_fill<<<1, 256, 0, stream>>>((unsigned char*)args.{0}, impostor_bytes(args.{0}), 0);")},
      {"nothing", alone(problem, "")},
      {"result of the call before",
       behind_reference(
           problem, reference, "  unsigned char* kept_{0}_ = nullptr;",
           "    impostor_swap<<<1, 256, 0, stream>>>((unsigned char*)args.{0}, kept_{0}_, impostor_bytes(args.{0}));")},
      {"rank 0 right only",
       behind_reference(
           problem, reference, "",
           "    if (rank_ != 0 || " + std::string(problem.worlds.front() == 1 ? "true" : "false") +
               ") impostor_fill<<<1, 256, 0, stream>>>((unsigned char*)args.{0}, impostor_bytes(args.{0}), 0x11);")},
      {"one element wrong", behind_reference(problem, reference, "",
                                             "    impostor_break<<<1, 1, 0, stream>>>((unsigned char*)args.{0} + "
                                             "(sizeof(*args.{0}) - 1));")},
  };
  std::ranges::move(baseline_without_communication(problem), std::back_inserter(sources));
  // Behind a reference that is the baseline.
  for (ImpostorSource& source : sources) source.of_baseline |= !problem.has_expert;
  return sources;
}

}  // namespace fb::prove
