// Inline PTX, as nvcc accepts it.

// construct: asm_special_register
__device__ int value(unsigned) { unsigned lane; asm("mov.u32 %0, %laneid;" : "=r"(lane)); return lane; }

// construct: asm_escaped_percent
__device__ int value(unsigned) { unsigned lane; asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }

// construct: asm_predicate_block
__device__ int value(unsigned t) { int r; asm("{\n\t.reg .pred p;\n\tsetp.gt.u32 p, %1, 15;\n\tselp.s32 %0, 7, 3, p;\n\t}" : "=r"(r) : "r"(t)); return r; }

// construct: asm_immediate
__device__ int value(unsigned t) { int r; asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(t), "n"(42)); return r; }

// construct: asm_read_write_operand
__device__ int value(unsigned t) { int r = t; asm("mul.lo.s32 %0, %0, 3;" : "+r"(r)); return r; }

// construct: asm_all_constraints
__device__ int value(unsigned t) { unsigned short h; unsigned r; unsigned long long l; float f; double d; asm("cvt.u16.u32 %0, %1;" : "=h"(h) : "r"(t)); asm("cvt.u32.u16 %0, %1;" : "=r"(r) : "h"(h)); asm("cvt.u64.u32 %0, %1;" : "=l"(l) : "r"(r)); asm("cvt.rn.f32.u64 %0, %1;" : "=f"(f) : "l"(l)); asm("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(f)); return int(d); }

// construct: asm_several_instructions
__device__ int value(unsigned t) { int r; asm("add.s32 %0, %1, 1; mul.lo.s32 %0, %0, 2;" : "=r"(r) : "r"(t)); return r; }

// construct: asm_memory_clobber
__device__ int word;
__device__ int value(unsigned) { asm volatile("st.global.u32 [%0], %1;" ::"l"(&word), "r"(9) : "memory"); return word; }

// construct: asm_relaxed_and_acquire
__device__ unsigned word;
__device__ int value(unsigned) { unsigned r; asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&word), "r"(3) : "memory"); asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(r) : "l"(&word) : "memory"); return r; }

// construct: asm_vector_load
__device__ int4 words[32];
__device__ int value(unsigned t) { words[t] = make_int4(t, 2, 3, 4); int4 v; asm volatile("ld.volatile.global.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(&words[t])); return v.x + v.w; }

// construct: asm_shared_address
__device__ int value(unsigned t) { __shared__ int s[32]; unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(&s[t])); int r; asm volatile("st.shared.s32 [%0], %1;" ::"r"(a), "r"(t) : "memory"); asm volatile("ld.shared.s32 %0, [%1];" : "=r"(r) : "r"(a)); return r; }

// construct: asm_comments_and_newlines
__device__ int value(unsigned t) { int r; asm("// comment\n  add.s32 %0, %1, 5; /* another */\n" : "=r"(r) : "r"(t)); return r; }

// construct: asm_string_concatenation
#define OP "add"
__device__ int value(unsigned t) { int r; asm(OP ".s32 "
    "%0, %1, 6;" : "=r"(r) : "r"(t)); return r; }
#undef OP

// construct: asm_in_template
template <int N> __device__ int plus(int x) { int r; asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "n"(N)); return r; }
__device__ int value(unsigned t) { return plus<3>(t) + plus<5>(t); }

// construct: asm_local_register
__device__ int value(unsigned t) { int r; asm("{ .reg .b32 tmp; add.s32 tmp, %1, 1; add.s32 %0, tmp, 1; }" : "=r"(r) : "r"(t)); return r; }

// construct: asm_atom
__device__ unsigned word;
__device__ int value(unsigned) { unsigned old; asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(old) : "l"(&word) : "memory"); asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(&word) : "memory"); __syncwarp(); return word; }

// construct: asm_half_pair
__device__ unsigned value(unsigned) { unsigned r; asm("fma.rn.f16x2 %0, %1, %1, %2;" : "=r"(r) : "r"(0x3c003c00u), "r"(0x40004000u)); return r; }

// construct: asm_list_of_one
__device__ unsigned long long word = 5;
__device__ int value(unsigned) { unsigned long long r; asm volatile("ld.relaxed.gpu.global.u64 {%0}, [%1];" : "=l"(r) : "l"(&word)); return r; }

// construct: asm_prmt_and_lop3
__device__ unsigned value(unsigned t) { unsigned a, b; asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(a) : "r"(t), "r"(7)); asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(b) : "r"(t), "r"(9), "r"(21)); return a + b; }

// construct: asm_cp_async
__device__ int source[32];
__device__ int value(unsigned t) { __shared__ int s[32]; source[t] = t * 3; __syncwarp(); unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(&s[t])); asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(&source[t]) : "memory"); asm volatile("cp.async.commit_group;" ::: "memory"); asm volatile("cp.async.wait_group 0;" ::: "memory"); return s[t]; }

// construct: asm_ldmatrix
__device__ unsigned value(unsigned t) { __shared__ alignas(16) unsigned short s[64]; s[t] = t; s[t + 32] = t + 32; __syncwarp(); unsigned r, a = static_cast<unsigned>(__cvta_generic_to_shared(&s[(t & 7) * 8])); asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(a)); return r; }

// construct: asm_mma
__device__ int value(unsigned) { float d[4]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%6,%6,%6,%6};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(0x3c003c00u), "r"(0x40004000u), "f"(1.0f)); return int(d[0] + d[3]); }

// construct: asm_bar_sync_with_count
__device__ int value(unsigned) { asm volatile("bar.sync 3, 32;" ::: "memory"); asm volatile("barrier.cta.sync 4, 32;" ::: "memory"); return 1; }

// construct: asm_mbarrier
__device__ int value(unsigned t) { __shared__ unsigned long long b; unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(&b)); if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(a)); __syncwarp(); unsigned long long s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(a)); unsigned done = 0; while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(a), "l"(s)); return 1; }

// construct: asm_branch_with_unique_label
__device__ int value(unsigned t) { int r = t; asm volatile("{ .reg .pred p; setp.eq.s32 p, %0, 4; @p bra DONE_%=; add.s32 %0, %0, 1; DONE_%=: }" : "+r"(r)); return r; }

// construct: asm_goto_free_nanosleep
__device__ int value(unsigned) { asm volatile("nanosleep.u32 20;"); asm volatile("fence.acq_rel.sys;" ::: "memory"); return 1; }

// construct: asm_redux_and_elect
__device__ int value(unsigned t) { unsigned r; asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(t)); int e; asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p; }" : "=r"(e)); return r + __reduce_add_sync(~0u, e); }

// construct: asm_tanh_and_ex2
__device__ int value(unsigned t) { float a, b; asm("tanh.approx.f32 %0, %1;" : "=f"(a) : "f"(t * 0.1f)); asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(t * 0.1f)); return int(a * 100) + int(b * 100); }
