// A fabric manager's record of one named group, for tests of hosts: members join, renew and leave;
// the group is ready when all have joined. Serves as the handler of a FakeManager.
#pragma once

#include "fake_manager.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::library::test {

class GroupRecord {
public:
  struct Given {
    std::vector<std::uint32_t> trees = {77};
    std::uint32_t vni = 9;
    std::uint32_t cookie = 0xABCD;
    double lease_seconds = 0.3;
    std::uint32_t slots = 8;
    std::uint32_t payload = 32;
  };

  /// The group that a request's path names: .../GROUP/members...
  static std::string name_in(const std::string& target) {
    const auto end = target.find("/members");
    const auto begin = target.rfind('/', end - 1) + 1;
    return target.substr(begin, end - begin);
  }

  manager_client::test::FakeManager::Handler handler() {
    return [this](const manager_client::test::FakeRequest& request) { return answer(request); };
  }

  /// From now on the group is another one, without members.
  void forget_and_give(const Given& given) {
    const std::lock_guard lock(mutex_);
    given_ = given;
    members_.clear();
  }
  void give(const Given& given) {
    const std::lock_guard lock(mutex_);
    given_ = given;
  }
  /// The member's last request.
  [[nodiscard]] boost::json::object request_of(std::uint32_t rank) const {
    return counted(requests_).at(rank);
  }
  /// A member without a host of the test joins.
  void admit(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    members_.insert(rank);
  }
  struct Absence {
    std::uint32_t rank = 0;
    std::string why;
    bool gone = false;
    bool left = false;
  };
  /// Answers to renewals report these members as absent: rank n on host node(n + 1).
  void miss(const std::vector<Absence>& absences) {
    const std::lock_guard lock(mutex_);
    absent_.clear();
    for (const Absence& one : absences) {
      absent_.push_back(boost::json::object{{"rank", one.rank},
                                            {"nid", one.rank + 1},
                                            {"host", "node" + std::to_string(one.rank + 1)},
                                            {"why", one.why},
                                            {"gone", one.gone},
                                            {"left", one.left}});
    }
  }
  /// This member's lease has ended: it and the others are notified.
  void expire(std::uint32_t rank) {
    miss({{.rank = rank, .why = "its lease ended", .gone = true}});
    const std::lock_guard lock(mutex_);
    expired_ = rank;
  }
  /// Answers to renewals report that the group has ended.
  void end(const std::string& why) {
    const std::lock_guard lock(mutex_);
    ended_ = why;
  }
  [[nodiscard]] std::uint64_t renewals() const { return counted(renewals_); }
  [[nodiscard]] std::uint64_t joins() const { return counted(joins_); }
  [[nodiscard]] std::uint64_t leavings() const { return counted(leavings_); }
  [[nodiscard]] std::size_t members() const { return counted(members_).size(); }
  [[nodiscard]] std::string host_of(std::uint32_t rank) const { return counted(hosts_).at(rank); }

private:
  using FakeRequest = manager_client::test::FakeRequest;
  using FakeResponse = manager_client::test::FakeResponse;

  template <typename T> T counted(const T& what) const {
    const std::lock_guard lock(mutex_);
    return what;
  }

  FakeResponse answer(const FakeRequest& request) {
    const std::lock_guard lock(mutex_);
    if (request.method == "POST") {
      return join(name_in(request.target), boost::json::parse(request.body).as_object());
    }
    const std::string rank_at = "/members/";
    const auto at = request.target.find(rank_at) + rank_at.size();
    const auto rank = static_cast<std::uint32_t>(std::stoul(request.target.substr(at)));
    if (!ended_.empty() && request.method == "PUT") {
      return {.status = 410,
              .body = boost::json::serialize(boost::json::object{{"message", ended_}})};
    }
    if (rank == expired_ && request.method == "PUT") {
      return {.status = 409, .body = R"({"message": "its lease ran out", "lease_ended": true})"};
    }
    if (!members_.contains(rank)) {
      return {.status = 404, .body = R"({"message": "no such member"})"};
    }
    if (request.method == "DELETE") {
      ++leavings_;
      members_.erase(rank);
    } else {
      ++renewals_;
      return {.body = boost::json::serialize(
                  boost::json::object{{"lease_seconds", given_.lease_seconds},
                                      {"cookie", given_.cookie},
                                      {"absent", absent_}})};
    }
    return {};
  }

  FakeResponse join(const std::string& name, const boost::json::object& request) {
    const auto rank = boost::json::value_to<std::uint32_t>(request.at("rank"));
    const auto size = boost::json::value_to<std::uint32_t>(request.at("size"));
    requests_[rank] = request;
    joins_ += members_.insert(rank).second ? 1 : 0;
    hosts_[rank] = boost::json::value_to<std::string>(request.at("host"));
    boost::json::object body = {{"name", name}, {"job", "j1"}};
    if (members_.size() < size) {
      boost::json::array missing;
      for (std::uint32_t r = 0; r < size; ++r) {
        if (!members_.contains(r)) {
          missing.push_back({{"rank", r}, {"why", "has not joined"}});
        }
      }
      body["missing"] = missing;
      return {.status = 202, .body = boost::json::serialize(body)};
    }
    body["vni"] = given_.vni;
    body["cookie"] = given_.cookie;
    body["root_rank"] = 0;
    body["root_nid"] = 1;
    body["trees"] = boost::json::array(given_.trees.begin(), given_.trees.end());
    body["lease_seconds"] = given_.lease_seconds;
    body["disjoint"] = true;
    body["slots"] = given_.slots;
    body["payload"] = given_.payload;
    body["in_switch_results"] = false;
    return {.body = boost::json::serialize(body)};
  }

  mutable std::mutex mutex_;
  Given given_;
  std::set<std::uint32_t> members_;
  std::map<std::uint32_t, std::string> hosts_;
  std::map<std::uint32_t, boost::json::object> requests_;
  boost::json::array absent_;
  std::string ended_;
  std::optional<std::uint32_t> expired_;
  std::uint64_t joins_ = 0;
  std::uint64_t renewals_ = 0;
  std::uint64_t leavings_ = 0;
};

} // namespace tributary::library::test
