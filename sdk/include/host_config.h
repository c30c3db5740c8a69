// Attributes and versions of the language.
#pragma once
#include "fabricbench/language.h"
