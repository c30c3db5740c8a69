#include "record/run_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "record/json_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::pair<Ending, std::string_view>, 12> kEndings = {{
    {Ending::finished, "finished"},
    {Ending::failed, "failed"},
    {Ending::fault, "fault"},
    {Ending::race, "race"},
    {Ending::deadlock, "deadlock"},
    {Ending::budget, "budget"},
    {Ending::rank_lost, "rank_lost"},
    {Ending::bad_message, "bad_message"},
    {Ending::out_of_memory, "out_of_memory"},
    {Ending::timeout, "timeout"},
    {Ending::interrupted, "interrupted"},
    {Ending::machine_lost, "machine_lost"},
}};

Json to_value(const Incident& incident) {
  return {{"kind", incident.kind},
          {"rank", incident.rank ? Json(*incident.rank) : Json(nullptr)},
          {"text", incident.text},
          {"fatal", incident.fatal}};
}

Incident incident_from(const Json& json) {
  Incident incident;
  take(json, "kind", incident.kind);
  if (const auto rank = json.find("rank"); rank != json.end() && rank->is_number()) incident.rank = rank->get<int>();
  take(json, "text", incident.text);
  take(json, "fatal", incident.fatal);
  return incident;
}

Json to_value(const DeviceCounters& device) {
  return {{"kernels", device.kernels},
          {"instructions", device.instructions},
          {"memory_bytes", device.memory_bytes},
          {"peer_bytes_sent", device.peer_bytes_sent},
          {"peer_bytes_received", device.peer_bytes_received},
          {"copies", device.copies},
          {"peak_memory", device.peak_memory}};
}

DeviceCounters device_from(const Json& json) {
  DeviceCounters device;
  take(json, "kernels", device.kernels);
  take(json, "instructions", device.instructions);
  take(json, "memory_bytes", device.memory_bytes);
  take(json, "peer_bytes_sent", device.peer_bytes_sent);
  take(json, "peer_bytes_received", device.peer_bytes_received);
  take(json, "copies", device.copies);
  take(json, "peak_memory", device.peak_memory);
  return device;
}

Json to_value(const RankEnd& end) {
  return {{"rank", end.rank},
          {"exit_code", end.exit_code},
          {"signal", end.signal},
          {"ended", end.ended},
          {"seconds", end.seconds}};
}

RankEnd rank_from(const Json& json) {
  RankEnd end;
  take(json, "rank", end.rank);
  take(json, "exit_code", end.exit_code);
  take(json, "signal", end.signal);
  take(json, "ended", end.ended);
  take(json, "seconds", end.seconds);
  return end;
}

// Short: there may be many.
Json to_value(const Choice& choice) { return Json::array({choice.taken, choice.options, choice.interrupts}); }

Choice choice_from(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_value(value));
  return list;
}

template <class T>
void take_list(const Json& json, const char* name, T (*read)(const Json&), std::vector<T>& values) {
  const auto found = json.find(name);
  if (found == json.end()) return;
  for (const Json& value : *found) values.push_back(read(value));
}

RunRecord record_from(const Json& json) {
  RunRecord record;
  take(json, "platform", record.platform);
  take(json, "seed", record.seed);
  take(json, "mode", record.mode);
  take(json, "checked", record.checked);
  take(json, "world", record.world);
  std::string ending(to_string(Ending::finished));
  take(json, "ending", ending);
  const auto known = ending_from(ending);
  if (!known) throw std::runtime_error("unknown ending " + ending);
  record.ending = *known;
  take_list(json, "incidents", incident_from, record.incidents);
  take(json, "virtual_seconds", record.virtual_seconds);
  take(json, "instructions", record.instructions);
  take(json, "event_log_hash", record.event_log_hash);
  take(json, "replayable", record.replayable);
  take(json, "not_replayable_because", record.not_replayable_because);
  take(json, "unsupported_calls", record.unsupported_calls);
  take(json, "calls_in_run", record.calls_in_run);
  take(json, "late_requests", record.late_requests);
  take_list(json, "devices", device_from, record.devices);
  take_list(json, "choices", choice_from, record.choices);
  take_list(json, "ranks", rank_from, record.ranks);
  take(json, "wall_seconds", record.wall_seconds);
  return record;
}

}  // namespace

std::string_view to_string(Ending ending) {
  return std::ranges::find(kEndings, ending, &std::pair<Ending, std::string_view>::first)->second;
}

std::optional<Ending> ending_from(std::string_view name) {
  const auto found = std::ranges::find(kEndings, name, &std::pair<Ending, std::string_view>::second);
  if (found == kEndings.end()) return std::nullopt;
  return found->first;
}

std::string to_json_line(const Incident& incident) { return dump(to_value(incident), -1); }

Result<Incident> parse_incident(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    if (!json.is_object()) return error("an incident must be a JSON object");
    return incident_from(json);
  } catch (const std::exception& e) {
    return error(e.what());
  }
}

std::string to_json(const RunRecord& record) {
  const Json json = {{"platform", record.platform},
                     {"seed", record.seed},
                     {"mode", record.mode},
                     {"checked", record.checked},
                     {"world", record.world},
                     {"ending", to_string(record.ending)},
                     {"incidents", list_of(record.incidents)},
                     {"virtual_seconds", record.virtual_seconds},
                     {"instructions", record.instructions},
                     {"event_log_hash", record.event_log_hash},
                     {"replayable", record.replayable},
                     {"not_replayable_because", record.not_replayable_because},
                     {"unsupported_calls", record.unsupported_calls},
                     {"calls_in_run", record.calls_in_run},
                     {"late_requests", record.late_requests},
                     {"devices", list_of(record.devices)},
                     {"choices", list_of(record.choices)},
                     {"ranks", list_of(record.ranks)},
                     {"wall_seconds", record.wall_seconds}};
  return dump(json, 2) + "\n";
}

Result<RunRecord> parse_run_record(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) return error("a record must be a JSON object");
    return record_from(json);
  } catch (const std::exception& e) {
    return error(e.what());
  }
}

}  // namespace fb::record
