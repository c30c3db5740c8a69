#include "audit/mutate/synchronization.h"

#include <algorithm>
#include <array>

namespace fb::mutate {
namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What an instruction in an asm statement begins with.
bool begins_with(std::string_view literal, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return literal.substr(1).starts_with(one); });
}

// What hands work to a network card, and what asks for its completions.
constexpr std::array<std::string_view, 2> kPosts = {"ibv_post_send", "ibv_wr_complete"};
constexpr std::array<std::string_view, 4> kPolls = {"ibv_poll_cq", "ibv_start_poll", "ibv_get_cq_event",
                                                    "wait_for_completion"};

// The SDK's barrier of all ranks and its flags.
constexpr std::string_view kRankBarrier = "<fabricbench/rank_barrier.h>";
constexpr std::array<std::string_view, 2> kSdkSignals = {"rank_barrier", "post"};
constexpr std::array<std::string_view, 2> kSdkWaits = {"rank_barrier", "wait"};

bool includes(const Code& code, std::string_view header) {
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.token(i).kind == Token::Kind::directive && code.text(i).find(header) != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

// A function that calls a signalling one signals, too; members may be called before they are defined, hence twice.
Synchronization::Synchronization(const Code& code) : code_(code) {
  for (const auto& function : code.functions()) own_.push_back(function.name);
  if (includes(code, kRankBarrier)) {
    own_.insert(own_.end(), {"rank_barrier", "post", "wait"});
    signalling_.assign(kSdkSignals.begin(), kSdkSignals.end());
    waiting_.assign(kSdkWaits.begin(), kSdkWaits.end());
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& function : code.functions()) {
      if (function.kernel) continue;  // a launch does not wait
      if (signals(function.body.tokens)) signalling_.push_back(function.name);
      if (waits(function.body.tokens)) waiting_.push_back(function.name);
    }
  }
}

bool Synchronization::is_atomic_call(size_t at, std::string_view name) const {
  if (!code_.is(at, name) || at == 0 || !code_.is(at - 1, ".") || !code_.is(at + 1, "(")) return false;
  for (size_t i = at + 2; i < code_.match(at + 1); ++i) {
    if (code_.text(i).starts_with("memory_order")) return true;
  }
  return false;
}

bool Synchronization::stores_flag(Range range) const {
  for (size_t i = range.first; i <= range.last; ++i) {
    if (is_atomic_call(i, "store")) return true;
    if (code_.is(i, "cuStreamWriteValue32") || std::ranges::find(kPosts, code_.text(i)) != kPosts.end()) return true;
    if (code_.token(i).kind == Token::Kind::text &&
        begins_with(code_.text(i), {"st.release", "st.relaxed", "red.", "multimem.red"}))
      return true;
  }
  return false;
}

bool Synchronization::loads_flag(Range range) const {
  for (size_t i = range.first; i <= range.last; ++i) {
    if (is_atomic_call(i, "load")) return true;
    if (code_.is(i, "cuStreamWaitValue32") || std::ranges::find(kPolls, code_.text(i)) != kPolls.end()) return true;
    if (code_.token(i).kind == Token::Kind::text && begins_with(code_.text(i), {"ld.acquire", "ld.relaxed"}))
      return true;
  }
  return false;
}

bool Synchronization::calls(Range range, const std::vector<std::string_view>& names) const {
  for (size_t i = range.first; i < range.last; ++i) {
    const bool member = i > 0 && (code_.is(i - 1, ".") || code_.is(i - 1, "->"));
    if (code_.is_word(i) && code_.is(i + 1, "(") && !member && contains(names, code_.text(i))) return true;
  }
  return false;
}

bool Synchronization::signals(Range range) const { return stores_flag(range) || calls(range, signalling_); }
bool Synchronization::waits(Range range) const { return loads_flag(range) || calls(range, waiting_); }

bool Synchronization::is_fence(const Statement& statement) const {
  if (statement.kind != Statement::Kind::simple) return false;
  const auto [first, last] = statement.tokens;
  if (code_.text(first).starts_with("__threadfence")) return true;
  if (code_.is(first, "cuda") && code_.is(first + 2, "atomic_thread_fence")) return true;
  if (!code_.is(first, "asm")) return false;
  for (size_t i = first; i <= last; ++i) {
    if (code_.token(i).kind == Token::Kind::text && begins_with(code_.text(i), {"fence.", "membar."})) return true;
  }
  return false;
}

bool Synchronization::is_barrier(const Statement& statement) const {
  if (statement.kind != Statement::Kind::simple) return false;
  const auto [first, last] = statement.tokens;
  if (code_.is(first, "__syncthreads") || code_.is(first, "__syncwarp")) return true;
  const bool whole_system =
      code_.has(statement.tokens, "cudaDeviceSynchronize") || code_.has(statement.tokens, "cuCtxSynchronize");
  if (whole_system) return true;
  return last - first == 5 && code_.is(first + 1, ".") &&
         (code_.is(first + 2, "sync") || code_.is(first + 2, "barrier"));
}

bool Synchronization::is_own_call(const Statement& statement) const {
  const auto [first, last] = statement.tokens;
  return statement.kind == Statement::Kind::simple && contains(own_, code_.text(first)) && code_.is(first + 1, "(") &&
         code_.match(first + 1) + 1 == last;
}

const Statement* Synchronization::exit_wait(const Function& function) const {
  if ((!function.kernel && function.name != "run") || function.body.parts.empty()) return nullptr;
  const Statement* at = &function.body.parts.back();
  while (waits(at->tokens)) {
    const bool spins = at->kind == Statement::Kind::loop && waits(at->header);
    if (spins || is_own_call(*at)) return at;
    if (at->parts.empty()) return nullptr;
    at = &at->parts.back();
  }
  return nullptr;
}

}  // namespace fb::mutate
