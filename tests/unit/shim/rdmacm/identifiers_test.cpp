// Identifiers and channels of librdmacm: wrong arguments, orders of calls, events that are acknowledged, threads.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/shim/requests.h"

namespace {

// A call that fails, and why. No machine was asked.
#define EXPECT_REFUSED(call, error) \
  do {                              \
    errno = 0;                      \
    EXPECT_LOCAL(call, -1);         \
    EXPECT_EQ(errno, error);        \
  } while (false)

struct Address {
  sockaddr_in in{};
  explicit Address(const char* host, in_port_t port = 0) {
    in.sin_family = AF_INET;
    in.sin_port = port;
    ::inet_pton(AF_INET, host, &in.sin_addr);
  }
  operator sockaddr*() { return reinterpret_cast<sockaddr*>(&in); }
};

rdma_cm_id* make(rdma_event_channel* channel, rdma_port_space space = RDMA_PS_TCP) {
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_id(channel, &id, nullptr, space), 0);
  return id;
}
void expect_event(rdma_event_channel* channel, rdma_cm_event_type type) {
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(rdma_get_cm_event(channel, &event), 0);
  EXPECT_STREQ(rdma_event_str(event->event), rdma_event_str(type));
  EXPECT_EQ(rdma_ack_cm_event(event), 0);
}
// With a route to a port.
rdma_cm_id* make_caller(rdma_event_channel* channel, in_port_t port) {
  rdma_cm_id* const id = make(channel);
  EXPECT_EQ(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", port), 1000), 0);
  expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(rdma_resolve_route(id, 1000), 0);
  expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}
void add_pair(rdma_cm_id* id) {
  ibv_qp_init_attr init{};
  init.cap = {2, 2, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  EXPECT_EQ(rdma_create_qp(id, nullptr, &init), 0);
}

class Rdmacm : public testing::Test {
 protected:
  void SetUp() override {
    channel_ = rdma_create_event_channel();
    ASSERT_NE(channel_, nullptr);
  }
  void TearDown() override { rdma_destroy_event_channel(channel_); }

  rdma_event_channel* channel_ = nullptr;
};

TEST_F(Rdmacm, WrongArgumentsAreRefusedByTheLibrary) {
  rdma_cm_id* none = nullptr;
  EXPECT_REFUSED(rdma_create_id(channel_, &none, nullptr, fb::no_such<rdma_port_space>(7)), EINVAL);
  EXPECT_EQ(none, nullptr);
  EXPECT_REFUSED(rdma_get_cm_event(channel_, nullptr), EINVAL);
  EXPECT_REFUSED(rdma_ack_cm_event(nullptr), EINVAL);
  rdma_cm_id* const id = make(channel_);
  Address wrong("127.0.0.1");
  wrong.in.sin_family = AF_UNIX;
  EXPECT_REFUSED(rdma_bind_addr(id, wrong), EINVAL);
  EXPECT_REFUSED(rdma_bind_addr(id, nullptr), EINVAL);
  EXPECT_REFUSED(rdma_resolve_addr(id, nullptr, nullptr, 1000), EINVAL);
  EXPECT_REFUSED(rdma_resolve_addr(id, wrong, Address("127.0.0.1", 1), 1000), EINVAL);
  uint8_t small = 1;
  EXPECT_REFUSED(rdma_set_option(id, 99, 0, &small, 1), ENOSYS);
  EXPECT_REFUSED(rdma_set_option(id, RDMA_OPTION_ID, 99, &small, 1), ENOSYS);
  EXPECT_REFUSED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &small, 4), EINVAL);
  EXPECT_REFUSED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &small, 1), EINVAL);
  EXPECT_REFUSED(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, nullptr, 0), EINVAL);
  EXPECT_REFUSED(rdma_set_local_ece(id, nullptr), EINVAL);
  EXPECT_REFUSED(rdma_get_remote_ece(id, nullptr), EINVAL);
  EXPECT_EQ(rdma_destroy_id(id), 0);
}

