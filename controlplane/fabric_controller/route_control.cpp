#include "controlplane/fabric_controller/route_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tributary::fabric_controller {

using faults::Cause;
using topology::LinkId;
using topology::SwitchId;

namespace {

/// For a fabric that grows step by step, and new hosts: no route is lost meanwhile.
constexpr std::uint64_t growth_quiet_ns = 20'000'000;
constexpr std::uint64_t growth_longest_ns = 500'000'000;
/// Pause after a computation that threw.
constexpr std::uint64_t failed_pause_ns = 5'000'000'000;

/// Its name in the log of faults; groups have a "/" in their names.
const std::string the_routes = "routes";

/// The computation's clock: the environment's, minus the manager's pauses so far.
std::function<TimeNs()> clock_of(turns::Environment& environment, TimeNs now) {
  const std::uint64_t behind = elapsed_ns(environment.now(), now);
  return [&environment, behind] { return TimeNs{environment.now().value - behind}; };
}

/// "" when it is committed.
std::string failure_of(const transaction::Outcome& outcome) {
  return outcome.result == transaction::Result::committed ? "" : outcome.text;
}

} // namespace

RouteControl::RouteControl(const RouteSettings& settings, const Rooms& rooms,
                           route_controller::Epoch epoch, turns::EventReporter report_event)
    : settings_(settings), rooms_(rooms), report_event_(std::move(report_event)), sets_(epoch),
      log_(settings.log), damping_(settings.damping) {}

// ---- events ----

void RouteControl::start(TimeNs now) {
  if (!settings_.routes.enabled) {
    return;
  }
  to_remember_ = !graph().switches().empty();
  rooms_.coordinator.leave_undecided(route_controller::route_subject());
  sets_.want(now);
}

void RouteControl::remember(TimeNs now) {
  rooms_.beside.give(
      "the previous unicast routes",
      [wanted = request(), clock = clock_of(rooms_.environment, now)] {
        return route_controller::make_plan(wanted, clock);
      },
      [this](route_controller::Plan plan) {
        remembered_ = std::make_shared<const route_controller::Plan>(std::move(plan));
      },
      [this](const std::string& why) {
        report_event_("routes",
                      fmt::format("the routes that switches hold are not recognised, and are "
                                  "replaced like unknown ones: {}",
                                  why));
      });
}

void RouteControl::record(Cause cause, std::string text, TimeNs now) {
  log_.record(cause, std::move(text), rooms_.environment.wall_time(), now);
}

void RouteControl::want(TimeNs now) {
  if (!settings_.routes.enabled) {
    return;
  }
  if (log_.due() != never) {
    sets_.want(log_.due());
    return;
  }
  if (is_being_made()) {
    has_grown_ = true; // the set that is being made is still valid, and another one follows
    return;
  }
  if (sets_.next_due() == never) {
    grows_since_ = now;
  }
  sets_.want(std::min(now + growth_quiet_ns, grows_since_ + growth_longest_ns));
}

void RouteControl::changed(const topology::Change& change, TimeNs now) {
  using Kind = topology::Change::Kind;
  switch (change.kind) {
  case Kind::link_down:
    if (damping_.down(change.link.value, now)) {
      avoidance_changed_ = true;
      report_event_(
          "fault",
          fmt::format("link {} is flapping ({} times down): it is avoided for at least {:.1f} s",
                      graph().describe(change.link), damping_.flaps(change.link.value),
                      seconds_of(elapsed_ns(damping_.reused_at(change.link.value), now))),
          {.severity = turns::Severity::error});
    }
    record(Cause::fault, change.text, now);
    break;
  case Kind::link_up:
    if (damping_.is_suppressed(change.link.value)) {
      return;
    }
    record(Cause::recovery, change.text, now);
    break;
  case Kind::switch_up:
  case Kind::switch_changed: record(Cause::recovery, change.text, now); break;
  case Kind::switch_down: record(Cause::fault, change.text, now); break;
  default: break; // the fabric grows, or a host has moved
  }
  want(now);
}

