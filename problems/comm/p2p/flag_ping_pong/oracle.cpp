#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

uint32_t turn(uint32_t token, uint32_t x, int64_t k) { return (token ^ x) * 2654435761u + static_cast<uint32_t>(k); }

void expect(Case& c) {
  for (int even = 0; even < c.world(); even += 2) {
    const int odd = even + 1;
    uint32_t token = 0;
    for (int64_t k = 0; k < c["rounds"]; ++k) {
      token = turn(token, c.input<uint32_t>("in", even)[static_cast<size_t>(k)], k);
      c.output("seen", odd).set(k, token);
      token = turn(token, c.input<uint32_t>("in", odd)[static_cast<size_t>(k)], k);
      c.output("seen", even).set(k, token);
    }
    c.output("token", even).set(0, token);
    c.output("token", odd).set(0, token);
  }
}

FABRICBENCH_ORACLE(expect)
