#include "common/record/run_record.h"

#include <gtest/gtest.h>

namespace fb::record {
namespace {

RunRecord full_record() {
  RunRecord r;
  r.options.platform = "b300x8";
  r.options.seed = 0xffff'ffff'ffff'fffe;
  r.options.mode = AccessMode::strict;
  r.options.check = true;
  r.options.ranks = 8;
  r.ending = Ending::deadlock;
  r.incidents = {make_incident(IncidentReason::all_wait, std::nullopt, "line one\nline \"two\""),
                 make_incident(IncidentReason::module_unsupported, 3, "ü")};
  r.checked = {.launches = 7,
               .kernels = 6,
               .library_operations = 5,
               .copies = 4,
               .accesses = 3,
               .card_accesses = 2,
               .ignored_errors = 1};
  r.virtual_seconds = 1.25e-6;
  r.instructions = 1ull << 60;
  r.event_log_hash = "00ff";
  r.replayable = false;
  r.not_replayable_because = "rank 1 polled host memory";
  r.unsupported_calls = {{"cudaFoo", 3}, {"cuBar", 1}};
  r.failed_calls = {{"cudaMemcpy: cudaErrorInvalidValue", 2}};
  r.calls_in_run = {{"launch", 12}, {"exchange", 2}};
  r.late_requests = 5;
  r.devices = {{.kernels = 1,
                .instructions = 2,
                .memory_bytes = 3,
                .peer_bytes_sent = 5,
                .peer_bytes_received = 6,
                .copies = 7,
                .peak_memory = 8},
               {}};
  r.choices = {{.taken = 1, .options = 3, .interrupts = true}, {.taken = 0, .options = 2, .interrupts = false}};
  r.ranks = {{.rank = 1, .exit_code = 0, .signal = 9, .ended = true, .seconds = 0.5}, {.rank = 2, .exit_code = 4}};
  r.wall_seconds = {{"build", 0.25}, {"run", 1.5}};
  r.processor_seconds = {{"machine", 0.5}, {"ranks start", 0.125}};
  return r;
}

TEST(RunRecord, ComesBackFromJsonAsItWas) {
  const auto back = parse_run_record(to_json(full_record()));
  ASSERT_TRUE(back) << to_string(back.error(), "record");
  EXPECT_EQ(*back, full_record());
  EXPECT_EQ(to_json(*back), to_json(full_record()));
}

TEST(RunRecord, CountsAddUp) {
  Checked sum = full_record().checked;
  sum += sum;
  EXPECT_EQ(sum, (Checked{.launches = 14,
                          .kernels = 12,
                          .library_operations = 10,
                          .copies = 8,
                          .accesses = 6,
                          .card_accesses = 4,
                          .ignored_errors = 2}));
  EXPECT_FALSE((Checked{.launches = 1, .copies = 1, .accesses = 1}).any());
}

TEST(RunRecord, KeepsDefaultsForMissingFields) {
  const auto record = parse_run_record("{}");
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, RunRecord{});
}

TEST(RunRecord, OlderOnesHaveTheirOptionsOutside) {
  const auto record =
      parse_run_record(R"({"platform": "pcie_x4", "seed": 7, "mode": "strict", "checked": true, "world": 3})");
  ASSERT_TRUE(record);
  RunRecord expected;
  expected.options = {.platform = "pcie_x4", .ranks = 3, .seed = 7, .mode = AccessMode::strict, .check = true};
  EXPECT_EQ(*record, expected);
}

TEST(RunRecord, RefusesWhatIsNoRecord) {
  EXPECT_FALSE(parse_run_record(""));
  EXPECT_FALSE(parse_run_record("[]"));
  EXPECT_FALSE(parse_run_record("{\"seed\":\"many\"}"));
  EXPECT_FALSE(parse_run_record("{\"ending\":\"happily\"}"));
}

}  // namespace
}  // namespace fb::record
