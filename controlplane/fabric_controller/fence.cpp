#include "controlplane/fabric_controller/fence.hpp"

#include "controlplane/api/status.hpp"
#include "tributary/text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace tributary::fabric_controller {
namespace {

/// Switches dial again every few seconds; one that has not for so long is away or mended.
constexpr std::uint64_t memory_ns = 60'000'000'000;
/// Switches of other fabrics that are remembered; a liar has any number of names.
constexpr std::size_t most_others = 4096;

Leader leader_of(const control::SwitchHello& hello) {
  const control::Leader& leader = hello.leader();
  return {leader.fabric(), leader.epoch(), leader.boot()};
}

} // namespace

Fence::Fence(const Rooms& rooms, std::uint64_t boot, const records::Snapshot& past)
    : rooms_(rooms), own_{past.fabric, static_cast<std::uint32_t>(past.epoch), boot},
      superseded_by_(past.superseded_by) {
  for (const records::AdoptionRecord& adoption : past.adoptions) {
    adopted_[adoption.fabric] = adoption.epoch;
  }
  if (is_superseded()) {
    because_ = fmt::format(
        "before its start this manager has met a switch that had accepted a manager of this fabric "
        "with epoch {}; it changes nothing. Stop it; or, if it is the one to lead, run "
        "\"tributaryctl fabric adopt {}\" here",
        superseded_by_, fabric_text(own_.fabric));
    rooms_.clock.hold();
    rooms_.events.report("manager", fmt::format("superseded: {}", because_), {},
                         turns::Severity::error);
  }
}

// ---- switches ----

std::optional<std::string> Fence::refuse(const control::SwitchHello& hello) {
  if (is_superseded()) {
    return because_;
  }
  const Leader seen = leader_of(hello);
  switch (relation(seen, own_)) {
  case LeaderRelation::other_fabric:
    if (const auto found = adopted_.find(seen.fabric);
        found == adopted_.end() || found->second < seen.epoch) {
      return refuse_other(hello.name(), seen);
    }
    break;
  case LeaderRelation::newer:
    if (seen.epoch - own_.epoch > most_ahead) {
      return fmt::format("switch \"{}\" reports epoch {} of this fabric, and this manager's is {}: "
                         "that cannot be; restart the switch",
                         hello.name(), seen.epoch, own_.epoch);
    }
    return supersede(hello.name(), seen);
  case LeaderRelation::twin: return supersede(hello.name(), seen);
  case LeaderRelation::unknown:
    if (seen.fabric != 0) { // it would not accept this manager
      return fmt::format("switch \"{}\" belongs to fabric {}, and this manager's store has no "
                         "identity of a fabric, because its disk is full; make room and start it "
                         "again",
                         hello.name(), fabric_text(seen.fabric));
    }
    break;
  case LeaderRelation::older:
  case LeaderRelation::same: break;
  }
  others_.erase(hello.name());
  return std::nullopt;
}

std::string Fence::refuse_other(const std::string& at, const Leader& seen) {
  const bool is_news = !is_known(seen);
  const TimeNs now = rooms_.clock.now();
  if (others_.size() >= most_others) {
    std::erase_if(others_, [this](const auto& one) { return !is_current(one.second); });
  }
  if (others_.size() < most_others || others_.contains(at)) {
    others_[at] = {seen, now};
  }
  std::string why = fmt::format(
      "switch \"{}\" belongs to fabric {} (epoch {}), and this manager manages fabric {}; nothing "
      "is changed there. Correct the switch's [manager] address, or start this manager with the "
      "store of that fabric; or let it take that fabric's switches over, which removes what they "
      "hold: \"tributaryctl fabric adopt {}\"",
      at, fabric_text(seen.fabric), seen.epoch, fabric_text(own_.fabric), fabric_text(seen.fabric));
  if (is_news) {
    rooms_.events.report("manager", fmt::format("rejected: {}", why), {}, turns::Severity::error);
  }
  return why;
}

