// Keeps the guard's table in force: as the jobs and the interfaces of the moment want it, also
// after another program has removed it or an interface has come or gone.
//
// While it is not in force no socket may be handed out; `error` says why. Sockets that programs
// have stay theirs: the last rules that the kernel accepted hold.
#pragma once

#include "endpoint/agent/guard.hpp"
#include "endpoint/agent/job.hpp"
#include "endpoint/hostd/nft.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace tributary::hostd {

class Guardian {
public:
  struct Settings {
    std::string interface;
    std::uint16_t ethertype = 0;
    std::optional<std::uint32_t> nid; ///< absent: from the interface's address
    host_agent::Mark prefix;
  };

  Guardian(Settings settings, Nft nft);

  /// The mark given last, as the table in force says; empty without a table. For the start. Throws
  /// NftError.
  [[nodiscard]] std::optional<host_agent::Mark> highest_in_force();

  /// Compares the table in force with what is wanted, and replaces it if they differ. Returns
  /// whether it did.
  bool reconcile(host_agent::Mark highest);
  /// Lets a mark send, or no longer; in force when it returns. Throws NftError.
  void allow(const host_agent::Allowance& allowance, host_agent::Mark highest);
  /// All at once: the rules change once. If this fails, the next `reconcile` does it.
  void forbid(std::span<const host_agent::Allowance> allowances, host_agent::Mark highest);
  /// The same without changing the rules: for the start.
  void expect(const host_agent::Allowance& allowance);

  /// Why no socket may be handed out; "" if one may.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const host_agent::Guarded& guarded() const { return guarded_; }
  /// As of now, or of the last time that the table could be read.
  [[nodiscard]] host_agent::GuardCounts counts();
  /// As of the last time.
  [[nodiscard]] const host_agent::GuardCounts& last_counts() const { return last_counts_; }

private:
  [[nodiscard]] host_agent::Guarded interfaces_now();
  [[nodiscard]] std::optional<host_agent::GuardState> in_force() const;
  [[nodiscard]] bool is_as_wanted(const host_agent::GuardState& state,
                                  host_agent::Mark highest) const;
  void replace(host_agent::Mark highest);

  Settings settings_;
  Nft nft_;
  host_agent::Guarded guarded_;
  std::map<host_agent::Mark, Vni> allowed_;
  host_agent::Mark highest_{};
  host_agent::GuardCounts last_counts_{};
  bool is_current_ = false; ///< the table in force is for `guarded_`
  std::string error_ = "the guard's rules are not in force yet";
};

} // namespace tributary::hostd
