#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "virtual_node/fabric/nccl_model.h"

namespace fb::cli {
namespace {

struct NcclModelOptions {
  std::string platform = "h100x8", op = "all_reduce";
  uint32_t gpus = 0;
  uint64_t smallest = 8, largest = uint64_t{8} << 30;
  bool windows = false, all = false;
};

std::string line_of(const fabric::NcclChoice& choice, const fabric::NcclQuestion& q) {
  const double seconds = static_cast<double>(choice.time()) * 1e-12;
  const double bandwidth = static_cast<double>(q.bytes) / seconds * 1e-9;
  return fmt::format("{:>12} {:>11.2f} {:>8.2f} {:>8.2f}  {:<9} {:<7} {:>8}\n", q.bytes, seconds * 1e6, bandwidth,
                     bandwidth * fabric::bus_factor(q.op, q.ranks), name_of(choice.algorithm), name_of(choice.protocol),
                     choice.channels);
}

Result<std::string> table_of(const NcclModelOptions& o) {
  const auto platform = platform::load_platform(o.platform);
  if (!platform) return std::unexpected(platform.error());
  const auto op = fabric::nccl_op_from(o.op);
  if (!op) return error(fmt::format("there is no operation '{}'", o.op));
  fabric::NcclQuestion q;
  q.op = *op;
  q.ranks = o.gpus != 0 ? o.gpus : platform->node.devices;
  if (q.ranks < 2 || q.ranks > platform->devices())
    return error(fmt::format("{} has 2 to {} GPUs", o.platform, platform->devices()));
  q.nodes = (q.ranks + platform->node.devices - 1) / platform->node.devices;
  q.in_windows = o.windows;
  std::string text = fmt::format("# {}, {} of {} GPUs: what the model says of NCCL (docs/reference/nccl.md)\n",
                                 o.platform, o.op, q.ranks);
  if (q.nodes > 1) {
    const auto net = fabric::nccl_network(*platform, std::max(1u, q.ranks / q.nodes));
    text += fmt::format(
        "# {} nodes: {} cards of each, {:.1f} GB/s each way; {:.1f} us from a GPU to one of another node, {:.1f} of "
        "them "
        "for the cards\n",
        q.nodes, net.rails, net.bandwidth * 1e-9, static_cast<double>(net.hop) * 1e-6,
        static_cast<double>(net.card) * 1e-6);
  }
  text += fmt::format("{:>12} {:>11} {:>8} {:>8}  {:<9} {:<7} {:>8}\n", "size (B)", "time (us)", "algbw", "busbw",
                      "algorithm", "proto", "channels");
  for (q.bytes = std::max<uint64_t>(1, o.smallest); q.bytes <= o.largest; q.bytes *= 2) {
    const auto choices = fabric::nccl_choices(*platform, q);
    for (size_t k = 0; k < (o.all ? choices.size() : 1); ++k) text += line_of(choices[k], q);
  }
  return text;
}

}  // namespace

void add_nccl_model(Command& program, CommandRun& command_run) {
  auto o = std::make_shared<NcclModelOptions>();
  Command& command = program.add_command("nccl-model", "Print how long NCCL takes on a platform, as nccl-tests would");
  command.footer(
      "Examples:\n  fabricbench dev nccl-model --platform h100x8 --op all_reduce --gpus 8\n"
      "  fabricbench dev nccl-model --platform b300x8 --op all_gather --windows\n\n"
      "Operations: all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, gather, scatter, "
      "send_receive.\nSizes and bandwidths are those of nccl-tests, in GB/s.");
  command.add_option("--platform", o->platform, "Name of a platform, or a platform file").show_default();
  command.add_option("--op", o->op, "The operation").show_default();
  command.add_option("--gpus", o->gpus, "Ranks, one on each GPU (default: all of a node)");
  command.add_option("--min", o->smallest, "The smallest size, in bytes").show_default();
  command.add_option("--max", o->largest, "The largest size, in bytes; each is twice the one before")
      .check(in_range(uint64_t{1}, uint64_t{1} << 50))
      .show_default();
  command.add_flag("--windows", o->windows, "All buffers are in windows (ncclCommWindowRegister)");
  command.add_flag("--all", o->all, "Every algorithm and protocol, the fastest first");
  command.callback([o, &command_run] {
    const auto text = table_of(*o);
    if (!text) {
      print_error("{}", to_string(text.error(), "nccl-model"));
      return;
    }
    print_out("{}", *text);
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
