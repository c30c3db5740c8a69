#include "virtual_node/machine/process/suppressions.h"

#include <gtest/gtest.h>

#include "common/base/strings.h"

namespace fb::machine {
namespace {

record::Incident race(const std::string& finding = "not-released") {
  record::Incident incident = make_incident(record::IncidentReason::unordered_accesses, 0, "");
  incident.finding = finding;
  incident.sites = {
      {"first", "", "fill(float*, int)", {{"src/fill.cu", 12, "fill(float*, int)"}}},
      {"then",
       "",
       "void ns::all_reduce<float, 4>(float*)",
       {{"include/lib/loads.h", 40, "ns::load(float const*)"},
        {"src/reduce.cu", 77, "void ns::all_reduce<float, 4>(float*)"}}},
      {"flag set", "", "k()", {{"include/lib/barrier.h", 9, "signal(unsigned int*)"}}},
  };
  return incident;
}

bool suppresses(const std::string& line, const record::Incident& incident = race()) {
  const auto parsed = parse_suppressions(line);
  EXPECT_TRUE(parsed) << line;
  return parsed && parsed->size() == 1 && matches(parsed->front(), incident);
}

TEST(Suppressions, NameFunctionsOfEitherAccessWithAndWithoutTheirSignature) {
  for (const char* line :
       {"race:function:fill", "race:function:fil*", "race:function:fill(float*, int)", "race:function:all_reduce",
        "race:function:ns::all_reduce<*", "race:function:load", "*:function:fill", "not-released:function:fill"})
    EXPECT_TRUE(suppresses(line)) << line;
  for (const char* line : {"race:function:fil", "race:function:reduce", "race:function:signal",
                           "not-acquired:function:fill", "uninitialised:function:fill"})
    EXPECT_FALSE(suppresses(line)) << line;
}

TEST(Suppressions, NameFilesByTheirLastFolders) {
  for (const char* line : {"race:file:fill.cu", "race:file:lib/loads.h", "race:file:include/*", "race:file:src/*.cu",
                           "race:line:fill.cu:12", "race:line:src/fill.cu:10-20", "race:line:reduce.cu:77"})
    EXPECT_TRUE(suppresses(line)) << line;
  for (const char* line : {"race:file:ill.cu", "race:file:barrier.h", "race:line:fill.cu:13", "race:line:fill.cu:1-11"})
    EXPECT_FALSE(suppresses(line)) << line;
}

TEST(Suppressions, NameTheFlagThatOrderedNothing) {
  EXPECT_TRUE(suppresses("race:flag:signal"));
  EXPECT_TRUE(suppresses("race:flag:barrier.h:9"));
  EXPECT_FALSE(suppresses("race:flag:fill"));
  EXPECT_FALSE(suppresses("race:flag:barrier.h:8"));
}

TEST(Suppressions, RaceDoesNotMeanUninitialisedReads) {
  record::Incident read = make_incident(record::IncidentReason::uninitialised_read, 0, "");
  read.finding = "uninitialised";
  read.sites = {{"read", "", "fill(float*, int)", {}}};
  EXPECT_FALSE(suppresses("race:function:fill", read));
  EXPECT_TRUE(suppresses("uninitialised:function:fill", read));
  EXPECT_TRUE(suppresses("*:function:fill", read));
}

TEST(Suppressions, CommentsAndBlankLinesAreLeftOut) {
  const auto parsed = parse_suppressions("# all of it\n\n  race:file:a#b.cu   # known since 2.1\n\trace:function:f\n");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].pattern, "a#b.cu");
  EXPECT_EQ((*parsed)[0].line, 3u);
  EXPECT_EQ((*parsed)[1].text, "race:function:f");
}

TEST(Suppressions, WrongLinesAreErrorsWithTheirNumbers) {
  const auto parsed =
      parse_suppressions("race:function:f\nrace\nraces:file:x\nrace:kernel:f\nrace:line:a.cu\nrace:file:\n");
  ASSERT_FALSE(parsed);
  std::vector<uint32_t> lines;
  for (const Diagnostic& d : parsed.error().list) lines.push_back(d.at.line);
  EXPECT_EQ(lines, (std::vector<uint32_t>{2, 3, 4, 5, 6}));
  for (const char* line : {"race:line:a.cu:0", "race:line:a.cu:9-3", "race:line:a.cu:x", ":function:f", "race::f"})
    EXPECT_FALSE(parse_suppressions(line)) << line;
}

}  // namespace
}  // namespace fb::machine
