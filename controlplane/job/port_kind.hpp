// The ports of a job's hosts as a subject of transactions: the VNIs that may enter there, and only
// from their hosts. Switches hold only the permissions.
//
// Pure.
#pragma once

#include "controlplane/transaction/kind.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::job {

inline constexpr transaction::KindNumber port_kind{3};

/// How the ports of an allocation's nodes are treated.
enum class PortPolicy : std::uint8_t {
  closed,  ///< only its VNIs and those of groups and other allocations there may enter
  guarded, ///< its VNIs are permitted, and frames with the source of another host are refused
  open,    ///< no change
};
inline constexpr std::array<std::string_view, 3> port_policies = {"closed", "guarded", "open"};
/// Requires one of these names.
[[nodiscard]] PortPolicy port_policy_named(std::string_view name);

struct HostPort {
  topology::Attachment at;
  Nid nid;
};

class PortKind final : public transaction::Kind {
public:
  /// Constant until the job is forgotten.
  [[nodiscard]] transaction::Subject subject_of(const std::string& job);
  [[nodiscard]] std::optional<std::string>
  job_of(const std::optional<transaction::Subject>& subject) const;
  void forget(const std::string& job);
  /// Nothing where no change is needed. `open`: its VNIs may enter, from any host.
  [[nodiscard]] std::optional<transaction::Target> target_of(const std::string& job,
                                                             std::span<const HostPort> ports,
                                                             std::span<const Vni> vnis,
                                                             PortPolicy policy);

  [[nodiscard]] transaction::KindNumber number() const override { return port_kind; }
  [[nodiscard]] bool has_needs_alone() const override { return true; }
  [[nodiscard]] std::string describe(const transaction::Subject& subject) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Target& target) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Subject& subject, const transaction::Part& part,
            const transaction::Inventory::Switch& at) const override;
  [[nodiscard]] transaction::Order order(const transaction::Subject& subject,
                                         const transaction::Target* target,
                                         const transaction::Inventory& inventory) const override;
  [[nodiscard]] transaction::ContentPtr
  alone(const transaction::Subject& subject, const transaction::Part& part,
        const transaction::Inventory& inventory) const override;

private:
  std::map<std::string, std::uint64_t> numbers_;
  std::map<std::uint64_t, std::string> jobs_;
  std::uint64_t last_number_ = 0;
};

} // namespace tributary::job
