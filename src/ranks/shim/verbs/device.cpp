// Cards: listing, opening, and what they are.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

constexpr uint32_t kVendor = 0x02c9, kConnectX7 = 4129;
constexpr uint16_t kDefaultPkey = 0xffff;
constexpr uint32_t kMostCards = 64;

// Made once; contexts refer to them, whatever becomes of lists.
const std::vector<std::unique_ptr<Device>>& devices() {
  static const auto* const all = [] {
    auto* const made = new std::vector<std::unique_ptr<Device>>;
    std::vector<wire::CardFacts> facts(kMostCards);
    wire::VerbsCards reply;
    if (!exchange<wire::Kind::verbs_cards>({}, reply, std::as_writable_bytes(std::span(facts)))) return made;
    for (uint32_t k = 0; k < std::min(reply.cards, kMostCards); ++k) {
      auto device = std::make_unique<Device>();
      device->facts = facts[k];
      device->card = k;
      ibv_device& base = device->base;
      base.node_type = IBV_NODE_CA;
      base.transport_type = IBV_TRANSPORT_IB;
      std::snprintf(base.name, sizeof base.name, "mlx5_%u", k);
      std::snprintf(base.dev_name, sizeof base.dev_name, "uverbs%u", k);
      std::snprintf(base.dev_path, sizeof base.dev_path, "/sys/class/infiniband_verbs/uverbs%u", k);
      std::snprintf(base.ibdev_path, sizeof base.ibdev_path, "/sys/class/infiniband/mlx5_%u", k);
      made->push_back(std::move(device));
    }
    return made;
  }();
  return *all;
}

Device& of_device(ibv_device* device) { return *reinterpret_cast<Device*>(device); }

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr, size_t bytes) {
  if (port != 1) return EINVAL;
  const wire::CardFacts& f = of(context).device->facts;
  constexpr uint8_t kFourLanes = 2, kLinkUp = 5;
  ibv_port_attr a{};
  a.state = IBV_PORT_ACTIVE;
  a.max_mtu = a.active_mtu = mtu_code(f.mtu);
  a.gid_tbl_len = 1;
  a.max_msg_sz = static_cast<uint32_t>(f.message);
  a.pkey_tbl_len = 1;
  a.lid = static_cast<uint16_t>(f.lid);
  a.sm_lid = 1;
  a.max_vl_num = 4;
  a.subnet_timeout = 18;
  a.active_width = kFourLanes;
  // Codes of the rates of four lanes: EDR, HDR, NDR.
  a.active_speed = f.gigabits >= 400 ? 128 : f.gigabits >= 200 ? 64 : 32;
  a.phys_state = kLinkUp;
  a.link_layer = IBV_LINK_LAYER_INFINIBAND;
  std::memset(attr, 0, bytes);
  std::memcpy(attr, &a, std::min(bytes, sizeof a));
  return 0;
}

int query_device(ibv_context* context, ibv_device_attr* attr) {
  const wire::CardFacts& f = of(context).device->facts;
  const auto objects = static_cast<int>(f.objects);
  ibv_device_attr a{};
  std::snprintf(a.fw_ver, sizeof a.fw_ver, "28.39.1002");
  a.node_guid = a.sys_image_guid = htobe64(f.guid);
  a.max_mr_size = ~uint64_t{0};
  a.page_size_cap = 0xfffffffffffff000;
  a.vendor_id = kVendor;
  a.vendor_part_id = kConnectX7;
  a.max_qp = static_cast<int>(f.queue_pairs);
  a.max_qp_wr = static_cast<int>(f.work_requests);
  a.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                       IBV_DEVICE_XRC | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                       IBV_DEVICE_CURR_QP_STATE_MOD;
  a.max_sge = a.max_sge_rd = static_cast<int>(f.pieces);
  a.max_cq = static_cast<int>(f.completion_queues);
  a.max_cqe = static_cast<int>(f.completions);
  a.max_mr = a.max_pd = a.max_mw = a.max_ah = a.max_srq = objects;
  a.max_qp_rd_atom = a.max_qp_init_rd_atom = static_cast<int>(f.reads);
  a.max_res_rd_atom = static_cast<int>(f.reads * f.queue_pairs);
  a.atomic_cap = IBV_ATOMIC_HCA;
  a.max_srq_wr = static_cast<int>(f.work_requests) - 1;
  a.max_srq_sge = static_cast<int>(f.pieces);
  a.max_pkeys = 1;
  a.local_ca_ack_delay = 16;
  a.phys_port_cnt = 1;
  *attr = a;
  return 0;
}

// Clocks of cards count nanoseconds of virtual time.
constexpr uint64_t kClockKilohertz = 1'000'000;

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex* attr, size_t bytes) {
  ibv_device_attr_ex a{};
  query_device(context, &a.orig_attr);
  a.completion_timestamp_mask = ~uint64_t{0};
  a.hca_core_clock = kClockKilohertz;
  a.phys_port_cnt_ex = 1;
  std::memset(attr, 0, bytes);
  std::memcpy(attr, &a, std::min(bytes, sizeof a));
  return 0;
}

