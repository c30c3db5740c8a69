// Headers of the toolkit.

// construct: fp16_arithmetic
#include <cuda_fp16.h>
__device__ int value(unsigned t) { __half a = __float2half(t * 0.5f), b = __int2half_rn(3); half c = a * b + __hadd(a, b) - __hmul(b, b); return int(__half2float(c) * 4) + (a < b) + int(__half2float(__hfma(a, b, a)) * 2); }

// construct: fp16_pairs
#include <cuda_fp16.h>
__device__ int value(unsigned t) { half2 a = __floats2half2_rn(t, 1.5f), b = __half2half2(__float2half(2.f)); half2 c = __hfma2(a, b, __hadd2(a, b)); float2 f = __half22float2(c); return int(f.x * 2 + f.y * 4) + int(__low2float(a)) + int(__half2float(__high2half(b))); }

// construct: fp16_functions
#include <cuda_fp16.h>
__device__ int value(unsigned t) { half x = __float2half(t + 1.f); return int(__half2float(hsqrt(x)) * 8) + int(__half2float(hfloor(x))) + __half2int_rn(x) + __hisnan(x) + int(__half2float(__hmax(x, __float2half(4.f)))) + int(__half2float(__habs(__hneg(x)))); }

// construct: fp16_bits
#include <cuda_fp16.h>
__device__ int value(unsigned t) { half x = __ushort_as_half(0x3c00 + t); return __half_as_ushort(x) + __half_as_short(x) + int(sizeof(half2)); }

// construct: fp16_atomics_and_shuffles
#include <cuda_fp16.h>
__device__ half2 sum;
__device__ int value(unsigned t) { atomicAdd(&sum, __floats2half2_rn(1.f, 2.f)); __syncwarp(); half x = __shfl_xor_sync(~0u, __float2half(t), 1); return int(__high2float(sum)) + int(__half2float(x)); }

// construct: bf16_arithmetic
#include <cuda_bf16.h>
__device__ int value(unsigned t) { __nv_bfloat16 a = __float2bfloat16(t), b = __float2bfloat16_rn(1.5f); nv_bfloat162 p = __floats2bfloat162_rn(t, 2.f); return int(__bfloat162float(__hmul(a, b)) * 2) + int(__bfloat162float(a + b)) + int(__bfloat1622float2(__hadd2(p, p)).y); }

// construct: bf16_bits
#include <cuda_bf16.h>
__device__ int value(unsigned t) { return __bfloat16_as_ushort(__float2bfloat16(t * 1.01f)) + (__ushort_as_bfloat16(0x3f80) == __float2bfloat16(1.f)); }

// construct: fp8_types
#include <cuda_fp8.h>
__device__ int value(unsigned t) { __nv_fp8_e4m3 a(t * 1.3f); __nv_fp8_e5m2 b(t * 1.3f); __nv_fp8x2_e4m3 p(make_float2(t, 2.f)); return a.__x + b.__x * 3 + p.__x + int(float(a)); }

// construct: fp8_conversions
#include <cuda_fp8.h>
__device__ int value(unsigned t) { return __nv_cvt_float_to_fp8(t * 0.7f, __NV_SATFINITE, __NV_E4M3) + __nv_cvt_float2_to_fp8x2(make_float2(t, 500.f), __NV_SATFINITE, __NV_E5M2); }

// construct: fp8_e8m0
#include <cuda_fp8.h>
__device__ int value(unsigned t) { __nv_fp8_e8m0 s(t * 3.0f + 1); return s.__x + int(float(s)); }

// construct: fp6_types
#include <cuda_fp6.h>
__device__ int value(unsigned t) { return __nv_fp6_e2m3(t * 0.3f).__x + __nv_fp6_e3m2(t * 0.9f).__x * 3 + int(float(__nv_fp6_e3m2(t * 1.f))); }

// construct: fp4_types
#include <cuda_fp4.h>
__device__ int value(unsigned t) { return __nv_fp4_e2m1(t * 0.3f).__x + __nv_fp4x2_e2m1(make_float2(t * 0.2f, -3.f)).__x * 3 + int(float(__nv_fp4_e2m1(2.9f))); }

// construct: complex_numbers
#include <cuComplex.h>
__device__ int value(unsigned t) { cuFloatComplex a = make_cuFloatComplex(t, 2), b = cuCmulf(a, cuConjf(a)); cuDoubleComplex d = cuCdiv(make_cuDoubleComplex(t, 1), make_cuDoubleComplex(0, 2)); return int(cuCrealf(b)) + int(cuCabsf(make_cuComplex(3, 4))) + int(cuCimag(d) * 2); }

