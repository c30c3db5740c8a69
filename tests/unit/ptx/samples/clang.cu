#define G __attribute__((global))
#define D __attribute__((device))
#define SH __attribute__((shared))
#define C __attribute__((constant))
#define TX __nvvm_read_ptx_sreg_tid_x()
D int table[4] = {1, 2, 3, 4};
C float ctab[2][3] = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
D int* ptr = &table[1];
struct __attribute__((packed)) Odd { char c; int* p; };
D Odd odd = {'x', &table[2]};
D double dd = 3.25;
extern SH int dyn[];
extern "C" D int vprintf(const char*, void*);
extern "C" D float expf(float);
extern "C" D __attribute__((noreturn)) void __assertfail(const char*, const char*, unsigned, const char*, unsigned long);
D __attribute__((noinline)) int helper(int a, float b) { return a * (int)b + table[a & 3]; }
typedef int (*Fn)(int, float);
D Fn fns[2] = {helper, helper};
struct Big { int v[6]; double d; };
D __attribute__((noinline)) Big make(int a) { Big b; for (int i = 0; i < 6; i++) b.v[i] = a + i; b.d = a; return b; }
extern "C" G __attribute__((launch_bounds(256, 2))) void arith(int* out, const float* in, long n, Big big) {
  SH int s[128];
  int i = TX;
  s[i & 127] = dyn[i];
  __syncthreads();
  float f = in[i] * 2.0f + 1.0f;
  f = __builtin_sqrtf(f) / (f + 0.5f);
  double d = f; d = d * 1.5 + dd;
  unsigned u = (unsigned)i; u = u / 7 + u % 5; u = (u << 3) | (u >> 29);
  long l = (long)i * n; l = l / 3; unsigned long ul = (unsigned long)l * 0x123456789abcdefull;
  short h = (short)i; h = h * 3 + 1;
  int r = s[(i + 1) & 127] + (int)d + (int)u + (int)l + h + __builtin_popcount(i) + __builtin_clz(i|1);
  r += helper(i, f); r += fns[i & 1](i, f); r += make(i).v[i % 6] + big.v[i & 3];
  r += *ptr + (int)(ul >> 33) + (int)ctab[i & 1][2];
  if (r == 77) { int a[2] = {r, i}; vprintf("%d %d\n", a); }
  switch (i & 15) { case 0: r += 1; break; case 1: r *= 3; break; case 2: r -= 9; break; case 3: r ^= 5; break; case 4: r |= 77; break; case 5: r = -r; break; case 6: r = ~r; break; case 7: r <<= 2; break; default: r += 99; }
  if (r == 1234567) __assertfail("x", "f", 1, "fn", 1);
  out[i] = r + (int)expf(f);
  __nvvm_atom_add_gen_i(out + 1, r);
  __atomic_fetch_add(out + 2, 1, __ATOMIC_RELAXED);
}
extern "C" G void half(_Float16* a, __bf16* b, float* c) {
  int i = TX;
  a[i] = a[i] * a[i + 1] + (_Float16)1.0f;
  c[i] = (float)b[i] + (float)a[i];
  b[i] = (__bf16)c[i];
  c[i + 1] = __builtin_fminf(c[i], 2.f) + __builtin_fabsf(c[i]) + __builtin_copysignf(c[i], c[i+1]);
}
extern "C" G void inlineasm(unsigned long* p, unsigned* q) {
  unsigned v; unsigned long w;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(w) : "l"(p) : "memory");
  asm volatile("{\n .reg .pred P1;\n LAB_WAIT:\n mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n @P1 bra DONE;\n bra LAB_WAIT;\n DONE:\n }" :: "r"(4), "r"(0));
  asm volatile("{\n .reg .pred P1;\n LAB_WAIT:\n mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n @P1 bra DONE;\n bra LAB_WAIT;\n DONE:\n }" :: "r"(8), "r"(1));
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(v) : "l"(p));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(0), "l"(p), "r"(128), "r"(8));
  asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(q), "r"(v + (unsigned)w));
}
