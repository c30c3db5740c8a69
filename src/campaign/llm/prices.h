#pragma once

// Prices of tokens: src/campaign/llm/prices.toml, or another file of that form.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::llm {

// USD for a million tokens.
struct Price {
  double input = 0, output = 0;
  double cached_input = 0;  // read from a cache
  double cache_write = 0;   // written to a cache
  friend bool operator==(const Price&, const Price&) = default;
};

struct PriceRow {
  std::string provider, model;  // model may have '*'
  Price price;
};

struct PriceTable {
  std::string as_of;  // 2026-10-31
  std::vector<PriceRow> rows;

  // The first row that matches.
  std::optional<Price> find(std::string_view provider, std::string_view model) const;
};

double usd(const record::Usage& usage, const Price& price);

Result<PriceTable> parse_prices(std::string_view toml);

// Where prices are: `file`, else $FABRICBENCH_PRICES, else the installed table.
Result<std::string> locate_prices(const std::string& file = {});

// The table there, read once.
Result<std::shared_ptr<const PriceTable>> load_prices(const std::string& file = {});

}  // namespace fb::llm
