// What a manager listens with, whether it leads or stands by.
#pragma once

#include "controlplane/process/config.hpp"
#include "controlplane/rest/server.hpp"
#include "controlplane/southbound/channel_server.hpp"

namespace tributary::fabricd {

/// Throws std::runtime_error when the administrator's token cannot be read.
[[nodiscard]] rest::Settings rest_settings(const Rest& config);
[[nodiscard]] southbound::ChannelServerSettings channel_settings(const Config& config);
/// At all addresses for switches. Throws southbound::ChannelError.
void listen(southbound::ChannelServer& channels, const Switches& config);

} // namespace tributary::fabricd
