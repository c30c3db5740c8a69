// Names of numbers, and rates.

#include <infiniband/verbs.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "ranks/shim/verbs/call.h"

namespace {

template <size_t kCount>
const char* name_at(const char* const (&names)[kCount], int at) {
  return at >= 0 && static_cast<size_t>(at) < kCount && names[at] ? names[at] : "unknown";
}

struct Rate {
  ibv_rate rate;
  int multiple;  // of 2.5 Gb/s; -1: none
  int megabits;
};
constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},    {IBV_RATE_5_GBPS, 2, 5000},      {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},    {IBV_RATE_30_GBPS, 12, 30000},   {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},   {IBV_RATE_80_GBPS, 32, 80000},   {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, -1, 14062},   {IBV_RATE_56_GBPS, -1, 56250},   {IBV_RATE_112_GBPS, -1, 112500},
    {IBV_RATE_168_GBPS, -1, 168750}, {IBV_RATE_25_GBPS, -1, 25781},   {IBV_RATE_100_GBPS, -1, 103125},
    {IBV_RATE_200_GBPS, -1, 206250}, {IBV_RATE_300_GBPS, -1, 309375}, {IBV_RATE_28_GBPS, -1, 28125},
    {IBV_RATE_50_GBPS, -1, 53125},   {IBV_RATE_400_GBPS, -1, 425000}, {IBV_RATE_600_GBPS, -1, 637500},
};

}  // namespace

FB_VERBS const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const names[] = {"success",
                                      "local length error",
                                      "local QP operation error",
                                      "local EE context operation error",
                                      "local protection error",
                                      "Work Request Flushed Error",
                                      "memory management operation error",
                                      "bad response error",
                                      "local access error",
                                      "remote invalid request error",
                                      "remote access error",
                                      "remote operation error",
                                      "transport retry counter exceeded",
                                      "RNR retry counter exceeded",
                                      "local RDD violation error",
                                      "remote invalid RD request",
                                      "aborted error",
                                      "invalid EE context number",
                                      "invalid EE context state",
                                      "fatal error",
                                      "response timeout error",
                                      "general error",
                                      "TM error",
                                      "TM software rendezvous"};
  return name_at(names, static_cast<int>(status));
}

FB_VERBS const char* ibv_node_type_str(ibv_node_type type) {
  static const char* const names[] = {nullptr,
                                      "InfiniBand channel adapter",
                                      "InfiniBand switch",
                                      "InfiniBand router",
                                      "iWARP NIC",
                                      "usNIC",
                                      "usNIC UDP",
                                      "unspecified"};
  return name_at(names, static_cast<int>(type));
}

FB_VERBS const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const names[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
  return state < IBV_PORT_NOP || state > IBV_PORT_ACTIVE_DEFER ? "unknown" : name_at(names, static_cast<int>(state));
}

FB_VERBS const char* ibv_event_type_str(ibv_event_type event) {
  static const char* const names[] = {"CQ error",
                                      "local work queue catastrophic error",
                                      "invalid request local work queue error",
                                      "local access violation work queue error",
                                      "communication established",
                                      "send queue drained",
                                      "path migrated",
                                      "path migration request error",
                                      "local catastrophic error",
                                      "port active",
                                      "port error",
                                      "LID change",
                                      "P_Key change",
                                      "SM change",
                                      "SRQ catastrophic error",
                                      "SRQ limit reached",
                                      "last WQE reached",
                                      "client reregistration",
                                      "GID table change",
                                      "WQ fatal"};
  return name_at(names, static_cast<int>(event));
}

FB_VERBS int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate) return r.multiple;
  }
  return -1;
}
FB_VERBS ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& r : kRates) {
    if (r.multiple == multiple) return r.rate;
  }
  return IBV_RATE_MAX;
}
FB_VERBS int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate) return r.megabits;
  }
  return -1;
}
FB_VERBS ibv_rate mbps_to_ibv_rate(int megabits) {
  for (const Rate& r : kRates) {
    if (r.megabits == megabits) return r.rate;
  }
  return IBV_RATE_MAX;
}

FB_VERBS const char* ibv_get_sysfs_path();
FB_VERBS const char* ibv_get_sysfs_path() { return "/sys"; }

// The first line of a file; programs look up what they can't ask for.
FB_VERBS int ibv_read_sysfs_file(const char* folder, const char* file, char* into, size_t bytes);
FB_VERBS int ibv_read_sysfs_file(const char* folder, const char* file, char* into, size_t bytes) {
  std::ifstream in(std::string(folder) + "/" + file);
  std::string line;
  if (!std::getline(in, line)) return -1;
  return std::snprintf(into, bytes, "%s", line.c_str());
}

// A provider for real cards that a program is linked with: it is never asked for one.
FB_VERBS void verbs_register_driver_34(const void* ops);
FB_VERBS void verbs_register_driver_34(const void*) {}