void RouteControl::connected(SwitchId at, const control::SwitchHello& hello, TimeNs now) {
  for (const control::Port& port : hello.ports()) {
    vcs_[{at, static_cast<topology::Port>(port.number())}] = port.vcs();
  }
  want(now);
}

void RouteControl::ports(SwitchId at, const control::PortReport& report) {
  for (const control::Port& port : report.ports()) {
    vcs_[{at, static_cast<topology::Port>(port.number())}] = port.vcs();
  }
}

void RouteControl::reconfigure(const RouteSettings& settings, TimeNs now) {
  const bool others =
      !(settings.routes == settings_.routes) || settings.sprayed_dscps != settings_.sprayed_dscps;
  settings_ = settings;
  damping_.reconfigure(settings.damping, now);
  avoidance_changed_ = true;
  if (settings.routes.enabled && others) {
    sets_.want(now);
  } else if (!settings.routes.enabled && (sets_.installing() != nullptr ||
                                          sets_.current() != nullptr || sets_.next() != nullptr)) {
    sets_.withdraw();
    failed_in_a_row_ = 0;
    failure_.clear();
    give_up("unicast routes were switched off", now);
    static_cast<void>(rooms_.coordinator.remove(route_controller::route_subject(), now));
    report_event_("routes",
                  "unicast routes are switched off; switches use the routes of their own files");
  }
}

void RouteControl::suspicion(Cause cause, std::string text, std::set<std::string> avoided,
                             TimeNs now) {
  if (avoided != suspected_) {
    suspected_ = std::move(avoided);
    avoidance_changed_ = true;
  }
  record(cause, std::move(text), now);
  want(now);
}

// ---- reaction of groups' trees ----

void RouteControl::tree_planned(const std::string& group, TimeNs now) {
  log_.tree(group);
  if (!settings_.routes.enabled) {
    log_.computed(now);
  }
}

void RouteControl::trees_sent(const std::string& group,
                              std::span<const transaction::TransactionNumber> transactions,
                              TimeNs now) {
  std::vector<std::uint64_t> numbers;
  for (const transaction::TransactionNumber one : transactions) {
    log_.waits_for(one.value, now);
    numbers.push_back(one.value);
  }
  if (numbers.empty()) {
    log_.given_up(group, {}, now); // switches have the wanted state
  } else {
    log_.follows(group, numbers);
  }
}

void RouteControl::trees_given_up(const std::string& group, const std::string& why, TimeNs now) {
  log_.given_up(group, why, now);
}

// ---- in a turn ----

std::span<const std::string_view> RouteControl::after() const {
  static constexpr std::string_view names[] = {"topology", "switches", "computations", "trees",
                                               "retransmit handling"};
  return names;
}

bool RouteControl::handle(const turns::Turn& turn) {
  const bool any = note_in_force(turn.now);
  return handle_routes(turn.now, !turn.waits_for_switches) || any || avoidance_changed_;
}

bool RouteControl::handle_routes(TimeNs now, bool may_begin) {
  bool any = false;
  if (std::exchange(to_remember_, false)) {
    remember(now);
  }
  for (const faults::Damping::Key link : damping_.release(now)) {
    any = avoidance_changed_ = true;
    const std::string text =
        fmt::format("link {} has been quiet and is used again", graph().describe(LinkId{link}));
    report_event_("fault", text);
    record(Cause::recovery, text, now);
    want(now);
  }
  if (again_ <= now) {
    again_ = never;
    if (sets_.next() != nullptr && sets_.next()->state == route_controller::State::refused) {
      sets_.want(now);
    }
  }
  if (has_grown_ && !is_being_made()) {
    has_grown_ = false;
    want(now);
  }
  if (!may_begin) {
    return any;
  }
  any = note_stalled(now) || any;
  if (sets_.next_due() <= now) {
    // A running computation is outdated, but a new one could not start before it ends.
    if (!is_computing_) {
      give(now);
      any = true;
    }
  } else if (log_.due() <= now) {
    log_.begin_answer();
    any = true;
  }
  if (sets_.next() != nullptr && sets_.next()->state == route_controller::State::verified) {
    install(now);
    any = true;
  }
  return any;
}

