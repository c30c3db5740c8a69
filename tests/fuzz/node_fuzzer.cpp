// Bytes → what ranks may say to the machine, in any order, with handles and addresses that partly mean something. Ranks
// may get whatever answer; the node must stay whole, and when all processes have gone, all memory must be free again.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/wire/collectives.h"
#include "tests/fuzz/reader.h"
#include "tests/fuzz/verbs_requests.h"
#include "tests/unit/machine/node_kernels.h"
#include "virtual_node/machine/requests/node.h"

namespace fb::fuzz {
namespace {

using machine::Answer;
using machine::Call;
using machine::HostThread;
using machine::Node;
using machine::Process;
using wire::Kind;
using wire::Status;

constexpr int kMostMessages = 300;
constexpr uint64_t kStepsAtOnce = 400;
constexpr uint64_t kMostSteps = 20'000;
constexpr size_t kProcesses = 2, kThreads = 2;

// What a process has been told.
struct Client {
  Process* process = nullptr;
  std::array<HostThread*, kThreads> threads = {};
  std::array<std::vector<uint64_t>, 128> handles;  // by the kind that made them
  std::vector<uint64_t> addresses, ranges, registered;
  std::vector<uint64_t> sizes;
  std::array<uint32_t, 8> params = {};  // bytes, of functions by handle
  VerbsObjects verbs;
};

struct Shared {
  std::vector<wire::IpcToken> tokens;
  std::deque<UniqueFd> descriptors;
};

template <class T>
void remember(std::vector<T>& list, const T& value) {
  constexpr size_t kMost = 16;
  if (list.size() == kMost) list.erase(list.begin());
  list.push_back(value);
}

platform::Platform small_platform(uint32_t nodes) {
  static const platform::Platform loaded = [] {
    auto p = platform::load_platform("h100x8_2nodes");
    FB_CHECK(p.has_value());
    return *p;
  }();
  platform::Platform p = loaded;
  p.node.nodes = nodes;
  p.node.devices = 2;
  p.device.sms = 2;
  p.nic.per_node = 2;
  return p;
}

class Session {
 public:
  explicit Session(std::span<const uint8_t> bytes)
      : in_(bytes),
        node_(
            small_platform(1 + in_.below(2)), options(),
            [this](HostThread& thread, Answer&& answer) { answered(thread, std::move(answer)); },
            [](record::Incident incident) { FB_CHECK(to_json_line(incident).size() < 10'000'000); }) {
    for (size_t k = 0; k < kProcesses; ++k) join(k);
  }

  void play() {
    for (int k = 0; k < kMostMessages && !in_.empty(); ++k) step();
    finish();
  }

 private:
  machine::NodeOptions options() {
    machine::NodeOptions o;
    const uint8_t b = in_.byte();
    o.seed = b % 4 == 0 ? b : 0;
    o.mode = b % 8 == 1 ? record::AccessMode::strict : record::AccessMode::hardware;
    o.trace = b % 8 == 2;
    o.memory = 64 << 20;
    o.budget = 200'000;
    return o;
  }

  void join(size_t k) {
    Client& c = clients_[k];
    c = {};
    c.process = &node_.add_process(static_cast<int32_t>(100 + ++joined_), static_cast<int32_t>(k),
                                   static_cast<int32_t>(in_.below(3)));
    FB_CHECK(node_.welcome(*c.process).status == Status::ok);
    for (size_t t = 0; t < kThreads; ++t) {
      c.threads[t] =
          &node_.add_thread(*c.process, ++connections_, 7, t == 0 ? wire::Purpose::calls : wire::Purpose::callbacks);
    }
    // So that not every input must find out how to load a module and what its functions are called.
    load(k, node_kernels::kText, 1);
    static constexpr const char* kNames[] = {"store",     "copy_after", "add_one", "wait_clock", "run_away",
                                             "greet",     "stop",       "take",    "bulk",       "spread",
                                             "variables", "locals",     "together"};
    for (const char* name : kNames) {
      if (c.handles[static_cast<size_t>(Kind::module_load)].empty()) break;
      wire::FunctionFind m;
      m.module = c.handles[static_cast<size_t>(Kind::module_load)].back();
      ask(k, 0, Kind::function_find, m, std::as_bytes(std::span(std::string_view(name))));
    }
    for (uint32_t d = 0; d < 2; ++d) ask(k, 0, Kind::allocate, wire::Allocate{d, wire::MemoryKind::device, 4096});
    wire::StreamCreate stream;
    stream.non_blocking = 1;
    ask(k, 0, Kind::stream_create, stream);
    ask(k, 0, Kind::stream_create, wire::StreamCreate{});
  }

  void load(size_t k, std::string_view text, uint32_t last) {
    wire::ModuleLoad m;
    m.last = last;
    ask(k, 0, Kind::module_load, m, std::as_bytes(std::span(text)));
  }

  template <class Request>
  void ask(size_t k, size_t t, Kind kind, const Request& m, std::span<const std::byte> blob = {},
           UniqueFd descriptor = {}) {
    ask(k, t, kind, std::as_bytes(std::span(&m, 1)), blob, std::move(descriptor));
  }
  void ask(size_t k, size_t t, Kind kind, std::span<const std::byte> body, std::span<const std::byte> blob,
           UniqueFd descriptor) {
    HostThread* thread = clients_[k].threads[t];
    if (!thread || thread->waiting) return;
    Call call;
    call.thread = thread;
    call.kind = kind;
    call.body = body;
    call.blob = blob;
    call.descriptor = std::move(descriptor);
    node_.handle(call);
  }

