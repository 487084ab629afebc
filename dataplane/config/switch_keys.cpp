// Keys of [[switch]].
#include "dataplane/config/section_keys.hpp"

namespace tributary::config {

using configuration::Choice;
using configuration::Integer;
using configuration::integer;
using configuration::Integers;
using configuration::Key;
using configuration::Name;
using configuration::specs_of;
using configuration::text;
using configuration::Value;

namespace {

constexpr std::string_view nan_modes[] = {"associative", "ieee"};
constexpr std::string_view foreign_choices[] = {"forward", "drop"};

constexpr std::int64_t max_timer_us = std::int64_t{core::EngineTimers::max_units} * 1024 / 850;

const Key<Switch> switch_keys[] = {
    {{.name = "name",
      .type = Name{},
      .fallback = "",
      .sample = "\"leaf0\"",
      .required = true,
      .help = "Name of this switch in logs and tributaryctl."},
     [](Switch& s, const Value& v) { s.name = text(v); }},
    {{.name = "guid",
      .type = Integer{1, INT64_MAX},
      .fallback = "",
      .sample = "0x02fd000000000001",
      .help = "Identity of the switch to its neighbours and the fabric manager; absent: a hash of "
              "the name."},
     [](Switch& s, const Value& v) { s.guid = integer<std::uint64_t>(v); }},
    {{.name = "ethertype",
      .type = Integer{0x0600, 0xFFFF},
      .fallback = "0x88B5",
      .sample = "",
      .help = "EtherType of the fabric, the same on all ports of a switch because frames are "
              "replicated, never rewritten."},
     // validate.cpp copies it to the ports.
     [](Switch& s, const Value& v) { s.ethertype = integer<std::uint16_t>(v); }},
    {{.name = "descriptors_per_engine",
      .type = Integer{1, 65536},
      .fallback = "65536",
      .sample = "",
      .help = "Number of reductions that the engine of one port can hold at the same time. A tree "
              "has up to "
              "eight; the default is enough for all 8,192 trees. Fewer save no memory; they serve "
              "to emulate hardware, which has 8."},
     [](Switch& s, const Value& v) {
       s.settings.descriptors_per_engine = integer<std::uint32_t>(v);
     }},
    {{.name = "wide_memory_mib",
      .type = Integer{0, 65536},
      .fallback = "64",
      .sample = "",
      .help = "Memory for the vectors of wide reduction frames that are under way. A tree with a "
              "payload takes slots times payload bytes of it, twice that with float16. Nothing of "
              "it is used before it is needed; 0: no tree can have a payload."},
     [](Switch& s, const Value& v) { s.settings.wide_memory = integer<std::uint64_t>(v) << 20; }},
    {{.name = "nan_mode",
      .type = Choice{nan_modes},
      .fallback = "\"associative\"",
      .sample = "",
      .help = "Treatment of signalling NaNs by FLT_MINNUM and the related operators: associative "
              "gives the same result in any order, ieee follows IEEE 754-2008 step by step."},
     [](Switch& s, const Value& v) {
       s.settings.nan_mode =
           text(v) == "ieee" ? reduce::NanMode::ieee : reduce::NanMode::associative;
     }},
    {{.name = "foreign",
      .type = Choice{foreign_choices},
      .fallback = "\"forward\"",
      .sample = "",
      .help = "Treatment of a contribution whose VNI or cookie differs from the armed one: forward "
              "it to the root unreduced, or drop it."},
     [](Switch& s, const Value& v) { s.settings.drop_foreign = text(v) == "drop"; }},
    {{.name = "forward_foreign",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .help = "Whether frames that are not of the fabric, such as ARP and IP, pass between two "
              "ports, each way, as over a cable. Of kind af_xdp they then leave nothing to the "
              "kernel."},
     // validate.cpp copies it to the ports.
     [](Switch& s, const Value& v) { s.forward_foreign = std::get<bool>(v); }},
    {{.name = "foreign_ports",
      .type = configuration::Names{2, 2},
      .fallback = "",
      .sample = "[\"host0\", \"host1\"]",
      .help =
          "The two ports that forward_foreign joins; needed where the switch has more than two."},
     [](Switch& s, const Value& v) { s.foreign_ports = std::get<std::vector<std::string>>(v); }},
    {{.name = "timer_limits",
      .type = Integers{3, 3, 1, max_contributions},
      .fallback = "[16, 256, 4096]",
      .sample = "",
      .help = "Ascending wait counts that select one of the four timers: the first timer below the "
              "first limit, the fourth from the last limit on."},
     [](Switch& s, const Value& v) {
       const auto& limits = std::get<std::vector<std::int64_t>>(v);
       for (std::size_t i = 0; i < limits.size(); ++i) {
         s.settings.timers.limits[i] = static_cast<ContributionCount>(limits[i]);
       }
     }},
    {{.name = "timers_us",
      .type = Integers{4, 4, 1, max_timer_us},
      .fallback = "[12000000, 14000000, 17000000, 20000000]",
      .sample = "",
      .help = "Timeouts of an engine, counted from its arm, after which it sends its partial "
              "result. They must be more than half the hosts' collective timeout, which is 20 s."},
     [](Switch& s, const Value& v) {
       const auto& timers = std::get<std::vector<std::int64_t>>(v);
       for (std::size_t i = 0; i < timers.size(); ++i) {
         s.settings.timers.units[i] =
             core::EngineTimers::units_from_us(static_cast<std::uint64_t>(timers[i]));
       }
     }},
    {{.name = "watchdog_ms",
      .type = Integer{0, 60'000},
      .fallback = "200",
      .sample = "",
      .help = "Time for which a neighbour may pause a class of a port without a break. Beyond it "
              "the class is given up: its frames are dropped until it was not paused for as long. "
              "0: never."},
     [](Switch& s, const Value& v) { set_watchdog(s.classes, v); }},
};

} // namespace

std::span<const configuration::KeySpec> specs_of_switch() {
  static const auto specs = specs_of(switch_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, Switch& target) {
  switch_keys[index].set(target, value);
}

} // namespace tributary::config
