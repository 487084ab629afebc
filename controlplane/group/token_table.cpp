#include "controlplane/group/token_table.hpp"

#include <array>
#include <utility>

namespace tributary::group {

std::string make_token(const RandomSource& random) {
  std::array<std::byte, 32> bytes{};
  random(bytes);
  std::string token;
  token.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    token += digits[std::to_integer<unsigned>(b) >> 4];
    token += digits[std::to_integer<unsigned>(b) & 15];
  }
  return token;
}

void TokenTable::end(const std::string& token) {
  auto node = current_.extract(token);
  if (node.empty()) {
    return;
  }
  ended_.insert(std::move(node));
  ended_in_order_.push_back(token);
  if (ended_in_order_.size() > remembered) {
    ended_.erase(ended_in_order_.front());
    ended_in_order_.pop_front();
  }
}

void TokenTable::forget(const std::string& token) {
  current_.erase(token);
  if (ended_.erase(token) != 0) {
    std::erase(ended_in_order_, token);
  }
}

const std::string* TokenTable::look_up(const Jobs& jobs, std::string_view token) {
  const auto it = jobs.find(std::string(token));
  return it == jobs.end() ? nullptr : &it->second;
}

const std::string* TokenTable::job_of(std::string_view token) const {
  return look_up(current_, token);
}
const std::string* TokenTable::ended_job_of(std::string_view token) const {
  return look_up(ended_, token);
}

} // namespace tributary::group