// construct: groups_block_and_tile
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block); tile.sync(); block.sync(); return tile.shfl(int(t), 0) + tile.thread_rank() * 100 + tile.meta_group_rank() * 1000 + tile.ballot(t & 1) + block.size(); }

// construct: groups_coalesced
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { if (t % 3) return 0; auto g = cg::coalesced_threads(); return g.size() * 100 + g.thread_rank() + g.shfl(int(t), 1); }

// construct: groups_partitions
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { auto warp = cg::tiled_partition<32>(cg::this_thread_block()); auto l = cg::labeled_partition(warp, int(t / 5)); auto b = cg::binary_partition(warp, t > 9); return l.size() * 100 + b.size() + l.thread_rank(); }

// construct: groups_reduce
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { auto tile = cg::tiled_partition<16>(cg::this_thread_block()); return cg::reduce(tile, int(t), cg::plus<int>()) + cg::reduce(tile, t, cg::greater<unsigned>()) + cg::reduce(tile, int(t), [](int a, int b) { return a ^ b; }); }

// construct: groups_scan
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { auto tile = cg::tiled_partition<32>(cg::this_thread_block()); return cg::inclusive_scan(tile, int(t)) + cg::exclusive_scan(tile, int(t)) * 3 + cg::exclusive_scan(tile, int(t), cg::plus<int>()); }

// construct: groups_invoke_one
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int count;
__device__ int value(unsigned) { auto tile = cg::tiled_partition<8>(cg::this_thread_block()); cg::invoke_one(tile, [] { atomicAdd(&count, 1); }); int x = cg::invoke_one_broadcast(tile, [] { return 5; }); __syncwarp(); return count + x; }

// construct: groups_thread_group
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int size_of(cg::thread_group g) { g.sync(); return g.size() * 10 + g.thread_rank() % 2; }
__device__ int value(unsigned) { cg::thread_group half = cg::tiled_partition(cg::this_thread_block(), 16); return size_of(half); }

// construct: groups_memcpy_async
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__device__ int source[32];
__device__ int value(unsigned t) { __shared__ int s[32]; source[t] = t * 7; auto block = cg::this_thread_block(); block.sync(); cg::memcpy_async(block, s, source, sizeof s); cg::wait(block); return s[31 - t]; }

// construct: groups_match_any
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int value(unsigned t) { auto tile = cg::tiled_partition<16>(cg::this_thread_block()); int all; return tile.match_any(t / 3) + tile.match_all(4, all) + all + tile.any(t == 2) + tile.all(1); }

// construct: groups_grid_and_cluster
// run: no
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void kernel(int* p) { auto grid = cg::this_grid(); grid.sync(); auto cluster = cg::this_cluster(); cluster.sync(); *p = grid.thread_rank() + cluster.block_rank() + *cluster.map_shared_rank(p, 0) + grid.num_blocks(); auto token = cg::this_thread_block().barrier_arrive(); cg::this_thread_block().barrier_wait(std::move(token)); }

// construct: groups_large_tile
// run: no
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void kernel(int* p) { __shared__ cg::block_tile_memory<256> memory; auto block = cg::this_thread_block(memory); auto tile = cg::tiled_partition<64>(block); tile.sync(); *p = cg::reduce(tile, *p, cg::plus<int>()) + tile.thread_rank(); }

// construct: pipeline_primitives
#include <cuda_pipeline_primitives.h>
__device__ int4 source[32];
__device__ int value(unsigned t) { __shared__ int4 s[32]; source[t] = make_int4(t, 0, 0, t); __syncwarp(); __pipeline_memcpy_async(&s[t], &source[t], 16); __pipeline_commit(); __pipeline_wait_prior(0); return s[t].w; }

// construct: wmma_half
// run: ours
#include <mma.h>
__device__ half a[256], b[256]; __device__ float c[256];
__device__ int value(unsigned t) { using namespace nvcuda; for (int i = t; i < 256; i += 32) a[i] = __float2half(i % 7), b[i] = __float2half(i % 5); __syncwarp(); wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc; wmma::fill_fragment(fc, 1.f); wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major); int bad = 0; for (int i = t; i < 256; i += 32) { float e = 1; for (int k = 0; k < 16; ++k) e += float(a[i / 16 * 16 + k]) * float(b[i % 16 * 16 + k]); bad += e != c[i]; } return bad; }
// expect: 0

// construct: wmma_bytes_and_doubles
// run: no
#include <mma.h>
using namespace nvcuda;
__global__ void kernel(const signed char* a, const double* d, int* c, double* e) { wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc; wmma::fill_fragment(fc, 0); wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, a, 16); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major); wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> da; wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> db; wmma::fragment<wmma::accumulator, 8, 8, 4, double> dc; wmma::fill_fragment(dc, 0.0); wmma::load_matrix_sync(da, d, 4); wmma::load_matrix_sync(db, d, 4); wmma::mma_sync(dc, da, db, dc); wmma::store_matrix_sync(e, dc, 8, wmma::mem_col_major); }

