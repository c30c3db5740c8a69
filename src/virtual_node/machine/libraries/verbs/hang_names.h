#pragma once

// What users call things of network cards.

#include <cstdint>
#include <string>
#include <string_view>

#include "virtual_node/rdma/numbers.h"

namespace fb::machine {

const char* name_of_state(rdma::QpState state);
const char* name_of_type(rdma::QpType type);
const char* name_of_request(rdma::Opcode opcode);
const char* name_of_status(rdma::Status status);

// "1 message", "2 messages".
std::string counted(uint64_t count, std::string_view noun);

bool can_receive(rdma::QpState state);

}  // namespace fb::machine
