#pragma once

// What two processes tell each other to connect queue pairs: one packet for each message of InfiniBand's connection
// management, through a socket of the two.

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace fb::shim::rdmacm {

enum class Kind : uint32_t {
  request,       // REQ; of datagrams SIDR_REQ
  reply,         // REP; SIDR_REP
  ready,         // RTU
  reject,        // REJ; SIDR_REP with another status than 0
  disconnect,    // DREQ
  disconnected,  // DREP
};

// Bytes of private data that a message has, whatever the program sends: events show all of them.
constexpr size_t kRequestData = 56, kReplyData = 196, kRejectData = 148;
constexpr size_t kDatagramRequestData = 180, kDatagramReplyData = 136;
constexpr size_t kMostData = 196;

// Reasons of a reject (REJ), and of an answer to a lookup (SIDR_REP)
constexpr uint32_t kTimedOut = 4, kNoSuchService = 8, kRefused = 28, kOptionsRefused = 35;
constexpr uint32_t kLookupUnsupported = 1, kLookupRefused = 2;

struct Message {
  Kind kind = Kind::request;
  uint32_t reason = 0;
  // The sender's queue pair, and the card that it is on
  uint32_t queue_pair = 0, psn = 0, qkey = 0;
  uint32_t lid = 0, mtu = 0;
  std::array<uint8_t, 16> gid = {};
  uint8_t responder_resources = 0, initiator_depth = 0, flow_control = 0;
  uint8_t retry_count = 0, rnr_retry_count = 0, has_srq = 0, ack_timeout = 0;
  uint8_t zero = 0;
  uint32_t ece_vendor = 0, ece_options = 0;
  sockaddr_storage from = {}, to = {};
  std::array<uint8_t, kMostData> data = {};
};

}  // namespace fb::shim::rdmacm
