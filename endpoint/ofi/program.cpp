#include "endpoint/ofi/program.hpp"

#include "endpoint/library/host_environment.hpp"
#include "endpoint/library/open_link.hpp"
#include "lib/link/node_port.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <sys/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::ofi {

namespace {

constexpr std::uint32_t buffer_bytes = 1U << 24;
constexpr std::size_t transfers = 1024;
constexpr std::size_t most_regions = 16'384;

/// A random number for keys, names and identifiers, which must not be guessed.
std::uint64_t drawn() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "drawing a random number");
    }
  }
  return number;
}

/// As the C library's: programs on machines with other work pause for longer than a network does.
rdma_policy::Policy policy_of(const Settings& settings, std::uint32_t receive_room) {
  rdma_policy::Policy policy;
  policy.least_timeout_ns = 500'000;
  policy.most_timeout_ns = 10'000'000;
  policy.request_retries = policy.query_retries = settings.retries;
  policy.sink_timeouts = std::min(settings.retries, 250U);
  // Some of the room is for streams, and for retransmissions.
  policy.sink_credit = std::max(receive_room / 2, 64U);
  return policy;
}

} // namespace

struct Program::Opened {
  std::string interface {};
  std::unique_ptr<link::Port> port{};
  std::uint16_t ethertype = wire::default_ethertype;
  Vni vni{};
  EndPoint address{};
  std::optional<link::EndPointNumber> end_point{};
};

std::unique_ptr<Program> Program::open(const Settings& settings, bool may_thread) {
  tributary_host_options options = tributary_host_defaults(settings.interface.c_str());
  options.buffer_bytes = buffer_bytes;
  library::OpenedLink link = library::open_link(options);
  Opened opened{.interface = std::move(link.interface), .port = std::move(link.port)};
  const auto vni = library::vni_of_environment();
  if (link.by_agent) {
    opened.ethertype = link.by_agent->ethertype;
    opened.vni = link.by_agent->vni;
    opened.address = {link.by_agent->nid, link.by_agent->end_point};
  } else if (vni && vni->value != 0) {
    opened.end_point.emplace(opened.interface);
    opened.vni = *vni;
    opened.address = {wire::nid_of(opened.port->address()), opened.end_point->value()};
  } else {
    throw std::invalid_argument(
        "TRIBUTARY_VNI is not set, and no host agent has given this program a job: start it with "
        "tributary-run, or name the job's VNI");
  }
  if (!wire::is_valid_nid(opened.address.nid)) {
    throw std::invalid_argument(
        fmt::format("the address of '{}' makes NID {:#x}, which no frame can carry",
                    opened.interface, opened.address.nid.value));
  }
  opened.port->enlarge(std::numeric_limits<std::uint32_t>::max(), buffer_bytes);
  opened.port->filter_end_point(opened.address.number);
  opened.port = std::make_unique<link::NodePort>(std::move(opened.port), opened.address, opened.vni,
                                                 opened.interface);
  return std::unique_ptr<Program>(
      new Program(std::move(opened), settings, may_thread && settings.thread));
}

namespace {

messages::Options messenger_options(const Settings& settings, const link::Port& port,
                                    std::uint16_t ethertype, EndPoint address, bool own_thread) {
  const auto room = static_cast<std::uint32_t>(
      std::min<std::size_t>(port.receive_room(), std::numeric_limits<std::uint32_t>::max()));
  messages::Options o;
  o.rdma.address = address;
  o.rdma.reaches_own_host = true; // by the port
  o.rdma.ethertype = ethertype;
  o.rdma.incarnation = drawn();
  o.rdma.seed = drawn();
  o.rdma.secret.emplace(drawn(), drawn());
  o.rdma.longest_frame = port.longest_frame();
  o.rdma.sinks = o.rdma.sources = o.rdma.works = transfers;
  o.rdma.peers = settings.peers;
  o.rdma.records = 4 * transfers;
  o.rdma.regions = most_regions;
  o.rdma.completions = 4 * transfers;
  o.streams.address = address;
  o.streams.ethertype = ethertype;
  o.streams.secret.emplace(drawn(), drawn());
  o.streams.seed = drawn();
  o.streams.longest_frame = port.longest_frame();
  o.streams.sessions = settings.peers;
  o.streams.receive_room = std::max(room / 4, 64U);
  o.streams.policy = policy_of(settings, room);
  // Without a thread a program that computes answers nothing: silence proves nothing.
  o.streams.keepalive_ns = own_thread ? o.streams.keepalive_ns : 0;
  o.operations = settings.operations;
  o.completions = 2 * settings.operations;
  o.unexpected_messages = settings.unexpected_messages;
  o.unexpected_bytes = settings.unexpected_mib << 20;
  o.eager_bytes = settings.eager_bytes;
  return o;
}

} // namespace

Program::Program(Opened opened, const Settings& settings, bool own_thread)
    : interface_(std::move(opened.interface)), vni_(opened.vni),
      end_point_(std::move(opened.end_point)),
      loop_(std::move(opened.port), opened.ethertype, {.own_thread = own_thread}),
      messenger_(
          messenger_options(settings, loop_.port(), opened.ethertype, opened.address, own_thread)) {
  const auto lock = loop_.lock();
  messenger_.node().set_policy(messenger_.options().streams.policy);
  loop_.engine().add(messenger_);
  loop_.engine().claim_unicast(messenger_);
}

Program::~Program() {
  if (loop_.end_thread()) {
    messenger_.say_goodbye();
    loop_.send(messenger_);
  }
  loop_.engine().remove(messenger_);
}

} // namespace tributary::ofi
