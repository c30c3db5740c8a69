#pragma once

// Copies that complete later: cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async.
//
// Order: an instruction resolves and checks both ends when it is issued and hands the copy to the machine, which
// performs it when it likes, in any order: code that does not wait reads old bytes. A copy reads its source when it is
// performed, so code that changes the source too early is found out as well. Reading and writing are one step, so that
// wait_group.read waits for the whole copy.
//
// Lifetime: the machine keeps `block` and `other` of every pending copy alive (a block whose threads have exited may
// not be destroyed), and performs all copies of a grid before the grid counts as finished, because they hold host
// addresses of global memory.

#include <cstdint>
#include <functional>

#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

class Block;
class Warp;
struct SharedRef;

// Performs `copy` and does the accounting of its groups.
void complete(const AsyncCopy& copy);

// For instructions

// Hands a copy of the given lanes to the machine; all these lanes must have the same open group (see same_group).
// `other`: the block whose shared memory is touched, if it is not the warp's own.
void start_copy(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                std::function<void()> perform);
// A product, whose reads of shared memory are under way until it is complete.
void start_product(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                   const Product& product);
// Something that happens when the warp's products are complete.
void start_behind_products(Warp& w, const Inst& i, Mask lanes, Block* other, std::function<void()> perform);
// Those of `lanes` whose open group has the same number as the first one's.
Mask same_group(Warp& w, GroupKind kind, Mask lanes);

// Closes the open group of each lane. `told`: the lanes that the listener hears of, if not the same.
void commit_group(Warp& w, GroupKind kind, Mask lanes, Mask told = 0);
// A lane has a pending group older than its `newest` most recent ones.
bool must_wait(Warp& w, GroupKind kind, Mask lanes, uint32_t newest);

// The executing lanes have waited for all but their newest groups: reported to the listener.
void tell_waited(Warp& w, const Inst& i, GroupKind kind, uint32_t newest);

// cp.async.mbarrier.arrive of one lane.
void arrive_after_copies(Warp& w, const Inst& i, uint32_t lane, const SharedRef& mbarrier);

}  // namespace fb::simt
