#include <fabricbench/oracle.h>

#include <cstdint>
#include <span>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

void fill(Case& c) {
  std::vector<std::span<int32_t>> ids;
  for (int r = 0; r < c.world(); ++r) ids.push_back(c.input<int32_t>("ids", r));
  moe::choose(c.random, ids, c["k"], c["local"], INT32_MAX);
}

void expect(Case& c) {
  const int64_t local = c["local"], world = c.world(), experts = world * local;
  std::vector<std::vector<int64_t>> counts;  // [source][expert]
  for (int s = 0; s < world; ++s) {
    counts.emplace_back(static_cast<size_t>(experts));
    for (const int32_t id : c.input<int32_t>("ids", s)) {
      if (id >= 0 && id < experts) ++counts.back()[id];
    }
  }
  for (int r = 0; r < world; ++r) {
    Output send_counts = c.output("send_counts", r), send_offsets = c.output("send_offsets", r);
    Output recv_counts = c.output("recv_counts", r), recv_offsets = c.output("recv_offsets", r);
    Output put_offsets = c.output("put_offsets", r);
    int64_t sent = 0, received = 0;
    for (int64_t e = 0; e < experts; ++e) {
      send_counts.set(e, static_cast<double>(counts[r][e]));
      send_offsets.set(e, static_cast<double>(sent));
      sent += counts[r][e];
    }
    send_offsets.set(experts, static_cast<double>(sent));
    for (int64_t l = 0; l < local; ++l) {
      for (int64_t s = 0; s < world; ++s) {
        const int64_t count = counts[s][r * local + l];
        recv_counts.set(s * local + l, static_cast<double>(count));
        recv_offsets.set(l * world + s, static_cast<double>(received));
        received += count;
      }
    }
    recv_offsets.set(local * world, static_cast<double>(received));
    for (int64_t d = 0; d < world; ++d) {
      int64_t before = 0;
      for (int64_t e = d * local; e < (d + 1) * local; ++e) {
        for (int64_t s = 0; s < world; ++s) {
          if (s == r) put_offsets.set(e, static_cast<double>(before));
          before += counts[s][e];
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
