// Which of the addresses of a service is asked next: in turn, from the one that served last, or the
// one that another one names. So a standby that names a leader which is gone keeps no client from
// the one that leads.
//
//   AddressRound round(addresses.size());
//   do { ask(addresses[round.at()]); } while (unanswered && round.advance());
//
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::net {

class AddressRound {
public:
  /// Throws std::invalid_argument without an address.
  explicit AddressRound(std::size_t count) : asked_(count) {
    if (count == 0) {
      throw std::invalid_argument("a service without an address");
    }
  }

  [[nodiscard]] std::size_t count() const { return asked_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  /// A new round, from the present address on.
  void begin() {
    std::fill(asked_.begin(), asked_.end(), false);
    named_.reset();
  }
  /// The service at the present address has named this one.
  void name(std::size_t address) { named_ = address; }
  /// Moves to the one that was named, or to the next, if it was not asked in this round. False when
  /// all were: then a new round begins with the next one.
  [[nodiscard]] bool advance() {
    asked_[at_] = true;
    if (const auto named = std::exchange(named_, std::nullopt); named && !asked_[*named]) {
      at_ = *named;
      return true;
    }
    for (std::size_t step = 1; step < count(); ++step) {
      if (const std::size_t next = (at_ + step) % count(); !asked_[next]) {
        at_ = next;
        return true;
      }
    }
    at_ = (at_ + 1) % count();
    begin();
    return false;
  }

private:
  std::vector<bool> asked_; ///< in this round, by address
  std::size_t at_ = 0;
  std::optional<std::size_t> named_;
};

} // namespace tributary::net
