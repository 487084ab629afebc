#include "tools/simulator/traffic/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tributary::simulator::traffic {
namespace {

constexpr std::array<std::string_view, 6> names{"uniform",        "permutation", "shift",
                                                "bit_complement", "transpose",   "hotspot"};

/// The leaf whose coordinates are those of this one in reverse order. Sizes are equal.
std::uint32_t transposed(std::uint32_t leaf, std::span<const std::uint32_t> sizes) {
  std::uint32_t result = 0;
  for (const std::uint32_t size : sizes) {
    result = result * size + leaf % size;
    leaf /= size;
  }
  return result;
}

/// Ticks from packet to packet.
double mean_gap(const TrafficSpec& spec) { return static_cast<double>(spec.flits) / spec.load; }
/// Ticks after a burst: they compensate for its rate.
double mean_silence(const TrafficSpec& spec) { return spec.burst * (mean_gap(spec) - spec.flits); }

} // namespace

Traffic::Traffic(const TrafficSpec& spec, const HostPlaces& places, std::uint64_t seed)
    : spec_(spec), ticks_(mean_gap(spec)), packets_(spec.burst), silence_(mean_silence(spec) + 1),
      hosts_(places.hosts), alive_(places.alive) {
  const Random random(seed);
  for (std::uint32_t h = 0; h < places.hosts; ++h) {
    hosts_[h].random = random.fork(2 + h);
    if (alive_[h]) {
      targets_.push_back(h);
    }
  }
  if (targets_.size() < 2) {
    throw TrafficError("fewer than two hosts are alive: no host can send to another");
  }
  pair_up(places, random.fork(1));
  const bool has_partners = spec_.pattern != Pattern::uniform &&
                            spec_.pattern != Pattern::hotspot && spec_.pattern != Pattern::listed;
  for (std::uint32_t h = 0; h < places.hosts; ++h) {
    Host& host = hosts_[h];
    if (spec_.pattern == Pattern::listed) {
      senders_ += host.listed != host.listed_end ? 1 : 0;
    } else if (alive_[h] && (!has_partners || host.partner != no_host)) {
      ++senders_;
    } else {
      alive_[h] = false;
    }
  }
  if (senders_ == 0) {
    throw TrafficError(fmt::format("no host has a live destination other than itself by the "
                                   "pattern {}: take another pattern, or fewer faults",
                                   names[static_cast<std::size_t>(spec_.pattern)]));
  }
}

void Traffic::pair_up(const HostPlaces& places, Random random) {
  const auto count = static_cast<std::uint32_t>(targets_.size());
  const auto pair = [&](std::uint32_t from, std::uint32_t to) {
    hosts_[from].partner = to != from && alive_[from] && alive_[to] ? to : no_host;
  };
  switch (spec_.pattern) {
  case Pattern::uniform: break;
  case Pattern::permutation: {
    // Sattolo's algorithm: one cycle through all, so no host is its own partner.
    std::vector<std::uint32_t> order = targets_;
    for (std::size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[random.below(i)]);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      pair(targets_[i], order[i]);
    }
    break;
  }
  case Pattern::shift: {
    const std::uint64_t by = spec_.shift == 0 ? count / 2 : spec_.shift;
    for (std::uint32_t i = 0; i < count; ++i) {
      pair(targets_[i], targets_[(i + by) % count]);
    }
    break;
  }
  case Pattern::bit_complement:
    if (!std::has_single_bit(places.hosts)) {
      throw TrafficError(fmt::format("bit_complement needs a power of two of hosts, and there are "
                                     "{}: use shift",
                                     places.hosts));
    }
    for (const std::uint32_t h : targets_) {
      pair(h, ~h & (places.hosts - 1));
    }
    break;
  case Pattern::transpose: {
    const auto& sizes = places.leaf_sizes;
    if (sizes.size() < 2 ||
        std::ranges::adjacent_find(sizes, std::not_equal_to<>()) != sizes.end()) {
      throw TrafficError("transpose needs a kdft topology with two dimensions or more, all of the "
                         "same size: use permutation");
    }
    std::uint32_t leaves = 1;
    for (const std::uint32_t size : sizes) {
      leaves *= size;
    }
    const std::uint32_t each = places.hosts / leaves;
    for (const std::uint32_t h : targets_) {
      pair(h, transposed(h / each, sizes) * each + h % each);
    }
    break;
  }
  case Pattern::hotspot:
    if (spec_.hot == 0 || spec_.hot > count) {
      throw TrafficError(fmt::format("{} hot hosts: 1 to {} are possible", spec_.hot, count));
    }
    hot_ = targets_;
    random.shuffle(hot_);
    hot_.resize(spec_.hot);
    break;
  case Pattern::listed:
    for (std::uint32_t i = 0; i < spec_.listed.size(); ++i) {
      Host& host = hosts_[spec_.listed[i].source];
      if (host.listed == host.listed_end) {
        host.listed = i;
      }
      host.listed_end = i + 1;
    }
    break;
  }
}

