#pragma once

// One HTTP request over libcurl. Independent of models; keys pass through as headers and are not kept.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::llm {

struct HttpAnswer;

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout, stall_timeout, total_timeout;
  size_t most_bytes = 0;
  std::function<bool()> cancelled = {};
  // Gets the pieces of the body of an answer with status 200 as they arrive, and the answer so far; returning false
  // ends the transfer successfully.
  std::function<bool(const HttpAnswer& so_far, std::string_view bytes)> on_bytes = {};
};

struct HttpAnswer {
  enum class End : uint8_t {
    whole,
    not_sent,  // no connection: the server has not seen the request
    broken,    // ended in the middle, or before it began
    stalled,
    too_long,  // in time
    too_big,
    cancelled,
    hopeless,  // certificates, addresses: a retry does not help
  };
  End end = End::broken;
  std::string problem = {};                         // a message if it is not whole
  int status = 0;                                   // 0: none was seen
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};

  std::string header(const std::string& name) const;
};

HttpAnswer post(const HttpRequest& request);

// Allows https to any host; plain http only to this computer, or if the address ends with "#allow_http".
Result<void> check_url(const std::string& url);
// The address without "#allow_http".
std::string plain_url(const std::string& url);

}  // namespace fb::llm
