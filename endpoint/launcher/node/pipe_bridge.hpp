// A socket in place of two pipes: sshd gives programs pipes, and a channel is one stream socket.
#pragma once

namespace tributary::launch::node {

/// Returns a socket that reads from `input` and writes to `output`; the end of one is the end of
/// the other. On two threads that live as long as the process. Throws std::system_error.
[[nodiscard]] int socket_on(int input, int output);

} // namespace tributary::launch::node
