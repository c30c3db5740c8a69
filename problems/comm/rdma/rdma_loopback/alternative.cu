// [solution]
// Extended queue pairs and completion queues, a completion for every request, and addresses by GID instead of LID.
struct End {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq_ex* queue = nullptr;
  ibv_qp* pair = nullptr;
  ibv_gid gid = {};

  void make(ibv_device* device) {
    using fabricbench::check_verbs;
    context = check_verbs(ibv_open_device(device), "ibv_open_device");
    domain = check_verbs(ibv_alloc_pd(context), "ibv_alloc_pd");
    ibv_cq_init_attr_ex facts = {};
    facts.cqe = 8;
    facts.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
    queue = check_verbs(ibv_create_cq_ex(context, &facts), "ibv_create_cq_ex");
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = ibv_cq_ex_to_cq(queue);
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    wanted.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = domain;
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE;
    pair = check_verbs(ibv_create_qp_ex(context, &wanted), "ibv_create_qp_ex");
    check_verbs(ibv_query_gid(context, 1, 0, &gid), "ibv_query_gid");
  }

  void connect(const End& other) const {
    using fabricbench::check_verbs;
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    check_verbs(ibv_modify_qp(pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = other.pair->qp_num;
    a.max_dest_rd_atomic = 1;
    a.min_rnr_timer = 1;
    a.ah_attr.port_num = 1;
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.dgid = other.gid;
    a.ah_attr.grh.hop_limit = 1;
    check_verbs(ibv_modify_qp(pair, &a,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                "RTR");
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    a.max_rd_atomic = 1;
    check_verbs(ibv_modify_qp(pair, &a,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                  IBV_QP_MAX_QP_RD_ATOMIC),
                "RTS");
  }

  ibv_mr* reg(const void* memory, size_t bytes) const {
    constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    return fabricbench::check_verbs(ibv_reg_mr(domain, const_cast<void*>(memory), bytes, kAll), "ibv_reg_mr");
  }

  void await(int completions) const {
    for (ibv_poll_cq_attr attributes = {}; completions > 0;) {
      if (ibv_start_poll(queue, &attributes) != 0) continue;
      const ibv_wc_status status = queue->status;
      ibv_end_poll(queue);
      if (status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(status));
      --completions;
    }
  }
};

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args& args) : bytes_(static_cast<size_t>(4 * args.n)) {
    ibv_device** const list = fabricbench::check_verbs(ibv_get_device_list(nullptr), "ibv_get_device_list");
    from_.make(list[0]);
    to_.make(list[args.card]);
    ibv_free_device_list(list);
    from_.connect(to_);
    to_.connect(from_);
    regions_[0] = from_.reg(args.in, 3 * bytes_);
    regions_[1] = to_.reg(args.sent, bytes_);
    regions_[2] = to_.reg(args.written, bytes_);
    regions_[3] = to_.reg(args.fetched, bytes_);
    post_receive(args);
  }
  ~Solution() {
    for (const End& end : {from_, to_}) ibv_destroy_qp(end.pair);
    for (ibv_mr* const region : regions_) ibv_dereg_mr(region);
    for (const End& end : {from_, to_}) {
      ibv_destroy_cq(ibv_cq_ex_to_cq(end.queue));
      ibv_dealloc_pd(end.domain);
      ibv_close_device(end.context);
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto in = reinterpret_cast<uint64_t>(args.in);
    const auto bytes = static_cast<uint32_t>(bytes_);
    ibv_qp_ex* const reader = ibv_qp_to_qp_ex(to_.pair);
    ibv_wr_start(reader);
    ibv_wr_rdma_read(reader, regions_[0]->rkey, in + 2 * bytes_);
    ibv_wr_set_sge(reader, regions_[3]->lkey, reinterpret_cast<uint64_t>(args.fetched), bytes);
    fabricbench::check_verbs(ibv_wr_complete(reader), "ibv_wr_complete");
    ibv_qp_ex* const writer = ibv_qp_to_qp_ex(from_.pair);
    ibv_wr_start(writer);
    ibv_wr_rdma_write(writer, regions_[2]->rkey, reinterpret_cast<uint64_t>(args.written));
    ibv_wr_set_sge(writer, regions_[0]->lkey, in + bytes_, bytes);
    ibv_wr_send(writer);
    ibv_wr_set_sge(writer, regions_[0]->lkey, in, bytes);
    fabricbench::check_verbs(ibv_wr_complete(writer), "ibv_wr_complete");
    from_.await(2);
    to_.await(2);
    post_receive(args);  // for the next call: nothing is sent into it before that
  }

 private:
  void post_receive(const Args& args) {
    ibv_sge room = {reinterpret_cast<uint64_t>(args.sent), static_cast<uint32_t>(bytes_), regions_[1]->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.sg_list = &room;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(to_.pair, &work, &bad), "ibv_post_recv");
  }

  size_t bytes_;
  End from_, to_;
  ibv_mr* regions_[4] = {};
};
// [/solution]