route_controller::VcLimit RouteControl::vc_limit() const {
  route_controller::VcLimit limit;
  for (const topology::Link& link : graph().links()) {
    for (const topology::Attachment& end : link.ends) {
      const auto said = link.plugged ? vcs_.find(end) : vcs_.end();
      if (said != vcs_.end() && said->second < limit.vcs) {
        limit = {static_cast<std::uint8_t>(said->second), graph().describe(end)};
      }
    }
  }
  return limit;
}

route_controller::Request RouteControl::request() const {
  std::set<SwitchId> without_channel;
  for (std::uint32_t s = 0; s < graph().switches().size(); ++s) {
    if (!rooms_.coordinator.is_connected(SwitchId{s})) {
      without_channel.insert(SwitchId{s});
    }
  }
  return {.fabric = graph(),
          .avoided_switches = avoided_switches(),
          .avoided_links = avoided_links(),
          .without_channel = std::move(without_channel),
          .settings = settings_.routes,
          .held = held_routes(),
          .held_algorithm = sets_.current() != nullptr ? sets_.current()->plan->algorithm : "",
          .limit = vc_limit(),
          .sprayed_dscps = settings_.sprayed_dscps};
}

std::vector<route_controller::HeldRoutes> RouteControl::held_routes() const {
  const std::array known{sets_.installing() != nullptr ? sets_.installing()->plan : nullptr,
                         sets_.current() != nullptr ? sets_.current()->plan : nullptr, remembered_};
  const auto held = rooms_.coordinator.held(route_controller::route_subject());
  return route_controller::held_routes(held, known);
}

void RouteControl::give(TimeNs now) {
  log_.begin_answer();
  is_computing_ = true;
  route_controller::Request wanted = request();
  wanted.epoch = sets_.begin();
  const route_controller::Epoch epoch = sets_.next()->epoch;
  rooms_.beside.give(
      "unicast routes",
      [wanted = std::move(wanted), clock = clock_of(rooms_.environment, now)] {
        return route_controller::make_plan(wanted, clock);
      },
      [this](route_controller::Plan plan) {
        is_computing_ = false;
        computed(std::make_shared<const route_controller::Plan>(std::move(plan)));
      },
      [this, epoch, clock = clock_of(rooms_.environment, now)](const std::string& why) {
        is_computing_ = false;
        route_controller::Plan none;
        none.epoch = epoch;
        none.refused = fmt::format("they could not be computed: {}", why);
        none.computed = none.verified = clock();
        again_ = none.verified + failed_pause_ns;
        computed(std::make_shared<const route_controller::Plan>(std::move(none)));
      });
}

void RouteControl::computed(route_controller::PlanPtr plan) {
  if (!sets_.computed(plan)) {
    return; // for a fabric that has changed since
  }
  log_.computed(plan->computed);
  log_.verified(plan->verified);
  if (!plan->refused.empty()) {
    if (plan->held_lost) {
      failure_.clear(); // known again now
    }
    give_up(plan->refused, plan->verified);
    report_event_("routes",
                  fmt::format("unicast routes of epoch {} failed, and those in force stay: {}",
                              plan->epoch, plan->refused),
                  {.severity = turns::Severity::error});
    return;
  }
  if (plan->lost != 0) {
    report_event_(
        "routes",
        fmt::format(
            "routes of epoch {} leave pairs of switches without a route{}: {}", plan->epoch,
            plan->held_lost ? fmt::format(", {} instead of {}", plan->lost, *plan->held_lost) : "",
            plan->loses),
        {.severity = turns::Severity::error});
  }
  log_.destinations(plan->destinations.size());
  if (plan->parts.size() > 1) {
    report_event_("routes",
                  fmt::format("the fabric is in {} parts, which do not reach each other: {}",
                              plan->parts.size(), route_controller::describe_parts(plan->parts)),
                  {.severity = turns::Severity::error});
  }
}

void RouteControl::install(TimeNs now) {
  const auto transaction =
      rooms_.coordinator.set(route_controller::target_of(*sets_.next()->plan), now);
  sets_.install(transaction);
  log_.waits_for(transaction.value, now);
  log_.follows(the_routes, std::array{transaction.value});
}

