// Wrong arguments of every function: the documented result, a text that names the function, and no request.

#include <set>
#include <string>

#include "tests/unit/shim/nccl/node.h"
#include "tests/unit/shim/requests.h"

namespace {

struct Wrong {
  const char* function;
  const char* what;
  std::function<ncclResult_t()> call;
  ncclResult_t expected = ncclInvalidArgument;
};

class NcclWrongArguments : public fb::Nccl {
 protected:
  void SetUp() override {
    Nccl::SetUp();
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(ncclCommInitRank(&gone_, 1, new_id(), 0), ncclSuccess);
    ASSERT_EQ(ncclCommDestroy(gone_), ncclSuccess);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (size_t r = 0; r < fb::kRanks; ++r) {
      ASSERT_EQ(ncclCommWindowRegister(comms_[r], send_[r], fb::kElements, &windows_[r], NCCL_WIN_COLL_SYMMETRIC),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }
  static ncclUniqueId new_id() {
    ncclUniqueId id{};
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    return id;
  }

  std::vector<Wrong> making() {
    const ncclUniqueId id = new_id();
    const ncclComm_t c = comms_[0];
    const auto config = [this, id](auto change) {
      return [this, id, change] {
        ncclConfig_t wanted = NCCL_CONFIG_INITIALIZER;
        change(wanted);
        return ncclCommInitRankConfig(&made_, 1, id, 0, &wanted);
      };
    };
    static int own = 0, other = 1, far = 9;
    static ncclUniqueId some = id;
    return {
        {"ncclGetVersion", "no pointer", [] { return ncclGetVersion(nullptr); }},
        {"ncclGetUniqueId", "no pointer", [] { return ncclGetUniqueId(nullptr); }},
        {"ncclCommInitRank", "no pointer", [=] { return ncclCommInitRank(nullptr, 1, id, 0); }},
        {"ncclCommInitRank", "no ranks", [=, this] { return ncclCommInitRank(&made_, 0, id, 0); }},
        {"ncclCommInitRank", "a rank behind the last", [=, this] { return ncclCommInitRank(&made_, 2, id, 2); }},
        {"ncclCommInitRank", "a negative rank", [=, this] { return ncclCommInitRank(&made_, 2, id, -1); }},
        {"ncclCommInitRankConfig", "no magic", config([](ncclConfig_t& x) { x.magic = 0; })},
        {"ncclCommInitRankConfig", "too short", config([](ncclConfig_t& x) { x.size = 8; })},
        {"ncclCommInitRankConfig", "blocking 2", config([](ncclConfig_t& x) { x.blocking = 2; })},
        {"ncclCommInitRankConfig", "no channels", config([](ncclConfig_t& x) { x.maxCTAs = 0; })},
        {"ncclCommInitRankConfig", "policy 4", config([](ncclConfig_t& x) { x.CTAPolicy = 4; })},
        {"ncclCommInitRankScalable", "no id",
         [this] { return ncclCommInitRankScalable(&made_, 1, 0, 1, nullptr, nullptr); }},
        {"ncclCommInitRankScalable", "no ids",
         [this] { return ncclCommInitRankScalable(&made_, 1, 0, 0, &some, nullptr); }},
        {"ncclCommInitAll", "no pointer", [] { return ncclCommInitAll(nullptr, 1, nullptr); }},
        {"ncclCommInitAll", "no devices", [this] { return ncclCommInitAll(&made_, 0, nullptr); }},
        {"ncclCommInitAll", "a device that is not there", [this] { return ncclCommInitAll(&made_, 1, &far); }},
        {"ncclCommSplit", "no result", [=] { return ncclCommSplit(c, 0, 0, nullptr, nullptr); }},
        {"ncclCommSplit", "a negative color", [=, this] { return ncclCommSplit(c, -2, 0, &made_, nullptr); }},
        {"ncclCommShrink", "no result", [=] { return ncclCommShrink(c, &other, 1, nullptr, nullptr, 0); }},
        {"ncclCommShrink", "an empty list", [=, this] { return ncclCommShrink(c, &other, 0, &made_, nullptr, 0); }},
        {"ncclCommShrink", "all", [=, this] { return ncclCommShrink(c, &other, 2, &made_, nullptr, 0); }},
        {"ncclCommShrink", "the caller", [=, this] { return ncclCommShrink(c, &own, 1, &made_, nullptr, 0); }},
        {"ncclCommShrink", "unknown flags", [=, this] { return ncclCommShrink(c, &other, 1, &made_, nullptr, 8); }},
        {"ncclCommGrow", "no result", [=] { return ncclCommGrow(c, 3, nullptr, -1, nullptr, nullptr); }},
        {"ncclCommGrow", "not larger", [=, this] { return ncclCommGrow(c, 2, nullptr, -1, &made_, nullptr); }},
        {"ncclCommGrow", "an old rank with a number",
         [=, this] { return ncclCommGrow(c, 3, nullptr, 0, &made_, nullptr); }},
        {"ncclCommGrow", "a new rank without the id",
         [this] { return ncclCommGrow(nullptr, 3, nullptr, 2, &made_, nullptr); }},
        {"ncclCommRevoke", "unknown flags", [=] { return ncclCommRevoke(c, 77); }},
        {"ncclCommResume", "not suspended", [=] { return ncclCommResume(c); }, ncclInvalidUsage},
    };
  }

  // What takes a communicator, for those that are none.
  std::vector<Wrong> without(ncclComm_t c, const char* what) {
    static int number = 0;
    static uint64_t wide = 0;
    static ncclResult_t state{};
    static ncclUniqueId id{};
    static void* pointer = nullptr;
    static ncclRedOp_t op{};
    static float scalar = 1;
    static ncclWaitSignalDesc_t signal{1, 1, 0, 0};
    float *const s = send_[0], *const r = receive_[0];
    const cudaStream_t stream = streams_[0];
    const ncclWindow_t window = windows_[0];
    const ncclRedOp_t op_of_program = static_cast<ncclRedOp_t>(ncclNumOps);
    std::vector<Wrong> rows = {
        {"ncclCommSplit", what, [=, this] { return ncclCommSplit(c, 0, 0, &made_, nullptr); }},
        {"ncclCommShrink", what, [=, this] { return ncclCommShrink(c, &number, 1, &made_, nullptr, 0); }},
        {"ncclCommGetAsyncError", what, [=] { return ncclCommGetAsyncError(c, &state); }},
        {"ncclCommCount", what, [=] { return ncclCommCount(c, &number); }},
        {"ncclCommCuDevice", what, [=] { return ncclCommCuDevice(c, &number); }},
        {"ncclCommUserRank", what, [=] { return ncclCommUserRank(c, &number); }},
        {"ncclCommMemStats", what, [=] { return ncclCommMemStats(c, ncclStatGpuMemTotal, &wide); }},
        {"ncclCommGetUniqueId", what, [=] { return ncclCommGetUniqueId(c, &id); }},
        {"ncclCommSuspend", what, [=] { return ncclCommSuspend(c, NCCL_SUSPEND_MEM); }},
        {"ncclCommResume", what, [=] { return ncclCommResume(c); }},
        {"ncclCommRegister", what, [=] { return ncclCommRegister(c, s, 8, &pointer); }},
        {"ncclCommDeregister", what, [=] { return ncclCommDeregister(c, &number); }},
        {"ncclCommWindowRegister", what, [=, this] { return ncclCommWindowRegister(c, s, 8, &made_window_, 0); }},
        {"ncclCommWindowDeregister", what, [=] { return ncclCommWindowDeregister(c, window); }},
        {"ncclWinGetUserPtr", what, [=] { return ncclWinGetUserPtr(c, window, &pointer); }},
        {"ncclRedOpCreatePreMulSum", what,
         [=] { return ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, c); }},
        {"ncclRedOpDestroy", what, [=] { return ncclRedOpDestroy(op_of_program, c); }},
        {"ncclAllReduce", what, [=] { return ncclAllReduce(s, r, 1, ncclFloat, ncclSum, c, stream); }},
        {"ncclBroadcast", what, [=] { return ncclBroadcast(s, r, 1, ncclFloat, 0, c, stream); }},
        {"ncclBcast", what, [=] { return ncclBcast(r, 1, ncclFloat, 0, c, stream); }},
        {"ncclReduce", what, [=] { return ncclReduce(s, r, 1, ncclFloat, ncclSum, 0, c, stream); }},
        {"ncclAllGather", what, [=] { return ncclAllGather(s, r, 1, ncclFloat, c, stream); }},
        {"ncclReduceScatter", what, [=] { return ncclReduceScatter(s, r, 1, ncclFloat, ncclSum, c, stream); }},
        {"ncclAlltoAll", what, [=] { return ncclAlltoAll(s, r, 1, ncclFloat, c, stream); }},
        {"ncclGather", what, [=] { return ncclGather(s, r, 1, ncclFloat, 0, c, stream); }},
        {"ncclScatter", what, [=] { return ncclScatter(s, r, 1, ncclFloat, 0, c, stream); }},
        {"ncclSend", what, [=] { return ncclSend(s, 1, ncclFloat, 1, c, stream); }},
        {"ncclRecv", what, [=] { return ncclRecv(r, 1, ncclFloat, 1, c, stream); }},
        {"ncclPutSignal", what, [=] { return ncclPutSignal(s, 1, ncclFloat, 1, window, 0, 0, 0, 0, c, stream); }},
        {"ncclSignal", what, [=] { return ncclSignal(1, 0, 0, 0, c, stream); }},
        {"ncclWaitSignal", what, [=] { return ncclWaitSignal(1, &signal, c, stream); }},
    };
    if (!c) return rows;  // to end no communicator is no mistake
    const std::vector<Wrong> ending = {
        {"ncclCommFinalize", what, [=] { return ncclCommFinalize(c); }},
        {"ncclCommDestroy", what, [=] { return ncclCommDestroy(c); }},
        {"ncclCommAbort", what, [=] { return ncclCommAbort(c); }},
        {"ncclCommRevoke", what, [=] { return ncclCommRevoke(c, NCCL_REVOKE_DEFAULT); }},
        {"ncclCommGrow", what, [=, this] { return ncclCommGrow(c, 3, nullptr, -1, &made_, nullptr); }},
    };
    rows.insert(rows.end(), ending.begin(), ending.end());
    return rows;
  }

  std::vector<Wrong> using_one() {
    static float scalar = 1;
    static ncclRedOp_t op{};
    static void* pointer = nullptr;
    static ncclWaitSignalDesc_t none{0, 1, 0, 0}, nobody{1, 2, 0, 0}, reserved{1, 1, 3, 0};
    float *const s = send_[0], *const r = receive_[0];
    const cudaStream_t stream = streams_[0];
    const ncclComm_t c = comms_[0];
    const ncclWindow_t window = windows_[0], theirs = windows_[1];
    const auto no_type = fb::no_such<ncclDataType_t>(ncclNumTypes);
    const auto no_op = fb::no_such<ncclRedOp_t>(12345);
    const auto put = [=](const void* from, int peer, ncclWindow_t to, int index) {
      return [=] { return ncclPutSignal(from, 1, ncclFloat, peer, to, 0, index, 0, 0, c, stream); };
    };
    return {
        {"ncclCommCount", "no pointer", [=] { return ncclCommCount(c, nullptr); }},
        {"ncclCommCuDevice", "no pointer", [=] { return ncclCommCuDevice(c, nullptr); }},
        {"ncclCommUserRank", "no pointer", [=] { return ncclCommUserRank(c, nullptr); }},
        {"ncclCommGetAsyncError", "no pointer", [=] { return ncclCommGetAsyncError(c, nullptr); }},
        {"ncclCommMemStats", "no pointer", [=] { return ncclCommMemStats(c, ncclStatGpuMemTotal, nullptr); }},
        {"ncclCommGetUniqueId", "no pointer", [=] { return ncclCommGetUniqueId(c, nullptr); }},
        {"ncclCommRegister", "no buffer", [=] { return ncclCommRegister(c, nullptr, 8, &pointer); }},
        {"ncclCommRegister", "no bytes", [=] { return ncclCommRegister(c, s, 0, &pointer); }},
        {"ncclCommRegister", "no pointer", [=] { return ncclCommRegister(c, s, 8, nullptr); }},
        {"ncclCommWindowRegister", "no bytes", [=, this] { return ncclCommWindowRegister(c, s, 0, &made_window_, 0); }},
        {"ncclCommWindowRegister", "no window", [=] { return ncclCommWindowRegister(c, s, 8, nullptr, 0); }},
        {"ncclCommWindowRegister", "unknown flags",
         [=, this] { return ncclCommWindowRegister(c, s, 8, &made_window_, 64); }},
        {"ncclCommWindowDeregister", "a window of another communicator",
         [=] { return ncclCommWindowDeregister(c, theirs); }},
        {"ncclWinGetUserPtr", "no pointer", [=] { return ncclWinGetUserPtr(c, window, nullptr); }},
        {"ncclWinGetUserPtr", "no window", [=] { return ncclWinGetUserPtr(c, nullptr, &pointer); }},
        {"ncclRedOpCreatePreMulSum", "no operation",
         [=] { return ncclRedOpCreatePreMulSum(nullptr, &scalar, ncclFloat, ncclScalarHostImmediate, c); }},
        {"ncclRedOpCreatePreMulSum", "no scalar",
         [=] { return ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat, ncclScalarHostImmediate, c); }},
        {"ncclRedOpCreatePreMulSum", "no such type",
         [=] { return ncclRedOpCreatePreMulSum(&op, &scalar, no_type, ncclScalarHostImmediate, c); }},
        {"ncclRedOpDestroy", "one of NCCL's own", [=] { return ncclRedOpDestroy(ncclSum, c); }},
        {"ncclRedOpDestroy", "none", [=] { return ncclRedOpDestroy(no_op, c); }},
        {"ncclAllReduce", "no such type", [=] { return ncclAllReduce(s, r, 1, no_type, ncclSum, c, stream); }},
        {"ncclAllReduce", "no such operation", [=] { return ncclAllReduce(s, r, 1, ncclFloat, no_op, c, stream); }},
        {"ncclReduceScatter", "no such operation",
         [=] { return ncclReduceScatter(s, r, 1, ncclFloat, no_op, c, stream); }},
        {"ncclAllGather", "no such type", [=] { return ncclAllGather(s, r, 1, no_type, c, stream); }},
        {"ncclAlltoAll", "no such type", [=] { return ncclAlltoAll(s, r, 1, no_type, c, stream); }},
        {"ncclBroadcast", "no such root", [=] { return ncclBroadcast(s, r, 1, ncclFloat, 2, c, stream); }},
        {"ncclBcast", "no such root", [=] { return ncclBcast(r, 1, ncclFloat, -1, c, stream); }},
        {"ncclReduce", "no such root", [=] { return ncclReduce(s, r, 1, ncclFloat, ncclSum, 2, c, stream); }},
        {"ncclGather", "no such root", [=] { return ncclGather(s, r, 1, ncclFloat, 2, c, stream); }},
        {"ncclScatter", "no such root", [=] { return ncclScatter(s, r, 1, ncclFloat, 2, c, stream); }},
        {"ncclSend", "no such peer", [=] { return ncclSend(s, 1, ncclFloat, 2, c, stream); }},
        {"ncclSend", "to itself alone", [=] { return ncclSend(s, 1, ncclFloat, 0, c, stream); }, ncclInvalidUsage},
        {"ncclRecv", "no such peer", [=] { return ncclRecv(r, 1, ncclFloat, 2, c, stream); }},
        {"ncclPutSignal", "no such peer", put(s, 2, window, 0)},
        {"ncclPutSignal", "a window of another communicator", put(s, 1, theirs, 0)},
        {"ncclPutSignal", "from outside of windows", put(r, 1, window, 0)},
        {"ncclPutSignal", "a reserved argument", put(s, 1, window, 1)},
        {"ncclSignal", "no such peer", [=] { return ncclSignal(2, 0, 0, 0, c, stream); }},
        {"ncclSignal", "reserved flags", [=] { return ncclSignal(1, 0, 0, 5, c, stream); }},
        {"ncclWaitSignal", "no descriptors", [=] { return ncclWaitSignal(1, nullptr, c, stream); }},
        {"ncclWaitSignal", "no signals", [=] { return ncclWaitSignal(1, &none, c, stream); }},
        {"ncclWaitSignal", "no such peer", [=] { return ncclWaitSignal(1, &nobody, c, stream); }},
        {"ncclWaitSignal", "a reserved member", [=] { return ncclWaitSignal(1, &reserved, c, stream); }},
    };
  }

