// Programs of two ranks that hang with network cards, each with a repaired form that ends: hangs NAME [repaired].
// run_hangs.py knows what the machine must say.

#include <poll.h>
#include <sys/time.h>

#include <string_view>
#include <thread>

#include "end.h"

namespace {

void missing_receive(bool ok) {
  End end;
  end.connect();
  if (rank() == 1 && ok) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void too_few_receives(bool ok) {
  End end;
  if (rank() == 1) {
    for (int k = 0; k < (ok ? 3 : 2); ++k) {
      if (k == 0) end.connect();
      end.receive();
    }
    for (int k = 0; k < 3; ++k) take(end.receive_cq);
    return;
  }
  end.connect();
  for (int k = 0; k < 3; ++k) end.send();
  for (int k = 0; k < 3; ++k) take(end.send_cq);
}

void receiver_in_init(bool ok) {
  Options o{.timeout = 0};
  if (rank() == 1 && !ok) o.last = IBV_QPS_INIT;
  End end(o);
  end.connect();
  if (rank() == 1) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void unreliable_in_init(bool ok) {
  Options o{.type = IBV_QPT_UC};
  if (rank() == 1 && !ok) o.last = IBV_QPS_INIT;
  End end(o);
  end.connect();
  if (rank() == 1) end.receive();
  barrier();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void posted_in_rtr(bool ok) {
  Options o;
  if (rank() == 0 && !ok) o.last = IBV_QPS_RTR;
  End end(o);
  end.connect();
  if (rank() == 1) end.receive();
  if (rank() == 0) end.send();  // what it returns is not looked at
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void wrong_number(bool ok) {
  End end({.timeout = 0, .wrong_number = rank() == 0 && !ok ? 1000u : 0u});
  end.connect();
  if (rank() == 1) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void wrong_lid(bool ok) {
  End end({.timeout = 0, .wrong_lid = static_cast<uint16_t>(rank() == 0 && !ok ? 500 : 0)});
  end.connect();
  if (rank() == 1) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void wrong_psn(bool ok) {
  End end({.receive_psn = rank() == 1 && !ok ? 100u : 0u});
  end.connect();
  if (rank() == 1) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

// Two queue pairs on each side, the second one of rank 0 connected to the first one of rank 1.
void crossed(bool ok) {
  End end({.timeout = 0});
  end.connect();
  ibv_qp* second = end.make_pair();
  const uint32_t theirs = exchange(second->qp_num);
  end.connect(second, rank() == 0 && !ok ? end.peer.number : theirs);
  ibv_sge piece;
  ibv_send_wr wr = end.request(piece), *bad = nullptr;
  if (rank() == 0) {
    ibv_post_send(second, &wr, &bad);
    take(end.send_cq);
  } else {
    piece = {reinterpret_cast<uint64_t>(end.memory), 64, end.mr->lkey};
    ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = &piece, .num_sge = 1}, *bad_receive = nullptr;
    ibv_post_recv(second, &receive, &bad_receive);
    take(end.receive_cq);
  }
}

void wait_for_event(End& end) {
  ibv_cq* cq = nullptr;
  void* cookie = nullptr;
  EXPECT(ibv_get_cq_event(end.channel, &cq, &cookie) == 0);
  ibv_ack_cq_events(cq, 1);
}

void armed_too_late(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    barrier();
    return;
  }
  end.receive();
  barrier();
  barrier();  // the message has come
  ibv_req_notify_cq(end.receive_cq, 0);
  ibv_wc wc{};
  if (ok && ibv_poll_cq(end.receive_cq, 1, &wc) == 1) return;
  wait_for_event(end);
}

void armed_once(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    barrier();
    end.send();
    take(end.send_cq);
    return;
  }
  end.receive();
  end.receive();
  ibv_req_notify_cq(end.receive_cq, 0);
  barrier();
  wait_for_event(end);
  take(end.receive_cq);
  if (ok) ibv_req_notify_cq(end.receive_cq, 0);
  barrier();
  wait_for_event(end);
}

void never_armed(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    return;
  }
  end.receive();
  if (ok) ibv_req_notify_cq(end.receive_cq, 0);
  barrier();
  wait_for_event(end);
}

// The channel's descriptor is looked at by poll().
void polled_channel(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    return;
  }
  end.receive();
  if (ok) ibv_req_notify_cq(end.receive_cq, 0);
  barrier();
  pollfd readable{.fd = end.channel->fd, .events = POLLIN, .revents = 0};
  poll(&readable, 1, -1);
}

void solicited_only(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send(IBV_WR_SEND, IBV_SEND_SIGNALED | (ok ? IBV_SEND_SOLICITED : 0));
    take(end.send_cq);
    return;
  }
  end.receive();
  ibv_req_notify_cq(end.receive_cq, 1);
  barrier();
  wait_for_event(end);
}

void not_acknowledged(bool ok) {
  End end({.channel = true});
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    return;
  }
  end.receive();
  ibv_req_notify_cq(end.receive_cq, 0);
  barrier();
  ibv_cq* cq = nullptr;
  void* cookie = nullptr;
  EXPECT(ibv_get_cq_event(end.channel, &cq, &cookie) == 0);
  take(end.receive_cq);
  if (ok) ibv_ack_cq_events(cq, 1);
  ibv_destroy_qp(end.qp);
  ibv_destroy_cq(end.receive_cq);
}

void full_queue(bool ok) {
  End end;
  end.connect();
  if (rank() == 1) {
    for (int k = 0; k < 6; ++k) end.receive();
    barrier();
    for (int k = 0; k < 6; ++k) take(end.receive_cq);
    barrier();
    return;
  }
  barrier();
  for (int k = 0; k < 6; ++k) {
    const unsigned flags = ok && k % 2 == 1 ? IBV_SEND_SIGNALED : 0;
    while (end.send(IBV_WR_SEND, flags) != 0) take(end.send_cq);
  }
  barrier();
}

// The same without a poll.
void posts_again(bool ok) {
  End end;
  end.connect();
  if (rank() == 1) {
    for (int k = 0; k < 6; ++k) end.receive();
    barrier();
    for (int k = 0; k < 6; ++k) take(end.receive_cq);
    barrier();
    return;
  }
  barrier();
  for (int k = 0; k < 6; ++k) {
    while (end.send(IBV_WR_SEND, IBV_SEND_SIGNALED) != 0) {
      ibv_wc wc{};
      if (ok) ibv_poll_cq(end.send_cq, 1, &wc);
    }
  }
  barrier();
}

void wrong_queue(bool ok) {
  End end;
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send();
    take(end.send_cq);
    return;
  }
  end.receive();
  barrier();
  take(ok ? end.receive_cq : end.send_cq);
}

