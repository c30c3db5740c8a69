#pragma once

// The provider's row, its address and the key for a call. Keys exist only here and in the headers of requests.

#include <memory>
#include <string>

#include "campaign/llm/provider.h"
#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::llm {

struct Contact {
  std::shared_ptr<const ProviderTable> table;
  const Provider* provider = nullptr;
  std::string base_url = {};
  std::string key = {};  // empty: none is sent

  // "OPENAI_API_KEY", or "GEMINI_API_KEY or GOOGLE_API_KEY"
  std::string key_names() const;
};

// An error if something that a call needs is missing or wrong.
Result<Contact> contact_of(const record::ModelSpec& model);

}  // namespace fb::llm
