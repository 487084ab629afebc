#include "dataplane/process/check_files.hpp"

#include "lib/configuration/findings.hpp"
#include "lib/net/tls_context.hpp"

namespace tributary::dataplane {

void check_files(const config::Parsed& parsed, const std::string& file) {
  if (!parsed.config.manager || parsed.config.manager->tls_ca.empty()) {
    return;
  }
  const config::Manager& manager = *parsed.config.manager;
  try {
    static_cast<void>(
        net::tls_context({.role = net::TlsRole::client,
                          .verify = net::TlsVerify::authority,
                          .files = {manager.tls_ca, manager.tls_certificate, manager.tls_key}}));
  } catch (const net::TlsError& error) {
    const auto written = parsed.document.find("manager: tls_ca");
    configuration::Findings findings;
    findings.add(written == parsed.document.end() ? 0 : written->second.line, "manager.tls_ca",
                 "{}", error.what());
    findings.throw_if_any(file);
  }
}

} // namespace tributary::dataplane
