#include "endpoint/library/status_text.hpp"

#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"

#include <fmt/format.h>

#include <iterator>

namespace tributary::library {

std::string status_text(const collective::Member& member, TimeNs now) {
  using collective::Waiting;
  const collective::GroupParameters& group = member.parameters();
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}: {} {} of {}, {} pieces completed\n",
                 group.twin ? fmt::format("trees {} and {}", group.tree.value, group.twin->value)
                            : fmt::format("tree {}", group.tree.value),
                 member.is_root() ? "root, rank" : "leaf, rank", group.rank, group.size,
                 member.statistics().completed);
  if (group.slots < group.ids_of_tree()) {
    fmt::format_to(out, "  ids {} to {} of the tree's {}\n", group.first_id.value,
                   group.first_id.value + group.slots - 1, group.ids_of_tree());
  }
  if (group.slots > reductions_per_tree) {
    fmt::format_to(
        out, "  {} reductions of {} bytes in flight{}\n", group.slots, group.payload,
        group.window < group.slots
            ? fmt::format(", {} of them at the same time: the kernel gives this host's socket no "
                          "larger receive buffer (see net.core.rmem_max, or CAP_NET_ADMIN)",
                          group.window)
            : "");
  }
  const collective::Status status = member.status();
  for (const collective::ReductionStatus& entry : status) {
    if (entry.waiting == Waiting::idle) {
      continue;
    }
    fmt::format_to(out, "  reduction {}: piece {}, {} for {:.3f} s", entry.id.value, entry.piece,
                   name_of(entry.waiting), seconds_of(elapsed_ns(now, entry.since)));
    if (entry.waiting == Waiting::for_contributions) {
      fmt::format_to(out, ", {} of {} came", entry.count, entry.size);
      if (entry.count_on_other_tree) {
        fmt::format_to(out, " on tree {} and {} on the other", entry.tree.value,
                       *entry.count_on_other_tree);
      }
    }
    if (!entry.missing.empty()) {
      fmt::format_to(out, ", {} {} missing", ranks_text(entry.missing),
                     entry.missing.count == 1 ? "is" : "are");
    } else if (entry.missing_rank) {
      fmt::format_to(out, ", rank {} is missing", *entry.missing_rank);
    }
    if (!member.is_root() && entry.waiting != Waiting::for_owner) {
      fmt::format_to(
          out, ", the root (rank {}) was {}", group.root_rank,
          entry.root_heard_at
              ? fmt::format("heard {:.3f} s ago", seconds_of(elapsed_ns(now, *entry.root_heard_at)))
              : "never heard");
    }
    if (entry.sequence) {
      fmt::format_to(out, ", sequence {}", entry.sequence->value());
    }
    if (entry.refused > 0) {
      fmt::format_to(out, ", {} full counts refused because a contribution was counted twice",
                     entry.refused);
    }
    if (entry.refused > collective::immediate_retries) {
      fmt::format_to(out, " (do all members give the same check_contributions?)");
    }
    fmt::format_to(out, ", {} retries\n", entry.retries);
  }
  return text;
}

std::string contexts_text(const tributary_group& group) {
  const HostContexts& all = group.host->contexts();
  const std::uint64_t on_this_tree = all.in_use_on(*group.tree);
  return on_this_tree == 0
             ? ""
             : fmt::format("  {} groups of this host share this tree, and {} all its trees; {} "
                           "trees serve dups only\n",
                           on_this_tree, all.in_use(), all.further_trees());
}

} // namespace tributary::library
