#include "audit/mutate/operators.h"

#include <gtest/gtest.h>

#include <set>

#include "audit/mutate/mutants.h"

namespace fb::mutate {
namespace {

// What an operator makes of a text.
std::vector<std::string> mutants_by(const std::string& name, const std::string& text) {
  const auto mutants = make_mutants_of("p", text, 0, text.size(), {name});
  std::vector<std::string> all;
  if (!mutants) return {"no such operator"};
  for (const auto& mutant : *mutants) all.push_back(mutant.source);
  return all;
}

using Texts = std::vector<std::string>;

// The body of a kernel with its mutants' bodies.
constexpr std::string_view kBefore = "__global__ void work(int rank, int world, uint32_t call) { ";
std::string in_kernel(const std::string& body) { return std::string(kBefore) + body + " }"; }
Texts in_kernels(Texts bodies) {
  for (auto& body : bodies) body = in_kernel(body);
  return bodies;
}
Texts by(const std::string& name, const std::string& body) { return mutants_by(name, in_kernel(body)); }

TEST(Operators, DropFence) {
  EXPECT_EQ(by("drop-fence",
               "a(); __threadfence_system(); asm volatile(\"fence.proxy.alias;\" ::: \"memory\"); "
               "cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);"),
            in_kernels({"a(); ; asm volatile(\"fence.proxy.alias;\" ::: \"memory\"); "
                        "cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);",
                        "a(); __threadfence_system(); ; "
                        "cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);",
                        "a(); __threadfence_system(); asm volatile(\"fence.proxy.alias;\" ::: \"memory\"); ;"}));
}

TEST(Operators, WeakenFence) {
  EXPECT_EQ(by("weaken-fence", "__threadfence_system();"), in_kernels({"__threadfence();"}));
  EXPECT_EQ(by("weaken-fence", "asm(\"fence.acq_rel.sys;\");"),
            in_kernels({"asm(\"fence.acq_rel.gpu;\");", "asm(\"fence.acq_rel.cta;\");"}));
  EXPECT_EQ(
      by("weaken-fence", "cuda::atomic_thread_fence(x, cuda::thread_scope_device); use(cuda::thread_scope_device);"),
      in_kernels({"cuda::atomic_thread_fence(x, cuda::thread_scope_block); use(cuda::thread_scope_device);"}));
}

TEST(Operators, DropAndWeakenBarriers) {
  EXPECT_EQ(by("drop-barrier", "__syncthreads(); cluster.sync(); __syncwarp();"),
            in_kernels({"; cluster.sync(); __syncwarp();", "__syncthreads(); ; __syncwarp();",
                        "__syncthreads(); cluster.sync(); ;"}));
  EXPECT_EQ(
      by("weaken-barrier", "__syncthreads(); cluster.sync(); __syncwarp();"),
      in_kernels({"__syncwarp(); cluster.sync(); __syncwarp();", "__syncthreads(); __syncthreads(); __syncwarp();"}));
}

constexpr std::string_view kBarrier =
    "__device__ void barrier(uint32_t call) { Flag(a).store(call, cuda::memory_order_release); "
    "while (Flag(b).load(cuda::memory_order_acquire) < call) {} } ";

TEST(Operators, TheBarrierAtTheEndIsAnotherMistake) {
  const std::string barrier(kBarrier);
  EXPECT_EQ(mutants_by("drop-barrier", barrier + in_kernel("barrier(1); work(); barrier(2);")),
            Texts{barrier + in_kernel("; work(); barrier(2);")});
  EXPECT_EQ(mutants_by("drop-exit-barrier", barrier + in_kernel("barrier(1); work(); barrier(2);")),
            Texts{barrier + in_kernel("barrier(1); work(); ;")});
}

TEST(Operators, TheBarrierOfTheSdkIsOneLikeTheSolutionsOwn) {
  const std::string header = "#include <fabricbench/rank_barrier.h>\n";
  const std::string body = "rank_barrier(f, rank, world, 1); work(); rank_barrier(f, rank, world, 2);";
  EXPECT_EQ(mutants_by("drop-barrier", header + in_kernel(body)),
            Texts{header + in_kernel("; work(); rank_barrier(f, rank, world, 2);")});
  EXPECT_EQ(by("drop-barrier", body), Texts{}) << "a function that is not known";
  EXPECT_EQ(mutants_by("drop-wait", header + in_kernel("wait(f, call); use();")),
            Texts{header + in_kernel("; use();")});
  EXPECT_EQ(mutants_by("drop-signal", header + in_kernel("data(); post(f, call);")),
            Texts{header + in_kernel("data(); ;")});
}

TEST(Operators, NarrowScope) {
  EXPECT_EQ(mutants_by("narrow-scope",
                       "using F = cuda::atomic_ref<int, cuda::thread_scope_system>; void f() { F(a).load(o); }"),
            (Texts{"using F = cuda::atomic_ref<int, cuda::thread_scope_device>; void f() { F(a).load(o); }",
                   "using F = cuda::atomic_ref<int, cuda::thread_scope_block>; void f() { F(a).load(o); }",
                   "using F = cuda::atomic_ref<int, cuda::thread_scope_system>; void f() { "
                   "cuda::atomic_ref<int, cuda::thread_scope_device>(a).load(o); }"}));
  EXPECT_EQ(by("narrow-scope", "asm(\"ld.relaxed.sys.v2.u64 {%0, %1}, [%2];\");"),
            in_kernels({"asm(\"ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];\");",
                        "asm(\"ld.relaxed.cta.v2.u64 {%0, %1}, [%2];\");"}));
  EXPECT_EQ(by("narrow-scope", "atomicAdd_system(a, 1);"), in_kernels({"atomicAdd(a, 1);"}));
  const std::string shared = "template <class T> using S = cuda::atomic_ref<T, cuda::thread_scope_system>; ";
  const auto found = mutants_by("narrow-scope", shared + "void f() { S<int>(a).load(o); }");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2], shared + "void f() { cuda::atomic_ref<int, cuda::thread_scope_device>(a).load(o); }");
}

