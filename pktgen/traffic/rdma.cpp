#include "pktgen/traffic/rdma.hpp"

#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/rdma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen::traffic {

RdmaTraffic::RdmaTraffic(const scenario::Rdma& settings, const Placement& placement,
                         std::uint64_t seed, std::uint32_t incarnation)
    : plan_(settings, placement, seed, incarnation), data_(plan_.longest, seed),
      index_(plan_.hosts, no_index) {
  const QueuePairsOfPorts queue_pairs(placement); // one for each port
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    const scenario::QueuePairIndex queue_pair = queue_pairs.first(plan_.port_of(host));
    if (placement.is_here(queue_pair)) {
      index_[host] = static_cast<std::uint32_t>(here_.size());
      here_.push_back({queue_pair, std::make_unique<RdmaHost>(plan_, data_, host)});
    }
  }
}

void RdmaTraffic::start(TimeNs now) {
  stopped_ = false;
  last_came_ = now;
  for (Here& here : here_) {
    here.host->start(now);
  }
}

void RdmaTraffic::limit(std::uint64_t operations) {
  limited_ = operations != 0;
  std::uint64_t begin = 0;
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    begin += plan_.begins(host) ? 1 : 0;
  }
  std::uint64_t nth = 0;
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
    if (!plan_.begins(host)) {
      continue;
    }
    const std::uint64_t share = operations / begin + (nth++ < operations % begin ? 1 : 0);
    if (index_[host] != no_index) {
      here_[index_[host]].host->limit(limited_ ? share : RdmaHost::no_limit);
    }
  }
}

void RdmaTraffic::begin_measuring(TimeNs) {
  for (Here& here : here_) {
    here.host->begin_measuring();
  }
}

void RdmaTraffic::stop(TimeNs now) {
  stopped_ = true;
  last_came_ = std::max(last_came_, now);
  for (Here& here : here_) {
    here.host->stop();
  }
}

Reception RdmaTraffic::receive(scenario::QueuePairIndex, const FrameView& frame, TimeNs now) {
  if (frame.length < wire::rdma_overhead_bytes) {
    return false;
  }
  const std::byte* const portals = frame.data + wire::ethernet_header_bytes;
  const wire::FabricAddress to{wire::load_be<std::uint32_t>(portals + wire::portals_offset::dfa)};
  if (portals[wire::portals_offset::command] != std::byte{wire::rdma_command} ||
      to.is_multicast()) {
    return false;
  }
  const std::uint32_t host = to.nid().value - plan_.placement.first_nid;
  if (host >= index_.size() || index_[host] == no_index) {
    return false;
  }
  last_came_ = now;
  here_[index_[host]].host->receive(frame, now);
  return true;
}

void RdmaTraffic::check_ports(Ports ports) {
  const std::uint32_t needed =
      plan_.settings.mtu + static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  for (const Here& here : here_) {
    const link::Port& port = *ports[here.queue_pair];
    if (port.longest_frame() < needed) {
      throw std::runtime_error(
          fmt::format("{} takes an MTU of up to {}, and transfers are cut for {}; give its "
                      "interface a larger MTU, or --mtu {}",
                      port.description(), port.mtu(), plan_.settings.mtu, port.mtu()));
    }
  }
  ports_checked_ = true;
}

void RdmaTraffic::generate(Ports ports, TimeNs now) {
  if (!ports_checked_) {
    check_ports(ports);
  }
  for (Here& here : here_) {
    here.host->generate(*ports[here.queue_pair], now);
  }
}

TimeNs RdmaTraffic::next_due() const {
  TimeNs due = never;
  for (const Here& here : here_) {
    due = std::min(due, here.host->next_due());
  }
  return due;
}

bool RdmaTraffic::sends() const {
  return std::ranges::any_of(here_,
                             [&](const Here& here) { return plan_.begins(here.host->number()); });
}

bool RdmaTraffic::exhausted() const {
  return limited_ && !plan_.settings.serve && std::ranges::all_of(here_, [&](const Here& here) {
           return !plan_.begins(here.host->number()) || here.host->exhausted();
         });
}