  std::vector<Wrong> others() {
    static ncclParamHandle_t number = nullptr, text = nullptr, none = nullptr;
    EXPECT_EQ(ncclParamBind(&number, "NCCL_IB_GID_INDEX"), ncclSuccess);  // -1
    EXPECT_EQ(ncclParamBind(&text, "NCCL_ALGO"), ncclSuccess);
    static int length = 0;
    static const char* value = nullptr;
    static const char** keys = nullptr;
    static ncclSimInfo_t raw{};
    std::vector<Wrong> rows = {
        {"ncclGroupEnd", "without a start", [] { return ncclGroupEnd(); }, ncclInvalidUsage},
        {"ncclGroupSimulateEnd", "without a start", [] { return ncclGroupSimulateEnd(nullptr); }, ncclInvalidUsage},
        {"ncclGroupSimulateEnd", "not initialised",
         [] {
           ncclGroupStart();
           return ncclGroupSimulateEnd(&raw);
         }},
        {"ncclParamBind", "no pointer", [] { return ncclParamBind(nullptr, "NCCL_ALGO"); }},
        {"ncclParamBind", "no key", [] { return ncclParamBind(&none, nullptr); }},
        {"ncclParamBind", "no such parameter", [] { return ncclParamBind(&none, "NCCL_NO_SUCH_PARAMETER"); }},
        {"ncclParamGetStr", "no pointer", [] { return ncclParamGetStr(number, nullptr); }},
        {"ncclParamGetStr", "no parameter", [] { return ncclParamGetStr(nullptr, &value); }},
        {"ncclParamGet", "too little room", [] { return ncclParamGet(number, &number, 4, &length); }},
        {"ncclParamGet", "no length", [] { return ncclParamGet(number, &number, 8, nullptr); }},
        {"ncclParamGetParameter", "no key", [] { return ncclParamGetParameter(nullptr, &value, &length); }},
        {"ncclParamGetParameter", "no such parameter",
         [] { return ncclParamGetParameter("NCCL_NO_SUCH_PARAMETER", &value, &length); }},
        {"ncclParamGetAllParameterKeys", "no pointer", [] { return ncclParamGetAllParameterKeys(nullptr, &length); }},
        {"ncclParamGetAllParameterKeys", "no length", [] { return ncclParamGetAllParameterKeys(&keys, nullptr); }},
    };
    const auto add = [&rows]<class T>(const char* function, ncclResult_t (*get)(ncclParamHandle_t, T*)) {
      static T into{};
      rows.push_back({function, "no pointer", [get] { return get(number, nullptr); }});
      rows.push_back({function, "no parameter", [get] { return get(nullptr, &into); }});
      rows.push_back({function, "a text", [get] { return get(text, &into); }});
      if (!std::is_signed_v<T>)
        rows.push_back({function, "a value that does not fit", [get] { return get(number, &into); }});
    };
    add("ncclParamGetI8", &ncclParamGetI8);
    add("ncclParamGetI16", &ncclParamGetI16);
    add("ncclParamGetI32", &ncclParamGetI32);
    add("ncclParamGetI64", &ncclParamGetI64);
    add("ncclParamGetU8", &ncclParamGetU8);
    add("ncclParamGetU16", &ncclParamGetU16);
    add("ncclParamGetU32", &ncclParamGetU32);
    add("ncclParamGetU64", &ncclParamGetU64);
    return rows;
  }

