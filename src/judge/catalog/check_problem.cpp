#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "judge/catalog/problem_reader.h"

namespace fb::catalog {
namespace {

std::string where(const SizeClass& size, int world) {
  return fmt::format("at size '{}' and world {}", size.name, world);
}

// The sizes themselves, and what runs in place of the sampled ones.
std::vector<const SizeClass*> all_sizes(const Problem& problem) {
  std::vector<const SizeClass*> all;
  for (const SizeClass& size : problem.sizes) {
    all.push_back(&size);
    for (const SizeClass& sample : size.samples) all.push_back(&sample);
  }
  return all;
}

constexpr int64_t kMostDevices = 72;  // of a node

// The error of the tensor for a rank; empty if there is none.
std::string wrong_here(const Problem& problem, const Tensor& tensor, const Values& values) {
  for (const Expression& extent : tensor.shape) {
    const auto value = extent.evaluate(values);
    if (!value) return value.error().list[0].message;
    if (*value <= 0) return fmt::format("'{}' is {}", extent.text(), *value);
  }
  if (const auto elements = problem.elements(tensor, values); !elements) return elements.error().list[0].message;
  if (!tensor.device) return {};
  const auto device = tensor.device->evaluate(values);
  if (!device) return device.error().list[0].message;
  if (*device < 0 || *device >= kMostDevices) return fmt::format("there is no device {}", *device);
  return {};
}

// The error at the first size, world and rank; one message is enough.
std::string wrong_tensor(const Problem& problem, const Tensor& tensor) {
  const auto names_rank = [](const Expression& e) { return e.names().contains("rank"); };
  const bool differs = std::ranges::any_of(tensor.shape, names_rank) || (tensor.device && names_rank(*tensor.device));
  for (const SizeClass* size : all_sizes(problem)) {
    for (const int world : problem.worlds) {
      for (int rank = 0; rank < (differs ? world : 1); ++rank) {
        const std::string wrong = wrong_here(problem, tensor, problem.values(*size, world, rank));
        if (wrong.empty()) continue;
        return fmt::format("{} {}{}", wrong, where(*size, world), differs ? fmt::format(", rank {}", rank) : "");
      }
    }
  }
  return {};
}

std::string wrong_cost(const Problem& problem, const Expression& cost) {
  for (const SizeClass* size : all_sizes(problem)) {
    for (const int world : problem.worlds) {
      const auto value = cost.evaluate(problem.values(*size, world, 0));
      if (!value) return fmt::format("{} {}", value.error().list[0].message, where(*size, world));
      if (*value < 0) return fmt::format("'{}' is {} {}", cost.text(), *value, where(*size, world));
    }
  }
  return {};
}

// Groups are of adjacent ranks, all of one size.
std::string wrong_group(const Problem& problem) {
  for (const SizeClass* size : all_sizes(problem)) {
    for (const int world : problem.worlds) {
      const int64_t ranks = size->values.find(problem.group)->second;
      if (ranks <= 0 || world % ranks != 0)
        return fmt::format("groups of {} ranks do not fill a world {}", ranks, where(*size, world));
    }
  }
  return {};
}

}  // namespace

void check_problem(const Problem& problem, const Places& places, Errors& errors) {
  for (size_t k = 0; k < problem.tensors.size(); ++k) {
    const Tensor& tensor = problem.tensors[k];
    if (const std::string wrong = wrong_tensor(problem, tensor); !wrong.empty())
      errors.list.push_back({places.tensors[k], fmt::format("tensor '{}': {}", tensor.name, wrong)});
  }
  if (!problem.group.empty()) {
    if (const std::string wrong = wrong_group(problem); !wrong.empty())
      errors.list.push_back({places.group, "group: " + wrong});
  }
  const auto check = [&](const Expression& cost, Location at, std::string_view key) {
    if (const std::string wrong = wrong_cost(problem, cost); !wrong.empty())
      errors.list.push_back({at, fmt::format("{}: {}", key, wrong)});
  };
  check(problem.cost.link_bytes, places.link_bytes, "link_bytes");
  check(problem.cost.memory_bytes, places.memory_bytes, "memory_bytes");
  check(problem.cost.flops, places.flops, "flops");
  check(problem.cost.tensor_flops, places.flops, "tensor_flops");
  if (problem.cost.least_link_bytes.text() != problem.cost.link_bytes.text())
    check(problem.cost.least_link_bytes, places.least_link_bytes, "least_link_bytes");
  check(problem.cost.network_bytes, places.network_bytes, "network_bytes");
  check(problem.cost.network_hops, places.network_bytes, "network_hops");
  if (problem.cost.least_network_bytes.text() != problem.cost.network_bytes.text())
    check(problem.cost.least_network_bytes, places.least_network_bytes, "least_network_bytes");
}

}  // namespace fb::catalog
