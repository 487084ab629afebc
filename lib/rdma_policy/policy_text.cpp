#include "lib/rdma_policy/policy_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <system_error>

namespace tributary::rdma_policy {

namespace {

[[noreturn]] void refuse(std::string_view word, std::string_view why) {
  throw std::invalid_argument("'" + std::string(word) +
                              "' in a retransmit policy: " + std::string(why));
}

void set(Policy& policy, std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view digits =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    refuse(word, "not FIELD=NUMBER");
  }
  const PolicyField* const field = policy_field(word.substr(0, equals));
  if (field == nullptr) {
    return;
  }
  if (value < field->least || value > field->most) {
    refuse(word,
           "it can be " + std::to_string(field->least) + " to " + std::to_string(field->most));
  }
  field->set(policy, value);
}

} // namespace

Policy policy_from(std::string_view text) {
  Policy policy;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) {
      set(policy, text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (const std::string_view problem = problem_of(policy); !problem.empty()) {
    throw std::invalid_argument("a retransmit policy makes no sense: " + std::string(problem));
  }
  return policy;
}

} // namespace tributary::rdma_policy
