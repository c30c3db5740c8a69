#pragma once

// Statements and answers are Markdown. The part of it that they need becomes HTML; nothing that is written there
// becomes markup by itself, and no address a link.

#include <string_view>

#include "report/site/html.h"

namespace fb::report::site {

// Headings (`first_heading` is the level of "#"), paragraphs, lists, quotes, tables, fenced code, rules; in lines:
// code, strong, emphasis. A link is its text and its address.
Html render_markdown(std::string_view text, int first_heading = 3);

}  // namespace fb::report::site
