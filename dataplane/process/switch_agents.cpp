#include "dataplane/process/switch_agents.hpp"

#include "net/steady_clock.hpp"
#include "service/version.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

namespace tributary::dataplane {

namespace asio = boost::asio;

namespace {

std::uint64_t random_boot_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

agent::Settings settings_of(const config::Config& configuration) {
  const auto interval =
      configuration.manager ? configuration.manager->hello_interval : std::chrono::milliseconds(0);
  return {.hello_interval_ns = static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::nanoseconds>(interval).count())};
}

control_channel::ChannelSettings channel_settings_of(const config::Manager& manager) {
  return {.address = manager.parsed_address,
          .address_text = manager.address,
          .tls = {manager.tls_ca, manager.tls_certificate, manager.tls_key}};
}

} // namespace

/// One switch: its agent, and its channel when there is a manager.
class SwitchAgents::Line final : public control_channel::ChannelUser {
public:
  Line(SwitchAgents& owner, const config::Switch& sw, const config::Config& configuration,
       std::uint64_t boot)
      : agent(sw, {.guid = sw.guid, .boot = boot, .software = service::program_version},
              settings_of(configuration)),
        owner_(owner) {
    if (configuration.manager) {
      channel.emplace(owner.context_, channel_settings_of(*configuration.manager), sw.name, *this);
    }
  }

  void channel_up() override { agent.channel_up(net::steady_now()); }
  void received(const control::ManagerMessage& message) override {
    agent.receive(message, net::steady_now());
  }
  void batch_ended() override { owner_.wake(); }
  void channel_down(const std::string& why) override {
    agent.channel_down(net::steady_now(), why);
    owner_.wake();
  }

  agent::Agent agent;
  std::optional<control_channel::Channel> channel;
  PortSet ports_up; ///< as the agent knows them

private:
  SwitchAgents& owner_;
};

SwitchAgents::SwitchAgents(asio::io_context& context, const config::Config& configuration)
    : context_(context), deadline_(context), fetch_timer_(context) {
  if (configuration.manager) {
    address_ = configuration.manager->address;
  }
  const std::uint64_t boot = random_boot_number();
  for (const config::Switch& sw : configuration.switches) {
    lines_.push_back(std::make_unique<Line>(*this, sw, configuration, boot));
  }
}

SwitchAgents::~SwitchAgents() = default;

std::shared_ptr<const core::Tables> SwitchAgents::first_tables(std::size_t switch_index) {
  agent::Agent& agent = lines_.at(switch_index)->agent;
  auto tables = agent.take_tables();
  agent.published(tables->version());
  return tables;
}

void SwitchAgents::start(worker::WorkerGroup& workers) {
  workers_ = &workers;
  look_at_ports();
  fetch();
  for (const auto& line : lines_) {
    if (line->channel) {
      line->channel->start();
    }
  }
}

void SwitchAgents::stop() {
  if (workers_ == nullptr) {
    return;
  }
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    if (managed()) {
      for (const agent::OutgoingHello& hello : lines_[s]->agent.leaving_hellos()) {
        static_cast<void>(workers_->send(s, hello.port, hello.bytes));
      }
    }
    if (lines_[s]->channel) {
      lines_[s]->channel->stop();
    }
  }
  workers_ = nullptr;
  deadline_.cancel();
  fetch_timer_.cancel();
}

void SwitchAgents::look_at_ports() {
  if (workers_ == nullptr) {
    return;
  }
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    const auto& ports = workers_->plan(s).ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const PortNumber number{static_cast<std::uint8_t>(p)};
      PortSet& known_up = lines_[s]->ports_up;
      const bool up = ports[p]->link() == port::LinkState::up;
      if (up == known_up.contains(number)) {
        continue;
      }
      up ? known_up.insert(number) : known_up.erase(number);
      // Asked for only now: a driver may take its time.
      lines_[s]->agent.port_changed(number, up, up ? ports[p]->speed_mbps() : 0, net::steady_now());
      wake();
    }
  }
}

std::string SwitchAgents::refuses(std::size_t switch_index,
                                  const config::Switch& configuration) const {
  return lines_.at(switch_index)->agent.refuses(configuration);
}

void SwitchAgents::reload(const std::vector<const config::Switch*>& configurations) {
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    if (configurations.at(s) != nullptr) {
      lines_[s]->agent.file_reloaded(*configurations[s]);
    }
  }
  act();
}

agent::Status SwitchAgents::status(std::size_t switch_index) const {
  return lines_.at(switch_index)->agent.status();
}

void SwitchAgents::wake() {
  if (!awake_) {
    awake_ = true;
    // Behind what is ready to be handled by now: the commits of the other switches.
    asio::post(context_, [this] {
      awake_ = false;
      act();
    });
  }
}

void SwitchAgents::act() {
  if (workers_ == nullptr) {
    return;
  }
  for (const auto& line : lines_) {
    line->agent.poll(net::steady_now());
  }
  publish();
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    Line& line = *lines_[s];
    if (line.agent.statistics_due()) {
      count_and_report(s);
    }
    for (const agent::OutgoingHello& hello : line.agent.take_hellos()) {
      // One that does not fit is a lost frame; the next one follows.
      static_cast<void>(workers_->send(s, hello.port, hello.bytes));
    }
    const auto messages = line.agent.take_messages();
    if (line.channel) {
      line.channel->send(messages);
      if (auto why = line.agent.take_disconnect()) {
        line.channel->close(std::move(*why));
      }
    }
  }
  arm_timer();
}

void SwitchAgents::publish() {
  std::vector<worker::TablePublisher::Publication> publications;
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    if (auto tables = lines_[s]->agent.take_tables()) {
      publications.push_back({s, std::move(tables)});
    }
  }
  if (publications.empty()) {
    return;
  }
  workers_->publish(publications);
  for (const auto& one : publications) {
    lines_[one.switch_index]->agent.published(one.tables->version());
  }
}

void SwitchAgents::fetch() {
  if (workers_ == nullptr) {
    return;
  }
  bool any = false;
  workers_->take_delivered([&](const worker::ControlFrame& frame) {
    lines_[frame.switch_index]->agent.hello_received(frame.port, frame.view(), net::steady_now());
    any = true;
  });
  if (any) {
    wake();
  }
  fetch_timer_.expires_after(managed() ? fetch_interval : idle_fetch_interval);
  fetch_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      fetch();
    }
  });
}

void SwitchAgents::count_and_report(std::size_t switch_index) {
  std::uint32_t descriptors = 0;
  workers_->for_each_descriptor(switch_index, [&](const core::DescriptorView&) { ++descriptors; });
  lines_[switch_index]->agent.statistics(workers_->counters(switch_index), descriptors);
}

void SwitchAgents::arm_timer() {
  TimeNs next = never;
  for (const auto& line : lines_) {
    next = std::min(next, line->agent.next_deadline());
  }
  deadline_.cancel();
  if (next == never) {
    return;
  }
  deadline_.expires_at(net::time_point_of(next));
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      act();
    }
  });
}

} // namespace tributary::dataplane
