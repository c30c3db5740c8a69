#pragma once

// The report of a run that does too much: which kernels, at which lines, and what they read.

#include <functional>
#include <string>

#include "virtual_node/machine/engine/engine.h"

namespace fb::machine {

// `name` names the owner of a grid: rank and device.
std::string explain_work(const Engine& engine, const std::function<std::string(const GridRun&)>& name);

}  // namespace fb::machine
