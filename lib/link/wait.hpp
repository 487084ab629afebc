// Waiting for a port that has a descriptor (Port::fd).
#pragma once

#include <cstdint>

namespace tributary::link {

/// Whether a frame or an error waits. One system call.
[[nodiscard]] bool readable(int fd);

/// Sleeps until a frame or an error waits, until there is room to send if `to_send`, or until the
/// timeout. A signal ends it as well, and so does `waker`, unless negative, by becoming readable;
/// the caller checks the state in any case.
void wait(int fd, std::uint64_t timeout_ns, bool to_send, int waker = -1);

} // namespace tributary::link
