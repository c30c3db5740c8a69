#pragma once

// Whom to ask: a provider's row, its address, and the key. Keys are here, and in the headers of requests, and nowhere
// else.

#include <memory>
#include <string>

#include "base/result.h"
#include "llm/provider.h"
#include "record/attempt.h"

namespace fb::llm {

struct Contact {
  std::shared_ptr<const ProviderTable> table;
  const Provider* provider = nullptr;
  std::string base_url = {};
  std::string key = {};  // empty: it goes without

  // "OPENAI_API_KEY", or "GEMINI_API_KEY or GOOGLE_API_KEY"
  std::string key_names() const;
};

// An error where something that a call needs is missing or wrong.
Result<Contact> contact_of(const record::ModelSpec& model);

}  // namespace fb::llm