std::string Fence::supersede(const std::string& at, const Leader& seen) {
  superseded_by_ = seen.epoch;
  because_ =
      seen.epoch == own_.epoch
          ? fmt::format("switch \"{}\" has accepted another manager of this fabric with the same "
                        "epoch {}: one of both runs on a copy of the other's store",
                        at, seen.epoch)
          : fmt::format("switch \"{}\" has accepted a manager of this fabric with epoch {}, and "
                        "this manager's is {}: it was replaced, or runs on a back-up",
                        at, seen.epoch, own_.epoch);
  because_ += fmt::format("; it changes nothing. Stop it; or, if it is the one to lead, run "
                          "\"tributaryctl fabric adopt {}\" here",
                          fabric_text(own_.fabric));
  to_store_ = true;
  rooms_.clock.hold();
  rooms_.events.report("manager", fmt::format("superseded: {}", because_),
                       {{"switch", at}, {"epoch", seen.epoch}}, turns::Severity::error);
  rooms_.environment.request_reconcile();
  return because_;
}

void Fence::complete(const control::SwitchHello& hello, control::Welcome& welcome) const {
  if (own_.fabric == 0) {
    return;
  }
  control::Leader& leader = *welcome.mutable_leader();
  leader.set_fabric(own_.fabric);
  leader.set_epoch(own_.epoch);
  leader.set_boot(own_.boot);
  const Leader seen = leader_of(hello);
  if (const auto found = adopted_.find(seen.fabric);
      found != adopted_.end() && seen.epoch <= found->second) {
    welcome.set_adopted_fabric(seen.fabric);
  }
}

// ---- state ----

bool Fence::is_current(const Met& met) const {
  return elapsed_ns(rooms_.clock.time(), met.at) <= memory_ns;
}

bool Fence::is_known(const Leader& seen) const {
  return std::ranges::any_of(others_, [&](const auto& one) {
    const Leader& leader = one.second.leader;
    return leader.fabric == seen.fabric && leader.epoch >= seen.epoch && is_current(one.second);
  });
}

std::map<std::uint64_t, Fence::OtherFabric> Fence::other_fabrics() const {
  std::map<std::uint64_t, OtherFabric> fabrics;
  for (const auto& [at, met] : others_) {
    if (is_current(met)) {
      OtherFabric& fabric = fabrics[met.leader.fabric];
      fabric.epoch = std::max(fabric.epoch, met.leader.epoch);
      fabric.switches.insert(at);
    }
  }
  return fabrics;
}

std::size_t Fence::others() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(others_, [this](const auto& one) { return is_current(one.second); }));
}

api::Answer Fence::refusal() const {
  return api::error_answer(503, fmt::format("this manager is superseded: {}", because_));
}

std::vector<std::string> Fence::problems() const {
  std::vector<std::string> found;
  if (is_superseded()) {
    found.push_back(fmt::format("superseded: {}", because_));
  }
  for (const auto& [fabric, other] : other_fabrics()) {
    found.push_back(fmt::format(
        "{} of fabric {} (epoch {}) {} rejected, such as {}: this manager manages fabric {}; "
        "\"tributaryctl fabric adopt {}\" takes them over, and removes what they hold",
        counted(other.switches.size(), "switch", "switches"), fabric_text(fabric), other.epoch,
        other.switches.size() == 1 ? "is" : "are", *other.switches.begin(),
        fabric_text(own_.fabric), fabric_text(fabric)));
  }
  return found;
}

boost::json::object Fence::view(std::string_view name,
                                const std::vector<api::StandbyPlace>& standbys) const {
  boost::json::object own{
      {"name", name}, {"role", is_superseded() ? "superseded" : "leader"}, {"epoch", own_.epoch}};
  if (is_superseded()) {
    own["superseded_by"] = superseded_by_;
  }
  boost::json::array managers{std::move(own)};
  for (const api::StandbyPlace& one : standbys) {
    managers.push_back(
        {{"name", one.name},
         {"role", "standby"},
         {"addresses", boost::json::array(one.addresses.begin(), one.addresses.end())}});
  }
  boost::json::array others;
  for (const auto& [fabric, other] : other_fabrics()) {
    others.push_back(
        {{"fabric", fabric_text(fabric)},
         {"epoch", other.epoch},
         {"switches", boost::json::array(other.switches.begin(), other.switches.end())}});
  }
  boost::json::array adopted;
  for (const auto& [fabric, epoch] : adopted_) {
    adopted.push_back({{"fabric", fabric_text(fabric)}, {"epoch", epoch}});
  }
  const std::vector<std::string> found = problems();
  return {{"fabric", fabric_text(own_.fabric)},
          {"managers", std::move(managers)},
          {"other_fabrics", std::move(others)},
          {"adopted_fabrics", std::move(adopted)},
          {"problems", boost::json::array(found.begin(), found.end())}};
}

