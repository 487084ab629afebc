// Texts about why a group has ended, and which members are missing.
#pragma once

#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/library/host.hpp"

#include <string>

namespace tributary::library {

/// "rank 3 (host h3: its lease ended)", with the fabric manager's information.
[[nodiscard]] std::string ranks_text(const collective::MissingRanks& missing,
                                     const tributary_group* group = nullptr);
/// The enum tributary_error that calls return once the group has ended.
[[nodiscard]] int failure_code(const tributary_group& group);
/// Requires that it has ended.
[[nodiscard]] std::string failure_text(const tributary_group& group);
/// Lines about members that the fabric manager reports as failing; "" without any.
[[nodiscard]] std::string absent_text(const tributary_group& group);
/// ": rank 3 did not", as far as it is known.
[[nodiscard]] std::string who_did_not_leave(const tributary_group& group);

} // namespace tributary::library
