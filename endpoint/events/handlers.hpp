// The handlers of a process, and the order in which an event passes them (PMIx 4.1, chapter 9; the
// order inside a category is our own code, because libpmix 4.2 refuses "before" and "after").
//
//   first      at most one handler of the process; in front of all others
//   single     those that named one code
//   several    those that named more
//   any        those that named none: they get every event that the process gets
//   last       at most one; after all others
//
// Inside single, several and any: its first handler, then by `Order`, by default newest in front,
// then its last handler. A handler gets the codes it named, of events that touch its job; of others
// if it asked for the environment.
//
// Pure.
#pragma once

#include "endpoint/events/event.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tributary::events {

using HandlerId = std::uint64_t;

enum class Place : std::uint8_t { by_codes, first, last };
enum class Order : std::uint8_t {
  newest_first, ///< in front of the existing ones
  append,       ///< after the existing ones
  first,        ///< the first of its category, whatever is registered later; one at a time
  last,         ///< the last of its category
  before,       ///< in front of `relative_to`, which must be in the same category
  after,
};

struct HandlerOptions {
  std::string name{}; ///< "": none; what others are before or after, and what it resumes by
  std::vector<int> codes{};
  Place place = Place::by_codes;
  Order order = Order::newest_first;
  std::string relative_to{};
  bool environment = false; ///< also events that do not touch the job
  bool past = true;         ///< also events from before it was registered
};

class Handlers {
public:
  struct Error {
    enum class Kind : std::uint8_t { argument, taken };
    Kind kind{};
    std::string text;
  };
  using Added = std::variant<HandlerId, Error>;

  [[nodiscard]] Added add(HandlerOptions options);
  /// False for an unknown id.
  bool remove(HandlerId id);
  /// Null for an unknown id.
  [[nodiscard]] const HandlerOptions* find(HandlerId id) const;
  [[nodiscard]] static bool wants(const HandlerOptions& handler, const Event& event);
  /// The handlers that the event passes, in order.
  [[nodiscard]] std::vector<HandlerId> chain_of(const Event& event) const;
  /// In order of registration.
  [[nodiscard]] std::vector<HandlerId> all() const;

private:
  struct Handler {
    HandlerId id = 0;
    HandlerOptions options;
  };
  using List = std::vector<Handler>;
  static constexpr std::size_t first_list = 0, single_list = 1, several_list = 2, any_list = 3,
                               last_list = 4;
  [[nodiscard]] static std::size_t list_of(const HandlerOptions& options);
  [[nodiscard]] std::optional<Error> problem(const HandlerOptions& options) const;
  [[nodiscard]] std::optional<Error> insert(List& list, Handler handler);

  std::array<List, 5> lists_; ///< in the order in which events pass them
  HandlerId next_ = 1;
};

} // namespace tributary::events