void RouteControl::give_up(const std::string& why, TimeNs now) {
  log_.failed(why);
  log_.given_up(the_routes, why, now);
}

bool RouteControl::is_ours(const transaction::Outcome& outcome) const {
  const route_controller::Set* installing = sets_.installing();
  return installing != nullptr && installing->transaction == outcome.transaction;
}

void RouteControl::ended(const transaction::Outcome& outcome) {
  if (!is_ours(outcome)) {
    return;
  }
  const std::string failure = failure_of(outcome);
  static_cast<void>(sets_.ended(outcome.transaction, failure, rooms_.clock.time() + pause_ns()));
  if (!failure.empty()) {
    note_failure(failure);
  }
  log_.again(outcome.transaction.value, the_routes); // until they are in force
}

void RouteControl::trees_ended(const transaction::Outcome& outcome, const std::string& retried,
                               TimeNs now) {
  if (is_ours(outcome)) {
    return;
  }
  if (!retried.empty()) {
    log_.again(outcome.transaction.value, retried);
  } else {
    log_.ended(outcome.transaction.value, failure_of(outcome), now);
  }
}

std::vector<SwitchId> RouteControl::out_of_sync() const {
  // A switch without a channel follows when it reconnects; what it holds was checked with the rest.
  auto out_of_sync = rooms_.coordinator.out_of_sync(route_controller::route_subject());
  std::erase_if(out_of_sync, [&](SwitchId at) { return !rooms_.coordinator.is_connected(at); });
  return out_of_sync;
}

void RouteControl::note_failure(const std::string& why) {
  ++failures_;
  ++failed_in_a_row_;
  failure_ = why;
  report_event_("routes", fmt::format("{}; they are computed again", why),
                {.severity = turns::Severity::warning});
}

std::uint64_t RouteControl::pause_ns() const {
  constexpr unsigned most_doublings = 4;
  return settings_.retry_ns << std::min(failed_in_a_row_, most_doublings);
}

bool RouteControl::note_stalled(TimeNs now) {
  const route_controller::Set* installing = sets_.installing();
  if (installing == nullptr || installing->transaction ||
      rooms_.coordinator.is_under_way(route_controller::route_subject())) {
    return false;
  }
  std::vector<std::string> names;
  for (const SwitchId at : out_of_sync()) {
    names.push_back(graph()[at].name);
  }
  if (names.empty()) {
    return false;
  }
  const std::string why = fmt::format("unicast routes of epoch {} have stopped half way: {} must "
                                      "not get them beside what other switches hold",
                                      installing->epoch, route_controller::some_of(names));
  // Waiting longer does not help: what the switches hold is known.
  static_cast<void>(sets_.stalled(why, failed_in_a_row_ == 0 ? now : now + pause_ns()));
  note_failure(why);
  return true;
}

bool RouteControl::note_in_force(TimeNs now) {
  const route_controller::Set* installing = sets_.installing();
  if (installing == nullptr || installing->transaction || !out_of_sync().empty()) {
    return false;
  }
  const route_controller::PlanPtr plan = installing->plan;
  if (!sets_.everywhere()) {
    return false;
  }
  failed_in_a_row_ = 0;
  failure_.clear();
  log_.given_up(the_routes, {}, now);
  report_event_("routes",
                fmt::format("unicast routes of epoch {} are in force: {}, {} virtual channels",
                            plan->epoch, plan->algorithm, plan->vcs),
                {.code = "route_changed", .switches = plan->destinations});
  return true;
}

bool RouteControl::is_being_made() const {
  const route_controller::Set* next = sets_.next();
  return next != nullptr && (next->state == route_controller::State::computing ||
                             next->state == route_controller::State::verified);
}

bool RouteControl::is_busy() const {
  const route_controller::Set* next = sets_.next();
  return next != nullptr && next->state != route_controller::State::refused;
}

void RouteControl::conclude(const turns::Turn& turn) {
  if (turn.is_idle && !is_busy()) {
    log_.answered(turn.now);
  }
}

