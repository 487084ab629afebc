#include "controlplane/process/standby.hpp"

#include "controlplane/etcd/store.hpp"
#include "controlplane/process/fabric_process.hpp"
#include "controlplane/process/files.hpp"
#include "controlplane/process/listening.hpp"
#include "controlplane/standby/standby.hpp"
#include "lib/service/notify.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tributary::fabricd {

namespace asio = boost::asio;

namespace {

/// How often a standby looks who leads, for the log and the service manager, and whether its name
/// is its own.
constexpr std::chrono::milliseconds look_interval{100};

etcd::MemberSettings member_settings(const Config& config) {
  const Store& store = config.store;
  etcd::MemberSettings settings;
  settings.client = etcd_client(store);
  settings.prefix = store.etcd_prefix;
  settings.name = config.manager.name;
  settings.addresses = config.rest.advertise;
  settings.switches = config.switches.advertise;
  settings.peer = store.peer_place;
  settings.timing.lease_ns =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(store.lease).count());
  return settings;
}

/// The wait of one standby. Once it is known to be the only manager of its name, it listens where
/// it will as the leader, and tells clients and switches who leads.
class Wait {
public:
  Wait(etcd::Member& member, const Config& config)
      : member_(member), config_(config), signals_(context_, SIGTERM, SIGINT, SIGHUP),
        timer_(context_),
        answers_(
            config.manager.name, [this] { return who_leads(); }, manager::Manager::all_routes()) {
    member_.follow([this] { asio::post(context_, [this] { look(); }); });
  }
  ~Wait() { member_.follow({}); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// False when a signal has ended it. Throws store::StoreError when the member can never lead, and
  /// std::runtime_error when it cannot listen.
  bool until_it_leads() {
    wait_for_signals();
    look_and_wait();
    context_.run();
    if (const auto failure = member_.failure()) {
      throw *failure;
    }
    return !is_stopped_;
  }

private:
  void look() {
    const store::Standing standing = member_.standing();
    if (standing != store::Standing::standby) {
      return context_.stop();
    }
    if (!rest_ && member_.is_registered()) {
      channels_.emplace(context_, answers_, channel_settings(config_));
      listen(*channels_, config_.switches);
      rest_.emplace(context_, rest_settings(config_.rest), answers_);
    }
  }
  [[nodiscard]] std::optional<standby::LeaderPlace> who_leads() const {
    const std::optional<election::LeaderKey> leader = member_.leader();
    if (!leader) {
      return std::nullopt;
    }
    const auto first = [](const std::vector<std::string>& addresses) {
      return addresses.empty() ? std::string() : addresses.front();
    };
    return standby::LeaderPlace{
        .name = leader->name, .url = first(leader->addresses), .switches = first(leader->switches)};
  }
  void wait_for_signals() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) {
        return;
      }
      if (signal == SIGHUP) {
        spdlog::info("SIGHUP: a standby reads its file when it takes the lead");
        return wait_for_signals();
      }
      spdlog::info("signal {}: stopping", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      static_cast<void>(service::notify_service_manager("STOPPING=1"));
      is_stopped_ = true;
      context_.stop();
    });
  }
  void look_and_wait() {
    if (std::string status = member_.status(); status != status_) {
      status_ = std::move(status);
      spdlog::info("{}", status_);
      static_cast<void>(
          service::notify_service_manager(fmt::format("READY=1\nSTATUS={}", status_)));
    }
    look();
    timer_.expires_after(look_interval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) {
        look_and_wait();
      }
    });
  }

  etcd::Member& member_;
  const Config& config_;
  asio::io_context context_{1};
  asio::signal_set signals_;
  asio::steady_timer timer_;
  standby::Standby answers_;
  std::optional<southbound::ChannelServer> channels_;
  std::optional<rest::Server> rest_;
  std::string status_;
  bool is_stopped_ = false;
};

} // namespace

void run_with_etcd(const Config& config, bool keeps_log_level) {
  for (const std::string& warning : warnings(config)) {
    spdlog::warn("{}", warning);
  }
  Config current = config;
  for (;;) {
    etcd::Member member(member_settings(current));
    {
      Wait wait(member, current);
      member.start();
      if (!wait.until_it_leads()) {
        return;
      }
    } // it listens no more
    if (member.standing() == store::Standing::over) {
      continue;
    }
    spdlog::info("this manager takes the lead, with epoch {}", member.epoch());
    try {
      current = parse_file(config.file);
    } catch (const std::exception& wrong) {
      spdlog::error("the previous configuration is used: {}", wrong.what());
    }
    try {
      FabricProcess process(current, std::make_unique<etcd::Store>(member), keeps_log_level);
      if (process.run() == FabricProcess::End::stopped) {
        return;
      }
    } catch (const store::StoreError& error) {
      if (error.kind() != store::StoreError::Kind::fenced) {
        throw;
      }
      spdlog::error("{}", error.what());
    }
    spdlog::warn("this manager follows as a standby again");
  }
}

} // namespace tributary::fabricd
