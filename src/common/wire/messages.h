#pragma once

// Messages between ranks and the machine. A request is a plain struct, a blob, and at most one file descriptor;
// so is its reply. Both ends run on one host and are built together (kVersion says so), so structs travel as they are.
//
// The machine trusts nothing: sizes, handles, addresses, counts and enumerations are all checked where they arrive.
// Handles are numbers of the process that made them; 0 is none.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/harness.h"
#include "common/wire/status.h"
#include "common/wire/verbs_messages.h"

namespace fb::wire {

// To be raised with every change of a struct or of the order of rows.
inline constexpr uint32_t kVersion = 9;
inline constexpr uint32_t kLargestBlob = 1 << 20;
inline constexpr uint32_t kMostDevices = 128;

// The environment variable that names the machine's socket.
inline constexpr const char* kSocketVariable = "FABRICBENCH_SOCKET";

enum class Kind : uint16_t {
  none,
  hello,  // Hello, Welcome: the first message of a connection; handled by the server
#define MESSAGE(kind, ...) kind,
#include "common/wire/messages.def"
#undef MESSAGE
  // From the machine, before a reply: text that kernels of this process have printed (blob).
  output,
};

// In front of every request and every reply. `blob` bytes follow the body.
struct Frame {
  Kind kind = Kind::none;
  uint16_t descriptors = 0;  // 0 or 1
  uint32_t body = 0;         // bytes; those of the kind's struct
  uint32_t blob = 0;
  Status status = Status::ok;  // of replies; with any other status the body is zero
};

using Id = uint64_t;

struct Empty {
  uint64_t zero = 0;
};

// The session

// facts: asks what the devices are, and is neither a thread nor a process to the machine.
// judge: on the socket that the machine inherits, and nowhere else.
enum class Purpose : uint32_t { calls, callbacks, facts, judge };

// The first message of every connection; each host thread has one of its own.
struct Hello {
  uint32_t version = kVersion;
  int32_t rank = -1;  // as the launcher said
  int32_t local_rank = -1;
  int32_t node = 0;     // of several: which node's devices this process sees
  uint32_t thread = 0;  // its id in the system
  Purpose purpose = Purpose::calls;
};

// Blob of the reply: DeviceFacts of each device.
struct Welcome {
  uint32_t process = 0;
  uint32_t devices = 0;
  // Where the machine hands out addresses: a process keeps this range free for it. Host memory that devices can
  // touch is mapped at the address that the machine says.
  uint64_t addresses_begin = 0, addresses_end = 0;
  uint32_t launch_lines = 0;  // 1: the machine wants to know where kernels are launched from
  uint32_t zero = 0;
};

struct PciAddress {
  uint32_t domain = 0, bus = 0, device = 0;
};
inline constexpr uint32_t kMostLinks = 32;

struct DeviceFacts {
  char name[64] = {};
  uint8_t uuid[16] = {};
  PciAddress pci;
  uint32_t capability_major = 9, capability_minor = 0;
  uint64_t memory_bytes = 0;
  uint32_t multiprocessors = 0;
  uint32_t threads_per_multiprocessor = 0, blocks_per_multiprocessor = 0, registers_per_multiprocessor = 0;
  uint32_t shared_per_multiprocessor = 0, shared_per_block_optin = 0, shared_reserved_per_block = 0;
  uint32_t threads_per_block = 0, blocks_per_cluster = 0;
  uint32_t clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint64_t l2_bytes = 0;
  uint32_t copy_engines = 0;
  uint32_t multicast = 0;  // 1: the device takes part in multicast objects
  uint32_t fabric_handles = 0;
  uint32_t pci_ids = 0;     // device and vendor
  uint32_t pci_switch = 0;  // devices of one number share a PCI switch; 0: none
  uint32_t pcie_generation = 0, pcie_lanes = 0;
  uint32_t numa_node = 0;
  uint32_t first_cpu = 0, cpus = 0;                                   // processors of the NUMA node
  uint32_t nvlinks = 0, nvlink_generation = 0, nvlink_megabytes = 0;  // per second and link, each way
  uint32_t nvswitches = 0;
  std::array<PciAddress, kMostLinks> link_remote = {};
  uint32_t zero = 0;
  uint64_t memory_used = 0;  // when the question was asked
  // Bit d: this device can access the memory of device d.
  std::array<uint64_t, kMostDevices / 64> peers = {};
  // Bit d: … and perform atomic operations there (NVLink).
  std::array<uint64_t, kMostDevices / 64> peer_atomics = {};
};

// Blob: what is reported. Of a launch and of a module, "file.cu:12" may follow behind a NUL: the line of the call.
enum class Problem : uint32_t {
  not_supported,  // the name of a function that is declared and not real
  call,           // a call that failed, and its error
  launch,         // a launch that failed, and its error
  module,         // device code that can't be loaded
};
struct ReportUnsupported {
  Problem problem{};
  uint32_t zero = 0;
};

struct OfDevice {
  uint32_t device = 0;
  uint32_t zero = 0;
};
struct OfHandle {
  Id handle = 0;
};
struct Handle {
  Id handle = 0;
};
struct Address {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// Memory

enum class MemoryKind : uint32_t {
  device,
  host,        // pinned: lives in shared memory
  managed,     // the same; kept apart for pointer attributes
  registered,  // pinned later
  physical,    // cuMemCreate, mapped
  multicast,
  imported,  // of another process
  unknown,
};

// host, managed: the reply carries a descriptor of `bytes` rounded up to pages, to be mapped at `address`.
struct Allocate {
  uint32_t device = 0;
  MemoryKind kind = MemoryKind::device;
  uint64_t bytes = 0;
};
struct Free {
  uint64_t address = 0;
  MemoryKind kind = MemoryKind::device;  // what the caller assumes it is
  uint32_t zero = 0;
};
// With a descriptor of shared memory that the process has mapped at `address`; both are multiples of the page size.
struct RegisterHost {
  uint64_t address = 0;
  uint64_t bytes = 0;
};
struct DescribePointer {
  uint64_t address = 0;
};
// kind unknown: no memory of this process; the request still succeeds.
struct PointerFacts {
  MemoryKind kind = MemoryKind::unknown;
  int32_t device = -1;  // -1: the host
  uint64_t begin = 0, bytes = 0;
  uint64_t id = 0;  // of the allocation, unique in the process
};
struct MemoryInfo {
  uint64_t free = 0, total = 0;
};
// `device` gets access to the memory of `peer`.
struct Peer {
  uint32_t device = 0, peer = 0;
};
struct IpcToken {
  uint8_t bytes[64] = {};
};
struct IpcImport {
  IpcToken token;
  uint32_t device = 0;
  uint32_t zero = 0;
};

// Virtual memory management

// How physical memory and multicast objects may be exported: a sum of these.
inline constexpr uint32_t kAsDescriptor = 1, kAsFabricHandle = 2;

struct PhysicalCreate {
  uint64_t bytes = 0;  // a multiple of kGranularity
  int32_t device = 0;  // -1: host memory
  uint32_t shareable = 0;
};
struct PhysicalFacts {
  uint64_t bytes = 0;
  int32_t device = 0;
  uint32_t shareable = 0;
  uint32_t multicast = 0;
  uint32_t zero = 0;
};
// physical_export: the reply carries a descriptor that stands for the memory and can be sent to any process.
// physical_import: the request carries it. physical_export_fabric, physical_import_fabric: 64 bytes stand for the
// memory, for as long as it exists and the process that exported it runs.

inline constexpr uint64_t kGranularity = 2 << 20;

struct RangeReserve {
  uint64_t bytes = 0;
  uint64_t align = 0;
  uint64_t wish = 0;  // address; 0: any
};
struct Range {
  uint64_t address = 0;
  uint64_t bytes = 0;
};
struct RangeMap {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  Id physical = 0;
};
enum class Access : uint32_t { none = 0, read = 1, read_write = 3 };
// Without access a range is mapped and can't be touched.
struct RangeAccess {
  uint64_t address = 0;
  uint64_t bytes = 0;
  int32_t device = 0;  // -1: the host
  Access access = Access::none;
};
struct MulticastCreate {
  uint64_t bytes = 0;
  uint32_t devices = 0;  // how many will be added
  uint32_t shareable = 0;
};
struct MulticastDevice {
  Id multicast = 0;
  uint32_t device = 0;
  uint32_t zero = 0;
};
// multicast_bind_memory: `memory` is a handle; …_address: an address; …_unbind: neither, but a device.
struct MulticastBind {
  Id multicast = 0;
  uint64_t multicast_offset = 0;
  uint64_t memory = 0;
  uint64_t memory_offset = 0;
  uint64_t bytes = 0;
  uint32_t device = 0;
  uint32_t zero = 0;
};

// Modules

// Blob: PTX text, or a piece of it: a module larger than a blob comes in several messages with the same handle, the
// first with 0, the last with `last` set. The reply names the handle. Device code of several files, which the machine
// links, is for each file its name (may be empty) and its text, each with a NUL behind it.
struct ModuleLoad {
  Id module = 0;
  uint32_t last = 1;
  uint32_t zero = 0;
};
// Blob: the name.
struct FunctionFind {
  Id module = 0;
  uint32_t device = 0;
  uint32_t zero = 0;
};
// Blob of the reply: uint32_t pairs {offset, bytes} of the parameters.
struct FunctionFacts {
  Id function = 0;
  uint32_t param_count = 0, param_bytes = 0;
  uint32_t static_shared_bytes = 0, max_dynamic_shared_bytes = 0;
  uint32_t local_bytes = 0, constant_bytes = 0;
  uint32_t registers = 0, max_threads = 0;
  uint32_t cluster[3] = {0, 0, 0};  // compiled in; 0: none
  uint32_t ptx_version = 0, capability = 0;
};
enum class FunctionAttribute : uint32_t { max_dynamic_shared_bytes, non_portable_cluster };
struct FunctionSet {
  Id function = 0;
  uint32_t device = 0;
  FunctionAttribute attribute{};
  int64_t value = 0;
};
// Blob: the name.
struct VariableFind {
  Id module = 0;
  uint32_t device = 0;
  uint32_t zero = 0;
};
struct VariableFacts {
  uint64_t address = 0, bytes = 0;
};
// Blob: the name. A __managed__ variable: it is at `address` for the host and for all devices, in host memory that is
// registered. Comes before anything of the module is used.
struct VariablePlace {
  Id module = 0;
  uint64_t address = 0;
};
// The names follow as a blob, each ended by a NUL, in the order of the text.
struct KernelCount {
  uint32_t kernels = 0;
};
struct Occupancy {
  Id function = 0;
  uint32_t device = 0;
  uint32_t threads_per_block = 0;
  uint64_t dynamic_shared_bytes = 0;
  uint32_t cluster[3] = {0, 0, 0};  // all zero: no cluster
  uint32_t zero = 0;
};
struct OccupancyFacts {
  uint32_t blocks_per_multiprocessor = 0;
  uint32_t clusters = 0;  // of the given shape on the whole device
  uint32_t largest_cluster = 0;
  uint32_t zero = 0;
};

// Streams and events

// Every device of a process has a default stream, handle 0: it waits for all streams made without `non_blocking` and
// they wait for it.
struct StreamCreate {
  uint32_t device = 0;
  uint32_t non_blocking = 0;
  int32_t priority = 0;  // lower runs first
  uint32_t zero = 0;
};
struct StreamRef {
  Id stream = 0;
  uint32_t device = 0;
  uint32_t zero = 0;
};
struct EventCreate {
  uint32_t device = 0;
  uint32_t timing = 1;
  uint32_t shareable = 0;
  uint32_t zero = 0;
};
struct EventElapsed {
  Id begin = 0, end = 0;
};
struct Elapsed {
  double milliseconds = 0;
};
struct EventOnStream {
  StreamRef stream;
  Id event = 0;
};

// Work on streams

inline constexpr uint32_t kLongestLaunchLine = 128;

enum LaunchFlags : uint32_t { kCooperative = 1, kProgrammatic = 2 };

// Blob: the parameter block, laid out as FunctionFacts says.
struct Launch {
  StreamRef stream;
  Id function = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};  // 0: none
  uint32_t flags = 0;
  uint64_t dynamic_shared_bytes = 0;
  char where[kLongestLaunchLine] = {};  // the line of the call, for reports; may be empty
};

// A box of `width` × `height` × `depth` bytes, rows and planes apart by the pitches. An address is one of the
// machine's, of any kind, or 0 where the bytes are pageable memory of the rank: then they are the request's blob
// (source) or the reply's (destination; such a copy ends before it is answered). Pageable bytes are packed and at most
// a blob; larger copies go through pinned memory with `pageable` set, which is about time only.
struct Copy {
  StreamRef stream;
  uint64_t to = 0, to_pitch = 0, to_plane = 0;
  uint64_t from = 0, from_pitch = 0, from_plane = 0;
  uint64_t width = 0, height = 1, depth = 1;
  uint32_t pageable = 0;
  uint32_t wait = 0;  // answer when the copy has ended
};
struct Memset {
  StreamRef stream;
  uint64_t to = 0, pitch = 0, plane = 0;
  uint64_t width = 0, height = 1, depth = 1;  // width in elements
  uint32_t value = 0;
  uint32_t element = 1;  // bytes: 1, 2, 4
  uint32_t wait = 0;
  uint32_t zero = 0;
};
enum class Compare : uint32_t { greater_equal, equal, bit_and, bit_nor };
// stream_wait_value waits until compare holds; stream_write_value stores.
struct StreamValue {
  StreamRef stream;
  uint64_t address = 0;
  uint64_t value = 0;
  uint32_t bytes = 4;  // 4 or 8
  Compare compare{};
};
// `callback` is the process's own number for what its callback thread is to run.
struct Callback {
  StreamRef stream;
  uint64_t callback = 0;
};
// From a pool, or from the default pool of device `owner` (0). The memory is that device's.
struct AllocateOrdered {
  StreamRef stream;
  uint64_t bytes = 0;
  Id pool = 0;
  uint32_t owner = 0;
  uint32_t zero = 0;
};
// Of all memory of a pool, or of the default pool of device `owner` (0).
struct PoolAccess {
  Id pool = 0;
  uint32_t owner = 0;
  uint32_t device = 0;
  Access access = Access::none;
  uint32_t zero = 0;
};
struct FreeOrdered {
  StreamRef stream;
  uint64_t address = 0;
};

// Graphs

// Blob: `nodes` times {GraphNodeHeader, its body, its blob, its dependencies as uint32_t node numbers, all smaller than
// its own}. Bodies are Launch, Copy (no pageable end), Memset, Callback, EventOnStream and StreamValue; of their
// `stream` only the device counts. Kind::none is an empty node. A graph larger than a blob comes in several messages,
// as modules do.
struct GraphCreate {
  Id graph = 0;
  uint32_t nodes = 0;  // in this message
  uint32_t last = 1;
};
struct GraphNodeHeader {
  Kind kind = Kind::none;
  uint16_t zero = 0;
  uint32_t body = 0, blob = 0;
  uint32_t dependencies = 0;
};
struct GraphLaunch {
  StreamRef stream;
  Id graph = 0;
};
// A node alone. Its blob is the ids of the bodies, graphs that were created before.
enum class ConditionalType : uint32_t { if_, while_, switch_ };
struct GraphConditional {
  StreamRef stream;
  uint64_t handle = 0;
  ConditionalType type{};
  uint32_t bodies = 0;
  uint32_t initial = 0;  // value of the handle at each launch of the graph, if `assigned`
  uint32_t assigned = 0;
};

// Communicators and collective operations

// Made by one process and handed to the others by whatever way they have; 128 bytes, as programs know it.
struct CommId {
  uint8_t bytes[128] = {};
};

enum class CommOrigin : uint32_t {
  init,    // `id`, `ranks`, `rank`
  split,   // `parent`, `color` (negative: takes part and gets none), `key`
  shrink,  // `parent`; blob: int32_t numbers of the ranks that are left out
  grow,    // `ranks`; of the parent's ranks `parent` (and of one of them `id`), of new ones `id` and `rank`
};
// The reply comes at once; the communicator is made when all its ranks have asked for it (comm_wait, comm_query).
struct CommCreate {
  CommOrigin origin{};
  uint32_t device = 0;
  int32_t ranks = 0, rank = 0;
  Id parent = 0;
  int32_t color = 0, key = 0;
  uint32_t most_channels = 0;  // 0: as many as the model says
  uint32_t ends_parent = 0;    // shrink: what the parent has under way is given up first
  uint32_t has_id = 0;         // grow
  uint32_t zero = 0;
  CommId id;
};

enum class CommState : uint32_t {
  in_progress,  // ranks, windows or work that a finalize waits for are missing
  ready,
  failed,  // `error` says why
  ended,   // aborted, revoked or finalized
};
struct CommFacts {
  CommState state{};
  Status error = Status::ok;
  int32_t rank = 0, ranks = 0;  // once it is made; 0 ranks: none was made (split without a color)
  uint32_t device = 0;
  uint32_t symmetric = 0;  // 1: windows are mapped to all ranks
};

// Suspend and resume are joined by all ranks (comm_wait, comm_query).
enum class CommChange : uint32_t { finalize, destroy, abort, revoke, suspend, resume };
struct CommEnd {
  Id comm = 0;
  CommChange how{};
  uint32_t zero = 0;
};

// Registers memory, or with `window` forgets it. `collective`: all ranks of the communicator do.
struct CommWindow {
  Id comm = 0;
  Id window = 0;
  uint64_t address = 0, bytes = 0;
  uint32_t collective = 0;
  uint32_t zero = 0;
};

enum class CollectiveKind : uint32_t {
#define COLLECTIVE(name, ...) name,
#include "common/wire/collectives.def"
};
// The numbers of NCCL.
enum class ElementType : uint32_t { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16, e4m3, e5m2 };
enum class ReduceOp : uint32_t { sum, product, max, min, average, scaled_sum };
enum class ScalarFrom : uint32_t { none, request, device };

// One call of the program. `count` is what the call of NCCL is given: of elements, or of those of one rank.
struct CollectiveCall {
  CollectiveKind kind{};
  ElementType type{};
  ReduceOp op{};
  int32_t peer = 0;  // root, or the other end
  uint64_t send = 0, receive = 0, count = 0;
  uint64_t scalar = 0;  // scaled_sum: its bits, or its address
  Id window = 0;
  ScalarFrom scalar_from{};
  uint32_t zero = 0;
  char where[56] = {};  // the line of the call, for reports; may be empty
};
inline constexpr uint32_t kMostCollectiveCalls = 4096, kMostCollectiveStreams = 64;

// What one group calls on one communicator. Blob: `calls` times CollectiveCall, then the numbers of `more_streams`
// further streams of the same device: it begins behind all of them and they go on behind it. As a node of a graph it
// has none.
struct Collective {
  StreamRef stream;
  Id comm = 0;
  uint32_t calls = 0, more_streams = 0;
};

// Dense linear algebra: the drop-in for cuBLAS

enum class BlasKind : uint32_t {
  gemm,            // d = epilogue(alpha a b + beta c); a: m × k, b: k × n, c and d: m × n
  matrix_sum,      // d = alpha a + beta b; all m × n
  scale_vector,    // d = alpha d; vectors: m elements
  add_scaled,      // d = alpha a + d
  copy_vector,     // d = a
  swap_vectors,    // a and d
  dot,             // d, one element: the sum of a b
  norm,            // d, one element: sqrt(sum of a a)
  sum_of_moduli,   // d, one element
  index_of_most,   // d, one i32 from 1: the first of the largest moduli
  index_of_least,  // the same of the smallest
};
// What is done with inputs before they are multiplied, and what sums are added in: f32 but for f64 and i32.
enum class BlasMath : uint32_t { f32, tf32, f16, bf16, f64, i32 };
enum class BlasEpilogue : uint32_t { none, relu, gelu };

// Elements are row_stride and column_stride of them apart, which says what is transposed, too; batches are
// batch_stride apart. `by_pointers`: the address is that of an array of `batches` addresses on the device.
struct BlasOperand {
  uint64_t address = 0;
  int64_t row_stride = 0, column_stride = 0, batch_stride = 0;
  ElementType type{};
  uint32_t by_pointers = 0;
};
struct BlasScalar {
  uint64_t value = 0;  // its bits, or its address
  ScalarFrom from{};
  ElementType type{};
};
struct Blas {
  StreamRef stream;
  BlasKind kind{};
  BlasMath math{};
  uint64_t m = 0, n = 0, k = 0, batches = 1;
  BlasOperand a, b, c, d;
  BlasScalar alpha, beta;  // none: 1 and 0
  // Further operands of gemm, by addresses on the device; 0: none.
  uint64_t bias = 0, bias_batch_stride = 0;                     // of m elements
  uint64_t scale_a = 0, scale_b = 0, scale_c = 0, scale_d = 0;  // of one f32
  uint64_t largest = 0;                                         // one f32, written: the largest modulus before scale_d
  BlasOperand aux;                                              // written: what goes into the epilogue
  ElementType bias_type{};
  BlasEpilogue epilogue{};
  uint32_t may_split = 1;
  uint32_t zero = 0;
  char name[40] = {};   // "cublasSgemm_v2"
  char where[56] = {};  // the line of the call, for reports; may be empty
};

// Host clocks

struct HostTime {
  uint64_t nanoseconds = 0;
};
// Answered when the time has passed.
struct HostSleep {
  uint64_t nanoseconds = 0;
};

// Callbacks

// Answered when there is one to run. Asking for the next says that the one before has returned.
struct CallbackNext {
  uint64_t zero = 0;
};
struct CallbackReady {
  uint64_t callback = 0;
};

// What belongs to a kind

template <Kind kKind>
struct Message;
template <>
struct Message<Kind::hello> {
  using Request = Hello;
  using Reply = Welcome;
};
#define MESSAGE(kind, RequestType, ReplyType, ...) \
  template <>                                      \
  struct Message<Kind::kind> {                     \
    using Request = RequestType;                   \
    using Reply = ReplyType;                       \
  };
#include "common/wire/messages.def"
#undef MESSAGE

namespace message_flags {
enum MessageFlags : uint32_t {
  none = 0,
  rule = 1,           // a problem may forbid it in run()
  enqueues = 2,       // adds an operation to a stream: held back while too many are queued
  graph_node = 4,     // may be a node of a graph
  poll = 8,           // may be repeated in a loop until it succeeds
  not_counted = 16,   // of the harness or the library, not of the program
  never_in_run = 32,  // every problem forbids it in run()
  judge_only = 64,    // on the judge's connection and no other
};
}  // namespace message_flags

struct MessageTraits {
  Kind kind{};
  const char* name = "";
  uint32_t request_bytes = 0, reply_bytes = 0;
  uint32_t flags = 0;
  std::string_view calls;  // of CUDA, separated by blanks
  std::string_view about;
};

inline constexpr auto kMessages = [] {
  using namespace message_flags;
  return std::to_array<MessageTraits>({
      {Kind::none, "unknown", 0, 0, none, "", ""},
      {Kind::hello, "hello", sizeof(Hello), sizeof(Welcome), none, "", ""},
#define MESSAGE(kind, Request, Reply, flags, calls, about) \
  {Kind::kind, #kind, sizeof(Request), sizeof(Reply), flags, calls, about},
#include "common/wire/messages.def"
#undef MESSAGE
  });
}();

constexpr const MessageTraits& traits_of(Kind kind) {
  return static_cast<size_t>(kind) < kMessages.size() ? kMessages[static_cast<size_t>(kind)] : kMessages[0];
}
constexpr bool has_flag(Kind kind, uint32_t flags) { return (traits_of(kind).flags & flags) != 0; }
// Bytes of the request's struct; 0 for an unknown kind.
constexpr uint32_t request_bytes(Kind kind) { return traits_of(kind).request_bytes; }
constexpr const char* name_of(Kind kind) { return traits_of(kind).name; }
// As users know it: CUDA's name, or ours where CUDA has none.
constexpr std::string_view call_name(Kind kind) {
  const std::string_view calls = traits_of(kind).calls;
  return calls.empty() ? std::string_view(name_of(kind)) : calls.substr(0, calls.find(' '));
}

}  // namespace fb::wire
