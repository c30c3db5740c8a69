// Random programs of posts, polls and changes of state on two to four queue pairs, against a plain model that was
// written apart from the cards: it knows no time and no packets, only what each request does in the end.
// FABRICBENCH_RANDOM_PROGRAMS sets how many, FABRICBENCH_RANDOM_SEED the first seed.

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <random>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

constexpr uint64_t kPrograms = 1000;
constexpr int kRounds = 12;
// Parts of each end's memory, so that what a request reads is not what another one writes at the same time.
constexpr uint64_t kSource = 0, kTarget = 1024, kInbox = 2048, kLanding = 4096, kUsed = 6144;
constexpr uint32_t kSends = 8, kInline = 64;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A request in the model's words: offsets into the memory of the two ends.
struct Request {
  uint64_t id = 0;
  Opcode opcode = Opcode::send;
  bool signaled = false, inlined = false, fenced = false;
  uint64_t local = 0;
  uint32_t bytes = 0;
  uint64_t remote = 0;
  uint64_t first = 0, second = 0;  // operands of atomics
  uint32_t immediate = 0;
  bool wrong_local_key = false, wrong_remote_key = false, wrong_qkey = false;
  size_t to = 0;  // datagrams
};

struct Receive {
  uint64_t id = 0, at = 0;
  uint32_t bytes = 0;
};

struct Entry {
  uint64_t id = 0;
  int status = 0;
  uint32_t bytes = 0;  // of successful receives
  uint32_t immediate = 0;
  uint64_t frees = 0;  // sends that are free when this is polled
  bool operator==(const Entry& o) const {
    return id == o.id && status == o.status && bytes == o.bytes && immediate == o.immediate;
  }
};

bool fetches(Opcode o) { return o == Opcode::read || o == Opcode::fetch_and_add || o == Opcode::compare_and_swap; }
bool sends(Opcode o) { return o == Opcode::send || o == Opcode::send_immediate; }

struct ModelEnd {
  QpType type = QpType::rc;
  QpState state = QpState::reset;
  size_t peer = 0;
  std::vector<std::byte> memory = std::vector<std::byte>(kUsed);
  std::deque<Receive> receives;
  std::deque<std::pair<uint64_t, Request>> queue;  // with their numbers
  std::deque<Entry> completions;
  uint64_t posted = 0, free = 0;
};

struct Model {
  std::vector<ModelEnd> ends;

  void flush(ModelEnd& e, bool receives) {
    for (const auto& [number, request] : e.queue) e.completions.push_back({request.id, 5, 0, 0, number + 1});
    e.queue.clear();
    if (!receives) return;
    for (const Receive& r : e.receives) e.completions.push_back({r.id, 5});
    e.receives.clear();
  }
  void fail(ModelEnd& e) {
    e.state = QpState::err;
    flush(e, true);
  }

  int post(size_t at, const Request& r) {
    ModelEnd& e = ends[at];
    if (e.state < QpState::rts) return EINVAL;
    if (e.type == QpType::ud && !sends(r.opcode)) return EINVAL;
    if (e.type == QpType::uc && fetches(r.opcode)) return EINVAL;
    if (r.inlined && (r.bytes > kInline || fetches(r.opcode))) return EINVAL;
    if (e.posted - e.free >= kSends) return ENOMEM;
    e.queue.emplace_back(e.posted++, r);
    if (e.state == QpState::err || e.state == QpState::sqe) flush(e, e.state == QpState::err);
    return 0;
  }
  int receive(size_t at, const Receive& r) {
    ModelEnd& e = ends[at];
    if (e.state == QpState::reset) return EINVAL;
    if (e.receives.size() >= 16) return ENOMEM;
    e.receives.push_back(r);
    if (e.state == QpState::err) flush(e, true);
    return 0;
  }

