// Protection domains, memory regions and memory windows.

#include "shim/verbs/call.h"
#include "shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

// Memory of the program must be known to the machine before a card may touch it.
ibv_mr* register_memory(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, int access) {
  uint64_t sharing = 0;
  if (bytes == 0) return nothing(EINVAL);
  constexpr int kNoMemory = 2;  // cudaErrorMemoryAllocation
  if (const int failed = fabricbench_share(address, bytes, &sharing); failed != 0)
    return nothing(failed == kNoMemory ? ENOMEM : EFAULT);
  wire::VerbsMade made;
  const int error = make_object({.kind = wire::VerbsObject::region,
                                 .parent = of(pd).id,
                                 .address = reinterpret_cast<uint64_t>(address),
                                 .bytes = bytes,
                                 .iova = iova,
                                 .access = static_cast<uint32_t>(access)},
                                made);
  if (error != 0) {
    fabricbench_unshare(sharing);
    return nothing(error);
  }
  auto* const region = new Region;
  region->id = made.id;
  region->sharing = sharing;
  region->access = access;
  region->base = {.context = pd->context,
                  .pd = pd,
                  .addr = address,
                  .length = bytes,
                  .handle = static_cast<uint32_t>(made.id),
                  .lkey = made.key,
                  .rkey = made.key};
  return &region->base;
}

}  // namespace

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  wire::VerbsMade made;
  if (const int error = make_object(
          {.kind = wire::VerbsObject::window, .parent = of(pd).id, .type = static_cast<uint32_t>(type)}, made);
      error != 0)
    return nothing(error);
  auto* const window = new Window;
  window->id = made.id;
  window->base = {
      .context = pd->context, .pd = pd, .rkey = made.key, .handle = static_cast<uint32_t>(made.id), .type = type};
  return &window->base;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if (bind->bind_info.mr && bind->bind_info.mr->pd != mw->pd) return EPERM;
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = bind->wr_id;
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = static_cast<unsigned int>(bind->send_flags);
  request.bind_mw.mw = mw;
  request.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  request.bind_mw.bind_info = bind->bind_info;
  const int error = post_send(qp, &request, &bad);
  if (error == 0) mw->rkey = request.bind_mw.rkey;
  return error;
}

int dealloc_mw(ibv_mw* mw) {
  const int error = end_object(wire::VerbsObject::window, of(mw).id);
  if (error == 0) delete &of(mw);
  return error;
}

}  // namespace fb::shim::verbs

using namespace fb::shim::verbs;
namespace wire = fb::wire;

FB_VERBS ibv_pd* ibv_alloc_pd(ibv_context* context) {
  wire::VerbsMade made;
  if (const int error = make_object({.kind = wire::VerbsObject::domain, .parent = of(context).id}, made); error != 0)
    return nothing(error);
  auto* const domain = new Domain;
  domain->id = made.id;
  domain->base = {.context = context, .handle = static_cast<uint32_t>(made.id)};
  return &domain->base;
}

FB_VERBS int ibv_dealloc_pd(ibv_pd* pd) {
  const int error = end_object(wire::VerbsObject::domain, of(pd).id);
  if (error == 0) delete &of(pd);
  return error;
}

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
FB_VERBS ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t bytes, int access) {
  return register_memory(pd, address, bytes, reinterpret_cast<uint64_t>(address), access);
}

FB_VERBS ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, int access) {
  return register_memory(pd, address, bytes, iova, access);
}

FB_VERBS ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, unsigned int access) {
  return register_memory(pd, address, bytes, iova, static_cast<int>(access));
}

FB_VERBS int ibv_dereg_mr(ibv_mr* mr) {
  Region& region = of(mr);
  const int error = end_object(wire::VerbsObject::region, region.id);
  if (error != 0) return error;
  if (region.sharing != 0) fabricbench_unshare(region.sharing);
  delete &region;
  return 0;
}

// Programs that fork get their memory as the system gives it: shared pages stay shared.
FB_VERBS int ibv_fork_init() { return 0; }
FB_VERBS ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
FB_VERBS int ibv_dontfork_range(void*, size_t);
FB_VERBS int ibv_dontfork_range(void*, size_t) { return 0; }
FB_VERBS int ibv_dofork_range(void*, size_t);
FB_VERBS int ibv_dofork_range(void*, size_t) { return 0; }
