#include "common/record/measured.h"

#include <fmt/format.h>

#include "common/record/json_schema.h"

namespace fb::record {

template <FieldsOf<MeasuredRow> T, class F>
void visit_fields(T& r, F&& field) {
  field("size", r.size, kRequired);
  field("solution", r.solution, kRequired);
  field("right", r.right, kRequired);
  field("wrong", r.wrong);
  field("us", r.us);
}

template <FieldsOf<MeasuredGpu> T, class F>
void visit_fields(T& g, F&& field) {
  field("name", g.name, kRequired);
}

template <FieldsOf<Measured> T, class F>
void visit_fields(T& m, F&& field) {
  schema_field<T>(field);
  field("problem", m.problem, kRequired);
  field("task", m.task, kRequired);
  field("world", m.world, kRequired);
  field("nodes", m.nodes);
  field("modelled", m.modelled);
  field("gpu", m.gpu, kRequired);
  field("solutions", m.solutions);
  field("rows", m.rows, kRequired);
}

Result<Measured> parse_measured(std::string_view json) { return parse_fields<Measured>(json, "results"); }

std::string source_checksum(std::string_view source) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : source) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace fb::record
