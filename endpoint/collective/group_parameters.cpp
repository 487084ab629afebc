#include "endpoint/collective/group_parameters.hpp"

#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <bit>

namespace tributary::collective {

std::string fault_of(const GroupParameters& p) {
  if (p.size == 0 || p.size > max_contributions) {
    return fmt::format("group size {} is outside 1 to {}", p.size, max_contributions);
  }
  if (p.rank >= p.size) {
    return fmt::format("rank {} is not below the group's size {}", p.rank, p.size);
  }
  if (p.root_rank >= p.size) {
    return fmt::format("root rank {} is not below the group's size {}", p.root_rank, p.size);
  }
  if (p.tree.value >= max_trees) {
    return fmt::format("tree {} is outside 0 to {}", p.tree.value, max_trees - 1);
  }
  if (p.twin && p.twin->value >= max_trees) {
    return fmt::format("twin tree {} is outside 0 to {}", p.twin->value, max_trees - 1);
  }
  if (p.twin && *p.twin == p.tree) {
    return fmt::format("tree {} is given as its own twin; two trees have two numbers",
                       p.tree.value);
  }
  if (p.twin && p.dialect == Dialect::cxi) {
    return "twin trees are unknown to cxi hosts; use one tree, or the native dialect";
  }
  if (!wire::is_valid_nid(p.nid)) {
    return fmt::format("NID {:#x} cannot stand in a frame: it has 20 bits and may not begin with "
                       "nine 1 bits",
                       p.nid.value);
  }
  if (p.root_nid && (*p.root_nid == p.nid) != p.is_root()) {
    return p.is_root()
               ? fmt::format(
                     "this member is the root, but the root's NID is given as {:#x} and its "
                     "own as {:#x}",
                     p.root_nid->value, p.nid.value)
               : fmt::format("the root's NID {:#x} is this leaf's own", p.nid.value);
  }
  if (p.retry_ns == 0 || p.collective_timeout_ns == 0 || p.result_timeout_ns == 0) {
    return "retry, collective and result time-outs must be longer than zero";
  }
  if (p.member_timeout_ns > 0 && p.member_timeout_ns < least_member_timeout_retries * p.retry_ns) {
    return fmt::format("a member time-out of {:.3f} s is too short: at least {} retry intervals, "
                       "which are {:.3f} s, or 0 to wait forever",
                       seconds_of(p.member_timeout_ns), least_member_timeout_retries,
                       seconds_of(least_member_timeout_retries * p.retry_ns));
  }
  const std::uint32_t ids = p.ids_of_tree();
  if (ids < reductions_per_tree || ids > most_reductions_per_tree || !std::has_single_bit(ids)) {
    return fmt::format("{} reductions in flight: there can be 8, 16, 32, 64 or 128", ids);
  }
  if (!std::has_single_bit(p.slots)) {
    return fmt::format("a range of {} ids: there can be 1, 2, 4 ... up to the tree's {}", p.slots,
                       ids);
  }
  if (p.first_id.value + p.slots > ids) {
    return fmt::format("ids {} to {}: the tree has the ids 0 to {}; give all members a range of "
                       "these",
                       p.first_id.value, p.first_id.value + p.slots - 1, ids - 1);
  }
  if (p.is_wide() &&
      (!wire::is_wide_payload(p.payload) || p.payload % wire::wide_payload_step != 0)) {
    return fmt::format("a payload of {} bytes: a group has 32, or a multiple of {} up to {}",
                       p.payload, wire::wide_payload_step,
                       wire::most_wide_payload / wire::wide_payload_step * wire::wide_payload_step);
  }
  if (p.dialect == Dialect::cxi &&
      (p.slots != reductions_per_tree || ids != reductions_per_tree || p.is_wide())) {
    return "cxi hosts know eight reductions in flight and frames of 32 bytes; leave slots and "
           "payload "
           "as they are, or use the native dialect";
  }
  if (p.in_switch && p.twin) {
    return "twin trees have no in-switch results: the first result of two trees wins at the root; "
           "use one tree, or leave `in_switch_results` off";
  }
  if (p.in_switch && p.dialect == Dialect::cxi) {
    return "cxi hosts do not support in-switch results; leave `in_switch_results` off, or use the "
           "native dialect";
  }
  if (p.shared && p.dialect == Dialect::cxi) {
    return "cxi hosts know no shared frames; leave `shared` off, or use the native dialect";
  }
  if (p.first_sequence.value() >= usable_sequences) {
    return fmt::format("first sequence {} is outside 0 to {}", p.first_sequence.value(),
                       usable_sequences - 1);
  }
  return {};
}

} // namespace tributary::collective
