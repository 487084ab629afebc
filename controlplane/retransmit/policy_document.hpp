// The retransmit policy of the fabric: one for each VNI, and one for all without their own.
//
//   built in  <-  the manager's file  <-  set for all VNIs  <-  set for this one
//
// The rightmost setting applies. Settings made while the manager runs are kept as differences, one
// field each, so that a changed default reaches all VNIs without a setting of their own. A change
// is atomic: if it would make any VNI's policy invalid, nothing changes, and the error names the
// field, the value and the allowed range.
//
//   PolicyDocument document(version);
//   document.configure("window=512")                    from the file, again with every reload
//   document.set({Vni{1024}}, {{"initial_timeout_ns", 2'000'000}})      "" or the error
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

/// A VNI; nothing: all without a setting of their own.
using Scope = std::optional<Vni>;

struct Setting {
  std::string field; ///< lib/rdma_policy/policy_fields.hpp
  std::uint64_t value = 0;
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// Parses a value written by a person: "512", "2ms", "on". Units of times: ns, us, ms, s;
/// nanoseconds by default. Nothing, with `error` set, when the field is unknown or the value
/// invalid.
[[nodiscard]] std::optional<Setting> read_setting(std::string_view field, std::string_view value,
                                                  std::string& error);

class PolicyDocument {
public:
  using Settings = std::map<std::string, std::uint64_t, std::less<>>;
  /// Most VNIs with settings of their own; it bounds a document.
  static constexpr std::size_t most_scopes = 4096;

  /// Versions are above `version`.
  explicit PolicyDocument(std::uint64_t version) : version_(version) {}

  /// Lines of the manager's file, "FIELD=VALUE" or "VNI/FIELD=VALUE"; replaces the previous lines.
  /// Returns "" or the error; on error nothing has changed.
  [[nodiscard]] std::string configure(std::span<const std::string> lines);
  /// All of them or none; "" or the error.
  [[nodiscard]] std::string set(Scope scope, std::span<const Setting> settings);
  /// Removes the settings of these fields; no fields: all of them. Returns "" or the error: an
  /// unknown field, or a policy that is invalid without them. `erased`: the settings removed.
  [[nodiscard]] std::string reset(Scope scope, std::span<const std::string> fields,
                                  std::vector<std::string>& erased);
  /// Restores stored settings; returns the names of those that are invalid here, which are left
  /// out.
  [[nodiscard]] std::vector<std::string> restore(const std::map<Scope, Settings>& stored);

  [[nodiscard]] Policy of(Scope scope) const { return resolved(configured_, set_, scope); }
  /// Settings by scope.
  [[nodiscard]] const std::map<Scope, Settings>& differences() const { return set_; }
  /// VNIs with any setting of their own, ascending.
  [[nodiscard]] std::vector<Vni> vnis() const;
  /// Rises with every change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

private:
  using Scopes = std::map<Scope, Settings>;
  [[nodiscard]] static Policy resolved(const Scopes& configured, const Scopes& set, Scope scope);
  /// "" or the error in the policy of some scope.
  [[nodiscard]] static std::string problem_of(const Scopes& configured, const Scopes& set);

  Scopes configured_;
  Scopes set_;
  std::uint64_t version_;
};

/// "VNI 1024", "all VNIs"
[[nodiscard]] std::string name_of(Scope scope);

} // namespace tributary::retransmit