// construct: wmma_nibbles_and_bits
// run: ours
#include <mma.h>
__device__ int wa[32], wb[32], wc[64], we[64];
__device__ int value(unsigned t) { using namespace nvcuda; using namespace nvcuda::wmma::experimental; wa[t] = t * 0x12345671 + 99; wb[t] = t * 0x7654321 + 7; __syncwarp(); wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc; wmma::load_matrix_sync(fa, wa, 32); wmma::load_matrix_sync(fb, wb, 32); wmma::fill_fragment(fc, 5); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(wc, fc, 8, wmma::mem_row_major); wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> ga; wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> gb; wmma::fragment<wmma::accumulator, 8, 8, 128, int> gc; wmma::load_matrix_sync(ga, wa, 128); wmma::load_matrix_sync(gb, wb, 128); wmma::fill_fragment(gc, 1); wmma::bmma_sync(gc, ga, gb, gc); wmma::bmma_sync(gc, ga, gb, gc, bmmaBitOpAND, bmmaAccumulateOpPOPC); wmma::store_matrix_sync(we, gc, 8, wmma::mem_col_major); int bad = fa.num_elements != 8 || ga.num_elements != 32; for (int at = t; at < 64; at += 32) { const int i = at / 8, j = at % 8; int s = 5, n = 1; for (int k = 0; k < 32; ++k) s += ((int)((unsigned)wa[i * 4 + k / 8] << (28 - k % 8 * 4)) >> 28) * ((int)((unsigned)wb[j * 4 + k / 8] << (28 - k % 8 * 4)) >> 28); for (int w = 0; w < 4; ++w) n += __popc(wa[i * 4 + w] & wb[j * 4 + w]) + __popc(wa[i * 4 + w] ^ wb[j * 4 + w]); bad += wc[at] != s; bad += we[j * 8 + i] != n; } return bad; }
// expect: 0

// construct: wmma_products_of_bytes
// run: ours
#include <mma.h>
__device__ signed char wx[256]; __device__ int wy[256];
__device__ int value(unsigned t) { using namespace nvcuda; for (int i = t; i < 256; i += 32) wx[i] = i * 37; __syncwarp(); wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc; wmma::fill_fragment(fc, 0); wmma::load_matrix_sync(fa, wx, 16); wmma::load_matrix_sync(fb, wx, 16); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(wy, fc, 16, wmma::mem_row_major); int bad = 0; for (int i = t; i < 256; i += 32) { int s = 0; for (int k = 0; k < 16; ++k) s += wx[i / 16 * 16 + k] * wx[i % 16 * 16 + k]; bad += s != wy[i]; } return bad; }
// expect: 0

// construct: wmma_products_of_doubles
// run: ours
#include <mma.h>
__device__ double wd[32], wg[64];
__device__ int value(unsigned t) { using namespace nvcuda; wd[t] = t * 0.5; __syncwarp(); wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb; wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc; wmma::fill_fragment(fc, 1.0); wmma::load_matrix_sync(fa, wd, 4); wmma::load_matrix_sync(fb, wd, 4); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(wg, fc, 8, wmma::mem_row_major); int bad = 0; for (int i = t; i < 64; i += 32) { double s = 1; for (int k = 0; k < 4; ++k) s += wd[i / 8 * 4 + k] * wd[i % 8 * 4 + k]; bad += s != wg[i]; } return bad; }
// expect: 0

// construct: wmma_tf32_and_bf16
// run: no
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
__global__ void kernel(const float* a, const __nv_bfloat16* b, float* c) { wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb; wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc; wmma::load_matrix_sync(fa, a, 8); wmma::load_matrix_sync(fb, a, 16); for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]); wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major); wmma::mma_sync(fc, fa, fb, fc); wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major); wmma::fragment<wmma::matrix_a, 32, 8, 16, __nv_bfloat16, wmma::row_major> ga; wmma::fragment<wmma::matrix_b, 32, 8, 16, __nv_bfloat16, wmma::row_major> gb; wmma::fragment<wmma::accumulator, 32, 8, 16, float> gc; wmma::fill_fragment(gc, 0.f); wmma::load_matrix_sync(ga, b, 16); wmma::load_matrix_sync(gb, b, 8); wmma::mma_sync(gc, ga, gb, gc); wmma::store_matrix_sync(c, gc, 8, wmma::mem_row_major); }