std::size_t RdmaTraffic::in_flight() const {
  std::size_t transfers = 0;
  for (const Here& here : here_) {
    transfers += here.host->in_flight();
  }
  return transfers;
}

bool RdmaTraffic::drained(TimeNs now) const {
  return stopped_ && in_flight() == 0 &&
         (!plan_.settings.serve || elapsed_ns(now, last_came_) >= quiet_ns);
}

measure::Tally RdmaTraffic::tally(TimeNs) const {
  using enum measure::Figure::Meaning;
  measure::Tally tally;
  RdmaCounts sum;
  std::uint64_t unfinished = 0;
  rdma::Counters nodes{};
  measure::LatencySeries writes{"write_done", {}};
  measure::LatencySeries reads{"read_done", {}};
  for (const Here& here : here_) {
    const RdmaCounts& counts = here.host->counts();
    unfinished += stopped_ ? here.host->unfinished() : 0;
    sum.writes += counts.writes;
    sum.reads += counts.reads;
    sum.bytes += counts.bytes;
    sum.failed += counts.failed + counts.not_begun;
    sum.arrived += counts.arrived;
    sum.arrived_bytes += counts.arrived_bytes;
    sum.written_digest += counts.written_digest;
    sum.arrived_digest += counts.arrived_digest;
    sum.digest_errors += counts.digest_errors;
    tally.sent += counts.sent;
    tally.received += counts.received;
    const rdma::Counters node = here.host->node_counts();
#define TRIBUTARY_X(name, text) nodes.name += node.name;
    TRIBUTARY_RDMA_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
    writes.histogram.merge(here.host->write_latency());
    reads.histogram.merge(here.host->read_latency());
    for (const std::string& remark : here.host->remarks()) {
      if (tally.remarks.size() < measure::Tally::most_remarks) {
        tally.remarks.push_back(remark);
      }
    }
  }
  const auto add = [&](const char* name, std::uint64_t value,
                       measure::Figure::Meaning meaning = count) {
    tally.figures.push_back({name, value, meaning});
  };
  if (!plan_.settings.serve) {
    add("transfers", sum.writes + sum.reads);
    add("writes", sum.writes);
    add("reads", sum.reads);
    add("payload_bytes", sum.bytes);
    add("transfers_failed", sum.failed, fault);
    add("transfers_unfinished", unfinished, fault);
    add("written_digest", sum.written_digest);
  }
  if (plan_.is_written_to()) {
    add("writes_arrived", sum.arrived);
    add("bytes_arrived", sum.arrived_bytes);
    add("reads_served", nodes.served);
    add("arrived_digest", sum.arrived_digest);
  }
  add("digest_errors", sum.digest_errors, fault);
  add("data_frames", nodes.data_sent);
  add("resent_frames", nodes.data_resent);
  add("control_frames", nodes.control_sent);
  add("lost_frames", nodes.resent_arrived);
  add("late_frames", nodes.late_arrived);
  add("trimmed_frames", nodes.trimmed);
  add("duplicate_frames", nodes.duplicates);
  add("timeouts", nodes.sink_timeouts + nodes.request_timeouts + nodes.quiet);
  add("refused_frames", nodes.bad_crc + nodes.malformed + nodes.unknown_kind + nodes.zombie +
                            nodes.wrong_generation + nodes.foreign_vni);
  if (!plan_.settings.serve) {
    tally.latencies.push_back(std::move(writes));
    tally.latencies.push_back(std::move(reads));
  }
  return tally;
}

std::string RdmaTraffic::waiting_for(TimeNs now) const {
  std::size_t set_aside = 0;
  std::string why;
  for (const Here& here : here_) {
    if (std::string oldest = here.host->oldest(now); !oldest.empty()) {
      return fmt::format("{} transfers to end, the first of which is {}", in_flight(), oldest);
    }
    set_aside += here.host->set_aside();
    why = why.empty() && !here.host->remarks().empty() ? here.host->remarks().front() : why;
  }
  return stopped_ || set_aside == 0
             ? std::string()
             : fmt::format("peers to forget {} transfers that failed, of which the first is {}",
                           set_aside, why);
}

} // namespace tributary::pktgen::traffic
