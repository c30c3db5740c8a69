#include "campaign/llm/ask.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "campaign/llm/contact.h"
#include "campaign/llm/dialect.h"
#include "campaign/llm/local_providers.h"
#include "campaign/llm/net_call.h"
#include "campaign/llm/prices.h"
#include "campaign/llm/provider.h"

namespace fb::llm {
namespace {

Response failed(std::string why) {
  Response response;
  response.call.error = std::move(why);
  return response;
}

}  // namespace

Result<void> check_ready(const record::ModelSpec& model) {
  if (model.provider == "command") return check_command(model.model);
  if (model.provider == "recorded") return check_recorded(model.model);
  const auto contact = contact_of(model);
  if (!contact) return std::unexpected(contact.error());
  if (const auto prices = load_prices(); !prices) return std::unexpected(prices.error());
  return {};
}

Response ask(const Request& request, const AskOptions& options) {
  if (request.messages.empty()) return failed("there is nothing to ask: the request has no message");
  if (request.model.provider == "command") return ask_command(request, options);
  if (request.model.provider == "recorded") return ask_recorded(request);
  try {
    auto contact = contact_of(request.model);
    if (!contact) return failed(contact.error().list.front().message);
    return ask_on_the_net(request, options, std::move(*contact));
  } catch (const std::exception& e) {
    return failed(e.what());
  }
}

std::optional<double> most_expensive(const Request& request, const std::string& prices_file) {
  const auto table = load_providers();
  const auto prices = load_prices(prices_file);
  if (!table || !prices) return {};
  const Provider* provider = (*table)->find(request.model.provider);
  const auto price = (*prices)->find(request.model.provider, request.model.model);
  if (provider == nullptr || !price) return {};
  // A token has at least one byte; the framing of a message takes a few.
  constexpr uint64_t kAroundMessage = 16;
  uint64_t input = request.system.size() + kAroundMessage;
  for (const Message& message : request.messages) input += message.text.size() + kAroundMessage;
  const double dearest = std::max(price->input, price->cache_write);
  return (static_cast<double>(input) * dearest +
          static_cast<double>(output_limit(*provider, request.model)) * price->output) /
         1e6;
}

}  // namespace fb::llm