  // What the receiving end makes of it: the status that the sender sees.
  int deliver(ModelEnd& from, ModelEnd& to, const Request& r, bool& breaks_receiver) {
    const bool reliable = from.type == QpType::rc;
    const uint32_t header = from.type == QpType::ud ? 40 : 0;
    if (to.state < QpState::rtr || to.state == QpState::err) return reliable ? 12 : 0;
    const auto broken = [&](int status) {
      breaks_receiver = true;
      return status;
    };
    const bool takes = sends(r.opcode) || r.opcode == Opcode::write_immediate;
    if (takes && to.receives.empty()) return reliable ? 13 : 0;
    if (r.wrong_qkey) return 0;
    if (sends(r.opcode)) {
      const Receive next = to.receives.front();
      if (next.bytes < r.bytes + header && !reliable) return 0;
      to.receives.pop_front();
      if (next.bytes < r.bytes) {
        to.completions.push_back({next.id, 1});
        return broken(9);
      }
      if (header != 0) std::fill_n(to.memory.begin() + static_cast<long>(next.at), header, std::byte{0});
      std::copy_n(from.memory.begin() + static_cast<long>(r.local), r.bytes,
                  to.memory.begin() + static_cast<long>(next.at + header));
      to.completions.push_back({next.id, 0, r.bytes + header, r.opcode == Opcode::send_immediate ? r.immediate : 0});
      return 0;
    }
    if (is_atomic(r.opcode) && r.remote % 8 != 0) return broken(9);
    if (r.wrong_remote_key && r.bytes != 0) return reliable ? broken(10) : 0;
    std::byte* const there = to.memory.data() + r.remote;
    std::byte* const here = from.memory.data() + r.local;
    if (is_atomic(r.opcode)) {
      uint64_t old = 0;
      std::memcpy(&old, there, 8);
      uint64_t changed = old;
      if (r.opcode == Opcode::fetch_and_add) changed = old + r.first;
      if (r.opcode == Opcode::compare_and_swap && old == r.first) changed = r.second;
      std::memcpy(there, &changed, 8);
      std::memcpy(here, &old, 8);
    } else if (r.opcode == Opcode::read) {
      std::memcpy(here, there, r.bytes);
    } else {
      std::memcpy(there, here, r.bytes);
      if (takes) {
        to.completions.push_back({to.receives.front().id, 0, r.bytes, r.immediate});
        to.receives.pop_front();
      }
    }
    return 0;
  }

  void drain(size_t at) {
    ModelEnd& e = ends[at];
    while (e.state == QpState::rts && !e.queue.empty()) {
      const auto [number, r] = e.queue.front();
      e.queue.pop_front();
      int status = 0;
      bool breaks_receiver = false;
      ModelEnd& to = ends[e.type == QpType::ud ? r.to : e.peer];
      if (e.type == QpType::ud && r.bytes > 4096) {
        status = 1;
      } else if (r.wrong_local_key && !r.inlined && r.bytes != 0) {
        status = 4;
        // A read has been executed by then, in vain; its peer may refuse it first.
        if (fetches(r.opcode)) {
          ModelEnd discarded = e;
          const int remote = deliver(discarded, to, r, breaks_receiver);
          if (remote != 0) status = remote;
        }
      } else {
        status = deliver(e, to, r, breaks_receiver);
      }
      if (r.signaled || status != 0) e.completions.push_back({r.id, status, 0, 0, number + 1});
      if (breaks_receiver) fail(to);
      if (status == 0) continue;
      if (e.type == QpType::rc) return fail(e);
      e.state = QpState::sqe;
      return flush(e, false);
    }
  }
};

struct Program {
  std::mt19937_64 random;
  World world;
  Model model;
  std::vector<End> ends;
  uint64_t next_id = 1;

  uint64_t below(uint64_t n) { return random() % n; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }

  explicit Program(uint64_t seed) : random(seed), world(4) {
    world.order = seed;
    const auto type = std::array{QpType::rc, QpType::rc, QpType::uc, QpType::ud}[below(4)];
    const size_t count = type == QpType::ud ? 2 + below(3) : chance(50) ? 2 : 4;
    model.ends.resize(count);
    for (size_t i = 0; i < count; ++i) {
      ends.emplace_back(world, static_cast<uint32_t>(i), type, false, kSends, 4095);
      ends[i].wish.rnr_retry = static_cast<uint32_t>(below(7));
      ends[i].wish.retry_count = static_cast<uint32_t>(below(4));
      ends[i].wish.reads_out = 1 + static_cast<uint32_t>(below(4));
      ends[i].wish.path_mtu = 256u << below(5);
      model.ends[i].type = type;
      model.ends[i].peer = i ^ 1;
      for (std::byte& b : model.ends[i].memory) b = std::byte(random());
      std::copy(model.ends[i].memory.begin(), model.ends[i].memory.end(),
                world.memory[static_cast<uint32_t>(i)].begin());
    }
    for (size_t i = 0; i + 1 < count; i += 2) join(i, i + 1);
    if (count % 2 != 0) begin(count - 1, 0);
  }

