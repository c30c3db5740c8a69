// Protection domains, memory regions and memory windows.

#include <fcntl.h>

#include <memory>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/objects.h"
#include "ranks/shim/verbs/observe.h"

namespace fb::shim::verbs {
namespace {

// What a card may do with which memory.
struct Registration {
  ibv_pd* pd = nullptr;
  void* address = nullptr;
  size_t bytes = 0;
  uint64_t iova = 0;
  int access = 0;
};

// Fills the region; a number of errno. Memory of the program must be known to the machine before a card may touch it.
int fill(Region& region, const Registration& r) {
  if (r.bytes == 0) return EINVAL;
  uint64_t sharing = 0;
  constexpr int kNoMemory = 2;  // cudaErrorMemoryAllocation
  if (const int failed = fabricbench_share(r.address, r.bytes, &sharing); failed != 0)
    return failed == kNoMemory ? ENOMEM : EFAULT;
  wire::VerbsMade made;
  const int error = make_object({.kind = wire::VerbsObject::region,
                                 .parent = of(r.pd).id,
                                 .address = reinterpret_cast<uint64_t>(r.address),
                                 .bytes = r.bytes,
                                 .iova = r.iova,
                                 .access = static_cast<uint32_t>(r.access)},
                                made);
  if (error != 0) {
    fabricbench_unshare(sharing);
    return error;
  }
  region.id = made.id;
  region.sharing = sharing;
  region.access = r.access;
  region.iova = r.iova;
  region.memory = r.address;
  region.base = {.context = r.pd->context,
                 .pd = r.pd,
                 .addr = r.address,
                 .length = r.bytes,
                 .handle = static_cast<uint32_t>(made.id),
                 .lkey = made.key,
                 .rkey = made.key};
  observe(r.address, r.bytes);
  return 0;
}

ibv_mr* register_memory(const Registration& r) {
  auto region = std::make_unique<Region>();
  if (const int error = fill(*region, r); error != 0) return nothing(error);
  return &region.release()->base;
}

int release(const Region& region) {
  const int error = end_object(wire::VerbsObject::region, region.id);
  if (error != 0) return error;
  forget(region.memory, region.base.length);
  if (region.sharing != 0) fabricbench_unshare(region.sharing);
  return 0;
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

// Thread domains say that one thread alone uses what is made with them; parent domains carry them. Cards need no such
// hint.

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) {
  if (init->comp_mask != 0) return nothing(EINVAL);
  auto* const made = new ThreadDomain;
  made->base = {.context = context};
  return &made->base;
}

int dealloc_td(ibv_td* td) {
  auto* const domain = reinterpret_cast<ThreadDomain*>(td);
  if (domain->users != 0) return EBUSY;
  delete domain;
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) {
  if (!init->pd || init->pd->context != context) return nothing(EINVAL);
  // Allocators are offered; what cards need is not made by them.
  constexpr uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if ((init->comp_mask & ~kKnown) != 0) return nothing(EINVAL);
  Domain& plain = of(init->pd);
  auto* const made = new Domain;
  made->id = plain.id;
  made->parent = plain.parent ? plain.parent : &plain;
  made->thread_domain = reinterpret_cast<ThreadDomain*>(init->td);
  ++made->parent->users;
  if (made->thread_domain) ++made->thread_domain->users;
  made->base = {.context = context, .handle = init->pd->handle};
  return &made->base;
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
  Domain& domain = of(pd);
  if (domain.users != 0) return EBUSY;
  if (domain.parent) {
    --domain.parent->users;
    if (domain.thread_domain) --domain.thread_domain->users;
    delete &domain;
    return 0;
  }
  const int error = end_object(wire::VerbsObject::domain, domain.id);
  if (error == 0) delete &domain;
  return error;
}

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
FB_VERBS ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t bytes, int access) {
  return register_memory({pd, address, bytes, reinterpret_cast<uint64_t>(address), access});
}

FB_VERBS ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, int access) {
  return register_memory({pd, address, bytes, iova, access});
}

FB_VERBS ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, unsigned int access) {
  return register_memory({pd, address, bytes, iova, static_cast<int>(access)});
}

FB_VERBS ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t iova, int descriptor,
                                   int access) {
  uint64_t address = 0, there = 0;
  constexpr uint64_t kPage = 4096;
  if (::fcntl(descriptor, F_GETFD) < 0) return nothing(EBADF);
  if (fabricbench_dma_buffer(descriptor, &address, &there) != 0) return nothing(EINVAL);
  // Pages of the card: as far into one by its address as by its offset.
  if (iova % kPage != offset % kPage) return nothing(EINVAL);
  if (bytes == 0 || offset > there || bytes > there - offset) return nothing(EINVAL);
  ibv_mr* const mr = register_memory({pd, reinterpret_cast<void*>(address + offset), bytes, iova, access});
  if (mr) mr->addr = nullptr;  // as real ones: the process need not have the memory in its own addresses
  return mr;
}

// A region with other keys takes the place of the old one.
FB_VERBS int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t bytes, int access) {
  constexpr int kKnown = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  Region& region = of(mr);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  if (flags == 0 || (flags & ~kKnown) != 0 || (moves && (!address || bytes == 0)) ||
      ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && !pd)) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  const Registration wanted{.pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd : mr->pd,
                            .address = moves ? address : region.memory,
                            .bytes = moves ? bytes : mr->length,
                            .iova = moves ? reinterpret_cast<uint64_t>(address) : region.iova,
                            .access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? access : region.access};
  Region next;
  if (const int error = fill(next, wanted); error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
  }
  // Bound windows hold the old one.
  if (const int error = release(region); error != 0) {
    release(next);
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
  }
  region = next;
  return 0;
}

FB_VERBS int ibv_dereg_mr(ibv_mr* mr) {
  Region& region = of(mr);
  const int error = release(region);
  if (error == 0) delete &region;
  return error;
}

// Programs that fork get their memory as the system gives it: shared pages stay shared.
FB_VERBS int ibv_fork_init() { return 0; }
FB_VERBS ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
FB_VERBS int ibv_dontfork_range(void*, size_t);
FB_VERBS int ibv_dontfork_range(void*, size_t) { return 0; }
FB_VERBS int ibv_dofork_range(void*, size_t);
FB_VERBS int ibv_dofork_range(void*, size_t) { return 0; }