// What comes too early, or twice.
TEST_F(Rdmacm, CallsHaveAnOrder) {
  rdma_cm_id* const id = make(channel_);
  EXPECT_REFUSED(rdma_resolve_route(id, 1000), EINVAL);
  EXPECT_REFUSED(rdma_connect(id, nullptr), EINVAL);
  EXPECT_REFUSED(rdma_disconnect(id), EINVAL);
  EXPECT_REFUSED(rdma_accept(id, nullptr), EINVAL);
  EXPECT_REFUSED(rdma_reject(id, nullptr, 0), EINVAL);
  ASSERT_EQ(rdma_bind_addr(id, Address("127.0.0.1")), 0);
  EXPECT_REFUSED(rdma_bind_addr(id, Address("127.0.0.1")), EINVAL);
  ASSERT_EQ(rdma_listen(id, 1), 0);
  EXPECT_REFUSED(rdma_listen(id, 1), EINVAL);
  EXPECT_REFUSED(rdma_connect(id, nullptr), EINVAL);
  // The port is taken until the identifier goes.
  rdma_cm_id* const second = make(channel_);
  const in_port_t port = rdma_get_src_port(id);
  EXPECT_REFUSED(rdma_bind_addr(second, Address("127.0.0.1", port)), EADDRINUSE);
  EXPECT_EQ(rdma_destroy_id(id), 0);
  EXPECT_EQ(rdma_bind_addr(second, Address("127.0.0.1", port)), 0);
  EXPECT_EQ(rdma_destroy_id(second), 0);
}

TEST_F(Rdmacm, AnIdentifierWaitsForItsEventsToBeAcknowledged) {
  rdma_cm_id* const id = make(channel_);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", htons(9)), 1000), 0);
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(rdma_get_cm_event(channel_, &event), 0);
  EXPECT_EQ(event->id, id);
  std::atomic<bool> destroyed = false;
  std::thread other([&] {
    EXPECT_EQ(rdma_destroy_id(id), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(destroyed);
  EXPECT_EQ(rdma_ack_cm_event(event), 0);
  other.join();
}

// Each with a channel of its own: a server and three callers.
TEST_F(Rdmacm, ThreadsConnectToOneListener) {
  constexpr int kCallers = 3;
  rdma_cm_id* const listener = make(channel_);
  ASSERT_EQ(rdma_bind_addr(listener, Address("127.0.0.1")), 0);
  ASSERT_EQ(rdma_listen(listener, kCallers), 0);
  const in_port_t port = rdma_get_src_port(listener);
  std::vector<std::thread> callers;
  for (int k = 0; k < kCallers; ++k) {
    callers.emplace_back([port, k] {
      rdma_event_channel* const own = rdma_create_event_channel();
      rdma_cm_id* const id = make_caller(own, port);
      add_pair(id);
      rdma_conn_param param{};
      const auto number = static_cast<char>('a' + k);
      param.private_data = &number;
      param.private_data_len = 1;
      EXPECT_EQ(rdma_connect(id, &param), 0);
      expect_event(own, RDMA_CM_EVENT_ESTABLISHED);
      EXPECT_EQ(rdma_disconnect(id), 0);
      expect_event(own, RDMA_CM_EVENT_DISCONNECTED);
      rdma_destroy_qp(id);
      EXPECT_EQ(rdma_destroy_id(id), 0);
      rdma_destroy_event_channel(own);
    });
  }
  std::string asked;
  int ended = 0;
  while (ended < kCallers) {
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(rdma_get_cm_event(channel_, &event), 0);
    rdma_cm_id* const id = event->id;
    const rdma_cm_event_type type = event->event;
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) asked += *static_cast<const char*>(event->param.conn.private_data);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      add_pair(id);
      EXPECT_EQ(rdma_accept(id, nullptr), 0);
    } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
      EXPECT_EQ(rdma_disconnect(id), 0);
      rdma_destroy_qp(id);
      EXPECT_EQ(rdma_destroy_id(id), 0);
      ++ended;
    } else {
      EXPECT_EQ(type, RDMA_CM_EVENT_ESTABLISHED);
    }
  }
  for (std::thread& t : callers) t.join();
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, "abc");
  EXPECT_EQ(rdma_destroy_id(listener), 0);
}

}  // namespace
