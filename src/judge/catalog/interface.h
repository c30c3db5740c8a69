#pragma once

// The functions by which a driver uses a candidate's class, as [interface] of problem.toml lists them. Driver and
// candidate are compiled apart; the judge makes the two halves of the border between them from this list.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::catalog {

struct InterfaceParameter {
  std::string type, name;
};

// "bool pop(Item& item)" of the class Solution, or "void Queue::push(const Item& item)" of an object that goes to a
// kernel by value.
struct InterfaceFunction {
  std::string result, object, name;  // object: empty for functions of Solution
  std::vector<InterfaceParameter> parameters;
};

struct Interface {
  std::vector<InterfaceParameter> construct;  // behind the rank
  std::vector<InterfaceFunction> host;        // of Solution
  std::vector<InterfaceFunction> device;      // of objects that functions of Solution return

  bool empty() const { return host.empty() && device.empty(); }
  // The classes of `device`, each once: what functions of Solution return by this name is such an object.
  std::vector<std::string> objects() const;
};

Result<std::vector<InterfaceParameter>> parse_parameters(std::string_view text);
Result<InterfaceFunction> parse_function(std::string_view text);

}  // namespace fb::catalog
