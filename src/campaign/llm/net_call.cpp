#include "campaign/llm/net_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "campaign/llm/dialect.h"
#include "campaign/llm/failure.h"
#include "campaign/llm/key.h"
#include "campaign/llm/prices.h"
#include "campaign/llm/retry.h"
#include "campaign/llm/sse.h"
#include "campaign/llm/transport.h"
#include "common/base/hash.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

using Clock = std::chrono::steady_clock;
using record::AnswerEnd;
using std::chrono::milliseconds;
using End = HttpAnswer::End;

uint64_t seed_of(const Request& request, std::string_view body) {
  uint64_t hash = 1;
  for (const std::string_view text : {std::string_view(request.idempotency_key), body}) {
    for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  }
  return hash;
}

std::string header_value(std::string_view text) {
  std::string value(text);
  std::ranges::replace_if(value, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return value;
}

class NetCall {
 public:
  NetCall(const Request& request, const AskOptions& options, Contact contact)
      : request_(request), options_(options), contact_(std::move(contact)), redactor_(contact_.key) {
    wire_ = dialect(contact_.provider->dialect).encode(*contact_.provider, request_, options_.stream);
    response_.request_body = redactor_.text(wire_.body);
  }

  Response run() {
    Backoff backoff(options_.first_wait, options_.longest_wait, seed_of(request_, wire_.body));
    record::Call& call = response_.call;
    milliseconds spent{0};
    while (true) {
      ++call.tries;
      const auto start = Clock::now();
      const auto failure = try_once(options_.total_timeout - spent);
      const auto took = Clock::now() - start;
      spent += std::chrono::ceil<milliseconds>(took);
      call.seconds = std::chrono::duration<double>(took).count();
      if (!failure) break;
      if (failure->lost) ++call.lost;
      const milliseconds wait = backoff.wait(failure->retry_after);
      const bool late = spent + wait >= options_.total_timeout;
      if (!failure->again || call.tries >= options_.max_tries || late) {
        call.error = call.tries == 1 ? failure->error : fmt::format("{} tries, then: {}", call.tries, failure->error);
        if (failure->again && late)
          call.error += fmt::format(" (waiting {} s more would be too long)",
                                    std::chrono::ceil<std::chrono::seconds>(wait).count());
        break;
      }
      sleep(wait);
      spent += wait;
      if (options_.cancelled && options_.cancelled()) {
        call.error = "cancelled";
        break;
      }
    }
    return std::move(response_);
  }

 private:
  // Nothing if there is an answer, which the response then holds.
  std::optional<Failure> try_once(milliseconds time_left) {
    const auto decoder = dialect(contact_.provider->dialect).decoder(*contact_.provider);
    bool is_stream = false, undecided = true;
    SseParser events([&](std::string_view data) { decoder->take_event(data); });
    HttpRequest http = http_request(time_left);
    http.on_bytes = [&](const HttpAnswer& so_far, std::string_view bytes) {
      // Servers that can't stream send the whole answer.
      if (std::exchange(undecided, false)) is_stream = so_far.header("content-type").contains("event-stream");
      if (is_stream) events.feed(bytes);
      return !decoder->answer().ended && decoder->answer().error.empty();
    };
    const HttpAnswer got = post(http);
    if (got.status != 200 || got.end == End::cancelled) {
      response_.response_body = redactor_.complaint(got.body);
      if (got.end != End::whole) return failure_of_transfer(got, request_.model);
      return failure_of_status(got, contact_, request_.model, redactor_);
    }
    response_.response_body = redactor_.text(got.body);
    response_.request_id =
        redactor_.text(got.header("x-request-id").empty() ? got.header("request-id") : got.header("x-request-id"));
    if (!is_stream && got.end == End::whole) {
      try {
        decoder->take_whole(got.body);
      } catch (const std::exception& e) {
        return Failure{.error = malformed(e.what()), .again = true, .lost = true};
      }
    }
    return conclude(decoder->answer(), got);
  }

  HttpRequest http_request(milliseconds time_left) const {
    const Provider& provider = *contact_.provider;
    HttpRequest http{
        .url = plain_url(contact_.base_url) + wire_.path,
        .headers = {"Content-Type: application/json",
                    options_.stream ? "Accept: text/event-stream, application/json" : "Accept: application/json",
                    "User-Agent: fabricbench", "Expect:"},
        .body = wire_.body,
        .connect_timeout = options_.connect_timeout,
        .stall_timeout = options_.stall_timeout.value_or(provider.stall),
        .total_timeout = std::min(options_.try_timeout, time_left),
        .most_bytes = options_.most_bytes,
        .cancelled = options_.cancelled};
    // A whole answer comes after a long silence.
    if (!options_.stream) http.stall_timeout = http.total_timeout;
    http.headers.insert(http.headers.end(), provider.headers.begin(), provider.headers.end());
    if (!contact_.key.empty()) {
      std::string header = provider.key_header;
      http.headers.push_back(header.replace(header.find("$key"), 4, contact_.key));
    }
    if (!request_.idempotency_key.empty())
      http.headers.push_back("Idempotency-Key: " + header_value(request_.idempotency_key));
    return http;
  }

  // Fills the call from a complete answer.
  std::optional<Failure> conclude(const Answer& answer, const HttpAnswer& http) {
    if (!answer.error.empty()) {
      const std::string said = one_line(redactor_.complaint(answer.error));
      return Failure{.error = fmt::format("{}: {}", request_.model.provider, said),
                     .again = !answer.error_is_final,
                     .lost = !answer.text.empty()};
    }
    const bool whole = http.end == End::whole;
    if (!answer.stopped || (!answer.ended && !whole)) {
      if (!whole && http.end != End::broken) return failure_of_transfer(http, request_.model);
      const std::string why =
          http.problem.empty() ? "the answer is incomplete" : "the answer is incomplete: " + http.problem;
      return Failure{.error = malformed(why), .again = true, .lost = true};
    }
    const auto known = contact_.table->stop_reasons.find(answer.stop_reason);
    AnswerEnd end = known == contact_.table->stop_reasons.end() ? AnswerEnd::complete : known->second;
    if (end == AnswerEnd::failed)
      return Failure{
          .error = malformed(fmt::format("stopped with '{}'", answer.stop_reason)), .again = true, .lost = true};
    if (!answer.refusal.empty()) end = AnswerEnd::refused;
    const std::string said = contact_.provider->think_tags ? without_thoughts(answer.text) : answer.text;
    response_.text = redactor_.text(said.empty() ? answer.refusal : said);
    if (end == AnswerEnd::complete && trim(response_.text).empty()) end = AnswerEnd::empty;
    record::Call& call = response_.call;
    call.end = end;
    call.stop_reason = redactor_.text(answer.stop_reason);
    call.model = redactor_.text(answer.model);
    if (response_.request_id.empty()) response_.request_id = redactor_.text(answer.id);
    call.usage = answer.usage.value_or(record::Usage());
    call.usd = price_of(answer);
    return {};
  }

  std::optional<double> price_of(const Answer& answer) const {
    if (answer.usd) return answer.usd;
    const auto prices = load_prices(options_.prices);
    if (!prices || !answer.usage) return {};
    auto price = (*prices)->find(request_.model.provider, request_.model.model);
    if (!price) price = (*prices)->find(request_.model.provider, answer.model);
    return price ? std::optional(usd(*answer.usage, *price)) : std::nullopt;
  }

  std::string malformed(std::string_view why) const {
    return fmt::format("{}: {}", request_.model.provider, one_line(redactor_.complaint(why)));
  }

  void sleep(milliseconds wait) const {
    if (options_.sleep) return options_.sleep(wait);
    const auto until = Clock::now() + wait;
    while (Clock::now() < until && !(options_.cancelled && options_.cancelled()))
      std::this_thread::sleep_for(std::min<Clock::duration>(until - Clock::now(), milliseconds(100)));
  }

  const Request& request_;
  const AskOptions& options_;
  Contact contact_;
  Redactor redactor_;
  WireRequest wire_;
  Response response_;
};

}  // namespace

Response ask_on_the_net(const Request& request, const AskOptions& options, Contact contact) {
  return NetCall(request, options, std::move(contact)).run();
}

}  // namespace fb::llm
