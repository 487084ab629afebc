#include "endpoint/library/parameters.hpp"

#include "endpoint/library/boundary.hpp"

namespace tributary::library {

namespace {

std::uint64_t ns(std::uint32_t usec) { return std::uint64_t{usec} * 1000; }

} // namespace

collective::GroupParameters parameters_of(const tributary_host& host,
                                          const tributary_group_options& options) {
  require(options.tree < max_trees, "the tree is outside 0 to 8191");
  require(options.twin_tree < max_trees || options.twin_tree == TRIBUTARY_NO_TREE,
          "the twin tree is outside 0 to 8191");
  collective::GroupParameters p;
  p.tree = TreeNumber{static_cast<std::uint16_t>(options.tree)};
  if (options.twin_tree != TRIBUTARY_NO_TREE) {
    p.twin = TreeNumber{static_cast<std::uint16_t>(options.twin_tree)};
  }
  p.vni = Vni{options.vni};
  p.cookie = Cookie{options.cookie};
  p.rank = options.rank;
  p.size = options.size;
  p.root_rank = options.root_rank;
  p.nid = host.nid();
  if (options.root_nid != TRIBUTARY_NID_UNKNOWN) {
    p.root_nid = Nid{options.root_nid};
  }
  p.ethertype = host.ethertype();
  p.destination = wire::port_mac(host.nid());
  p.source = host.loop().port().address();
  p.armed = options.armed != 0;
  p.dialect = options.cxi_compatible != 0 ? collective::Dialect::cxi : collective::Dialect::native;
  p.check_contributions = options.check_contributions != 0;
  p.nan_mode = options.ieee_nan != 0 ? reduce::NanMode::ieee : reduce::NanMode::associative;
  p.retry_ns = ns(options.retry_usec);
  p.collective_timeout_ns = ns(options.collective_timeout_usec);
  p.result_timeout_ns = ns(options.result_timeout_usec);
  p.leave_timeout_ns = ns(options.leave_timeout_usec);
  p.leave_grace_ns = ns(options.leave_grace_usec);
  p.member_timeout_ns = ns(options.member_timeout_usec);
  p.sends_marks = true;
  require(options.first_id < most_reductions_per_tree, "the first id is outside 0 to 127");
  require(options.ids != 0 || options.first_id == 0,
          "a range of ids begins at first_id and has no length: give ids, too");
  require(options.first_sequence < usable_sequences, "the first sequence is outside 0 to 1021");
  p.slots = options.ids == 0 ? options.slots : options.ids;
  p.tree_slots = options.slots;
  p.first_id = ReductionId{static_cast<std::uint8_t>(options.first_id)};
  p.first_sequence = SequenceNumber{options.first_sequence};
  p.payload = options.payload;
  p.in_switch = options.in_switch_results != 0;
  p.shared = options.shared != 0;
  return p;
}

} // namespace tributary::library
