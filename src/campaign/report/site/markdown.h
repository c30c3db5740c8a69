#pragma once

// Statements and answers are Markdown (CommonMark and tables, parsed by md4c). HTML written in it is shown as text, and
// no address becomes a link.

#include <cstdint>
#include <functional>
#include <string_view>

#include "campaign/report/site/html.h"

namespace fb::report::site {

// Renders one block of code. `first_line` is the number of its first line in the text; 0 for a block of empty lines.
using RenderCode = std::function<Html(std::string_view code, uint32_t first_line)>;

// `first_heading` is the level of "#". A link becomes its text followed by its address. Time and output are linear in
// the length of the text: a text that would exceed the bound is shown unrendered.
Html render_markdown(std::string_view text, int first_heading = 3, const RenderCode& render_code = {});

}  // namespace fb::report::site