// construct: ptx_special_registers
#include <cuda/ptx>
__device__ int value(unsigned) { return cuda::ptx::get_sreg_laneid() + cuda::ptx::get_sreg_tid_x() + cuda::ptx::get_sreg_ntid_x() + cuda::ptx::get_sreg_lanemask_lt() + (cuda::ptx::get_sreg_globaltimer() > 0); }

// construct: ptx_fences
#include <cuda/ptx>
__device__ int value(unsigned) { cuda::ptx::fence(cuda::ptx::sem_acq_rel, cuda::ptx::scope_sys); cuda::ptx::fence(cuda::ptx::sem_sc, cuda::ptx::scope_gpu); cuda::ptx::fence_proxy_async(); cuda::ptx::fence_proxy_async(cuda::ptx::space_shared); cuda::ptx::fence_proxy_alias(); return 1; }

// construct: ptx_mbarrier
#include <cuda/ptx>
__device__ int value(unsigned t) { namespace ptx = cuda::ptx; __shared__ uint64_t b; if (t == 0) ptx::mbarrier_init(&b, 32); __syncwarp(); auto s = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b); while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cta, &b, s)) {} return ptx::mbarrier_test_wait_parity(&b, 0u); }

// construct: ptx_bulk_copy
#include <cuda/ptx>
__device__ alignas(16) int source[32];
__device__ int value(unsigned t) { namespace ptx = cuda::ptx; __shared__ alignas(16) int s[32]; __shared__ uint64_t b; source[t] = t * 5; if (t == 0) { ptx::mbarrier_init(&b, 1); } __syncwarp(); ptx::fence_proxy_async(); __syncwarp(); if (t == 0) { ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, source, 128u, &b); ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b, 128u); } __syncwarp(); while (!ptx::mbarrier_try_wait_parity(&b, 0u)) {} return s[31 - t]; }

// construct: ptx_bits
#include <cuda/ptx>
__device__ int value(unsigned t) { namespace ptx = cuda::ptx; return ptx::bfind(t + 1u) + ptx::prmt(t, 9u, 0x5140u) + ptx::shl(t, 3u) + ptx::shr(-1, 28u); }

// construct: ptx_multimem
// run: no
#include <cuda/ptx>
__global__ void kernel(unsigned* p) { namespace ptx = cuda::ptx; p[1] = ptx::multimem_ld_reduce(ptx::sem_relaxed, ptx::scope_sys, ptx::op_add, p); ptx::multimem_red(ptx::sem_release, ptx::scope_sys, ptx::op_max, p, 3u); ptx::multimem_st(ptx::sem_weak, p, 4u); }

// construct: ptx_cluster
// run: no
#include <cuda/ptx>
__global__ void kernel(unsigned* p, const void* map) { namespace ptx = cuda::ptx; __shared__ alignas(128) int data[64]; __shared__ uint64_t b; ptx::st_async(data, 5, &b); ptx::red_async(ptx::op_add, (unsigned*)data, 1u, &b); ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, data, map, {0, 1}, &b); ptx::barrier_cluster_arrive(ptx::sem_release); ptx::barrier_cluster_wait(ptx::sem_acquire); *p = ptx::getctarank(ptx::space_cluster, data); }

// construct: nvtx_ranges
#include <nvtx3/nvToolsExt.h>
inline void host() { nvtxRangePushA("outer"); nvtxEventAttributes_t e{}; e.version = NVTX_VERSION; e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE; e.messageType = NVTX_MESSAGE_TYPE_ASCII; e.message.ascii = "inner"; nvtxRangePushEx(&e); nvtxRangePop(); nvtxRangePop(); nvtxMarkA("mark"); }
__device__ int value(unsigned) { return 1; }

// construct: nvtx_of_cpp
#include <nvtx3/nvtx3.hpp>
inline void host() { NVTX3_FUNC_RANGE(); nvtx3::scoped_range range{"work", nvtx3::rgb{1, 2, 3}}; nvtx3::mark("here"); }
__device__ int value(unsigned) { return 1; }

// construct: library_types
#include <library_types.h>
__device__ int value(unsigned) { cudaDataType t = CUDA_R_16BF; return t + CUDA_R_8F_E4M3 + CUDA_R_4F_E2M1; }

// construct: headers_that_are_kept
#include <builtin_types.h>
#include <channel_descriptor.h>
#include <cuda_profiler_api.h>
#include <device_functions.h>
#include <device_launch_parameters.h>
#include <driver_functions.h>
#include <sm_60_atomic_functions.h>
#include <texture_types.h>
#include <vector_functions.h>
__device__ int value(unsigned) { return make_int2(1, 2).y; }
