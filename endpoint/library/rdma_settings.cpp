#include "endpoint/library/rdma_settings.hpp"

#include "endpoint/library/host_environment.hpp"
#include "endpoint/rdma/window.hpp"
#include "lib/rdma_policy/policy_text.hpp"

#include <sys/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace tributary::library {

namespace {

struct Number {
  const char* what;
  const char* variable;
  std::uint32_t otherwise;
  std::uint32_t least;
  std::uint32_t most;
};

void check(std::uint32_t value, const Number& number, const std::string& where) {
  if (value < number.least || value > number.most) {
    throw std::invalid_argument(fmt::format("{}: {} is {}; it can be {} to {}", where, number.what,
                                            value, number.least, number.most));
  }
}

std::uint32_t chosen(std::uint32_t option, const Number& number) {
  if (option != 0) {
    check(option, number, "struct tributary_rdma_options");
    return option;
  }
  const char* const set = std::getenv(number.variable);
  if (set == nullptr || *set == '\0') {
    return number.otherwise;
  }
  std::uint32_t value = 0;
  const char* const end = set + std::strlen(set);
  const auto [rest, error] = std::from_chars(set, end, value);
  if (error != std::errc() || rest != end) {
    throw std::invalid_argument(fmt::format("{} is '{}' in the environment; it can be {} to {}",
                                            number.variable, set, number.least, number.most));
  }
  check(value, number, fmt::format("{} in the environment", number.variable));
  return value;
}

/// A random number for keys and identifiers, which must not be guessed.
std::uint64_t drawn() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "drawing a random number");
    }
  }
  return number;
}

} // namespace

RdmaSettings settings_of(const tributary_rdma_options& options) {
  constexpr auto most = static_cast<std::uint32_t>(rdma::most_contexts);
  const RdmaSettings s{
      .transfers =
          chosen(options.transfers, {"transfers", "TRIBUTARY_RDMA_TRANSFERS", 4096, 1, most}),
      .regions = chosen(options.regions, {"regions", "TRIBUTARY_RDMA_REGIONS", 1024, 1, most}),
      .peers = chosen(options.peers, {"peers", "TRIBUTARY_RDMA_PEERS", 4096, 1, most}),
      .window = chosen(options.window, {"window", "TRIBUTARY_RDMA_WINDOW", rdma_policy::most_window,
                                        128, rdma_policy::most_window}),
      .retries = chosen(options.retries, {"retries", "TRIBUTARY_RDMA_RETRIES", 250, 1, 60'000}),
      .frame_bytes =
          chosen(options.frame_bytes, {"frame_bytes", "TRIBUTARY_RDMA_FRAME_BYTES", 0, 256, 9216}),
      .buffer_bytes = chosen(options.buffer_bytes, {"buffer_bytes", "TRIBUTARY_RDMA_BUFFER_BYTES",
                                                    1U << 24, 1U << 16, 1U << 30})};
  if (!rdma_policy::is_window(s.window)) {
    throw std::invalid_argument(
        fmt::format("the window is {} frames; it can be 128, 256, 512 or 1024", s.window));
  }
  return s;
}

rdma::Options node_options(const RdmaSettings& settings, EndPoint address, std::uint16_t ethertype,
                           std::uint32_t longest_frame) {
  rdma::Options o;
  o.address = address;
  o.ethertype = ethertype;
  o.incarnation = drawn();
  o.seed = drawn();
  o.secret.emplace(drawn(), drawn());
  o.longest_frame = longest_frame;
  o.sinks = o.sources = settings.transfers;
  o.works = std::min<std::size_t>(settings.transfers, rdma::most_contexts - 1);
  o.peers = settings.peers;
  // One for each context's last transfer, and some for records that a peer still needs.
  o.records = std::size_t{4} * settings.transfers;
  o.regions = settings.regions;
  o.completions = settings.transfers;
  o.widest_window = settings.window;
  return o;
}

rdma_policy::Policy policy_of(const RdmaSettings& settings) {
  rdma_policy::Policy policy;
  policy.window = settings.window;
  // Programs on machines with other work pause for longer than a network does.
  policy.least_timeout_ns = 500'000;
  policy.most_timeout_ns = 10'000'000; // else a peer that is gone would be asked for minutes
  policy.request_retries = policy.query_retries = settings.retries;
  policy.sink_timeouts = std::min(settings.retries, 250U); // the limit of a context's counter
  return policy;
}

std::optional<JobPolicy> policy_of_job() {
  const auto variable = [](const char* name) {
    const char* const set = std::getenv(name);
    return std::string_view(set == nullptr ? "" : set);
  };
  const std::string_view text = variable("TRIBUTARY_RDMA_POLICY");
  const auto vni = text.empty() ? std::nullopt : vni_of_environment();
  if (!vni) {
    return std::nullopt;
  }
  JobPolicy of_job{};
  of_job.vni = *vni;
  try {
    of_job.policy = rdma_policy::policy_from(text);
  } catch (const std::invalid_argument& wrong) {
    throw std::invalid_argument(
        fmt::format("TRIBUTARY_RDMA_POLICY in the environment: {}", wrong.what()));
  }
  return of_job;
}

} // namespace tributary::library