  void begin(size_t at, size_t peer) {
    EXPECT_EQ(ends[at].init() + ends[at].to_rtr(*ends[peer].pair) + ends[at].to_rts(), 0);
    model.ends[at].state = QpState::rts;
  }
  void join(size_t a, size_t b) {
    begin(a, b);
    begin(b, a);
  }

  Request draw(size_t at, bool last) {
    const QpType type = model.ends[at].type;
    Request r;
    r.id = next_id++;
    r.opcode = std::array{Opcode::write, Opcode::write_immediate,  Opcode::send,         Opcode::send_immediate,
                          Opcode::read,  Opcode::compare_and_swap, Opcode::fetch_and_add}[below(7)];
    if (type == QpType::ud && chance(95)) r.opcode = chance(50) ? Opcode::send : Opcode::send_immediate;
    if (type == QpType::uc && fetches(r.opcode) && chance(90)) r.opcode = Opcode::write;
    r.signaled = chance(60);
    r.inlined = chance(20);
    r.fenced = chance(20);
    r.bytes = static_cast<uint32_t>(std::array<uint64_t, 4>{0, below(16), below(128), below(1000)}[below(4)]);
    if (is_atomic(r.opcode)) r.bytes = 8;
    r.local = fetches(r.opcode) ? kLanding + below(512) : kSource + below(1024 - std::min(r.bytes, 1000u));
    r.remote = kTarget + below(1024 - std::min(r.bytes, 1000u));
    if (is_atomic(r.opcode) && !chance(5)) r.remote &= ~uint64_t{7};
    if (type == QpType::ud && chance(2)) r.bytes = 4097 + static_cast<uint32_t>(below(10));
    r.first = chance(50) ? below(3) : random();
    r.second = random();
    r.immediate = static_cast<uint32_t>(random()) | 1;
    r.wrong_local_key = chance(2) && (last || !fetches(r.opcode));
    r.wrong_remote_key = chance(2);
    r.wrong_qkey = type == QpType::ud && chance(5);
    r.to = (at + 1 + below(ends.size() - 1)) % ends.size();  // not to itself: its completions would have no one order
    return r;
  }

  SendWork translate(size_t at, const Request& r) {
    const End& e = ends[at];
    const End& to = ends[e.pair->type == QpType::ud ? r.to : model.ends[at].peer];
    SendWork w = one_sided(r.id, r.opcode, {}, to, r.remote, 0);
    if (r.signaled) w.flags |= send_flags::signaled;
    if (r.fenced) w.flags |= send_flags::fence;
    if (r.inlined) {
      w.flags |= send_flags::inline_data;
      const std::byte* const from = world.memory[static_cast<uint32_t>(at)].data() + r.local;
      w.inlined.assign(from, from + r.bytes);
    } else {
      // In up to three pieces
      uint64_t offset = r.local;
      uint32_t left = r.bytes;
      for (int i = 0; i < 2 && left > 1 && chance(40); ++i) {
        const auto part = static_cast<uint32_t>(below(left));
        w.pieces.push_back(e.piece(offset, part));
        offset += part;
        left -= part;
      }
      w.pieces.push_back(e.piece(offset, left));
      if (r.wrong_local_key) {
        for (Piece& piece : w.pieces) piece.key ^= 0x5500;
      }
    }
    if (r.wrong_remote_key) w.remote_key ^= 0x5500;
    w.compare_or_add = r.first;
    w.swap = r.second;
    w.immediate = r.immediate;
    w.destination = SendWork::Destination{.card = to.pair->card, .reachable = true};
    w.remote_number = to.pair->number;
    w.remote_qkey = r.wrong_qkey ? 0x77 : 0x11;
    return w;
  }

