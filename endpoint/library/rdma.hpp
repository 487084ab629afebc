// A host's RDMA: the node (endpoint/rdma) on the host's link, the transfers that the program has
// begun, and what the control plane may say and hear. Made with the first call that needs it.
//
// Used under the loop's lock, like all that a host has.
#pragma once

#include "endpoint/engine/loop.hpp"
#include "endpoint/library/rdma_settings.hpp"
#include "endpoint/library/transfer_table.hpp"
#include "endpoint/rdma/node.hpp"
#include "lib/rdma_policy/exceptions.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tributary::library {

class Rdma {
public:
  /// Requires that nothing is pending at the loop's port: it gets longer frames.
  Rdma(engine::Loop& loop, const RdmaSettings& settings, Nid nid, std::uint16_t ethertype);
  ~Rdma();
  Rdma(const Rdma&) = delete;
  Rdma& operator=(const Rdma&) = delete;

  // For the program.

  [[nodiscard]] rdma::Node& node() { return node_; }
  [[nodiscard]] TransferTable& transfers() { return transfers_; }
  /// What the node says has ended is over from here on.
  void follow();
  /// Has what was begun leave at once.
  void send() { loop_->send(node_); }
  /// Ends what is in progress, and tells peers so, as far as the link takes it at once: they need
  /// not find out.
  void say_goodbye();

  // For the control plane.

  /// The program has to do with others in this VNI.
  void uses(Vni vni) { vnis_.insert(vni); }
  [[nodiscard]] const std::set<Vni>& vnis() const { return vnis_; }
  /// What a write bears for `user` that is a probe, and no transfer of the program: no number of a
  /// transfer has these bits.
  [[nodiscard]] static constexpr std::uint64_t probe_mark(std::uint32_t n) {
    return std::uint64_t{n} << 32;
  }
  /// That have ended since the last call, and `follow`.
  [[nodiscard]] std::vector<rdma::Completion> take_probes() { return std::exchange(probes_, {}); }

  /// As the fabric has it; but peers never have more on its way to this host than its link has room
  /// for, and windows are no wider than the node's memory. Requires a policy without a problem.
  void set_policy(const rdma_policy::Policy& policy) { node_.set_policy(fitted(policy)); }
  void set_policy(Vni vni, const rdma_policy::Policy& policy) {
    node_.set_policy(vni, fitted(policy));
  }
  bool set_parked(Nid peer, Vni vni, bool parked) { return node_.set_parked(peer, vni, parked); }
  [[nodiscard]] std::optional<rdma_policy::Exception> take_exception() {
    return node_.take_exception();
  }

private:
  [[nodiscard]] rdma_policy::Policy fitted(rdma_policy::Policy policy) const;

  engine::Loop* loop_;
  std::uint32_t receive_room_; ///< frames
  rdma::Node node_;
  TransferTable transfers_;
  std::set<Vni> vnis_;
  std::vector<rdma::Completion> probes_; ///< that have ended
};

} // namespace tributary::library