TEST(Operators, RelaxOrders) {
  EXPECT_EQ(by("relax-acquire", "a.load(memory_order_acquire); a.fetch_add(1, memory_order_acq_rel);"),
            in_kernels({"a.load(memory_order_relaxed); a.fetch_add(1, memory_order_acq_rel);",
                        "a.load(memory_order_acquire); a.fetch_add(1, memory_order_release);"}));
  EXPECT_EQ(by("relax-release", "a.store(1, memory_order_release); asm(\"st.release.sys.u32 [%0], 1;\");"),
            in_kernels({"a.store(1, memory_order_relaxed); asm(\"st.release.sys.u32 [%0], 1;\");",
                        "a.store(1, memory_order_release); asm(\"st.relaxed.sys.u32 [%0], 1;\");"}));
}

TEST(Operators, PlainAccessAndUpdate) {
  EXPECT_EQ(
      by("plain-access", "Flag(f[0]).store(g(1, 2), memory_order_release); x = Flag(f[1]).load(memory_order_acquire);"),
      in_kernels({"(f[0]) = (g(1, 2)); x = Flag(f[1]).load(memory_order_acquire);",
                  "Flag(f[0]).store(g(1, 2), memory_order_release); x = (f[1]);"}));
  EXPECT_EQ(by("plain-update", "atomicAdd(&sums[i], f(1, 2));"), in_kernels({"(sums[i] += f(1, 2));"}));
}

const std::string kStore = "Flag(f).store(call, cuda::memory_order_release);";
const std::string kWait = "while (Flag(g).load(cuda::memory_order_acquire) < call) {}";

TEST(Operators, FlagBeforeData) {
  EXPECT_EQ(by("flag-before-data", "data(); __syncthreads(); " + kStore),
            in_kernels({"data(); " + kStore + " __syncthreads();", kStore + " data(); __syncthreads();"}));
}

