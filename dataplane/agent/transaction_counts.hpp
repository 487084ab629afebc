// Counters of the manager's transactions in a switch.
#pragma once

#include "lib/statistics/counter_info.hpp"

#include <cstdint>

namespace tributary::agent {

struct TransactionCounts {
  std::uint64_t prepared = 0;
  std::uint64_t committed = 0;
  std::uint64_t refused = 0;
  std::uint64_t aborted = 0;
  std::uint64_t forgotten = 0;

  static constexpr statistics::CounterRow<TransactionCounts, std::uint64_t TransactionCounts::*>
      rows[] = {
          {&TransactionCounts::prepared, {"prepared", "Transactions prepared."}},
          {&TransactionCounts::committed,
           {"committed", "Transactions of the manager that were committed.",
            "transactions_committed"}},
          {&TransactionCounts::refused,
           {"refused", "Transactions of the manager that were refused.", "transactions_refused"}},
          {&TransactionCounts::aborted, {"aborted", "Transactions aborted by the manager."}},
          {&TransactionCounts::forgotten,
           {"forgotten", "Prepared transactions that were dropped when the channel broke."}},
  };
};
static_assert(statistics::all_have_rows<TransactionCounts>);

} // namespace tributary::agent
