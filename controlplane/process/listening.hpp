// Where a manager listens for clients and switches, whether it leads or stands by.
#pragma once

#include "controlplane/process/config.hpp"
#include "controlplane/rest/server.hpp"
#include "controlplane/southbound/channel_server.hpp"

namespace tributary::fabricd {

/// Throws std::runtime_error for a token that cannot be read.
[[nodiscard]] rest::Settings rest_settings(const Rest& config);
[[nodiscard]] southbound::ChannelServerSettings channel_settings(const Config& config);
/// At all addresses. Throws southbound::ChannelError.
void listen(southbound::ChannelServer& channels, const Switches& config);

} // namespace tributary::fabricd
