// A host's RDMA: the node (endpoint/rdma) on the host's link, the program's transfers, and the
// control plane's interface. Created with the first call that needs it.
//
// Used under the loop's lock, like all of a host.
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
  Rdma(engine::Loop& loop, const RdmaSettings& settings, EndPoint address, std::uint16_t ethertype);
  ~Rdma();
  Rdma(const Rdma&) = delete;
  Rdma& operator=(const Rdma&) = delete;

  // For the program.

  [[nodiscard]] rdma::Node& node() { return node_; }
  [[nodiscard]] TransferTable& transfers() { return transfers_; }
  /// Takes over the ends of transfers from the node.
  void follow();
  /// Sends what was begun immediately.
  void send() { loop_->send(node_); }
  /// Ends what is in progress and notifies peers, as far as the link takes it without waiting, so
  /// that they need not time out.
  void say_goodbye();

  // For the control plane.

  /// The program uses this VNI.
  void uses(Vni vni) { vnis_.insert(vni); }
  [[nodiscard]] const std::set<Vni>& vnis() const { return vnis_; }
  /// The `user` of a write that is a probe, and not a transfer of the program: no number of a
  /// transfer has these bits.
  [[nodiscard]] static constexpr std::uint64_t probe_mark(std::uint32_t n) {
    return std::uint64_t{n} << 32;
  }
  /// Probes that have ended since the last call; call `follow` first.
  [[nodiscard]] std::vector<rdma::Completion> take_probes() { return std::exchange(probes_, {}); }

  /// Sets the fabric's policy, limited so that peers never have more in flight to this host than
  /// its link has room for, and windows are no wider than the node's memory. Requires a policy
  /// without a problem.
  void set_policy(const rdma_policy::Policy& policy) { node_.set_policy(fitted(policy)); }
  void set_policy(Vni vni, const rdma_policy::Policy& policy) {
    node_.set_policy(vni, fitted(policy));
  }
  bool set_quarantined(Nid peer, Vni vni, bool quarantined) {
    return node_.set_quarantined(peer, vni, quarantined);
  }
  [[nodiscard]] std::optional<rdma_policy::Exception> take_exception() {
    return node_.take_exception();
  }

private:
  [[nodiscard]] rdma_policy::Policy fitted(rdma_policy::Policy policy) const;

  engine::Loop* loop_;
  std::uint32_t receive_room_; ///< in frames
  rdma::Node node_;
  TransferTable transfers_;
  std::set<Vni> vnis_;
  std::vector<rdma::Completion> probes_; ///< probes that have ended
};

} // namespace tributary::library
