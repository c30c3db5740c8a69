#include "campaign/llm/contact.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "campaign/llm/dialect.h"
#include "campaign/llm/key.h"
#include "campaign/llm/transport.h"

namespace fb::llm {

std::string Contact::key_names() const { return fmt::format("{}", fmt::join(provider->key_variables, " or ")); }

Result<Contact> contact_of(const record::ModelSpec& model) {
  auto table = load_providers();
  if (!table) return std::unexpected(table.error());
  Contact contact{.table = *table};
  contact.provider = contact.table->find(model.provider);
  if (contact.provider == nullptr)
    return error(
        fmt::format("there is no provider '{}'; known: {} command recorded", model.provider, contact.table->names()));
  contact.base_url = model.base_url.empty() ? contact.provider->base_url : model.base_url;
  if (contact.base_url.empty()) return error(fmt::format("{} needs an address: url=…", model.provider));
  if (const auto good = check_url(contact.base_url); !good) return std::unexpected(good.error());
  if (const auto effort = effort_fragment(*contact.provider, model.effort); !effort)
    return std::unexpected(effort.error());
  auto key = find_key(contact.provider->key_variables);
  if (!key) return std::unexpected(key.error());
  contact.key = std::move(*key);
  if (contact.key.empty() && !contact.provider->key_optional) {
    return error(fmt::format("no key for {}: set {} (docs/guide/models.md has other ways)", model.provider,
                             contact.key_names()));
  }
  return contact;
}

}  // namespace fb::llm
