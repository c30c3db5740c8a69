#include "judge/answer/border.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"
#include "judge/catalog/markers.h"

namespace fb::judge {
namespace {

using catalog::Interface;
using catalog::InterfaceFunction;
using catalog::InterfaceParameter;

constexpr std::string_view kBegin = "// [interface]", kEnd = "// [/interface]";

std::string declarations(const std::vector<InterfaceParameter>& parameters, std::string first = "") {
  for (const auto& [type, name] : parameters) first += fmt::format("{}{} {}", first.empty() ? "" : ", ", type, name);
  return first;
}
std::string names(const std::vector<InterfaceParameter>& parameters, std::string first = "") {
  for (const auto& parameter : parameters) first += (first.empty() ? "" : ", ") + parameter.name;
  return first;
}

std::string host_symbol(std::string_view function) { return fmt::format("fabricbench_solution_{}", function); }
std::string device_symbol(const InterfaceFunction& f) { return fmt::format("fabricbench_{}_{}", f.object, f.name); }

bool returns_object(const Interface& interface, const InterfaceFunction& function) {
  const auto objects = interface.objects();
  return std::ranges::find(objects, function.result) != objects.end();
}

// As the C function has it: an object is written to where `into` points.
std::string host_signature(const Interface& interface, const InterfaceFunction& f, std::string_view name) {
  const bool object = returns_object(interface, f);
  return fmt::format("{} {}({})", object ? "void" : f.result, name,
                     declarations(f.parameters, object ? "void* self, void* into" : "void* self"));
}

// Lines of `driver`; `inside` tells which to keep: those between the markers, or the others.
std::string lines_where(std::string_view driver, bool inside, bool keep_count) {
  std::string text;
  bool within = false;
  for (const auto line : catalog::lines_of(driver)) {
    const bool marker = trim(line) == kBegin || trim(line) == kEnd;
    if (marker) within = trim(line) == kBegin;
    const bool kept = !marker && within == inside;
    if (kept) text += line;
    if (kept || keep_count) text += '\n';
  }
  return text;
}

}  // namespace

std::string shared_types(std::string_view driver) { return lines_where(driver, true, false); }
std::string without_shared_types(std::string_view driver) { return lines_where(driver, false, true); }

std::string size_variable(std::string_view object) { return fmt::format("fabricbench_size_of_{}", object); }

std::vector<std::string> object_macros(std::string_view object, uint64_t bytes, uint64_t alignment) {
  return {fmt::format("FABRICBENCH_BYTES_{}={}", object, bytes),
          fmt::format("FABRICBENCH_ALIGNMENT_{}={}", object, alignment)};
}

std::vector<std::string> border_symbols(const Interface& interface) {
  std::vector<std::string> symbols = {host_symbol("construct"), host_symbol("destroy")};
  for (const InterfaceFunction& f : interface.host) symbols.push_back(host_symbol("call_" + f.name));
  return symbols;
}

std::string candidate_side(const Interface& interface) {
  std::string text = "#include <fabricbench/border.h>\n";
  for (const std::string& object : interface.objects()) {
    const auto made = std::ranges::find(interface.host, object, &InterfaceFunction::result);
    std::string arguments;
    for (const auto& [type, name] : made->parameters)
      arguments += fmt::format("{}std::declval<{}>()", arguments.empty() ? "" : ", ", type);
    text +=
        fmt::format("using FabricbenchObject{} = std::remove_cvref_t<decltype(std::declval<Solution&>().{}({}))>;\n",
                    object, made->name, arguments);
    text += fmt::format("FABRICBENCH_SIZE_OF({}, FabricbenchObject{});\n", size_variable(object), object);
  }
  for (const InterfaceFunction& f : interface.device) {
    text += fmt::format(
        "FABRICBENCH_DEVICE_FUNCTION {} {}({}) {{ return static_cast<FabricbenchObject{}*>(self)->{}({}); }}\n",
        f.result, device_symbol(f), declarations(f.parameters, "void* self"), f.object, f.name, names(f.parameters));
  }
  text += fmt::format("FABRICBENCH_EXPORT void* {}({}) {{ return new Solution({}); }}\n", host_symbol("construct"),
                      declarations(interface.construct, "const fabricbench::Rank* rank"),
                      names(interface.construct, "*rank"));
  text += fmt::format("FABRICBENCH_EXPORT void {}(void* self) {{ delete static_cast<Solution*>(self); }}\n",
                      host_symbol("destroy"));
  for (const InterfaceFunction& f : interface.host) {
    const std::string call = fmt::format("static_cast<Solution*>(self)->{}({})", f.name, names(f.parameters));
    const std::string body =
        returns_object(interface, f) ? fmt::format("fabricbench::put_object(into, {});", call) : "return " + call + ";";
    text += fmt::format("FABRICBENCH_EXPORT {} {{ {} }}\n", host_signature(interface, f, host_symbol("call_" + f.name)),
                        body);
  }
  return text;
}

std::string driver_side(const Interface& interface) {
  std::string text = "#include <fabricbench/border.h>\n";
  for (const InterfaceFunction& f : interface.device) {
    text += fmt::format("extern \"C\" __device__ {} {}({});\n", f.result, device_symbol(f),
                        declarations(f.parameters, "void* self"));
  }
  // Pointers to the candidate's functions.
  const std::string construct =
      fmt::format("void* (*construct)({})", declarations(interface.construct, "const fabricbench::Rank* rank"));
  text += fmt::format("static struct {{\n  {};\n  void (*destroy)(void* self);\n", construct);
  for (const InterfaceFunction& f : interface.host)
    text += fmt::format("  {};\n", host_signature(interface, f, "(*" + f.name + ")"));
  text += "} fabricbench_candidate;\n";
  text += "FABRICBENCH_EXPORT void fabricbench_bind(void* (*find)(const char* name)) {\n";
  const auto bind = [&](const std::string& member, const std::string& symbol) {
    text += fmt::format("  fabricbench::bind(fabricbench_candidate.{}, find(\"{}\"));\n", member, symbol);
  };
  bind("construct", host_symbol("construct"));
  bind("destroy", host_symbol("destroy"));
  for (const InterfaceFunction& f : interface.host) bind(f.name, host_symbol("call_" + f.name));
  text += "}\n";

  text += "class FabricbenchSolution {\n public:\n";
  for (const std::string& object : interface.objects()) {
    text +=
        fmt::format("  struct {0} : fabricbench::Bytes<FABRICBENCH_BYTES_{0}, FABRICBENCH_ALIGNMENT_{0}> {{\n", object);
    for (const InterfaceFunction& f : interface.device) {
      if (f.object != object) continue;
      text += fmt::format("    __device__ {} {}({}) {{ return {}({}); }}\n", f.result, f.name,
                          declarations(f.parameters), device_symbol(f), names(f.parameters, "this"));
    }
    text += "  };\n";
  }
  text += fmt::format(
      "  explicit FabricbenchSolution({}) : self_(fabricbench_candidate.construct({})) {{}}\n"
      "  FabricbenchSolution(const FabricbenchSolution&) = delete;\n"
      "  FabricbenchSolution& operator=(const FabricbenchSolution&) = delete;\n"
      "  ~FabricbenchSolution() noexcept(false) {{ fabricbench_candidate.destroy(self_); }}\n",
      declarations(interface.construct, "const fabricbench::Rank& rank"), names(interface.construct, "&rank"));
  for (const InterfaceFunction& f : interface.host) {
    const std::string head = fmt::format("  {} {}({})", f.result, f.name, declarations(f.parameters));
    text += returns_object(interface, f)
                ? fmt::format("{} {{\n    {} into;\n    fabricbench_candidate.{}({});\n    return into;\n  }}\n", head,
                              f.result, f.name, names(f.parameters, "self_, &into"))
                : fmt::format("{} {{ return fabricbench_candidate.{}({}); }}\n", head, f.name,
                              names(f.parameters, "self_"));
  }
  return text + "\n private:\n  void* self_;\n};\n";
}

}  // namespace fb::judge
