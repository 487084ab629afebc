#include "controlplane/process/listening.hpp"

#include "controlplane/process/descriptors.hpp"
#include "controlplane/process/files.hpp"
#include "lib/service/descriptor_limit.hpp"

namespace tributary::fabricd {

rest::Settings rest_settings(const Rest& config) {
  rest::Settings settings;
  settings.limits.connections = descriptors_for_http(service::raise_descriptor_limit());
  settings.listen = config.listen;
  settings.tls_certificate = config.tls_certificate;
  settings.tls_key = config.tls_key;
  settings.tls_ca = config.tls_ca;
  settings.administrator_token = administrator_token(config);
  return settings;
}

southbound::ChannelServerSettings channel_settings(const Config& config) {
  southbound::ChannelServerSettings settings;
  settings.max_connections = descriptors_for_switches(service::raise_descriptor_limit());
  settings.sessions.manager = config.manager.name;
  settings.sessions.keepalive = config.switches.keepalive;
  settings.sessions.statistics = config.switches.statistics;
  return settings;
}

void listen(southbound::ChannelServer& channels, const Switches& config) {
  for (const net::Address& address : config.addresses) {
    if (address.is_unix()) {
      channels.listen_unix(address.path);
    } else {
      channels.listen_tcp(address.tcp,
                          net::TlsFiles{config.tls_ca, config.tls_certificate, config.tls_key});
    }
  }
}

} // namespace tributary::fabricd
