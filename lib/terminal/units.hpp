// Quantities as text, in a suitable unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::terminal {

/// Three digits and ns, us, ms or s: "12.3 us".
[[nodiscard]] std::string duration_text(std::uint64_t ns);

/// Four digits and a prefix of a thousand before the unit: "14.88 Mframes/s", "9.5 kbit/s".
[[nodiscard]] std::string quantity_text(double value, std::string_view unit);

/// "0.12 %"; for very small shares, a non-zero text: "1.3e-06 %".
[[nodiscard]] std::string share_text(double share);

} // namespace tributary::terminal
