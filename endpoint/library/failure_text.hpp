// Why a group has ended, and who is missing, in words.
#pragma once

#include "endpoint/collective/missing_ranks.hpp"
#include "endpoint/library/host.hpp"

#include <string>

namespace tributary::library {

/// "rank 3 (host h3: its lease ended)", with what the fabric manager said of them.
[[nodiscard]] std::string ranks_text(const collective::MissingRanks& missing,
                                     const tributary_group* group = nullptr);
/// Which enum tributary_error a call of a group that has ended answers.
[[nodiscard]] int failure_code(const tributary_group& group);
/// Requires that it has ended.
[[nodiscard]] std::string failure_text(const tributary_group& group);
/// Lines about members of whom the fabric manager says that something is wrong; "" without.
[[nodiscard]] std::string absent_text(const tributary_group& group);
/// ": rank 3 did not", as far as it is known.
[[nodiscard]] std::string who_did_not_leave(const tributary_group& group);

} // namespace tributary::library
