#include "audit/mutate/operators_verbs.h"

#include <algorithm>
#include <array>
#include <string>

#include "audit/mutate/edits.h"

namespace fb::mutate {
namespace {

struct Instead {
  std::string_view word, other;
};

// A change for each place where one of the words stands.
template <size_t kN>
std::vector<Change> replace_words(const Code& code, const std::array<Instead, kN>& words) {
  std::vector<Change> changes;
  for (size_t i = 0; i < code.size(); ++i) {
    for (const Instead& one : words) {
      if (code.is(i, one.word)) changes.push_back({replace(code, i, std::string(one.other))});
    }
  }
  return changes;
}

bool uses_cards(const Code& code) {
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.text(i).starts_with("ibv_")) return true;
  }
  return false;
}

}  // namespace

// A completion that never comes, a source that is used again too early, data that an earlier read has not brought yet.
std::vector<Change> drop_send_flag(const Solution& solution) {
  return replace_words(solution.code, std::to_array<Instead>({{"IBV_SEND_SIGNALED", "0"},
                                                              {"IBV_SEND_INLINE", "0"},
                                                              {"IBV_SEND_FENCE", "0"},
                                                              {"IBV_SEND_SOLICITED", "0"}}));
}

// The other direction, or nothing that the peer hears of.
std::vector<Change> wrong_opcode(const Solution& solution) {
  return replace_words(solution.code, std::to_array<Instead>({{"IBV_WR_RDMA_WRITE_WITH_IMM", "IBV_WR_RDMA_WRITE"},
                                                              {"IBV_WR_RDMA_WRITE", "IBV_WR_RDMA_READ"},
                                                              {"IBV_WR_RDMA_READ", "IBV_WR_RDMA_WRITE"},
                                                              {"IBV_WR_SEND_WITH_IMM", "IBV_WR_SEND"},
                                                              {"IBV_WR_SEND_WITH_INV", "IBV_WR_SEND"},
                                                              {"ibv_wr_rdma_write", "ibv_wr_rdma_read"},
                                                              {"ibv_wr_rdma_read", "ibv_wr_rdma_write"}}));
}

// Immediate values are in network order.
std::vector<Change> host_byte_order(const Solution& solution) {
  return replace_words(solution.code, std::to_array<Instead>({{"htonl", "uint32_t"}, {"ntohl", "uint32_t"}}));
}

std::vector<Change> drop_access_right(const Solution& solution) {
  return replace_words(solution.code, std::to_array<Instead>({{"IBV_ACCESS_LOCAL_WRITE", "0"},
                                                              {"IBV_ACCESS_REMOTE_WRITE", "0"},
                                                              {"IBV_ACCESS_REMOTE_READ", "0"},
                                                              {"IBV_ACCESS_REMOTE_ATOMIC", "0"},
                                                              {"IBV_ACCESS_MW_BIND", "0"}}));
}

std::vector<Change> drop_receive(const Solution& solution) {
  const Code& code = solution.code;
  const auto posts = [&](Range range) {
    return code.has(range, "ibv_post_recv") || code.has(range, "ibv_post_srq_recv");
  };
  const auto calls_one_that_posts = [&](const Statement& statement) {
    return solution.synchronization.is_own_call(statement) &&
           std::ranges::any_of(code.functions(), [&](const Function& function) {
             return function.name == code.text(statement.tokens.first) && posts(function.body.tokens);
           });
  };
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      const bool alone = statement.kind == Statement::Kind::simple && statement.parts.empty();
      if (alone && (posts(statement.tokens) || calls_one_that_posts(statement)))
        changes.push_back({remove(code, statement)});
    });
  }
  return changes;
}

// A card does not wait for streams.
std::vector<Change> drop_stream_wait(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  if (!uses_cards(code)) return changes;
  constexpr std::array<std::string_view, 2> kWaits = {"cudaStreamSynchronize", "cudaEventSynchronize"};
  for (const auto& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      const bool waits =
          statement.kind == Statement::Kind::simple && statement.parts.empty() &&
          std::ranges::any_of(kWaits, [&](std::string_view wait) { return code.has(statement.tokens, wait); });
      if (waits) changes.push_back({remove(code, statement)});
    });
  }
  return changes;
}

}  // namespace fb::mutate