TimeNs RouteControl::next_deadline(const turns::Turn& turn) const {
  const bool waits_for_a_computation = is_computing_ && sets_.next_due() != never;
  const TimeNs begins = waits_for_a_computation ? never : std::min(log_.due(), sets_.next_due());
  return std::min({damping_.next_release(), again_, turn.start_of(begins)});
}

// ---- drain ----

std::string RouteControl::refuse_drain(SwitchId at) const {
  const std::string& name = graph()[at].name;
  const route_controller::CutOff cut =
      route_controller::cut_off_by(graph(), avoided_switches(), at);
  return cut.empty() ? ""
                     : fmt::format("draining {} would cut hosts off: {}; move them, or use --force",
                                   name, cut.describe(name));
}

void RouteControl::set_drained(SwitchId at, bool drained, TimeNs now) {
  const std::string& name = graph()[at].name;
  const bool differs = drained ? drained_.insert(name).second : drained_.erase(name) != 0;
  if (differs) {
    avoidance_changed_ = true;
    record(Cause::request,
           fmt::format("switch {} is {}", name,
                       drained ? "drained by the operator" : "not drained any more"),
           now);
    want(now);
  }
}

std::string RouteControl::routes_through(SwitchId at) const {
  if (!settings_.routes.enabled) {
    return "";
  }
  for (const auto* set : {sets_.installing(), sets_.current()}) {
    if (set != nullptr && at.value < set->plan->contents.size() &&
        set->plan->contents[at.value] != nullptr) {
      return fmt::format("unicast routes of epoch {}", set->epoch);
    }
  }
  if (const route_controller::Set* next = sets_.next(); next != nullptr) {
    return next->state == route_controller::State::refused
               ? fmt::format("routes without it are refused: {}", next->plan->refused)
               : "new unicast routes are being installed";
  }
  return sets_.installing() != nullptr ? "new unicast routes are being installed" : "";
}

// ---- queries ----

route_controller::HeldTables RouteControl::held_tables() const {
  route_controller::HeldTables tables(graph().switches().size());
  for (const route_controller::HeldRoutes& one : held_routes()) {
    if (one.at.value < tables.size() && tables[one.at.value].epoch == 0) {
      tables[one.at.value] = {one.epoch, one.routes};
    }
  }
  return tables;
}

std::string RouteControl::problem() const {
  if (!settings_.routes.enabled) {
    return {};
  }
  if (!failure_.empty()) {
    return failure_;
  }
  const route_controller::Set* next = sets_.next();
  if (next != nullptr && next->plan && !next->plan->refused.empty() && next->plan->held_lost &&
      *next->plan->held_lost != 0) {
    return fmt::format("new unicast routes are refused: {}", next->plan->refused);
  }
  return {};
}

std::uint64_t RouteControl::pairs_lost() const {
  const route_controller::Set* next = sets_.next();
  if (next != nullptr && next->plan && !next->plan->refused.empty()) {
    return next->plan->held_lost.value_or(0);
  }
  return sets_.current() != nullptr ? sets_.current()->plan->lost : 0;
}

std::set<SwitchId> RouteControl::avoided_switches() const {
  std::set<SwitchId> avoided;
  for (const std::set<std::string>* const names : {&drained_, &suspected_}) {
    for (const std::string& name : *names) {
      if (const auto at = graph().find_switch(name)) {
        avoided.insert(*at);
      }
    }
  }
  return avoided;
}

std::set<LinkId> RouteControl::avoided_links() const {
  std::set<LinkId> avoided;
  for (const faults::Damping::Key link : damping_.suppressed()) {
    avoided.insert(LinkId{link});
  }
  return avoided;
}

bool RouteControl::avoids(LinkId link) const {
  if (damping_.is_suppressed(link.value)) {
    return true;
  }
  return (!drained_.empty() || !suspected_.empty()) &&
         std::ranges::any_of(graph()[link].ends, [&](const topology::Attachment& end) {
           const std::string& name = graph()[end.at].name;
           return drained_.contains(name) || suspected_.contains(name);
         });
}

} // namespace tributary::fabric_controller
