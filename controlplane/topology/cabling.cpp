#include "controlplane/topology/cabling.hpp"

#include <fmt/format.h>

#include <set>

namespace tributary::topology {
namespace {

class Check {
public:
  Check(const Graph& expected, const Graph& found) : expected_(expected), found_(found) {}

  std::vector<std::string> run() {
    check_switches();
    for (const Link& link : expected_.links()) {
      if (link.plugged) {
        check(link);
      }
    }
    for (const Host& host : expected_.hosts()) {
      if (host.plugged) {
        check(host);
      }
    }
    name_surplus();
    return std::move(differences_);
  }

private:
  template <typename... Args> void add(fmt::format_string<Args...> text, Args&&... args) {
    differences_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  /// The same port in the other graph, when its switch exists there and is up.
  static std::optional<Attachment> same(const Graph& from, Attachment end, const Graph& to) {
    const auto s = to.find_switch(from[end.at].name);
    return s && to[*s].up ? std::optional(Attachment{*s, end.port}) : std::nullopt;
  }

  void check_switches() {
    for (const Switch& s : expected_.switches()) {
      const auto there = found_.find_switch(s.name);
      if (!there) {
        add("switch {} is missing", s.name);
      } else if (!found_[*there].up) {
        add("switch {} is down", s.name);
      }
    }
    for (const Switch& s : found_.switches()) {
      if (s.up && !expected_.find_switch(s.name)) {
        add("switch {} should not be there", s.name);
      }
    }
  }

  /// The other end of a port in the fabric found, "" for nothing; records that it was mentioned.
  std::string where(Attachment at) {
    if (const auto c = found_.link_at(at); c && found_.usable(*c)) {
      named_.insert(*c);
      const Link& link = found_[*c];
      return found_.describe(link.ends[link.ends[0] == at ? 1 : 0]);
    }
    if (const auto h = found_.host_at(at); h && found_[*h].up) {
      return fmt::format("host {}", found_[*h].name);
    }
    return "";
  }

  void check(const Link& link) {
    const auto a = same(expected_, link.ends[0], found_);
    const auto b = same(expected_, link.ends[1], found_);
    if (!a || !b) {
      return; // The missing switch is already reported.
    }
    // An unplugged link between the same ports may be recorded as well.
    if (const auto c = found_.link_at(*a); c && c == found_.link_at(*b) && found_.usable(*c)) {
      named_.insert(*c);
      return;
    }
    const std::string from_a = where(*a);
    const std::string from_b = where(*b);
    const bool b_reports_more = from_a.empty() && !from_b.empty();
    const Attachment here = link.ends[b_reports_more ? 1 : 0];
    const std::string& instead = b_reports_more ? from_b : from_a;
    add("{} should go to {}, goes {}", expected_.describe(here),
        expected_.describe(link.ends[b_reports_more ? 0 : 1]),
        instead.empty() ? "nowhere" : "to " + instead);
  }

  void check(const Host& host) {
    const auto at = same(expected_, host.at, found_);
    if (!at) {
      return;
    }
    const auto there = found_.find_host(host.nid);
    const bool up = there && found_[*there].up;
    if (up && found_[*there].at == *at) {
      return;
    }
    const std::string instead = up ? "" : where(*at);
    add("host {} (NID {}) should be on {}, is {}{}", host.name, host.nid.value,
        expected_.describe(host.at),
        up ? "on " + found_.describe(found_[*there].at) : std::string("not there"),
        instead.empty() ? ""
                        : fmt::format("; {} leads to {}", expected_.describe(host.at), instead));
  }

  bool is_expected(Attachment end) const {
    const auto at = same(found_, end, expected_);
    return at && (expected_.link_at(*at) || expected_.host_at(*at));
  }

  /// Links and hosts between known switches that were not mentioned above.
  void name_surplus() {
    for (std::uint32_t i = 0; i < found_.links().size(); ++i) {
      const Link& link = found_[LinkId{i}];
      if (found_.usable(LinkId{i}) && !named_.contains(LinkId{i}) &&
          expected_.find_switch(found_[link.ends[0].at].name) &&
          expected_.find_switch(found_[link.ends[1].at].name)) {
        add("{} goes to {}, where no link is expected", found_.describe(link.ends[0]),
            found_.describe(link.ends[1]));
      }
    }
    if (expected_.hosts().empty()) {
      return; // A file that only lists the switches.
    }
    for (const Host& host : found_.hosts()) {
      if (host.up && found_[host.at.at].up && !expected_.find_host(host.nid) &&
          expected_.find_switch(found_[host.at.at].name) && !is_expected(host.at)) {
        add("host {} (NID {}) is on {}, where nothing is expected", host.name, host.nid.value,
            found_.describe(host.at));
      }
    }
  }

  const Graph& expected_;
  const Graph& found_;
  std::set<LinkId> named_;
  std::vector<std::string> differences_;
};

} // namespace

std::vector<std::string> check_cabling(const Graph& expected, const Graph& found) {
  return Check(expected, found).run();
}

} // namespace tributary::topology