TEST(Operators, UseBeforeWait) {
  EXPECT_EQ(by("use-before-wait", "data(); " + kWait + " use();"), in_kernels({"data(); use(); " + kWait}));
}

TEST(Operators, SwapSendReceive) {
  EXPECT_EQ(by("swap-send-receive", kStore + " " + kWait + " use();"), in_kernels({kWait + " " + kStore + " use();"}));
  EXPECT_EQ(by("swap-send-receive", kStore + " use(); " + kWait), Texts{});
}

TEST(Operators, DropWaitAndSignal) {
  EXPECT_EQ(by("drop-wait", kWait + " use();"), in_kernels({"; use();"}));
  EXPECT_EQ(by("drop-wait", "do { x = F(g).load(memory_order_acquire); } while (x != call); use();"),
            in_kernels({"{ x = F(g).load(memory_order_acquire); } use();"}));
  EXPECT_EQ(by("drop-signal", "data(); " + kStore), in_kernels({"data(); ;"}));
}

TEST(Operators, StaleEpoch) {
  EXPECT_EQ(by("stale-epoch", kStore), in_kernels({"Flag(f).store(call - 1, cuda::memory_order_release);"}));
  EXPECT_EQ(by("stale-epoch", kWait), in_kernels({"while (Flag(g).load(cuda::memory_order_acquire) < call - 1) {}"}));
  EXPECT_EQ(by("stale-epoch", "use(call);"), Texts{});
}

TEST(Operators, ReuseFlagAndSingleBuffer) {
  EXPECT_EQ(mutants_by("reuse-flag", "void run() { go(++call_); sent_ += 2; }"),
            (Texts{"void run() { go((call_ = 1)); sent_ += 2; }", "void run() { go(call_); sent_ += 2; }",
                   "void run() { go(++call_); ; }"}));
  EXPECT_EQ(by("single-buffer", "a = call % 2; if (n % 2 == 0) b = (call + 1) % 2;"),
            in_kernels({"a = call % 1; if (n % 2 == 0) b = (call + 1) % 1;"}));
}

TEST(Operators, WrongPeerAndNeighbour) {
  EXPECT_EQ(by("wrong-peer", "a.of[peer][i] = b[team.rank];"),
            in_kernels({"a.of[team.rank][i] = b[team.rank];", "a.of[peer][i] = b[peer];"}));
  EXPECT_EQ(by("wrong-peer", "a[rank] = 1; b[peer] = 1;"),
            in_kernels({"a[(rank + 1) % world] = 1; b[peer] = 1;", "a[rank] = 1; b[rank] = 1;"}));
  EXPECT_EQ(mutants_by("wrong-peer", "void f(int world) { b[peer] = 1; }"),
            Texts{"void f(int world) { b[(peer + 1) % world] = 1; }"});
  EXPECT_EQ(mutants_by("wrong-peer", "void f() { a[peer] = 1; }"), Texts{}) << "the number of ranks is unknown";
  EXPECT_EQ(by("wrong-neighbour", "post(left->flag); take(right->flag);"),
            in_kernels({"post(right->flag); take(right->flag);", "post(left->flag); take(left->flag);"}));
}

TEST(Operators, OffByOne) {
  EXPECT_EQ(by("off-by-one", "for (int step = 0; step < world; ++step) f((rank + 1) % world);"),
            in_kernels({"for (int step = 1; step < world; ++step) f((rank + 1) % world);",
                        "for (int step = 0; step <= world; ++step) f((rank + 1) % world);",
                        "for (int step = 0; step < world; ++step) f((rank) % world);"}));
  EXPECT_EQ(by("off-by-one", "for (int k = 0; k < kBatch; ++k) f(k + 1);"), Texts{}) << "registers";
  EXPECT_EQ(by("off-by-one", "x = (world + kTile - 1) / kTile;"), Texts{}) << "round-down's";
}