  void answered(HostThread& thread, Answer&& answer) {
    if (answer.status != Status::ok || ending_) return;
    Client* client = nullptr;
    for (Client& c : clients_) {
      if (c.process == thread.process) client = &c;
    }
    FB_CHECK(client != nullptr && !thread.gone);
    const auto body = [&]<class Reply>(Reply& reply) {
      // Deferred answers (queries, waits) leave out a body that says nothing.
      if (std::is_same_v<Reply, wire::Empty> && answer.body.empty()) return;
      FB_CHECK(answer.body.size() == sizeof reply);
      std::memcpy(&reply, answer.body.data(), sizeof reply);
    };
    if (thread.request == Kind::physical_export) {
      FB_CHECK(answer.owned || answer.descriptor >= 0);
      if (shared_.descriptors.size() >= 8) shared_.descriptors.pop_front();
      shared_.descriptors.emplace_back(dup(answer.owned ? answer.owned.get() : answer.descriptor));
    }
    switch (thread.request) {
#define MESSAGE(kind, Request, ReplyType, ...)   \
  case Kind::kind: {                             \
    wire::ReplyType reply;                       \
    body(reply);                                 \
    return keep(*client, thread.request, reply); \
  }
#include "common/wire/messages.def"
#undef MESSAGE
      default:
        break;
    }
  }

  // Later requests use what replies hand out.
  void keep(Client&, Kind, const auto&) {}
  void keep(Client& client, Kind kind, const wire::Address& a) {
    if (kind == Kind::judge_tensor) return;
    FB_CHECK(a.address >= mem::kGlobalBegin && a.address + a.bytes <= mem::kGlobalEnd);
    remember(kind == Kind::range_reserve ? client.ranges : client.addresses, a.address);
    remember(client.sizes, a.bytes);
  }
  void keep(Client& client, Kind, const wire::VariableFacts& v) { remember(client.addresses, v.address); }
  void keep(Client& client, Kind kind, const wire::FunctionFacts& f) {
    remember(client.handles[static_cast<size_t>(kind)], f.function);
    client.params[f.function % client.params.size()] = f.param_bytes;
  }
  void keep(Client&, Kind, const wire::IpcToken& token) { remember(shared_.tokens, token); }
  void keep(Client&, Kind, const wire::CommId& id) { comm_id_ = id; }
  void keep(Client& client, Kind, const wire::VerbsMade& made) { verbs_.keep(client.verbs, made); }
  void keep(Client& client, Kind kind, const wire::Handle& h) {
    FB_CHECK(h.handle != 0);
    remember(client.handles[static_cast<size_t>(kind)], h.handle);
  }

  // Parts of requests

  uint64_t odd() {
    static constexpr uint64_t kValues[] = {0,
                                           1,
                                           2,
                                           3,
                                           16,
                                           4095,
                                           4096,
                                           1 << 21,
                                           UINT32_MAX,
                                           uint64_t{1} << 32,
                                           mem::kGlobalBegin,
                                           mem::kGlobalEnd,
                                           uint64_t{1} << 43,
                                           uint64_t{1} << 46,
                                           uint64_t{1} << 63,
                                           ~uint64_t{0},
                                           ~uint64_t{0} - 4095,
                                           (uint64_t{1} << 63) - 1};
    return in_.one_in(8) ? in_.word() : in_.pick(kValues);
  }
  wire::Id handle(std::initializer_list<Kind> makers) {
    if (in_.one_in(16)) return odd();
    const Kind maker = makers.begin()[in_.below(static_cast<uint32_t>(makers.size()))];
    const auto& list = client_->handles[static_cast<size_t>(maker)];
    return list.empty() ? 0 : list[in_.below(static_cast<uint32_t>(list.size()))];
  }
  uint64_t address() {
    const auto& list = in_.one_in(4) ? client_->ranges : client_->addresses;
    if (list.empty() || in_.one_in(16)) return odd();
    const uint64_t a = list[in_.below(static_cast<uint32_t>(list.size()))];
    static constexpr uint64_t kOffsets[] = {0, 0, 0, 0, 0, 0, 4, 8, 2, 128, 4096, 1 << 21, ~uint64_t{0}};
    return a + in_.pick(kOffsets);
  }
  uint64_t range() {
    if (client_->ranges.empty() || in_.one_in(16)) return address();
    const uint64_t a = client_->ranges[in_.below(static_cast<uint32_t>(client_->ranges.size()))];
    return a + wire::kGranularity * (in_.one_in(4) ? in_.below(4) : 0);
  }
  uint64_t size() {
    if (in_.one_in(8)) return odd();
    if (!client_->sizes.empty() && in_.one_in(3))
      return client_->sizes[in_.below(static_cast<uint32_t>(client_->sizes.size()))];
    static constexpr uint64_t kSizes[] = {4,  4,   4,    16,   16,   64,      256,     256,     1,       4,      8,
                                          64, 256, 1000, 4096, 8192, 1 << 16, 1 << 20, 1 << 21, 4 << 21, 1 << 25};
    return in_.pick(kSizes);
  }
  uint32_t device() { return in_.one_in(16) ? static_cast<uint32_t>(odd()) : in_.below(2); }
  uint32_t flag() { return in_.below(2); }
  wire::StreamRef stream() {
    wire::StreamRef r;
    r.stream = in_.below(3) == 0 ? 0 : handle({Kind::stream_create});
    r.device = in_.one_in(4) ? device() : 0;
    return r;
  }
  wire::IpcToken token() {
    wire::IpcToken t;
    if (shared_.tokens.empty()) return t;
    t = shared_.tokens[in_.below(static_cast<uint32_t>(shared_.tokens.size()))];
    if (in_.one_in(8)) t.bytes[in_.below(16)] ^= in_.byte();
    return t;
  }
  uint32_t dimension() {
    static constexpr uint32_t kValues[] = {1, 1, 1, 1, 2, 3, 32, 64, 0, 1024, 65536, UINT32_MAX};
    return in_.pick(kValues);
  }

