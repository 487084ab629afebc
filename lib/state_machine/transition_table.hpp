// The transitions of a state machine, as one table: what each event does in each state, and the
// names of both.
//
//   constexpr TransitionTable<State, Event, std::optional<State>, 3, 2> table{
//       {"absent", "wanted", "ready"},
//       {{{Event::want, "want", {State::wanted, _, _}},
//         {Event::make, "make", {_, State::ready, _}}}}};
//   static_assert(table.is_in_order());
//   table.at(State::absent, Event::want)      -> wanted
//
// `Cell` is what a transition says: the next state or nothing, or more. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tributary::state_machine {

template <typename State, typename Event, typename Cell, std::size_t states, std::size_t events>
struct TransitionTable {
  struct Row {
    Event event;
    std::string_view name;
    std::array<Cell, states> cells; ///< by state
  };
  std::array<std::string_view, states> state_names;
  std::array<Row, events> rows; ///< in the order of the enumeration

  [[nodiscard]] constexpr const Cell& at(State state, Event event) const {
    return row(event).cells[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] constexpr std::string_view name_of(State state) const {
    return state_names[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] constexpr std::string_view name_of(Event event) const { return row(event).name; }
  /// Whether each row is that of its event.
  [[nodiscard]] constexpr bool is_in_order() const {
    for (std::size_t i = 0; i < events; ++i) {
      if (static_cast<std::size_t>(rows[i].event) != i) {
        return false;
      }
    }
    return true;
  }

private:
  [[nodiscard]] constexpr const Row& row(Event event) const {
    return rows[static_cast<std::size_t>(event)];
  }
};

} // namespace tributary::state_machine
