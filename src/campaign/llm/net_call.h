#pragma once

#include "campaign/llm/ask_options.h"
#include "campaign/llm/contact.h"
#include "campaign/llm/exchange.h"

namespace fb::llm {

// One call on the net, with all its tries.
Response ask_on_the_net(const Request& request, const AskOptions& options, Contact contact);

}  // namespace fb::llm