// As the processor's counter, which costs next to nothing to read (virtual_node/machine/requests/handle_host_time.cpp).
uint64_t read_cycles() {
  wire::HostTime time;
  return ask<wire::Kind::host_time>({.zero = 1}, time) ? time.nanoseconds : 0;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
  if ((values->comp_mask & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  wire::HostTime time;
  if (!ask<wire::Kind::host_time>({}, time)) return EIO;
  values->raw_clock.tv_sec = 0;
  values->raw_clock.tv_nsec = static_cast<long>(time.nanoseconds);
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

}  // namespace

Context& of(const ibv_context* context) {
  auto* const verbs = const_cast<verbs_context*>(reinterpret_cast<const verbs_context*>(
      reinterpret_cast<const char*>(context) - offsetof(verbs_context, context)));
  return *reinterpret_cast<Context*>(reinterpret_cast<char*>(verbs) - offsetof(Context, verbs));
}

}  // namespace fb::shim::verbs

using namespace fb::shim::verbs;

FB_VERBS ibv_device** ibv_get_device_list(int* count) {
  const auto& all = devices();
  auto** const list = static_cast<ibv_device**>(std::calloc(all.size() + 1, sizeof(ibv_device*)));
  if (!list) return nothing(ENOMEM);
  for (size_t k = 0; k < all.size(); ++k) list[k] = &all[k]->base;
  if (count) *count = static_cast<int>(all.size());
  return list;
}

FB_VERBS void ibv_free_device_list(ibv_device** list) { std::free(list); }

FB_VERBS const char* ibv_get_device_name(ibv_device* device) { return device->name; }

FB_VERBS int ibv_get_device_index(ibv_device* device) { return static_cast<int>(of_device(device).card) + 1; }

FB_VERBS __be64 ibv_get_device_guid(ibv_device* device) { return htobe64(of_device(device).facts.guid); }

FB_VERBS ibv_context* ibv_open_device(ibv_device* device) {
  // Programs of RDMA measure by the cycle counter: under --virtual-clock it is virtual, too.
  using Trap = void (*)(uint64_t (*)());
  if (const auto trap = reinterpret_cast<Trap>(::dlsym(RTLD_DEFAULT, "fabricbench_trap_cycle_counter")))
    trap(read_cycles);
  Device& of_list = of_device(device);
  fb::wire::VerbsMade made;
  int events = -1;
  if (const int error = make_object({.kind = fb::wire::VerbsObject::context, .card = of_list.card}, made, &events);
      error != 0)
    return nothing(error);
  auto* const context = new Context;
  context->id = made.id;
  context->device = &of_list;
  verbs_context& v = context->verbs;
  v.sz = sizeof v;
  v.query_port = query_port;
  v.query_device_ex = query_device_ex;
  v.query_rt_values = query_rt_values;
  v.create_cq_ex = create_cq_ex;
  v.create_qp_ex = create_qp_ex;
  v.create_srq_ex = create_srq_ex;
  v.alloc_td = alloc_td;
  v.dealloc_td = dealloc_td;
  v.alloc_parent_domain = alloc_parent_domain;
  v.open_xrcd = open_xrcd;
  v.close_xrcd = close_xrcd;
  v.get_srq_num = get_srq_num;
  v.open_qp = open_qp;
  ibv_context& c = v.context;
  c.device = device;
  c.cmd_fd = -1;
  c.async_fd = events;
  c.num_comp_vectors = 1;
  pthread_mutex_init(&c.mutex, nullptr);
  c.abi_compat = __VERBS_ABI_IS_EXTENDED;
  c.ops.alloc_mw = alloc_mw;
  c.ops.bind_mw = bind_mw;
  c.ops.dealloc_mw = dealloc_mw;
  c.ops.poll_cq = poll_cq;
  c.ops.req_notify_cq = req_notify_cq;
  c.ops.post_srq_recv = post_srq_recv;
  c.ops.post_send = post_send;
  c.ops.post_recv = post_recv;
  return &c;
}

FB_VERBS int ibv_close_device(ibv_context* context) {
  Context& c = of(context);
  const int error = end_object(fb::wire::VerbsObject::context, c.id);
  ::close(context->async_fd);
  delete &c;
  return error;
}

FB_VERBS int ibv_query_device(ibv_context* context, ibv_device_attr* attr) { return query_device(context, attr); }

#undef ibv_query_port
FB_VERBS int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attr) {
  // Programs of before `flags` have a shorter struct.
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), offsetof(ibv_port_attr, flags));
}

FB_VERBS int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  std::memcpy(gid->raw, of(context).device->facts.gid.data(), sizeof gid->raw);
  return 0;
}

FB_VERBS int ibv_query_gid_type(ibv_context*, uint8_t port, unsigned int index, int* type);
FB_VERBS int ibv_query_gid_type(ibv_context*, uint8_t port, unsigned int index, int* type) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *type = IBV_GID_TYPE_IB;
  return 0;
}

FB_VERBS int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                               uint32_t flags, size_t bytes) {
  if (flags != 0 || port != 1) return EINVAL;
  if (index != 0) return ENODATA;
  ibv_gid_entry made{};
  ibv_query_gid(context, 1, 0, &made.gid);
  made.port_num = 1;
  made.gid_type = IBV_GID_TYPE_IB;
  std::memcpy(entry, &made, std::min(bytes, sizeof made));
  return 0;
}

FB_VERBS ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t most, uint32_t flags,
                                      size_t bytes) {
  if (flags != 0 || most < 1) return -EINVAL;
  const int error = _ibv_query_gid_ex(context, 1, 0, entries, 0, bytes);
  return error == 0 ? 1 : -error;
}

FB_VERBS int ibv_query_pkey(ibv_context*, uint8_t port, int index, __be16* pkey) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = htons(kDefaultPkey);
  return 0;
}

FB_VERBS int ibv_get_pkey_index(ibv_context*, uint8_t port, __be16 pkey) {
  if (port == 1 && pkey == htons(kDefaultPkey)) return 0;
  errno = EINVAL;
  return -1;
}
