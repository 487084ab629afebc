// Waiting for a port that has a descriptor (Port::fd).
#pragma once

#include <cstdint>

namespace tributary::link {

/// Whether a frame or an error waits. One system call.
[[nodiscard]] bool readable(int fd);

/// Sleeps until a frame or an error waits, or until there is room to send when `to_send`, or until
/// the time is over. A signal ends it as well; the caller looks what there is either way. So does
/// `waker`, where there is one (not negative), by being readable.
void wait(int fd, std::uint64_t timeout_ns, bool to_send, int waker = -1);

} // namespace tributary::link
