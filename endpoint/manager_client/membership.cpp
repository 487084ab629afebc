#include "endpoint/manager_client/membership.hpp"

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <boost/json/value_to.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tributary::manager_client {

using Clock = std::chrono::steady_clock;
using Kind = ManagerError::Kind;
using std::chrono::milliseconds;

namespace {

constexpr unsigned accepted = 202;
constexpr unsigned not_found = 404;
constexpr unsigned conflict = 409;
constexpr unsigned gone = 410;
/// The longest wait of one request at the manager: bounds the time to detect a dead connection.
constexpr milliseconds longest_wait{10'000};
/// Time for an answer beyond the requested wait.
constexpr milliseconds to_answer{5'000};
/// Pause between requests that are answered immediately.
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{1000};

std::string mac_of(Nid nid) {
  const wire::MacAddress mac = wire::host_mac(nid);
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3],
                     mac[4], mac[5]);
}

boost::json::value body_of(const JoinRequest& request) {
  boost::json::object body = {{"rank", request.rank},
                              {"size", request.size},
                              {"mac", mac_of(request.nid)},
                              {"trees", request.trees}};
  if (!request.job.empty()) {
    body["job"] = request.job;
  }
  if (!request.step.empty()) {
    body["jobStepID"] = request.step;
  }
  if (!request.host.empty()) {
    body["host"] = request.host;
  }
  if (request.root_rank) {
    body["root_rank"] = *request.root_rank;
  }
  if (request.payload > JoinRequest::narrow_payload) {
    body["slots"] = request.slots;
    body["payload"] = request.payload;
  }
  if (request.in_switch_results) {
    body["in_switch_results"] = *request.in_switch_results;
  }
  return body;
}

std::string members_path(const JoinRequest& request) {
  return fmt::format("/api/v1/groups/{}/members", encoded(request.group));
}
std::string member_path(const JoinRequest& request, const std::string& job) {
  return fmt::format("/api/v1/groups/{}/{}/members/{}", encoded(job), encoded(request.group),
                     request.rank);
}

/// A whole number below `limit` in an answer.
template <typename T>
T number(const boost::json::object& from, std::string_view key, std::uint64_t limit) {
  const auto value = boost::json::value_to<std::uint64_t>(from.at(key));
  if (value >= limit) {
    throw std::out_of_range(fmt::format("{} is {}, which is not below {}", key, value, limit));
  }
  return static_cast<T>(value);
}

/// The trees' support for wide frames.
void read_frames(const JoinRequest& request, const boost::json::object& body, Membership& m) {
  m.slots = number<std::uint32_t>(body, "slots", most_reductions_per_tree + 1);
  m.payload = number<std::uint32_t>(body, "payload", wire::most_wide_payload + 1);
  const bool narrow = m.payload == JoinRequest::narrow_payload && m.slots == reductions_per_tree;
  const bool wide = m.payload != 0 && m.payload % wire::wide_payload_step == 0 &&
                    m.slots >= reductions_per_tree && std::has_single_bit(m.slots);
  if (!narrow && !wide) {
    throw std::out_of_range(fmt::format(
        "{} slots with a payload of {} bytes: no tree can have them", m.slots, m.payload));
  }
  if (wide && (m.payload > request.payload || m.slots > request.slots)) {
    throw std::out_of_range(
        fmt::format("{} slots with a payload of {} bytes, and this member takes "
                    "{} and {} at most",
                    m.slots, m.payload, request.slots, request.payload));
  }
}

Membership read_membership(const JoinRequest& request, const Answer& answer) {
  try {
    const boost::json::object& body = answer.body.as_object();
    Membership m;
    m.job = boost::json::value_to<std::string>(body.at("job"));
    m.vni = Vni{number<std::uint16_t>(body, "vni", 1U << 16)};
    m.cookie = Cookie{number<std::uint32_t>(body, "cookie", std::uint64_t{1} << 32)};
    m.root_rank = number<std::uint32_t>(body, "root_rank", request.size);
    m.root_nid = Nid{number<std::uint32_t>(body, "root_nid", max_nid + 1)};
    for (const boost::json::value& tree : body.at("trees").as_array()) {
      const auto value = boost::json::value_to<std::uint64_t>(tree);
      if (value >= max_trees) {
        throw std::out_of_range(fmt::format("tree {} is not below {}", value, max_trees));
      }
      m.trees.emplace_back(static_cast<std::uint16_t>(value));
    }
    if (m.trees.empty() || m.trees.size() > request.trees) {
      throw std::out_of_range(
          fmt::format("{} trees where {} was asked for", m.trees.size(), request.trees));
    }
    m.disjoint = body.at("disjoint").as_bool();
    m.lease = milliseconds(
        static_cast<std::int64_t>(1000 * boost::json::value_to<double>(body.at("lease_seconds"))));
    read_frames(request, body, m);
    m.in_switch_results = body.at("in_switch_results").as_bool();
    if (m.in_switch_results && m.trees.size() > 1) {
      throw std::out_of_range("in-switch results with two trees: only one tree can have them");
    }
    if (const auto* shared = body.if_contains("shared_frames")) { // an older manager has none
      m.shared_frames = shared->as_bool();
    }
    if (const auto* note = body.if_contains("in_switch_note")) {
      m.in_switch_note = std::string(note->as_string());
    }
    return m;
  } catch (const std::exception& error) {
    throw ManagerError(
        Kind::garbled,
        fmt::format("the fabric manager's membership in group '{}' cannot be parsed: {}",
                    request.group, error.what()));
  }
}

std::string text_in(const boost::json::object& from, std::string_view key) {
  const auto* text = from.if_contains(key);
  return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
}
bool flag_in(const boost::json::object& from, std::string_view key) {
  const auto* flag = from.if_contains(key);
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

Renewal read_renewal(const JoinRequest& request, const Membership& membership,
                     const boost::json::value& body) {
  Renewal renewal;
  try {
    const boost::json::object& object = body.as_object();
    if (object.contains("cookie") &&
        number<std::uint32_t>(object, "cookie", std::uint64_t{1} << 32) !=
            membership.cookie.value) {
      renewal.outcome = Renewal::Outcome::over;
      renewal.news.over_because =
          fmt::format("another group of the name '{}' has taken its place", request.group);
      return renewal;
    }
    for (const boost::json::value& entry : object.at("absent").as_array()) {
      const boost::json::object& one = entry.as_object();
      renewal.news.absent.push_back({.rank = number<std::uint32_t>(one, "rank", request.size),
                                     .nid = number<std::uint32_t>(one, "nid", max_nid + 1),
                                     .host = text_in(one, "host"),
                                     .why = text_in(one, "why"),
                                     .gone = flag_in(one, "gone"),
                                     .left = flag_in(one, "left")});
    }
  } catch (const std::exception& error) {
    throw ManagerError(
        Kind::garbled,
        fmt::format("the fabric manager's answer about group '{}' cannot be parsed: {}",
                    request.group, error.what()));
  }
  return renewal;
}

/// The members that the group waits for, in the manager's words.
std::string missing_in(const boost::json::value& group) {
  constexpr std::size_t most_named = 8;
  const auto* object = group.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("missing");
  const auto* missing = list == nullptr ? nullptr : list->if_array();
  std::string text;
  if (missing != nullptr) {
    for (std::size_t i = 0; i < std::min(missing->size(), most_named); ++i) {
      const auto* who = (*missing)[i].if_object();
      const auto* rank = who == nullptr ? nullptr : who->if_contains("rank");
      const auto* why = who == nullptr ? nullptr : who->if_contains("why");
      if (rank != nullptr && rank->is_number()) {
        text +=
            fmt::format("{}rank {}{}", text.empty() ? "" : ", ", rank->to_number<std::uint64_t>(),
                        why != nullptr && why->is_string()
                            ? fmt::format(" ({})", std::string_view(why->get_string()))
                            : "");
      }
    }
    if (missing->size() > most_named) {
      text += fmt::format(" and {} more", missing->size() - most_named);
    }
  }
  return text;
}

[[noreturn]] void throw_not_ready(const JoinRequest& request, milliseconds limit,
                                  const boost::json::value& group) {
  std::string waits_for = missing_in(group);
  if (waits_for.empty()) {
    const auto* object = group.if_object();
    const auto* text = object == nullptr ? nullptr : object->if_contains("text");
    waits_for = text != nullptr && text->is_string() ? std::string(text->get_string())
                                                     : "the manager did not say for whom";
  }
  throw ManagerError(Kind::not_ready,
                     fmt::format("group '{}' was not ready after {:.1f} s; it waits for {}",
                                 request.group, static_cast<double>(limit.count()) / 1e3,
                                 waits_for));
}

/// Leaves a group that did not become ready. If that fails the lease expires.
void take_back(ManagerClient& manager, const JoinRequest& request,
               const boost::json::value& group) {
  const auto* object = group.if_object();
  const auto* job = object == nullptr ? nullptr : object->if_contains("job");
  if (job == nullptr || !job->is_string()) {
    return;
  }
  try {
    leave(manager, request, std::string(job->get_string()));
  } catch (const ManagerError&) {
    // The caller gets the error that the group is not ready, not this one.
    return;
  }
}

Answer post(ManagerClient& manager, const JoinRequest& request, milliseconds wait) {
  return manager.post(fmt::format("{}?wait={}", members_path(request), wait.count()),
                      body_of(request), wait + to_answer);
}

} // namespace

Membership join(ManagerClient& manager, const JoinRequest& request, milliseconds limit) {
  const auto end = Clock::now() + limit;
  const auto left = [&] {
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end - Clock::now()));
  };
  milliseconds pause = first_pause;
  for (;;) {
    manager.set_retry_limit(left());
    const auto asked_at = Clock::now();
    const milliseconds wait = std::min(left(), longest_wait);
    const Answer answer = post(manager, request, wait);
    if (answer.status == accepted && left() == milliseconds(0)) {
      take_back(manager, request, answer.body);
      throw_not_ready(request, limit, answer.body);
    }
    // A group of this name that is just ending frees the name in a moment.
    const bool name_is_in_use = answer.status == conflict && answer.retry_after;
    if (answer.status != accepted && (!name_is_in_use || left() == milliseconds(0))) {
      throw_unless_done(answer, fmt::format("joining group '{}' as rank {} of {}", request.group,
                                            request.rank, request.size));
      return read_membership(request, answer);
    }
    const bool was_held = answer.status == accepted && Clock::now() - asked_at >= wait / 2;
    if (!was_held) {
      manager.sleep(std::min(pause, left()));
      pause = std::min(2 * pause, longest_pause);
    }
  }
}

