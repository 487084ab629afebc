// What the ranks of a communicator agree on when it is set up: one reduction (AND) of seven words.
//
//   word 0   signature of the team's ranks as this rank has it
//   word 1   its complement. A result in which it is not the complement of word 0 comes from ranks
//            that believe different things
//   word 2   yes-or-no answers; all bits that are not listed are 1
//   word 3   teams of these ranks that are idle here, by number
//   word 4   numbers of teams that are vacant here
//   word 5   at rank 0 the key of a new team, elsewhere ones
//   word 6   at rank 0 the page at which the search for a context begins, elsewhere ones
//
// So every rank computes the same verdict from the result alone: the idle team with the lowest
// number is taken; without one a new team gets the lowest vacant number, or none, and then ends
// with its communicator. A rank that cannot take part for now offers no team and no number.
#pragma once

#include "endpoint/mpi/model/message.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace tributary::mpi {

/// Number of a team among those of the same ranks, 0 to 63.
using TeamNumber = std::uint32_t;
inline constexpr TeamNumber team_numbers = 64;

struct SetupOffer {
  using Words = std::array<std::uint64_t, 7>;

  std::uint64_t signature = 0;
  bool able = true;   ///< nothing is known here that prevents a group
  bool useful = true; ///< not known that the network is slower at all sizes
  bool untold = true; ///< no line about a refused communicator is known here
  std::uint64_t idle = 0;
  std::uint64_t vacant = 0;
  std::optional<TeamKey> key{}; ///< only at rank 0
  std::uint16_t page = 0;       ///< counts at rank 0

  [[nodiscard]] Words words() const;
};

/// The same at all ranks.
struct SetupVerdict {
  bool alike = false; ///< all signatures are equal; otherwise nothing else counts
  bool able = false;
  bool useful = false;
  bool untold = false;
  std::optional<TeamNumber> idle;   ///< the team that is taken
  std::optional<TeamNumber> vacant; ///< number of a new one, if there is no idle one
  TeamKey key = 0;                  ///< of a new one
  std::uint16_t page = 0;           ///< where its search for a context begins

  /// `all`: the AND of all ranks' words.
  [[nodiscard]] static SetupVerdict from(const SetupOffer::Words& all);
};

/// The numbers of the teams of one list of ranks, at one rank of them.
class TeamNumbers {
public:
  /// Whether an agreement may offer them: one at a time, for two that took the same team could not
  /// both have it. The others offer nothing meanwhile, and do not wait.
  [[nodiscard]] bool try_to_own();
  void disown() { owned_ = false; }
  [[nodiscard]] bool is_owned() const { return owned_; }

  [[nodiscard]] std::uint64_t idle() const { return idle_; }
  [[nodiscard]] std::uint64_t vacant() const { return vacant_; }
  /// Whether no number is in use or idle, and no agreement owns them.
  [[nodiscard]] bool is_unused() const { return vacant_ == ~std::uint64_t{0} && !owned_; }

  /// An idle or vacant one is now in use.
  void take(TeamNumber number);
  /// One in use is now idle.
  void put_aside(TeamNumber number) { idle_ |= bit(number); }
  /// One in use or idle is now vacant: its team has ended, or is ending.
  void give_back(TeamNumber number);

private:
  [[nodiscard]] static std::uint64_t bit(TeamNumber number) { return std::uint64_t{1} << number; }

  std::uint64_t idle_ = 0;
  std::uint64_t vacant_ = ~std::uint64_t{0};
  bool owned_ = false;
};

} // namespace tributary::mpi
