#include "endpoint/library/host_environment.hpp"

#include "endpoint/manager_client/environment.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::library {

namespace {

struct Choice {
  int value;
  std::string_view name; ///< in the environment
};

/// 0: neither the option nor the variable is set.
template <std::size_t n>
int chosen(int option, const char* what, const char* variable, const std::array<Choice, n>& all) {
  std::string names;
  for (const Choice& choice : all) {
    if (option == choice.value) {
      return option;
    }
    names += fmt::format("{}{}", names.empty() ? "" : " or ", choice.name);
  }
  if (option != 0) {
    throw std::invalid_argument(
        fmt::format("{} {} does not exist; tributary.h lists the values", what, option));
  }
  const char* const set = std::getenv(variable);
  if (set == nullptr || *set == '\0') {
    return 0;
  }
  for (const Choice& choice : all) {
    if (set == choice.name) {
      return choice.value;
    }
  }
  throw std::invalid_argument(
      fmt::format("{} is '{}' in the environment; it can be {}", variable, set, names));
}

} // namespace

Progress progress_of(const tributary_host_options& options) {
  static constexpr std::array<Choice, 2> all{
      {{TRIBUTARY_PROGRESS_CALLER, "caller"}, {TRIBUTARY_PROGRESS_THREAD, "thread"}}};
  const int how = chosen(options.progress, "the kind of progress", "TRIBUTARY_PROGRESS", all);
  return {.thread = how == TRIBUTARY_PROGRESS_THREAD, .may_thread = how == 0};
}

bool wants_af_xdp(const tributary_host_options& options) {
  static constexpr std::array<Choice, 2> all{
      {{TRIBUTARY_TRANSPORT_RAW, "raw"}, {TRIBUTARY_TRANSPORT_AF_XDP, "af_xdp"}}};
  return chosen(options.transport, "the transport", "TRIBUTARY_TRANSPORT", all) ==
         TRIBUTARY_TRANSPORT_AF_XDP;
}

std::optional<std::string> job_of_environment() {
  std::string job = manager_client::job_from(nullptr);
  return job.empty() ? std::nullopt : std::optional(std::move(job));
}

std::optional<Vni> vni_of_environment() {
  const char* const set = std::getenv("TRIBUTARY_VNI");
  const std::string_view text = set == nullptr ? "" : set;
  if (text.empty()) {
    return std::nullopt;
  }
  Vni vni;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vni.value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(
        fmt::format("TRIBUTARY_VNI is '{}' in the environment; it can be 0 to 65535", text));
  }
  return vni;
}

} // namespace tributary::library