TEST(Operators, TheEndOfTheData) {
  EXPECT_EQ(
      by("skip-tail",
         "copy(); for (int i = 4 * quads + thread; i < n; ++i) f(i); const int last = 4 * quads; if (last < n) g();"),
      in_kernels({"copy(); ; const int last = 4 * quads; if (last < n) g();",
                  "copy(); for (int i = 4 * quads + thread; i < n; ++i) f(i); const int last = 4 * quads; ;"}));
  EXPECT_EQ(by("skip-tail", "for (int i = lane; i < n; i += 32 * kAtOnce) f(i);"), Texts{}) << "that is all of it";
  EXPECT_EQ(by("round-down", "a = (n + 3) / 4; b = (n + kTile - 1) / kTile;"),
            in_kernels({"a = (n) / 4; b = (n + kTile - 1) / kTile;", "a = (n + 3) / 4; b = (n) / kTile;"}));
  EXPECT_EQ(by("unclipped-chunk", "f(min(kChunk, n - g(a, b)));"), in_kernels({"f((kChunk));", "f((n - g(a, b)));"}));
}

TEST(Operators, NarrowVector) {
  EXPECT_EQ(by("narrow-vector", "reinterpret_cast<uint4*>(to)[q] = value;"),
            in_kernels({"reinterpret_cast<uint2*>(to)[2 * (q)] = make_uint2((value).x, (value).y);"}));
  EXPECT_EQ(by("narrow-vector", "asm(\"st.global.v4.u32 [%0], {%1, %2, %3, %4};\" ::);"),
            in_kernels({"asm(\"st.global.v2.u32 [%0], {%1, %2};\" ::);"}));
  EXPECT_EQ(by("narrow-vector", "sum.x += v.x; sum.w += v.w;"), in_kernels({"sum.x += v.x; ;"}));
  EXPECT_EQ(by("narrow-vector", "float4* to = f(); to[i] = part[p];"),
            in_kernels(
                {"float4* to = f(); reinterpret_cast<float2*>(to)[2 * (i)] = make_float2((part[p]).x, (part[p]).y);"}));
}

TEST(Operators, NoSynchronisationWhereItIsNotLookedFor) {
  const std::string barrier(kBarrier);
  const std::string before = "__global__ void work(float* to, int64_t n, uint32_t call) { ";
  EXPECT_EQ(mutants_by("fast-path", barrier + before + "barrier(call); work(); }"),
            Texts{barrier + before + "if (n % 4 != 0) barrier(call); work(); }"});
  EXPECT_EQ(mutants_by("later-call", barrier + before + "barrier(call); }"),
            (Texts{barrier + before + "if (call < 3) barrier(call); }",
                   barrier + before + "if (call % 4 != 2) barrier(call); }"}));
  EXPECT_EQ(by("fast-path", "barrier(call);"), Texts{}) << "the kernel does not know its size";
}

TEST(Operators, AssumeCleared) {
  EXPECT_EQ(mutants_by("assume-cleared", "void set_up() { cudaMalloc(&a, 4); cudaMemset(a, 0, 4); }"),
            Texts{"void set_up() { cudaMalloc(&a, 4); ; }"});
}

TEST(Operators, ZeroIsEmpty) {
  EXPECT_EQ(by("zero-is-empty", "while (Flag(b).load(cuda::memory_order_acquire) != call) {}"),
            in_kernels({"while (Flag(b).load(cuda::memory_order_acquire) == 0) {}"}));
}

TEST(Operators, TearStore) {
  const std::string word = "using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>; ";
  const auto halves = mutants_by("tear-store", word + in_kernel("Word(a[i]).store(v, cuda::memory_order_relaxed);"));
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_NE(halves[0].find("[0]).store(static_cast<uint32_t>((v) >> 0)"), std::string::npos) << halves[0];
  EXPECT_NE(halves[1].find("[1]).store(static_cast<uint32_t>((v) >> 32)"), std::string::npos) << halves[1];
  EXPECT_TRUE(by("tear-store", "Flag(a).store(v, cuda::memory_order_relaxed);").empty()) << "4 bytes";
}

