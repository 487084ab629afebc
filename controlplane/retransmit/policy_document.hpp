// The retransmit policy of the fabric: of each VNI, and of all that have none of their own.
//
//   built in  <-  the manager's file  <-  set for all VNIs  <-  set for this one
//
// What stands further right holds. What was set while the manager runs is kept as differences, one
// number each, so that a default that changes reaches whoever has not set it. A change is taken as
// a whole: what would make any VNI's policy invalid changes nothing, and the error names the
// field, the value and what it may be.
//
//   PolicyDocument document(version);
//   document.configure("window=512")                    from the file, again with every reload
//   document.set({Vni{1024}}, {{"initial_timeout_ns", 2'000'000}})      "" or what is wrong
//   document.of(Vni{1024}), document.version()
//
// Pure.
#pragma once

#include "lib/rdma_policy/policy.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::retransmit {

using rdma_policy::Policy;

/// A VNI; nothing: all that have no setting of their own.
using Scope = std::optional<Vni>;

struct Setting {
  std::string field; ///< lib/rdma_policy/policy_fields.hpp
  std::uint64_t value = 0;
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// What a person wrote for a value: "512", "2ms", "on". Units of times: ns, us, ms, s; without one
/// nanoseconds. Nothing, and `error` says why, when the field is unknown or the text none of its
/// values.
[[nodiscard]] std::optional<Setting> read_setting(std::string_view field, std::string_view value,
                                                  std::string& error);

class PolicyDocument {
public:
  using Settings = std::map<std::string, std::uint64_t, std::less<>>;
  /// VNIs with settings of their own, so that a document has a size.
  static constexpr std::size_t most_scopes = 4096;

  /// Versions are above `version`.
  explicit PolicyDocument(std::uint64_t version) : version_(version) {}

  /// Lines of the manager's file, "FIELD=VALUE" or "VNI/FIELD=VALUE", in the place of those before.
  /// "" or what is wrong; nothing has changed then.
  [[nodiscard]] std::string configure(std::span<const std::string> lines);
  /// All of them or none; "" or what is wrong.
  [[nodiscard]] std::string set(Scope scope, std::span<const Setting> settings);
  /// As it would be without them; no fields: all that were set. "" or what is wrong: a field that
  /// there is not, or a policy that makes no sense without them. `erased`: what was set and is not
  /// any more.
  [[nodiscard]] std::string reset(Scope scope, std::span<const std::string> fields,
                                  std::vector<std::string>& erased);
  /// Stored ones; those that this program does not take are left out, and named.
  [[nodiscard]] std::vector<std::string> restore(const std::map<Scope, Settings>& stored);

  [[nodiscard]] Policy of(Scope scope) const { return resolved(configured_, set_, scope); }
  /// What was set, by scope.
  [[nodiscard]] const std::map<Scope, Settings>& differences() const { return set_; }
  /// VNIs that have any setting of their own, ascending.
  [[nodiscard]] std::vector<Vni> vnis() const;
  /// Rises with every change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

private:
  using Scopes = std::map<Scope, Settings>;
  [[nodiscard]] static Policy resolved(const Scopes& configured, const Scopes& set, Scope scope);
  /// "" or what is wrong with the policy of some scope.
  [[nodiscard]] static std::string problem_of(const Scopes& configured, const Scopes& set);

  Scopes configured_;
  Scopes set_;
  std::uint64_t version_;
};

/// "VNI 1024", "all VNIs"
[[nodiscard]] std::string name_of(Scope scope);

} // namespace tributary::retransmit
