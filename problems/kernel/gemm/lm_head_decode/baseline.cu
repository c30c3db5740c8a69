// [solution]
#include <cublasLt.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <stdexcept>

constexpr int kThreads = 256;

// logits[b][s] = parts[s][b]: pieces of `quads` times 16 bytes.
__global__ void interleave(const int4* parts, int4* logits, unsigned batch, unsigned world, unsigned quads) {
  const unsigned q = blockIdx.x * kThreads + threadIdx.x;
  if (q >= batch * world * quads) return;
  const unsigned b = q / quads / world, s = q / quads % world;
  logits[q] = parts[(s * batch + b) * quads + q % quads];
}

inline void check_blas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLASLt");
}

// The product with its bias, then the gather, then the order of the vocabulary.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&parts_, static_cast<size_t>(args.batch * args.rows * world_) * sizeof(__nv_bfloat16)));
    // cuBLAS has matrices by columns: what is x weight^T by rows is (weight x^T)^T there, and the bias is one number
    // for each of its rows.
    const auto rows = static_cast<uint64_t>(args.rows), batch = static_cast<uint64_t>(args.batch),
               hidden = static_cast<uint64_t>(args.hidden);
    check_blas(cublasLtCreate(&blas_));
    check_blas(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias);
    check_blas(cublasLtMatrixLayoutCreate(&of_weight_, CUDA_R_16BF, hidden, rows, args.hidden));
    check_blas(cublasLtMatrixLayoutCreate(&of_x_, CUDA_R_16BF, hidden, batch, args.hidden));
    check_blas(cublasLtMatrixLayoutCreate(&of_part_, CUDA_R_16BF, rows, batch, args.rows));
    // With room for partial sums: few tiles are split along the depth.
    fabricbench::check_cuda(cudaMalloc(&workspace_, kWorkspace));
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&preference));
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                                    sizeof kWorkspace));
    int found = 0;
    check_blas(cublasLtMatmulAlgoGetHeuristic(blas_, product_, of_weight_, of_x_, of_part_, of_part_, preference, 1,
                                              &choice_, &found));
    if (found == 0) throw std::runtime_error("cuBLASLt has no algorithm");
    cublasLtMatmulPreferenceDestroy(preference);
  }
  ~Solution() {
    cublasLtMatrixLayoutDestroy(of_weight_);
    cublasLtMatrixLayoutDestroy(of_x_);
    cublasLtMatrixLayoutDestroy(of_part_);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(blas_);
    cudaFree(workspace_);
    cudaFree(parts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const float one = 1, zero = 0;
    __nv_bfloat16* mine = parts_ + rank_ * args.batch * args.rows;
    check_blas(cublasLtMatmul(blas_, product_, &one, args.weight, of_weight_, args.x, of_x_, &zero, mine, of_part_,
                              mine, of_part_, &choice_.algo, workspace_, kWorkspace, stream));
    fabricbench::check_nccl(
        ncclAllGather(mine, parts_, static_cast<size_t>(args.batch * args.rows), ncclBfloat16, comm_, stream));
    const auto quads = static_cast<unsigned>(args.rows / 8), batch = static_cast<unsigned>(args.batch),
               world = static_cast<unsigned>(world_);
    interleave<<<(batch * world * quads + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        reinterpret_cast<const int4*>(parts_), reinterpret_cast<int4*>(args.logits), batch, world, quads);
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_blas(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value));
  }

  static constexpr size_t kWorkspace = size_t{4} << 20;
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  cublasLtHandle_t blas_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t of_weight_ = nullptr, of_x_ = nullptr, of_part_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_ = {};
  void* workspace_ = nullptr;
  __nv_bfloat16* parts_ = nullptr;  // [rank][sequence][entry]
};
// [/solution]