  ncclComm_t gone_ = nullptr, made_ = nullptr;
  ncclWindow_t made_window_ = nullptr;
  std::vector<ncclWindow_t> windows_ = std::vector<ncclWindow_t>(fb::kRanks);
};

// The functions that no argument is wrong for, and those of CUDA's memory.
const std::set<std::string> kNothingWrong = {"ncclGetErrorString", "ncclGetLastError", "ncclResetDebugInit",
                                             "ncclGroupStart",     "ncclParamDumpAll", "ncclMemAlloc",
                                             "ncclMemFree"};

TEST_F(NcclWrongArguments, AreRefusedByTheLibrary) {
  std::set<std::string> named = kNothingWrong;
  for (const auto& rows :
       {making(), without(nullptr, "no communicator"), without(gone_, "a destroyed communicator"),
        without(reinterpret_cast<ncclComm_t>(this), "no communicator of NCCL"), using_one(), others()}) {
    for (const Wrong& row : rows) {
      SCOPED_TRACE(std::string(row.function) + ": " + row.what);
      named.insert(row.function);
      EXPECT_LOCAL(row.call(), row.expected);
      const std::string text = ncclGetLastError(nullptr);
      // A message without its other end is found at the end of the group.
      if (row.expected == ncclInvalidArgument) {
        EXPECT_EQ(text.substr(0, text.find(':')), row.function) << text;
      }
    }
  }
#define GROUP(title)
#define DECLARED(name)
#define REAL(name) EXPECT_TRUE(named.contains(#name)) << #name << " has no row";
#include "common/api/nccl.def"
#undef REAL
#undef DECLARED
#undef GROUP
  EXPECT_EQ(made_, nullptr) << "what is refused gives no communicator";
  // Nothing of it has hurt.
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < fb::kRanks; ++r) EXPECT_EQ(all_reduce(r), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(received(), std::vector<float>(fb::kElements, 3));
  void* user = nullptr;
  for (size_t r = 0; r < fb::kRanks; ++r) {
    EXPECT_EQ(ncclWinGetUserPtr(comms_[r], windows_[r], &user), ncclSuccess);
    EXPECT_EQ(user, send_[r]);
    EXPECT_EQ(ncclCommWindowDeregister(comms_[r], windows_[r]), ncclSuccess);
  }
}

}  // namespace
