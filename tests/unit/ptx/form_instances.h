#pragma once

#include <string>
#include <vector>

#include "common/ptx/module.h"

namespace fb::ptx {

// Instructions made from the syntax lines of forms.def, so that every row is tried without writing it down twice.
struct FormInstance {
  Form form{};
  std::string text;  // "add.u16 %h0, %h1, %h2;"
};

// For each form its shortest spelling with each of its first types, then one more for every word that a part allows.
// Some break a rule that the syntax cannot say (ld.acquire without a scope).
std::vector<FormInstance> make_instances(Form form);

// A module whose kernel declares the registers, variables and labels which the instances name.
std::string wrap_instances(const std::string& body);

}  // namespace fb::ptx