  // Requests

  void fill(wire::Hello&) {}
  void fill(wire::ReportUnsupported&) {}
  void fill(wire::Empty&) {}
  void fill(wire::CallbackNext&) {}
  void fill(wire::Allocate& m) { m = {device(), static_cast<wire::MemoryKind>(in_.below(4)), size()}; }
  void fill(wire::Free& m) { m = {address(), static_cast<wire::MemoryKind>(in_.below(4)), 0}; }
  void fill(wire::RegisterHost& m) {
    static constexpr uint64_t kPlaces[] = {mem::kGlobalEnd, 0x7000'0000'0000, 0x7000'0000'1000, mem::kGlobalBegin,
                                           ~uint64_t{0} - 8191};
    m = {in_.one_in(4) ? address() : in_.pick(kPlaces), in_.one_in(4) ? size() : 4096u * (1 + in_.below(3))};
  }
  void fill(wire::DescribePointer& m) { m.address = address(); }
  void fill(wire::VerbsObserve& m) {
    m = {address(), static_cast<uint32_t>(in_.below(1 << 12)), static_cast<uint32_t>(in_.below(2))};
  }
  void fill(wire::VerbsLine& m) { m.number = static_cast<uint32_t>(in_.below(8)); }
  void fill(wire::VerbsLook& m) {
    m.address = address();
    m.kind = static_cast<wire::VerbsLook::Kind>(in_.below(4));
    m.bytes = static_cast<uint32_t>(in_.below(10));
    m.acquires = m.releases = m.again = static_cast<uint32_t>(in_.below(2));
  }
  void fill(wire::OfDevice& m) { m.device = device(); }
  void fill(wire::Peer& m) { m = {device(), device()}; }
  void fill(wire::IpcToken& m) { m = token(); }
  void fill(wire::IpcImport& m) { m = {token(), device(), 0}; }
  void fill(wire::PhysicalCreate& m) {
    m = {in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(3)), static_cast<int32_t>(device()), flag()};
  }
  void fill(wire::OfHandle& m) {
    m.handle = handle({Kind::stream_create, Kind::event_create, Kind::module_load, Kind::graph_create,
                       Kind::physical_create, Kind::multicast_create, Kind::event_import, Kind::physical_import,
                       Kind::physical_import_fabric, Kind::pool_create});
  }
  void fill(wire::RangeReserve& m) {
    m = {in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(4)), in_.one_in(4) ? odd() : 0, 0};
  }
  void fill(wire::Range& m) { m = {range(), in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(3))}; }
  void fill(wire::RangeMap& m) {
    m = {range(), in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(3)),
         in_.one_in(4) ? size() : wire::kGranularity * in_.below(2),
         handle({Kind::physical_create, Kind::multicast_create, Kind::physical_import, Kind::physical_import_fabric,
                 Kind::physical_retain})};
  }
  void fill(wire::RangeAccess& m) {
    static constexpr uint32_t kAccess[] = {3, 3, 3, 0, 1, 2, UINT32_MAX};
    m = {range(), in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(3)), static_cast<int32_t>(device()),
         static_cast<wire::Access>(in_.pick(kAccess))};
  }
  void fill(wire::MulticastCreate& m) {
    m = {in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(3)), in_.one_in(8) ? device() : 1 + in_.below(2),
         flag()};
  }
  void fill(wire::MulticastDevice& m) {
    m = {handle({Kind::multicast_create, Kind::physical_import, Kind::physical_import_fabric}), device(), 0};
  }
  void fill(wire::MulticastBind& m) {
    m = {handle({Kind::multicast_create, Kind::physical_import, Kind::physical_import_fabric}),
         in_.one_in(4) ? size() : wire::kGranularity * in_.below(2),
         in_.below(2) == 0 ? address() : handle({Kind::physical_create}),
         in_.one_in(4) ? size() : wire::kGranularity * in_.below(2),
         in_.one_in(4) ? size() : wire::kGranularity * (1 + in_.below(2)),
         device(),
         0};
  }
  void fill(wire::ModuleLoad& m) { m = {in_.one_in(3) ? handle({Kind::module_load}) : 0, in_.one_in(4) ? 0u : 1u, 0}; }
  void fill(wire::FunctionFind& m) { m = {handle({Kind::module_load}), device(), 0}; }
  void fill(wire::FunctionSet& m) {
    m = {handle({Kind::function_find}), device(), static_cast<wire::FunctionAttribute>(in_.below(3)),
         static_cast<int64_t>(size())};
  }
  void fill(wire::VariableFind& m) { m = {handle({Kind::module_load}), device(), 0}; }
  void fill(wire::VariablePlace& m) { m = {handle({Kind::module_load}), address()}; }
  void fill(wire::PoolAccess& m) {
    m = {handle({Kind::pool_create}), device(), device(), static_cast<wire::Access>(in_.below(4)), 0};
  }
  void fill(wire::HostSleep& m) { m.nanoseconds = in_.one_in(4) ? odd() : in_.below(1000); }
  void fill(wire::Occupancy& m) {
    m.function = handle({Kind::function_find});
    m.device = device();
    m.threads_per_block = dimension();
    m.dynamic_shared_bytes = in_.one_in(2) ? size() : 0;
    for (uint32_t& n : m.cluster) n = in_.one_in(2) ? 1u << in_.below(32) : dimension();
  }
  void fill(wire::StreamCreate& m) { m = {device(), flag(), static_cast<int32_t>(odd()), 0}; }
  void fill(wire::StreamRef& m) { m = stream(); }
  void fill(wire::EventCreate& m) { m = {device(), flag(), flag(), 0}; }
  void fill(wire::EventElapsed& m) { m = {handle({Kind::event_create}), handle({Kind::event_create})}; }
  void fill(wire::EventOnStream& m) { m = {stream(), handle({Kind::event_create, Kind::event_import})}; }
  void fill(wire::Launch& m) {
    m.stream = stream();
    m.function = handle({Kind::function_find});
    if (in_.one_in(4)) {
      for (uint32_t& n : m.grid) n = dimension();
      for (uint32_t& n : m.block) n = dimension();
      for (uint32_t& n : m.cluster) n = in_.below(3);
      m.dynamic_shared_bytes = in_.one_in(4) ? size() : 0;
    } else {
      m.grid[0] = 1 + in_.below(4);
      m.block[0] = 1 + in_.below(64);
    }
    m.flags = in_.below(4);
  }
  void fill(wire::Copy& m) {
    m.stream = stream();
    m.to = in_.one_in(6) ? 0 : address();
    m.from = in_.one_in(6) ? 0 : address();
    m.width = size();
    if (in_.one_in(4)) {
      m.height = in_.one_in(4) ? odd() : in_.below(8);
      m.depth = in_.one_in(4) ? odd() : in_.below(8);
      m.to_pitch = size();
      m.from_pitch = size();
      m.to_plane = size();
      m.from_plane = size();
    }
    m.pageable = flag();
    m.wait = in_.one_in(4) ? 1 : 0;
  }
  void fill(wire::Memset& m) {
    m.stream = stream();
    m.to = address();
    m.width = size();
    if (in_.one_in(4)) {
      m.height = in_.one_in(4) ? odd() : in_.below(8);
      m.depth = in_.one_in(4) ? odd() : in_.below(8);
      m.pitch = size();
      m.plane = size();
    }
    m.value = static_cast<uint32_t>(odd());
    m.element = in_.one_in(8) ? 3 : 1u << in_.below(3);
    m.wait = in_.one_in(4) ? 1 : 0;
  }
  void fill(wire::StreamValue& m) {
    m = {stream(), address(), in_.below(3), in_.one_in(8) ? 5u : 4u + 4 * flag(),
         static_cast<wire::Compare>(in_.below(5))};
  }
  void fill(wire::Callback& m) { m = {stream(), 1}; }
  void fill(wire::AllocateOrdered& m) {
    m = {stream(), size(), in_.one_in(2) ? handle({Kind::pool_create}) : 0, in_.one_in(4) ? device() : 0, 0};
  }
  void fill(wire::FreeOrdered& m) { m = {stream(), address()}; }
  void fill(wire::GraphCreate& m) {
    m = {in_.one_in(4) ? handle({Kind::graph_create}) : 0, 0, in_.one_in(4) ? 0u : 1u};
  }
  // No kernel here ends a loop: those of type while are not entered.
  void fill(wire::GraphConditional& m) {
    const auto type = static_cast<wire::ConditionalType>(in_.below(4));
    const uint32_t bodies = type == wire::ConditionalType::while_ ? 1 : in_.below(4);
    m = {stream(), in_.below(3), type, bodies, type == wire::ConditionalType::while_ ? 0 : flag(), 1};
  }
  // Of a judgement, which this node has none of: all must be refused.
  void fill(wire::StepNext& m) { m = {handle({Kind::stream_create}), device(), flag()}; }
  void fill(wire::Exchange&) {}
  void fill(wire::ExchangeDescriptor& m) { m.root = flag(); }
  void fill(wire::JudgeBegin& m) { m.arena_bytes = size(); }
  void fill(wire::JudgeTensor& m) { m = {flag(), static_cast<int32_t>(device()) - 1, size()}; }
  void fill(wire::JudgeFree& m) { m = {flag(), 0, address()}; }
  void fill(wire::JudgeStep& m) { m = {static_cast<wire::StepKind>(in_.below(6)), flag(), flag(), flag()}; }
  void fill(wire::CommCreate& m) {
    m.origin = static_cast<wire::CommOrigin>(in_.below(5));
    m.device = device();
    m.ranks = static_cast<int32_t>(in_.one_in(8) ? odd() : 1 + in_.below(2));
    m.rank = static_cast<int32_t>(in_.one_in(8) ? odd() : in_.below(2));
    m.parent = handle({Kind::comm_create});
    m.color = static_cast<int32_t>(in_.below(3)) - 1;
    m.key = static_cast<int32_t>(odd());
    m.ends_parent = flag();
    m.has_id = flag();
    m.id = comm_id_;
    if (in_.one_in(16)) m.id.bytes[in_.below(40)] ^= in_.byte();
  }
  void fill(wire::CommEnd& m) { m = {handle({Kind::comm_create}), static_cast<wire::CommChange>(in_.below(7)), 0}; }
  void fill(wire::CommWindow& m) {
    m = {handle({Kind::comm_create}), in_.one_in(3) ? handle({Kind::comm_window}) : 0, address(), size(), flag(), 0};
  }
  void fill(wire::Collective& m) {
    m.stream = stream();
    m.comm = handle({Kind::comm_create});
    m.calls = in_.one_in(16) ? static_cast<uint32_t>(odd()) : 1 + in_.below(3);
    m.more_streams = in_.one_in(8) ? in_.below(3) : 0;
  }
  std::vector<std::byte> calls(const wire::Collective& m) {
    std::vector<std::byte> blob;
    const auto append = [&](const auto& value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      blob.insert(blob.end(), bytes.begin(), bytes.end());
    };
    for (uint32_t k = 0; k < std::min(m.calls, 4u); ++k) {
      wire::CollectiveCall c;
      c.kind = static_cast<wire::CollectiveKind>(in_.below(wire::kCollectives.size() + 1));
      c.type = static_cast<wire::ElementType>(in_.below(13));
      c.op = static_cast<wire::ReduceOp>(in_.below(7));
      c.peer = in_.one_in(16) ? static_cast<int32_t>(odd()) : static_cast<int32_t>(in_.below(2));
      c.send = address();
      c.receive = address();
      c.count = in_.one_in(8) ? odd() : in_.below(64);
      c.scalar = address();
      c.window = handle({Kind::comm_window});
      c.scalar_from = static_cast<wire::ScalarFrom>(in_.below(4));
      append(c);
    }
    for (uint32_t k = 0; k < std::min(m.more_streams, 4u); ++k) append(handle({Kind::stream_create}));
    return blob;
  }
  void fill(wire::BlasOperand& o) {
    o.address = address();
    o.row_stride = in_.one_in(8) ? static_cast<int64_t>(odd()) : static_cast<int64_t>(in_.below(40)) - 8;
    o.column_stride = in_.one_in(8) ? static_cast<int64_t>(odd()) : static_cast<int64_t>(in_.below(40)) - 8;
    o.batch_stride = in_.one_in(8) ? static_cast<int64_t>(odd()) : static_cast<int64_t>(in_.below(64));
    o.type = static_cast<wire::ElementType>(in_.below(13));
    o.by_pointers = in_.one_in(8) ? flag() : 0;
  }
  void fill(wire::BlasScalar& s) {
    s = {in_.one_in(2) ? address() : odd(), static_cast<wire::ScalarFrom>(in_.below(4)),
         static_cast<wire::ElementType>(in_.below(13))};
  }
  void fill(wire::Blas& m) {
    const auto count = [this]() -> uint64_t { return in_.one_in(16) ? odd() : in_.below(24); };
    m.stream = stream();
    m.kind = static_cast<wire::BlasKind>(in_.below(12));
    m.math = static_cast<wire::BlasMath>(in_.below(7));
    m.m = count();
    m.n = m.kind == wire::BlasKind::gemm || m.kind == wire::BlasKind::matrix_sum ? count() : 1;
    m.k = count();
    m.batches = m.kind == wire::BlasKind::gemm && in_.one_in(3) ? count() : 1;
    for (auto* operand : {&m.a, &m.b, &m.c, &m.d}) fill(*operand);
    fill(m.alpha);
    fill(m.beta);
    if (in_.one_in(4)) fill(m.aux);
    for (uint64_t* extra : {&m.bias, &m.scale_a, &m.scale_b, &m.scale_c, &m.scale_d, &m.largest}) {
      if (in_.one_in(6)) *extra = address();
    }
    m.bias_batch_stride = in_.one_in(8) ? odd() : 0;
    m.bias_type = static_cast<wire::ElementType>(in_.below(13));
    m.epilogue = static_cast<wire::BlasEpilogue>(in_.below(4));
    m.may_split = flag();
  }
  void fill(wire::VerbsMake& m) { verbs_.fill(m, client_->verbs, address(), size()); }
  template <class Request>
    requires requires(VerbsRequests& verbs, Request& m, const VerbsObjects& of) { verbs.fill(m, of); }
  void fill(Request& m) {
    verbs_.fill(m, client_->verbs);
  }
  void fill(wire::GraphLaunch& m) { m = {stream(), handle({Kind::graph_create})}; }

  std::vector<std::byte> parameters(wire::Id function) {
    std::vector<std::byte> blob(in_.one_in(16) ? in_.below(64) : client_->params[function % client_->params.size()]);
    for (size_t at = 0; at + 8 <= blob.size(); at += 8) {
      const uint64_t value = in_.one_in(4) ? odd() : address();
      std::memcpy(blob.data() + at, &value, sizeof value);
    }
    return blob;
  }

  template <class Body>
  void add_node(std::vector<std::byte>& blob, Kind kind, uint32_t number) {
    Body body{};
    fill(body);
    std::vector<std::byte> carried;
    if constexpr (std::is_same_v<Body, wire::Launch>) carried = parameters(body.function);
    if constexpr (std::is_same_v<Body, wire::Copy>) {
      if (body.from == 0) carried.resize(std::min<uint64_t>(body.width, 5000));
    }
    if constexpr (std::is_same_v<Body, wire::Collective>) carried = calls(body);
    if constexpr (std::is_same_v<Body, wire::GraphConditional>) {
      carried.resize(body.bodies * sizeof(wire::Id));
      for (size_t at = 0; at < carried.size(); at += sizeof(wire::Id)) {
        const wire::Id graph = handle({Kind::graph_create});
        std::memcpy(carried.data() + at, &graph, sizeof graph);
      }
    }
    wire::GraphNodeHeader node;
    node.kind = kind;
    node.body = sizeof body;
    node.blob = static_cast<uint32_t>(carried.size());
    std::vector<uint32_t> after;
    for (uint32_t k = in_.below(3); k != 0; --k) after.push_back(in_.one_in(32) ? number : in_.below(number + 1));
    if (number == 0 && !in_.one_in(32)) after.clear();
    for (uint32_t& d : after) d = std::min(d, number == 0 ? 0 : in_.one_in(32) ? number : number - 1);
    node.dependencies = static_cast<uint32_t>(after.size());
    if (in_.one_in(64)) node.body += in_.below(9);
    const auto append = [&](const void* from, size_t bytes) {
      const auto* first = static_cast<const std::byte*>(from);
      blob.insert(blob.end(), first, first + bytes);
    };
    append(&node, sizeof node);
    append(&body, sizeof body);
    append(carried.data(), carried.size());
    append(after.data(), after.size() * sizeof(uint32_t));
  }

  std::vector<std::byte> nodes(wire::GraphCreate& m) {
    using namespace wire::message_flags;
    constexpr auto kGraphNodes = static_cast<uint32_t>(
        std::ranges::count_if(wire::kMessages, [](const auto& row) { return (row.flags & graph_node) != 0; }));
    std::vector<std::byte> blob;
    m.nodes = in_.below(8);
    for (uint32_t k = 0; k < m.nodes; ++k) {
      uint32_t chosen = in_.below(kGraphNodes);
#define MESSAGE(kind, Request, Reply, flags, ...) \
  if (((flags) & graph_node) != 0 && chosen-- == 0) add_node<wire::Request>(blob, Kind::kind, k);
#include "common/wire/messages.def"
#undef MESSAGE
    }
    if (in_.one_in(32)) m.nodes = static_cast<uint32_t>(odd());
    if (in_.one_in(32) && !blob.empty()) blob.resize(blob.size() / 2);
    return blob;
  }

  // The kind of the same noun whose reply is a handle: event_create for event_wait.
  static Kind maker_for(Kind kind) {
    const std::string_view name = wire::name_of(kind);
    const std::string_view noun = name.substr(0, name.find('_') + 1);
    Kind maker = Kind::physical_create;
#define MESSAGE(kind, Request, ReplyType, ...)                                                      \
  if (std::is_same_v<wire::ReplyType, wire::Handle> && std::string_view(#kind).starts_with(noun) && \
      std::string_view(wire::name_of(maker)).substr(0, noun.size()) != noun)                        \
    maker = Kind::kind;
#include "common/wire/messages.def"
#undef MESSAGE
    return maker;
  }

  template <Kind kKind>
  void send(size_t k, size_t t) {
    typename wire::Message<kKind>::Request m{};
    fill(m);
    std::vector<std::byte> blob;
    UniqueFd descriptor;
    const auto text = [&](std::string_view s) {
      const auto bytes = std::as_bytes(std::span(s));
      blob.assign(bytes.begin(), bytes.end());
    };
    if constexpr (std::is_same_v<decltype(m), wire::OfHandle>) {
      if (!in_.one_in(8)) m.handle = handle({maker_for(kKind)});
      if (kKind == Kind::verbs_query) m.handle = verbs_.object(client_->verbs, wire::VerbsObject::queue_pair);
    }
    if constexpr (kKind == Kind::verbs_post) blob = verbs_.work(m, client_->verbs, [this] { return address(); });
    if constexpr (kKind == Kind::unregister_host) {
      if (!client_->registered.empty()) m.address = client_->registered.back();
    }
    if constexpr (kKind == Kind::physical_retain) m.address = range();
    if constexpr (kKind == Kind::launch) blob = parameters(m.function);
    if constexpr (kKind == Kind::copy) {
      const uint64_t bytes = m.width * m.height * m.depth;
      if (m.from == 0) blob.resize(std::min<uint64_t>(bytes, 100'000));
    }
    if constexpr (kKind == Kind::collective || kKind == Kind::collective_estimate) blob = calls(m);
    if constexpr (kKind == Kind::comm_create) {
      const int32_t excluded = static_cast<int32_t>(in_.below(3));
      const auto bytes = std::as_bytes(std::span(&excluded, 1));
      if (m.origin == wire::CommOrigin::shrink) blob.assign(bytes.begin(), bytes.end());
    }
    if constexpr (kKind == Kind::graph_create) blob = nodes(m);
    if constexpr (kKind == Kind::module_load) {
      static constexpr const char* kTexts[] = {node_kernels::kText, node_kernels::kTooLarge, "", ".version 9",
                                               "\xff\xfe no text"};
      text(in_.pick(kTexts));
    }
    if constexpr (kKind == Kind::function_find) {
      static constexpr const char* kNames[] = {"store", "stop", "bulk", "vprintf", "", "nothing"};
      text(in_.pick(kNames));
    }
    if constexpr (kKind == Kind::variable_find || kKind == Kind::variable_place) {
      static constexpr const char* kNames[] = {"counter", "constant", "small", "", "buffer"};
      text(in_.pick(kNames));
    }
    if constexpr (kKind == Kind::report_unsupported) text("\xc3\x28");
    if constexpr (kKind == Kind::register_host) {
      if (!in_.one_in(8)) descriptor.reset(in_.one_in(4) ? dup(2) : mem::create_shared(4096 * (1 + in_.below(4))));
      remember(client_->registered, m.address);
      remember(client_->addresses, m.address);
    }
    if constexpr (kKind == Kind::physical_import) {
      if (!shared_.descriptors.empty())
        descriptor.reset(dup(shared_.descriptors[in_.below(static_cast<uint32_t>(shared_.descriptors.size()))].get()));
    }
    ask(k, t, kKind, m, blob, std::move(descriptor));
  }

  // What happens

  void step() {
    const uint8_t what = in_.byte();
    const size_t k = in_.below(kProcesses), t = what % kThreads;
    client_ = &clients_[k];
    if (what >= 200) return happen(what - 200, k, t);
    constexpr uint8_t kKinds = static_cast<uint8_t>(Kind::output) - 1;
    switch (static_cast<Kind>(1 + what % kKinds)) {
#define MESSAGE(kind, ...) \
  case Kind::kind:         \
    return send<Kind::kind>(k, t);
#include "common/wire/messages.def"
#undef MESSAGE
      default:
        return;
    }
  }

  void happen(int what, size_t k, size_t t) {
    Client& c = clients_[k];
    if (what < 40) {
      run(1 + in_.below(255) * 2);
    } else if (what < 43) {
      node_.look_again();
    } else if (what < 46) {
      (void)node_.pass_time();
    } else if (what < 48) {
      (void)node_.explain_deadlock();
    } else if (what < 51) {
      if (!c.threads[t]) return;
      node_.remove_thread(*c.threads[t]);
      c.threads[t] = &node_.add_thread(*c.process, ++connections_, 8,
                                       in_.below(2) == 0 ? wire::Purpose::calls : wire::Purpose::callbacks);
    } else if (what < 52) {
      leave(k);
      join(k);
    } else if (what < 55) {
      scene(k);
    } else {
      // Bodies of the wrong size never come from a connection; the node does not rely on it.
      std::array<std::byte, 200> bytes{};
      for (auto& b : bytes) b = static_cast<std::byte>(in_.byte());
      ask(k, t, static_cast<Kind>(in_.byte()), std::span(bytes).first(in_.below(200)), {}, {});
    }
  }

  uint64_t last(Kind maker) const {
    const auto& list = client_->handles[static_cast<size_t>(maker)];
    return list.empty() ? 0 : list.back();
  }

  // Several requests that make sense together: what follows can spoil it.
  void scene(size_t k) {
    constexpr uint64_t kBytes = wire::kGranularity;
    const uint32_t what = in_.below(5);
    const auto map_for_both = [&](Kind maker) {
      ask(k, 0, Kind::range_reserve, wire::RangeReserve{2 * kBytes, 0, 0});
      if (client_->ranges.empty()) return;
      const uint64_t at = client_->ranges.back();
      ask(k, 0, Kind::range_map, wire::RangeMap{at, kBytes, 0, last(maker)});
      for (int32_t d = 0; d < 2; ++d)
        ask(k, 0, Kind::range_set_access, wire::RangeAccess{at, kBytes, d, wire::Access::read_write});
      remember(client_->addresses, at);
    };
    if (what == 0) {
      const auto device = static_cast<int32_t>(in_.below(2));
      ask(k, 0, Kind::physical_create,
          wire::PhysicalCreate{kBytes, device, wire::kAsDescriptor | wire::kAsFabricHandle});
      ask(k, 0, Kind::physical_export, wire::OfHandle{last(Kind::physical_create)});
      map_for_both(Kind::physical_create);
      ask(k, 0, Kind::physical_export_fabric, wire::OfHandle{last(Kind::physical_create)});
      if (!shared_.tokens.empty()) ask(1 - k, 0, Kind::physical_import_fabric, shared_.tokens.back());
    } else if (what == 1) {
      ask(k, 0, Kind::multicast_create, wire::MulticastCreate{kBytes, 2, 1});
      const uint64_t object = last(Kind::multicast_create);
      for (uint32_t d = 0; d < 2; ++d) ask(k, 0, Kind::multicast_add_device, wire::MulticastDevice{object, d, 0});
      for (int32_t d = 0; d < 2; ++d) {
        ask(k, 0, Kind::physical_create, wire::PhysicalCreate{kBytes, d, 0});
        wire::MulticastBind bind;
        bind.multicast = object;
        bind.memory = last(Kind::physical_create);
        bind.bytes = kBytes;
        ask(k, 0, Kind::multicast_bind_memory, bind);
      }
      map_for_both(Kind::multicast_create);
    } else if (what == 2) {
      if (client_->addresses.empty()) return;
      ask(k, 0, Kind::ipc_export, wire::DescribePointer{client_->addresses.front()});
      if (shared_.tokens.empty()) return;
      ask(1 - k, 0, Kind::ipc_import, wire::IpcImport{shared_.tokens.back(), in_.below(2), 0});
    } else if (what == 3) {
      connect();
    } else {
      ask(k, 0, Kind::event_create, wire::EventCreate{0, 0, 1, 0});
      ask(k, 0, Kind::event_record, wire::EventOnStream{stream(), last(Kind::event_create)});
      ask(k, 0, Kind::event_export, wire::OfHandle{last(Kind::event_create)});
      if (!shared_.tokens.empty()) ask(1 - k, 0, Kind::event_import, shared_.tokens.back());
    }
  }

  // An RC queue pair in each process, each with a region, ready to send to the other.
  void connect() {
    using enum wire::VerbsObject;
    std::array<wire::VerbsModify, kProcesses> changes;
    const auto make = [&](size_t k, wire::VerbsObject kind, wire::VerbsMake m) {
      m.kind = clients_[k].verbs.asked = kind;
      ask(k, 0, Kind::verbs_make, m);
      run(64);
    };
    const auto newest = [&](size_t k, wire::VerbsObject kind) {
      const auto& list = clients_[k].verbs.made[static_cast<size_t>(kind)];
      return list.empty() ? 0 : list.back();
    };
    for (size_t k = 0; k < kProcesses; ++k) {
      make(k, context, {});
      make(k, domain, {.parent = newest(k, context)});
      make(k, completion_queue, {.parent = newest(k, context), .receives = 8});
      const uint64_t memory = clients_[k].addresses.empty() ? 0 : clients_[k].addresses.front();
      make(k, region, {.parent = newest(k, domain), .address = memory, .bytes = 4096, .iova = memory, .access = 15});
      const uint64_t queue = newest(k, completion_queue);
      make(k, queue_pair,
           {.parent = newest(k, domain),
            .send_queue = queue,
            .receive_queue = queue,
            .type = static_cast<uint32_t>(rdma::QpType::rc),
            .sends = 8,
            .receives = 8,
            .send_pieces = 2,
            .receive_pieces = 2,
            .inline_bytes = 64});
      changes[k].pair = newest(k, queue_pair);
      changes[1 - k].to.remote_number = verbs_.last_number();
      changes[1 - k].to.path.lid = static_cast<uint32_t>(1 + clients_[k].process->first_device / 2 * 2);
    }
    for (const auto state : {rdma::QpState::init, rdma::QpState::rtr, rdma::QpState::rts}) {
      for (size_t k = 0; k < kProcesses; ++k) {
        VerbsRequests::step(changes[k].to, state);
        ask(k, 0, Kind::verbs_modify, changes[k]);
        run(64);
      }
    }
  }

  void run(uint64_t steps) {
    steps = std::min(steps, kMostSteps - std::min(kMostSteps, steps_));
    steps_ += steps;
    (void)node_.run(steps);
  }

  void leave(size_t k) {
    Client& c = clients_[k];
    (void)node_.explain_loss(*c.process);
    for (HostThread* thread : c.threads) node_.remove_thread(*thread);
    node_.remove_process(*c.process);
    c.threads = {};
  }

  void finish() {
    for (int k = 0; k < 20 && node_.run(kStepsAtOnce); ++k) {
    }
    (void)node_.explain_deadlock();
    ending_ = true;
    for (size_t k = 0; k < kProcesses; ++k) leave(k);
    bool idle = false;
    for (int k = 0; k < 1000 && !idle; ++k) idle = !node_.run(kStepsAtOnce);
    record::RunRecord record;
    node_.fill(record);
    (void)to_json(record);
    if (!idle || node_.out_of_budget()) return;
    FB_CHECK(!node_.anything_running());
    shared_.descriptors.clear();  // each keeps the memory that it stands for
    FB_CHECK(node_.memory_in_use() == 0);
  }

  Reader in_;
  VerbsRequests verbs_{in_};
  Node node_;
  std::array<Client, kProcesses> clients_;
  wire::CommId comm_id_;  // the last that was made
  Client* client_ = nullptr;
  Shared shared_;
  uint64_t connections_ = 0, steps_ = 0;
  uint32_t joined_ = 0;
  bool ending_ = false;
};

}  // namespace
}  // namespace fb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fb::fuzz::Session session({data, size});
  session.play();
  return 0;
}
