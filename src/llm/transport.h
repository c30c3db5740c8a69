#pragma once

// One HTTP request over libcurl. Knows nothing of models; keys pass through it as headers and are kept nowhere.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::llm {

struct HttpAnswer;

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout, stall_timeout, total_timeout;
  size_t most_bytes = 0;
  std::function<bool()> cancelled = {};
  // Pieces of the body of an answer with status 200, as they come, with what was seen of it so far; false ends the
  // transfer, which then has succeeded.
  std::function<bool(const HttpAnswer& so_far, std::string_view bytes)> on_bytes = {};
};

struct HttpAnswer {
  enum class End : uint8_t {
    whole,
    not_sent,  // no connection: nobody has seen the request
    broken,    // ended in the middle, or before it began
    stalled,
    too_long,  // in time
    too_big,
    cancelled,
    hopeless,  // certificates, addresses: no better next time
  };
  End end = End::broken;
  std::string problem = {};                         // in words, where it is not whole
  int status = 0;                                   // 0: none was seen
  std::map<std::string, std::string> headers = {};  // names in small letters
  std::string body = {};

  std::string header(const std::string& name) const;
};

HttpAnswer post(const HttpRequest& request);

// https to anywhere; plain http to this computer, or where the address ends with "#allow_http".
Result<void> check_url(const std::string& url);
// Without what only we understand.
std::string plain_url(const std::string& url);

}  // namespace fb::llm
