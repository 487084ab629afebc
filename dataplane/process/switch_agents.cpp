#include "dataplane/process/switch_agents.hpp"

#include "dataplane/process/link_settings.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/service/version.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <utility>

#include <unistd.h>

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
              std::chrono::duration_cast<std::chrono::nanoseconds>(interval).count()),
          .link_hellos = link_settings(configuration).interval_ns != 0};
}

double ms_of(std::uint64_t duration_ns) {
  return static_cast<double>(duration_ns) / static_cast<double>(ns_per_ms);
}

/// Why a link is down, for operators.
std::string sentence_of(const liveness::Change& change) {
  switch (change.reason) {
  case liveness::Reason::silent:
    return fmt::format("no link hello was heard for {:.1f} ms", ms_of(change.after_ns));
  case liveness::Reason::one_way:
    return fmt::format("the neighbour is heard, and does not hear this switch; its last link hello "
                       "came {:.1f} ms ago",
                       ms_of(change.after_ns));
  case liveness::Reason::left: return "the neighbour has announced that it leaves";
  case liveness::Reason::carrier: return "the port itself is down";
  case liveness::Reason::other_neighbour: return "another switch than before sends link hellos";
  case liveness::Reason::none: break;
  }
  return "unknown";
}

control_channel::ChannelSettings channel_settings_of(const config::Manager& manager) {
  return {.addresses = manager.parsed_addresses,
          .tls = {manager.tls_ca, manager.tls_certificate, manager.tls_key}};
}

} // namespace

/// One switch: its agent, and its channel if there is a manager.
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
  bool received(const control::ManagerMessage& message) override {
    agent.receive(message, net::steady_now());
    return agent.is_welcomed();
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
    : context_(context), deadline_(context), from_workers_(context),
      lldp_(context, configuration.process.lldp) {
  if (configuration.manager) {
    address_ = fmt::format("{}", fmt::join(configuration.manager->addresses, ", "));
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
  lldp_.start(workers);
  look_at_ports();
  from_workers_.assign(::dup(workers.wake_up().descriptor()));
  wait_for_workers();
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
  workers_->leave();
  lldp_.stop();
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
  from_workers_.close();
}

void SwitchAgents::look_at_ports() {
  if (workers_ == nullptr) {
    return;
  }
  for (std::size_t s = 0; s < lines_.size(); ++s) {
    const auto& ports = workers_->plan(s).ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const PortNumber number{static_cast<std::uint8_t>(p)};
      set_port(s, number,
               ports[p]->link() == port::LinkState::up && !workers_->link_failed(s, number));
    }
  }
  lldp_.look_at_ports();
}

void SwitchAgents::set_port(std::size_t switch_index, PortNumber port, bool up) {
  Line& line = *lines_[switch_index];
  if (up == line.ports_up.contains(port)) {
    return;
  }
  up ? line.ports_up.insert(port) : line.ports_up.erase(port);
  // Queried only now: a driver may be slow.
  const std::uint32_t speed = up ? workers_->plan(switch_index).ports[port.value]->speed_mbps() : 0;
  line.agent.port_changed(port, up, speed, net::steady_now());
  wake();
}

/// A link that was down and is good again by now is reported to the manager, too.
void SwitchAgents::link_changed(const worker::LinkEvent& event) {
  const liveness::Change& change = event.change;
  const worker::SwitchPlan& plan = workers_->plan(event.switch_index);
  const std::string& port = plan.ports[change.port.value]->name();
  if (change.usable) {
    spdlog::info("switch {}: the link at port {} is usable again, after {:.1f} ms", plan.name, port,
                 ms_of(change.after_ns));
    return;
  }
  set_port(event.switch_index, change.port, false);
  if (change.reason != liveness::Reason::carrier) { // otherwise it was logged already
    spdlog::warn("switch {}: the link at port {} is down ({}): {}", plan.name, port,
                 liveness::name_of(change.reason), sentence_of(change));
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
    // After all handlers that are ready now: the commits of the other switches.
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
      // A hello that does not fit counts as a lost frame; the next one follows.
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

void SwitchAgents::wait_for_workers() {
  from_workers_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this](const boost::system::error_code& error) {
                             if (!error && workers_ != nullptr) {
                               workers_->wake_up().accept();
                               fetch();
                               wait_for_workers();
                             }
                           });
}

void SwitchAgents::fetch() {
  bool any = false;
  bool links = false;
  workers_->take_link_events([&](const worker::LinkEvent& event) {
    link_changed(event);
    links = true;
  });
  if (links) {
    look_at_ports();
  }
  workers_->take_delivered([&](const worker::ControlFrame& frame) {
    lines_[frame.switch_index]->agent.hello_received(frame.port, frame.view(), net::steady_now());
    any = true;
  });
  lldp_.fetch();
  if (any) {
    wake();
  }
}

void SwitchAgents::count_and_report(std::size_t switch_index) {
  std::uint32_t descriptors = 0;
  workers_->for_each_descriptor(switch_index, [&](const core::DescriptorView&) { ++descriptors; });
  std::vector<agent::PortPauses> pauses(workers_->plan(switch_index).ports.size());
  for (std::size_t port = 0; port < pauses.size(); ++port) {
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      const egress::QueueSnapshot queue = workers_->queue(
          switch_index, PortNumber{static_cast<std::uint8_t>(port)}, TrafficClass{c});
      pauses[port].received += queue.pauses_received;
      pauses[port].sent += queue.pauses_sent;
      pauses[port].paused_ns += queue.paused_ns;
    }
  }
  lines_[switch_index]->agent.statistics(workers_->counters(switch_index), pauses, descriptors);
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
