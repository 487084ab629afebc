// Who leads, as far as this manager knows: the interface to what decides it, such as a replicated
// store.
#pragma once

#include <optional>
#include <string>

namespace tributary::standby {

/// The manager that leads, and where it is reached.
struct LeaderPlace {
  std::string name;     ///< of its configuration
  std::string url;      ///< of its HTTP API, as clients have it in their lists
  std::string switches; ///< its address for switches, as they have it in their lists
};

class Leadership {
public:
  virtual ~Leadership() = default;
  /// Nothing while none leads, or it is not known.
  [[nodiscard]] virtual std::optional<LeaderPlace> leader() const = 0;
};

} // namespace tributary::standby