void unsignalled(bool ok) {
  End end;
  end.connect();
  if (rank() == 1) {
    end.receive();
    take(end.receive_cq);
    barrier();
    return;
  }
  end.send(IBV_WR_SEND, ok ? IBV_SEND_SIGNALED : 0);
  take(end.send_cq);
  barrier();
}

void empty_shared_queue(bool ok) {
  End end({.shared = true});
  end.connect();
  if (rank() == 1 && ok) end.receive();
  if (rank() == 0) end.send();
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void limit_not_set_again(bool ok) {
  End end({.shared = true});
  if (rank() == 1) {
    for (int k = 0; k < 4; ++k) end.receive();
  }
  end.connect();
  if (rank() == 0) {
    for (int k = 0; k < 2; ++k) {
      barrier();
      for (int n = 0; n < 2; ++n) {
        end.send();
        take(end.send_cq);
      }
    }
    return;
  }
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  for (int k = 0; k < 2; ++k) {
    if (k == 0 || ok) ibv_modify_srq(end.srq, &limit, IBV_SRQ_LIMIT);
    barrier();
    for (ibv_async_event event{}; event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED;) {
      EXPECT(ibv_get_async_event(end.context, &event) == 0);
      ibv_ack_async_event(&event);
    }
    for (int n = 0; n < 2; ++n) {
      take(end.receive_cq);
      end.receive();
    }
  }
}

void write_without_immediate(bool ok) {
  End end;
  end.connect();
  if (rank() == 0) {
    barrier();
    end.send(ok ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE);
    take(end.send_cq);
    barrier();
    return;
  }
  end.receive();
  barrier();
  take(end.receive_cq);
  barrier();
}

// A message that is longer than its receive: both queue pairs fail, and no status is looked at.
void status_not_looked_at(bool ok) {
  End end;
  end.connect();
  if (rank() == 0) {
    barrier();
    for (int k = 0; k < 2; ++k) {
      end.send(IBV_WR_SEND, IBV_SEND_SIGNALED, ok ? 64 : 128);
      take(end.send_cq);
    }
    barrier();
    return;
  }
  end.receive();
  barrier();
  take(end.receive_cq);
  if (ok) end.receive();
  take(end.receive_cq);
  barrier();
}

void wrong_qkey(bool ok) {
  End end({.type = IBV_QPT_UD});
  end.connect();
  if (rank() == 1) end.receive(1024);
  barrier();
  if (rank() == 0) end.send_datagram(end.peer.number, ok ? 17 : 18);
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void no_room_for_header(bool ok) {
  End end({.type = IBV_QPT_UD});
  end.connect();
  if (rank() == 1) end.receive(ok ? 104 : 64);
  barrier();
  if (rank() == 0) end.send_datagram(end.peer.number, 17);
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void datagram_to_nobody(bool ok) {
  End end({.type = IBV_QPT_UD});
  end.connect();
  if (rank() == 1) end.receive(1024);
  barrier();
  if (rank() == 0) end.send_datagram(end.peer.number + (ok ? 0 : 777), 17);
  take(rank() == 0 ? end.send_cq : end.receive_cq);
}

void unreliable_too_early(bool ok) {
  End end({.type = IBV_QPT_UC});
  end.connect();
  if (rank() == 1 && ok) end.receive();
  barrier();
  if (rank() == 0) {
    end.send();
    take(end.send_cq);
    barrier();
    return;
  }
  if (!ok) {
    barrier();
    ibv_wc wc{};
    for (int k = 0; k < 200; ++k) ibv_poll_cq(end.receive_cq, 1, &wc);  // it comes meanwhile
    end.receive();
  }
  take(end.receive_cq);
  if (ok) barrier();
}

void both_wait(bool ok) {
  End end;
  end.connect();
  end.receive();
  barrier();
  if (rank() == 0 && ok) end.send();
  take(end.receive_cq);
  if (rank() == 1) end.send();
  if (rank() == 1) take(end.send_cq);
}

void no_event(bool ok) {
  End end;
  end.connect();
  if (rank() == 1) end.receive();
  barrier();
  if (rank() == 0) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    // The peer hears of that by its own requests alone.
    ibv_modify_qp(end.qp, &a, IBV_QP_STATE);
    return;
  }
  ibv_async_event event;
  if (ok) return;
  ibv_get_async_event(end.context, &event);
}

// A read that never ends, and a send behind it that waits by a fence.
void fence(bool ok) {
  End end({.timeout = 0, .wrong_number = rank() == 0 && !ok ? 1000u : 0u});
  end.connect();
  if (rank() == 1) {
    end.receive();
    take(end.receive_cq);
    barrier();
    return;
  }
  end.send(IBV_WR_RDMA_READ);
  end.send(IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
  take(end.send_cq);
  take(end.send_cq);
  barrier();
}

// A key that has been given back: both queue pairs fail, and the target waits for what comes behind.
void key_given_back(bool ok) {
  End end;
  end.connect();
  ibv_mr* extra = ibv_reg_mr(end.pd, end.memory + 4096, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  const uint32_t key = exchange(extra->rkey);
  if (rank() == 1) {
    if (!ok) ibv_dereg_mr(extra);
    end.receive();
    barrier();
    do {
    } while (take(end.receive_cq).status != IBV_WC_SUCCESS);
    barrier();
    return;
  }
  barrier();
  ibv_sge piece;
  ibv_send_wr write = end.request(piece, IBV_WR_RDMA_WRITE, 0), *bad = nullptr;
  write.wr.rdma.remote_addr = end.peer.address + 4096;
  write.wr.rdma.rkey = key;
  ibv_post_send(end.qp, &write, &bad);
  end.send();
  while (take(end.send_cq).status != IBV_WC_SUCCESS) continue;
  barrier();
}

void reads_not_allowed(bool ok) {
  End end({.reads_in = ok ? 1 : 0});
  end.connect();
  if (rank() == 1) {
    end.receive();
    barrier();
    while (take(end.receive_cq).status != IBV_WC_SUCCESS) continue;
    barrier();
    return;
  }
  barrier();
  end.send(IBV_WR_RDMA_READ);
  take(end.send_cq);  // its status is not looked at
  end.send();
  while (take(end.send_cq).status != IBV_WC_SUCCESS) continue;
  barrier();
}

void stopped_queue(bool ok) {
  End end;
  end.connect();
  if (rank() == 1) {
    end.receive();
    take(end.receive_cq);
    return;
  }
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_SQD;
  EXPECT(ibv_modify_qp(end.qp, &a, IBV_QP_STATE) == 0);
  end.send();
  a.qp_state = IBV_QPS_RTS;
  if (ok) EXPECT(ibv_modify_qp(end.qp, &a, IBV_QP_STATE) == 0);
  take(end.send_cq);
}

void peer_ended(bool ok) {
  End end;
  end.connect();
  end.receive();
  barrier();
  if (rank() == 1) {
    if (ok) {
      end.send();
      take(end.send_cq);
    }
    return;
  }
  take(end.receive_cq);
}

// The main thread waits for one that polls.
void joined(bool ok) {
  End end;
  end.connect();
  if (rank() == 0) {
    barrier();
    if (ok) end.send();
    if (ok) take(end.send_cq);
    barrier();
    return;
  }
  end.receive();
  barrier();
  std::thread([&] { take(end.receive_cq); }).join();
  barrier();
}

__global__ void wait_for_flag(volatile int* flag) {
  while (*flag == 0) continue;
}

// A kernel waits for a flag in memory of its GPU that the other rank should write.
void flag_not_written(bool ok) {
  End end;
  end.connect();
  int* flag = nullptr;
  EXPECT(cudaMalloc(&flag, 4096) == cudaSuccess && cudaMemset(flag, 0, 4096) == cudaSuccess);
  cudaDeviceSynchronize();
  ibv_mr* mr = ibv_reg_mr(end.pd, flag, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  EXPECT(mr);
  const Name theirs = exchange(Name{0, mr->rkey, 0, reinterpret_cast<uint64_t>(flag)});
  if (rank() == 1) {
    wait_for_flag<<<1, 1>>>(flag);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    barrier();
    return;
  }
  ibv_sge piece;
  ibv_send_wr wr = end.request(piece, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 4), *bad = nullptr;
  end.memory[4096] = 1;
  wr.wr.rdma.remote_addr = theirs.address + (ok ? 0 : 64);
  wr.wr.rdma.rkey = theirs.key;
  EXPECT(ibv_post_send(end.qp, &wr, &bad) == 0);
  take(end.send_cq);
  barrier();
}

// Loops that end by themselves are no hangs.
void counted_polls(bool) {
  End end;
  end.connect();
  end.receive();
  ibv_wc wc{};
  int polls = 0;
  while (polls < 5'000'000 && ibv_poll_cq(end.receive_cq, 1, &wc) == 0) ++polls;
  EXPECT(polls == 5'000'000);
}

void timed_polls(bool) {
  End end;
  end.connect();
  end.receive();
  const auto milliseconds = [] {
    timeval now{};
    gettimeofday(&now, nullptr);
    return now.tv_sec * 1000 + now.tv_usec / 1000;
  };
  const auto begin = milliseconds();
  ibv_wc wc{};
  while (milliseconds() - begin < 1000) EXPECT(ibv_poll_cq(end.receive_cq, 1, &wc) == 0);
}

struct Program {
  std::string_view name;
  void (*run)(bool repaired);
};
#define PROGRAM(name) {#name, name}
constexpr Program kPrograms[] = {
    PROGRAM(missing_receive),
    PROGRAM(too_few_receives),
    PROGRAM(receiver_in_init),
    PROGRAM(unreliable_in_init),
    PROGRAM(posted_in_rtr),
    PROGRAM(wrong_number),
    PROGRAM(wrong_lid),
    PROGRAM(wrong_psn),
    PROGRAM(crossed),
    PROGRAM(armed_too_late),
    PROGRAM(armed_once),
    PROGRAM(never_armed),
    PROGRAM(polled_channel),
    PROGRAM(solicited_only),
    PROGRAM(not_acknowledged),
    PROGRAM(full_queue),
    PROGRAM(posts_again),
    PROGRAM(wrong_queue),
    PROGRAM(unsignalled),
    PROGRAM(empty_shared_queue),
    PROGRAM(limit_not_set_again),
    PROGRAM(write_without_immediate),
    PROGRAM(status_not_looked_at),
    PROGRAM(wrong_qkey),
    PROGRAM(no_room_for_header),
    PROGRAM(datagram_to_nobody),
    PROGRAM(unreliable_too_early),
    PROGRAM(both_wait),
    PROGRAM(no_event),
    PROGRAM(fence),
    PROGRAM(key_given_back),
    PROGRAM(reads_not_allowed),
    PROGRAM(stopped_queue),
    PROGRAM(peer_ended),
    PROGRAM(joined),
    PROGRAM(flag_not_written),
    PROGRAM(counted_polls),
    PROGRAM(timed_polls),
};

}  // namespace

int main(int count, char** words) {
  const std::string_view name = count > 1 ? words[1] : "";
  for (const Program& program : kPrograms) {
    if (program.name != name) continue;
    program.run(count > 2 && std::string_view(words[2]) == "repaired");
    std::printf("rank %d: over\n", rank());
    return 0;
  }
  return 2;
}