std::optional<Membership> ask_to_join(ManagerClient& manager, const JoinRequest& request) {
  const Answer answer = post(manager, request, milliseconds(0));
  if (answer.status == accepted || (answer.status == conflict && answer.retry_after)) {
    return std::nullopt;
  }
  throw_unless_done(answer, fmt::format("joining group '{}' again as rank {} of {}", request.group,
                                        request.rank, request.size));
  return read_membership(request, answer);
}

Renewal renew(ManagerClient& manager, const JoinRequest& request, const Membership& membership) {
  const Answer answer = manager.put(member_path(request, membership.job) + "/lease");
  if (answer.status == not_found) {
    return {.outcome = Renewal::Outcome::forgotten, .news = {}};
  }
  if (answer.status == conflict || answer.status == gone) {
    std::string why = answer.message();
    return {.outcome = Renewal::Outcome::over,
            .news = {.over_because = why.empty() ? "the group is over" : std::move(why),
                     .lease_ended = answer.body.is_object() &&
                                    flag_in(answer.body.get_object(), "lease_ended"),
                     .absent = {}}};
  }
  throw_unless_done(answer, fmt::format("renewing the lease of rank {} in group '{}'", request.rank,
                                        request.group));
  return read_renewal(request, membership, answer.body);
}

void leave(ManagerClient& manager, const JoinRequest& request, const std::string& job) {
  const Answer answer = manager.del(member_path(request, job));
  if (answer.status != not_found) {
    throw_unless_done(answer,
                      fmt::format("leaving group '{}' as rank {}", request.group, request.rank));
  }
}

} // namespace tributary::manager_client