TEST(Operators, EachHasATestHere) {
  // A new row needs a test: the names above.
  std::set<std::string_view> names;
  for (const auto& row : operators()) EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
  EXPECT_EQ(names.size(), 36u);
}

TEST(Mutants, HaveIdsOfTheirPlaces) {
  const std::string text = "void f() {\n  __syncthreads();\n  a.of[peer] = b[rank] + world;\n}\n";
  const auto mutants = make_mutants_of("ring", text, 0, text.size(), {});
  ASSERT_TRUE(mutants);
  std::vector<std::string> ids;
  for (const auto& mutant : *mutants) ids.push_back(mutant.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"ring/drop-barrier/2:3/0", "ring/weaken-barrier/2:3/0",
                                           "ring/wrong-peer/3:8/0", "ring/wrong-peer/3:18/0"}));
  EXPECT_EQ(mutants->front().before, "__syncthreads();");
  EXPECT_EQ(mutants->front().after, ";");
}

TEST(Mutants, AreOneForOneText) {
  const std::string text = "void f() { __syncthreads(); }";
  const auto mutants = make_mutants_of("p", text, 0, text.size(), {"drop-barrier", "drop-barrier"});
  ASSERT_TRUE(mutants);
  EXPECT_EQ(mutants->size(), 1u);
}

TEST(Mutants, OnlyOfTheRegion) {
  const std::string text = "void before() { __syncthreads(); } void f() { __syncwarp(); }";
  const auto mutants = make_mutants_of("p", text, text.find("void f"), text.size(), {"drop-barrier"});
  ASSERT_TRUE(mutants);
  ASSERT_EQ(mutants->size(), 1u);
  EXPECT_EQ(mutants->front().source, "void before() { __syncthreads(); } void f() { ; }");
}

TEST(Mutants, UnknownOperatorsAreRefused) { EXPECT_FALSE(make_mutants_of("p", "a", 0, 1, {"drop-everything"})); }

TEST(Operators, OfNetworkCards) {
  EXPECT_EQ(by("drop-send-flag", "w.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;"),
            in_kernels({"w.send_flags = 0 | IBV_SEND_INLINE;", "w.send_flags = IBV_SEND_SIGNALED | 0;"}));
  EXPECT_EQ(by("wrong-opcode", "w.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;"),
            in_kernels({"w.opcode = IBV_WR_RDMA_WRITE;"}));
  EXPECT_EQ(by("host-byte-order", "w.imm_data = htonl(7);"), in_kernels({"w.imm_data = uint32_t(7);"}));
  EXPECT_EQ(by("drop-access-right", "reg(p, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);"),
            in_kernels({"reg(p, 0 | IBV_ACCESS_REMOTE_READ);", "reg(p, IBV_ACCESS_LOCAL_WRITE | 0);"}));
  EXPECT_EQ(by("drop-receive", "check(ibv_post_recv(q, &w, &b)); rest();"), in_kernels({"; rest();"}));
  EXPECT_EQ(by("drop-stream-wait", "check(cudaStreamSynchronize(s)); ibv_post_send(q, &w, &b);"),
            in_kernels({"; ibv_post_send(q, &w, &b);"}));
  EXPECT_EQ(by("drop-stream-wait", "check(cudaStreamSynchronize(s));"), Texts{});
}

// Work that is posted is a signal, a completion what is waited for.
TEST(Operators, CardsSignalAndWait) {
  EXPECT_EQ(by("drop-signal", "check(ibv_post_send(q, &w, &b)); rest();"), in_kernels({"; rest();"}));
  EXPECT_EQ(by("drop-wait", "while (ibv_poll_cq(c, 1, &wc) == 0) { } rest();"), in_kernels({"; rest();"}));
}

}  // namespace
}  // namespace fb::mutate