  void change(size_t at) {
    ModelEnd& m = model.ends[at];
    switch (below(5)) {
      case 0:
        ASSERT_EQ(ends[at].change(QpState::err), m.state == QpState::reset ? EINVAL : 0);
        if (m.state != QpState::reset) model.fail(m);
        break;
      case 1:
        ASSERT_EQ(ends[at].change(QpState::sqd), m.state == QpState::rts || m.state == QpState::sqd ? 0 : EINVAL);
        if (m.state == QpState::rts) m.state = QpState::sqd;
        break;
      case 2: {
        const bool valid = m.state == QpState::rts || m.state == QpState::sqd || m.state == QpState::sqe;
        ASSERT_EQ(ends[at].change(QpState::rts), valid ? 0 : EINVAL);
        if (valid) m.state = QpState::rts;
        break;
      }
      case 3:
        reset(at);
        break;
      default:  // begin again, both of them
        reset(at);
        if (m.type != QpType::ud) reset(m.peer);
        m.type == QpType::ud ? begin(at, m.peer % ends.size()) : join(at, m.peer);
    }
  }
  void reset(size_t at) {
    ASSERT_EQ(ends[at].change(QpState::reset), 0);
    ModelEnd& m = model.ends[at];
    m.state = QpState::reset;
    m.queue.clear();
    m.receives.clear();
    m.completions.clear();
    m.free = m.posted;
  }

  void poll(size_t at) {
    const auto most = static_cast<uint32_t>(1 + below(20));
    const auto got = ends[at].poll(most);
    ModelEnd& m = model.ends[at];
    ASSERT_EQ(got.size(), std::min<size_t>(most, m.completions.size())) << "end " << at << ": " << summary(got);
    for (const Completion& c : got) {
      const bool received = c.sender == 0 && c.status == Status::success;
      const Entry seen{c.id, static_cast<int>(c.status), received ? c.bytes : 0, received ? c.immediate : 0};
      const Entry expected = m.completions.front();
      m.completions.pop_front();
      EXPECT_TRUE(seen == expected) << "end " << at << ", id " << c.id << ": status " << seen.status << ", expected "
                                    << expected.id << ": " << expected.status << "; bytes " << seen.bytes << " "
                                    << expected.bytes << "; immediate " << seen.immediate << " " << expected.immediate;
      m.free = std::max(m.free, expected.frees);
    }
  }

  // Only one end of a connection has work in a round: two at a time have no one outcome.
  void round() {
    std::vector<size_t> senders;
    if (ends[0].pair->type == QpType::ud) {
      senders.push_back(below(ends.size()));
    } else {
      for (size_t i = 0; i < ends.size(); i += 2) senders.push_back(i + below(2));
    }
    for (size_t at = 0; at < ends.size(); ++at) {
      for (uint64_t n = below(5); n > 0; --n) {
        const Receive r{next_id++, kInbox + below(1000), static_cast<uint32_t>(chance(90) ? 1040 : below(100))};
        ASSERT_EQ(ends[at].receive(r.id, {ends[at].piece(r.at, r.bytes)}), model.receive(at, r)) << "receive " << r.id;
      }
    }
    for (const size_t at : senders) {
      const uint64_t count = below(6);
      for (uint64_t n = 0; n < count; ++n) {
        const Request r = draw(at, n + 1 == count);
        ASSERT_EQ(ends[at].send(translate(at, r)), model.post(at, r)) << "request " << r.id;
      }
    }
    world.run();
    for (const size_t at : senders) model.drain(at);
    for (size_t at = 0; at < ends.size(); ++at) {
      ASSERT_EQ(ends[at].pair->state(), model.ends[at].state) << "end " << at;
      const auto* const actual = world.memory[static_cast<uint32_t>(at)].data();
      ASSERT_EQ(std::memcmp(actual, model.ends[at].memory.data(), kUsed), 0) << "memory of end " << at;
      if (chance(70)) poll(at);
    }
    if (!chance(40)) return;
    const size_t changed = below(ends.size());
    change(changed);
    world.run();
    model.drain(changed);
  }
};

TEST(Stress, RandomProgramsDoWhatAPlainModelDoes) {
  const uint64_t first = from_environment("FABRICBENCH_RANDOM_SEED", 1);
  const uint64_t programs = from_environment("FABRICBENCH_RANDOM_PROGRAMS", kPrograms);
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Program run(seed);
    for (int i = 0; i < kRounds && !testing::Test::HasFailure(); ++i) run.round();
    for (size_t at = 0; at < run.ends.size(); ++at) run.poll(at);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace fb::rdma
