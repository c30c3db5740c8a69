// What a server that speaks can't show; scenarios.py has the others.

#include "campaign/llm/ask.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

using record::AnswerEnd;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

// A port of this computer that accepts connections and never answers; or, closed, refuses them.
class SilentPort {
 public:
  explicit SilentPort(bool closed = false) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    if (!closed) {
      EXPECT_EQ(listen(socket_, 64), 0);
    }
  }
  ~SilentPort() { close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  Request request() const {
    Request request;
    request.model = {.label = "m", .provider = "openai-compatible", .model = "m"};
    request.model.base_url = "http://127.0.0.1:" + std::to_string(port_) + "/v1";
    request.messages = {{.role = Role::user, .text = "hello"}};
    return request;
  }

 private:
  int socket_;
  uint16_t port_ = 0;
};

TEST(Ask, WhoCannotBeReachedIsTriedAgainAndNothingIsLost) {
  const SilentPort port(true);
  std::vector<milliseconds> waits;
  const Response response =
      ask(port.request(), {.max_tries = 3, .sleep = [&](milliseconds wait) { waits.push_back(wait); }});
  EXPECT_EQ(response.call.end, AnswerEnd::failed);
  EXPECT_EQ(response.call.tries, 3u);
  EXPECT_EQ(response.call.lost, 0u);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_GE(waits[0], 1s);
  EXPECT_LE(waits[0], 2s);
  EXPECT_TRUE(response.call.error.starts_with("3 tries, then: openai-compatible: ")) << response.call.error;
}

TEST(Ask, TheSameRequestWaitsTheSame) {
  const SilentPort port(true);
  const auto waits_of = [&](const std::string& key) {
    Request request = port.request();
    request.idempotency_key = key;
    std::vector<milliseconds> waits;
    ask(request, {.max_tries = 4, .sleep = [&](milliseconds wait) { waits.push_back(wait); }});
    return waits;
  };
  EXPECT_EQ(waits_of("a"), waits_of("a"));
  EXPECT_NE(waits_of("a"), waits_of("b"));
}

TEST(Ask, WhoSaysNothingIsGivenUpAndCountedAsLost) {
  const SilentPort port;
  const Response response = ask(port.request(), {.stall_timeout = 100ms, .max_tries = 2, .sleep = [](milliseconds) {}});
  EXPECT_EQ(response.call.lost, 2u);
  const std::string words = "2 tries, then: openai-compatible: no data for ";
  ASSERT_TRUE(response.call.error.starts_with(words)) << response.call.error;
  EXPECT_GE(std::stod(response.call.error.substr(words.size())), 0.1) << response.call.error;
}

TEST(Ask, AllTriesTogetherHaveAnEnd) {
  const SilentPort port;
  const auto start = std::chrono::steady_clock::now();
  const Response response = ask(port.request(), {.stall_timeout = 1000s, .total_timeout = 300ms});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 100s);
  EXPECT_EQ(response.call.tries, 1u);
  EXPECT_NE(response.call.error.find("would be too long"), std::string::npos) << response.call.error;
}

TEST(Ask, CanBeCancelledWhileItWaitsForAnAnswer) {
  const SilentPort port;
  const auto start = std::chrono::steady_clock::now();
  const Response response =
      ask(port.request(), {.cancelled = [&] { return std::chrono::steady_clock::now() - start > 200ms; }});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 100s);
  EXPECT_EQ(response.call.end, AnswerEnd::failed);
  EXPECT_EQ(response.call.error, "openai-compatible: cancelled");
  EXPECT_EQ(response.call.tries, 1u);
}

TEST(Ask, CanBeCancelledBetweenTries) {
  const SilentPort port(true);
  std::atomic<bool> stop = false;
  const Response response =
      ask(port.request(), {.sleep = [&](milliseconds) { stop = true; }, .cancelled = [&] { return stop.load(); }});
  EXPECT_EQ(response.call.error, "cancelled");
  EXPECT_EQ(response.call.tries, 1u);
}

TEST(Ask, ManyMayAskAtOnce) {
  const SilentPort port;
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        const Response response = ask(port.request(), {.stall_timeout = 200ms, .max_tries = 1});
        failed += response.call.end == AnswerEnd::failed && response.call.lost == 1;
      });
    }
  }
  EXPECT_EQ(failed, 16);
}

TEST(Ask, WhatIsMissingIsSaidWithoutATry) {
  Request request = SilentPort(true).request();
  request.model.provider = "unknown";
  EXPECT_TRUE(ask(request).call.error.starts_with("there is no provider 'unknown'"));
  EXPECT_EQ(ask(request).call.tries, 0u);
  request.model.provider = "openai";
  const Variable none("OPENAI_API_KEY", "");
  EXPECT_TRUE(ask(request).call.error.starts_with("no key for openai: set OPENAI_API_KEY"));
  request.messages.clear();
  EXPECT_EQ(ask(request).call.error, "there is nothing to ask: the request has no message");
}

}  // namespace
}  // namespace fb::llm
