#pragma once

// What authors of communication kernels get wrong, each as a change of the text. An operator is one row of the table
// and one function that finds all places where its mistake can be made.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/mutate/change.h"

namespace fb::mutate {

struct Operator {
  std::string_view name;
  std::string_view mistake;  // the bug that it inserts
  std::vector<Change> (*find)(const Solution& solution);
};

std::span<const Operator> operators();
// Null: there is none of that name.
const Operator* find_operator(std::string_view name);

std::string apply(std::string_view source, Change change);

}  // namespace fb::mutate
