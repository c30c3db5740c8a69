#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

struct Field {
  std::string declaration, about;
};

std::vector<Field> fields_of(const Problem& problem) {
  std::vector<Field> fields;
  for (const Tensor& tensor : problem.tensors) {
    std::string shape;
    for (const Expression& extent : tensor.shape) shape += fmt::format("[{}]", extent.text());
    const std::string device = tensor.device ? fmt::format(" (device {})", tensor.device->text()) : "";
    fields.push_back({fmt::format("{}{}* {};", tensor.output ? "" : "const ", cuda_type_of(tensor.dtype), tensor.name),
                      fmt::format("{} {}{}", shape, tensor.about, device)});
  }
  for (const auto& [name, about] : problem.parameters) fields.push_back({fmt::format("int64_t {};", name), about});
  return fields;
}

}  // namespace

std::string args_struct(const Problem& problem) {
  const auto fields = fields_of(problem);
  size_t width = 0;
  for (const Field& field : fields) width = std::max(width, field.declaration.size());
  std::string text = "struct Args {\n";
  for (const Field& field : fields) text += fmt::format("  {:<{}}  // {}\n", field.declaration, width, field.about);
  return text + "};\n";
}

std::string args_header(const Problem& problem) {
  const auto uses = [&](DType type) {
    return std::ranges::find(problem.tensors, type, &Tensor::dtype) != problem.tensors.end();
  };
  std::string text =
      fmt::format("#pragma once\n\n// Made from problem.toml of {}/{}.\n\n", problem.category, problem.name);
  if (uses(DType::bf16)) text += "#include <cuda_bf16.h>\n";
  if (uses(DType::f16)) text += "#include <cuda_fp16.h>\n";
  text += "#include <cstdint>\n\n";
  return text + args_struct(problem);
}

}  // namespace fb::catalog
