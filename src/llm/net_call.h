#pragma once

#include "llm/ask.h"
#include "llm/contact.h"
#include "llm/exchange.h"

namespace fb::llm {

// One call on the net, with all its tries.
Response ask_on_the_net(const Request& request, const AskOptions& options, Contact contact);

}  // namespace fb::llm
