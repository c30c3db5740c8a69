#include "campaign/llm/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fb::llm {
namespace {

using Events = std::vector<std::string>;

Events events_of(std::string_view stream, size_t piece) {
  Events events;
  SseParser parser([&](std::string_view data) { events.emplace_back(data); });
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) parser.feed(stream.substr(0, piece));
  return events;
}

TEST(Sse, EventsAreTheSameHoweverTheStreamIsCut) {
  const std::string stream =
      ": a comment\n\nevent: x\ndata: one\n\ndata:two\r\ndata: more\r\n\r\ndata: three\r\rid: 5\nretry: 9\n\ndata\n\n"
      "data: \n\ndata: never ends";
  const Events expected = {"one", "two\nmore", "three", ""};
  for (size_t piece = 1; piece <= stream.size(); ++piece) EXPECT_EQ(events_of(stream, piece), expected) << piece;
}

}  // namespace
}  // namespace fb::llm