// ---- the operator ----

void Fence::adopt(std::uint64_t fabric, api::Reply reply) {
  const std::uint32_t newest = std::max(own_.epoch, superseded_by_);
  if (newest == std::numeric_limits<std::uint32_t>::max()) {
    return reply(api::error_answer(
        409, "the epochs of this fabric are used up; start the manager with an empty store, and "
             "adopt this fabric there"));
  }
  std::uint32_t adopted = 0;
  if (fabric == own_.fabric) {
    if (!is_superseded()) {
      return reply(api::error_answer(
          409, fmt::format("this manager leads fabric {} with epoch {}; nothing is to be adopted",
                           fabric_text(fabric), own_.epoch)));
    }
  } else {
    if (is_superseded()) {
      return reply(refusal());
    }
    const auto known = other_fabrics();
    const auto found = known.find(fabric);
    if (found == known.end()) {
      return reply(api::error_answer(
          404, fmt::format("no switch of fabric {} has connected in the last {} s; \"tributaryctl "
                           "fabric show managers\" lists the fabrics that were met",
                           fabric_text(fabric), memory_ns / 1'000'000'000)));
    }
    adopted = found->second.epoch;
  }
  // The epoch rises with every adoption: of two managers that adopt each other, the later one has
  // the switches.
  agreements_.push_back({fabric, newest + 1, adopted, std::move(reply), false});
  rooms_.environment.request_reconcile();
}

void Fence::take_effect(const Agreement& agreement) {
  own_.epoch = std::max(own_.epoch, agreement.epoch);
  if (agreement.fabric != own_.fabric) {
    adopted_[agreement.fabric] = agreement.adopted;
    std::erase_if(others_, [&](const auto& one) {
      return one.second.leader.fabric == agreement.fabric &&
             one.second.leader.epoch <= agreement.adopted;
    });
    rooms_.events.report("manager",
                         fmt::format("the operator lets this manager take over the switches of "
                                     "fabric {}, up to epoch {}",
                                     fabric_text(agreement.fabric), agreement.adopted),
                         {}, turns::Severity::warning);
    return;
  }
  superseded_by_ = 0;
  because_.clear();
  rooms_.clock.release();
  rooms_.events.report(
      "manager", fmt::format("the operator lets this manager lead, with epoch {}", own_.epoch), {},
      turns::Severity::warning);
}

// ---- Controller ----

void Fence::conclude(const turns::Turn& /*turn*/) {
  if (std::exchange(to_store_, false)) {
    rooms_.store.add({records::LeadRecord{own_.epoch, superseded_by_}});
  }
  for (Agreement& agreement : agreements_) {
    if (std::exchange(agreement.is_written, true)) {
      continue;
    }
    rooms_.store.add({records::LeadRecord{agreement.epoch, 0}});
    if (agreement.fabric != own_.fabric) {
      rooms_.store.add({records::AdoptionRecord{agreement.fabric, agreement.adopted}});
    }
  }
}

void Fence::finish(const turns::Turn& turn) {
  std::vector<Agreement> waiting;
  for (Agreement& agreement : std::exchange(agreements_, {})) {
    const bool is_done = agreement.is_written && !turn.store_is_failing;
    if (is_done) {
      take_effect(agreement);
    }
    if (agreement.reply && (is_done || turn.store_is_failing)) {
      std::exchange(agreement.reply, nullptr)(
          is_done ? api::Answer{200,
                                boost::json::object{{"fabric", fabric_text(own_.fabric)},
                                                    {"epoch", own_.epoch},
                                                    {"adopted", fabric_text(agreement.fabric)}},
                                0}
                  : api::error_answer(
                        503, fmt::format("that cannot be stored now, and takes effect when it is: "
                                         "{}",
                                         rooms_.store.failure())));
    }
    if (!is_done) {
      waiting.push_back(std::move(agreement));
    }
  }
  agreements_.insert(agreements_.begin(), std::make_move_iterator(waiting.begin()),
                     std::make_move_iterator(waiting.end()));
}

} // namespace tributary::fabric_controller
