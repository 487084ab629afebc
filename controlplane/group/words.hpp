// Phrases shared by several errors and descriptions.
#pragma once

#include "controlplane/group/group.hpp"
#include "tributary/text.hpp" // counted()
#include "tributary/types.hpp"

#include <string>

namespace tributary::group {

/// "group 'demo' of job j1"
[[nodiscard]] std::string title(const Group& group);
/// "26.9 s"
[[nodiscard]] std::string seconds(std::uint64_t ns);
/// How long its resources stay in use: "ends in 3.0 s at the latest", "ready; leases run until
/// ...".
[[nodiscard]] std::string expiry(const Group& group, TimeNs now);

} // namespace tributary::group
