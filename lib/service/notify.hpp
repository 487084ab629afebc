// Notifies the service manager of the process's state, if there is one: one datagram to the socket
// named by NOTIFY_SOCKET (see sd_notify(3)).
#pragma once

#include <string_view>

namespace tributary::service {

/// Sends e.g. "READY=1". Does nothing without NOTIFY_SOCKET; false if sending failed.
bool notify_service_manager(std::string_view state);

} // namespace tributary::service
