#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fb {

constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A queue pair with a card, a completion queue and memory of its own.
class End {
 public:
  // `operations`: of the extended way to build requests; 0: none of it.
  explicit End(ibv_device* device, uint64_t operations = 0, uint32_t sends = 8);
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int to_init();
  int to_rtr(const End& peer);
  int to_rts();
  int change(ibv_qp_state state);
  ibv_qp_attr query();

  ibv_sge piece(size_t at, uint32_t bytes) { return {reinterpret_cast<uint64_t>(&memory[at]), bytes, mr->lkey}; }
  ibv_send_wr write(uint64_t id, ibv_sge* pieces, int count, const End& to, size_t at = 0);
  // The next completions, waited for.
  std::vector<ibv_wc> next(size_t count);

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_port_attr port{};
  std::vector<unsigned char> memory = std::vector<unsigned char>(8192);
};

// Two cards, whose queue pairs are connected if the test says so.
class Verbs : public testing::Test {
 protected:
  void SetUp() override { list_ = ibv_get_device_list(nullptr); }
  void TearDown() override { ibv_free_device_list(list_); }
  static void connect(End& a, End& b);

  ibv_device** list_ = nullptr;
};

}  // namespace fb
