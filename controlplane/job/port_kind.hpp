// The ports of a job's hosts as a subject of transactions: the VNIs that may enter there, from
// their hosts alone. Switches hold no part of it but the permissions.
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

/// What is done about the ports of an allocation's nodes.
enum class PortPolicy : std::uint8_t {
  closed,  ///< they take in its VNIs, what groups and other allocations need there, and no others
  guarded, ///< its VNIs are permitted, and they take in nothing that comes from other hosts
  open,    ///< nothing
};
inline constexpr std::array<std::string_view, 3> port_policies = {"closed", "guarded", "open"};
/// Requires one of these.
[[nodiscard]] PortPolicy port_policy_named(std::string_view name);

struct HostPort {
  topology::Attachment at;
  Nid nid;
};

class PortKind final : public transaction::Kind {
public:
  /// The same as long as the job is not forgotten.
  [[nodiscard]] transaction::Subject subject_of(const std::string& job);
  [[nodiscard]] std::optional<std::string>
  job_of(const std::optional<transaction::Subject>& subject) const;
  void forget(const std::string& job);
  /// Nothing where there is nothing to be done. `open`: its VNIs may enter, from whomever.
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
