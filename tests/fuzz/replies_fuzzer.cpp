// Any bytes as the reply of a provider's server: a stream, an answer in one piece, the body and the headers of an
// error, and a reply that was recorded. How a stream is cut into pieces makes no difference.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "campaign/llm/dialect.h"
#include "campaign/llm/exchange.h"
#include "campaign/llm/failure.h"
#include "campaign/llm/retry.h"
#include "campaign/llm/sse.h"
#include "common/base/check.h"
#include "tests/fuzz/reader.h"

namespace {

using fb::llm::Answer;
using fb::llm::Provider;

void check(const Answer& a) {
  FB_CHECK(!a.usd || (std::isfinite(*a.usd) && *a.usd >= 0), "a price that a budget can't count");
  if (a.usage) {
    constexpr uint64_t kMost = 4'000'000'000'000'000;
    for (const uint64_t count : {a.usage->input_tokens, a.usage->cached_tokens, a.usage->cache_write_tokens,
                                 a.usage->output_tokens, a.usage->reasoning_tokens})
      FB_CHECK(count <= kMost, "tokens that overflow");
  }
  FB_CHECK(fb::llm::without_thoughts(a.text).size() <= a.text.size(), "more text than there was");
}

void check_line(const std::string& line) {
  for (const char c : line) FB_CHECK(static_cast<unsigned char>(c) >= ' ', "an error of several lines");
}

Answer read_whole(const Provider& provider, std::string_view body) {
  const auto decoder = fb::llm::dialect(provider.dialect).decoder(provider);
  try {
    decoder->take_whole(body);
  } catch (const std::exception& e) {
    check_line(fb::llm::one_line(e.what()));
  }
  return decoder->answer();
}

// `most`: bytes of a piece.
Answer read_stream(const Provider& provider, std::string_view bytes, size_t most) {
  const auto decoder = fb::llm::dialect(provider.dialect).decoder(provider);
  fb::llm::SseParser events([&](std::string_view data) { decoder->take_event(data); });
  try {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(most, bytes.size()))) events.feed(bytes.substr(0, most));
  } catch (const std::exception& e) {
    check_line(fb::llm::one_line(e.what()));
  }
  return decoder->answer();
}

bool are_equal(const Answer& a, const Answer& b) {
  return a.text == b.text && a.refusal == b.refusal && a.stop_reason == b.stop_reason && a.model == b.model &&
         a.id == b.id && a.usage == b.usage && a.usd == b.usd && a.error == b.error &&
         a.error_is_final == b.error_is_final && a.stopped == b.stopped && a.ended == b.ended;
}

void read_error(const Provider& provider, int status, std::string_view bytes) {
  const size_t line = bytes.find('\n');
  fb::llm::HttpAnswer http{.end = fb::llm::HttpAnswer::End::whole, .status = status};
  if (line != std::string_view::npos) {
    http.headers["retry-after"] = bytes.substr(0, line);
    http.headers["date"] = bytes.substr(0, line / 2);
    bytes.remove_prefix(line + 1);
  }
  http.body = bytes;
  fb::llm::Contact contact;
  contact.provider = &provider;
  const fb::llm::Redactor redactor("sk-secret-0123456789");
  const fb::llm::Failure failure = failure_of_status(http, contact, {.provider = provider.name}, redactor);
  FB_CHECK(!failure.error.empty(), "a failure without a message");
  check_line(failure.error);
  FB_CHECK(!failure.retry_after || failure.retry_after->count() >= 0, "a wait that is over before it begins");
  fb::llm::Backoff backoff(std::chrono::seconds(1), std::chrono::seconds(60), 1);
  FB_CHECK(backoff.wait(failure.retry_after).count() >= 0, "a wait that is over before it begins");
}

void read_record(std::string_view bytes) {
  const auto response = fb::llm::parse_response(bytes);
  if (!response) return;
  const auto again = fb::llm::parse_response(to_json(*response));
  FB_CHECK(again && *again == *response, "written and read again, it is another");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The corpus is text: way, dialect and size of pieces are digits.
  fb::fuzz::Reader reader({data, size});
  const int way = reader.byte() % 4;
  const Provider provider{.name = "server",
                          .dialect = static_cast<fb::llm::DialectName>(reader.byte() % 3),
                          .key_variables = {"KEY"},
                          .reports_cost = true};
  const uint8_t choice = reader.byte();
  const size_t begin = std::min<size_t>(size, 3);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + begin, size - begin);
  switch (way) {
    case 0: {
      const Answer at_once = read_stream(provider, bytes, SIZE_MAX);
      check(at_once);
      FB_CHECK(are_equal(at_once, read_stream(provider, bytes, choice % 7 + 1)), "pieces make a difference");
      break;
    }
    case 1:
      check(read_whole(provider, bytes));
      break;
    case 2:
      read_error(provider, 300 + choice, bytes);
      break;
    default:
      read_record(bytes);
  }
  return 0;
}