Traffic::Geometric::Geometric(double mean)
    : log_of_failure_(mean <= 1 ? 0 : std::log1p(-1 / mean)) {}

std::uint64_t Traffic::Geometric::draw(Random& random) const {
  if (log_of_failure_ == 0) {
    return 1;
  }
  const double uniform = static_cast<double>((random.next() >> 11) + 1) * 0x1p-53; // above 0
  return 1 + static_cast<std::uint64_t>(std::log(uniform) / log_of_failure_);
}

std::uint64_t Traffic::gap(Host& host) const {
  if (spec_.burst == 0) {
    return ticks_.draw(host.random);
  }
  if (host.in_burst != 0) {
    --host.in_burst;
    return spec_.flits;
  }
  // A burst has one packet more than follow its first without a pause; the silence compensates for
  // it.
  host.in_burst = static_cast<std::uint32_t>(packets_.draw(host.random) - 1);
  return spec_.flits + (mean_silence(spec_) < 1 ? 0 : silence_.draw(host.random) - 1);
}

std::uint64_t Traffic::first(std::uint32_t host) {
  if (spec_.pattern == Pattern::listed) {
    const Host& of = hosts_[host];
    return of.listed == of.listed_end ? never : spec_.listed[of.listed].tick;
  }
  if (!alive_[host] || spec_.load <= 0) {
    return never;
  }
  // Anywhere in a packet's mean time, so that hosts do not begin together.
  Host& of = hosts_[host];
  return of.random.below(static_cast<std::uint64_t>(spec_.flits / spec_.load) + 1) + gap(of) -
         std::min<std::uint64_t>(1, spec_.flits);
}

std::uint64_t Traffic::next(std::uint32_t host, std::uint64_t tick) {
  Host& of = hosts_[host];
  if (spec_.pattern == Pattern::listed) {
    ++of.listed;
    return of.listed == of.listed_end ? never : spec_.listed[of.listed].tick;
  }
  return tick + gap(of);
}

std::uint32_t Traffic::destination(std::uint32_t host) {
  Host& of = hosts_[host];
  const auto any = [&] {
    // If the host itself is drawn the last one takes its place: all others are equally likely.
    const std::uint32_t to = targets_[of.random.below(targets_.size() - 1)];
    return to == host ? targets_.back() : to;
  };
  switch (spec_.pattern) {
  case Pattern::uniform: return targets_.size() < 2 ? no_host : any();
  case Pattern::hotspot: {
    if (of.random.chance(spec_.hot_share) && !hot_.empty()) {
      const std::uint32_t to = hot_[of.random.below(hot_.size())];
      if (to != host) {
        return to;
      }
    }
    return targets_.size() < 2 ? no_host : any();
  }
  case Pattern::listed: return spec_.listed[of.listed].destination;
  case Pattern::permutation:
  case Pattern::shift:
  case Pattern::bit_complement:
  case Pattern::transpose: break;
  }
  return of.partner;
}

void Traffic::exclude(std::span<const std::uint32_t> hosts) {
  const auto is_one = [&](std::uint32_t h) { return std::ranges::find(hosts, h) != hosts.end(); };
  std::erase_if(targets_, is_one);
  std::erase_if(hot_, is_one);
  for (Host& host : hosts_) {
    if (host.partner != no_host && is_one(host.partner)) {
      host.partner = no_host;
    }
  }
}

} // namespace tributary::simulator::traffic
