#include "endpoint/ofi/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tributary::ofi {

namespace {

std::string_view variable(const char* name) {
  const char* const set = std::getenv(name);
  return set == nullptr ? std::string_view() : std::string_view(set);
}

template <typename T>
void read(const char* name, T& value, std::uint64_t least, std::uint64_t most) {
  const std::string_view text = variable(name);
  if (text.empty()) {
    return;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    throw std::invalid_argument(
        fmt::format("{} is '{}' in the environment; it can be {} to {}", name, text, least, most));
  }
  value = static_cast<T>(number);
}

} // namespace

Settings settings_of_environment() {
  Settings s;
  s.interface = variable("TRIBUTARY_OFI_INTERFACE");
  if (s.interface.empty()) {
    s.interface = variable("TRIBUTARY_MPI_INTERFACE");
  }
  read("TRIBUTARY_OFI_EAGER_BYTES", s.eager_bytes, 0, 1U << 20);
  read("TRIBUTARY_OFI_UNEXPECTED_MIB", s.unexpected_mib, 1, 1U << 14);
  read("TRIBUTARY_OFI_UNEXPECTED_MESSAGES", s.unexpected_messages, 16, 1U << 24);
  read("TRIBUTARY_OFI_PEERS", s.peers, 1, 65'535);
  read("TRIBUTARY_OFI_OPERATIONS", s.operations, 64, 65'535);
  read("TRIBUTARY_OFI_RETRIES", s.retries, 1, 60'000);
  if (const std::string_view how = variable("TRIBUTARY_OFI_PROGRESS"); !how.empty()) {
    if (how != "thread" && how != "caller") {
      throw std::invalid_argument(fmt::format(
          "TRIBUTARY_OFI_PROGRESS is '{}' in the environment; it can be thread or caller", how));
    }
    s.thread = how == "thread";
  }
  return s;
}

} // namespace tributary::ofi
