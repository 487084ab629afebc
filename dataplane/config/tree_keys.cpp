// Keys of [[switch.tree]] and [[switch.route]].
#include "dataplane/config/section_keys.hpp"
#include "tributary/wire/wide_reduction.hpp"

namespace tributary::config {

using configuration::Change;
using configuration::Integer;
using configuration::Key;
using configuration::Name;
using configuration::specs_of;
using configuration::text;
using configuration::Value;

namespace {

const Key<TreeDraft> tree_keys[] = {
    {{.name = "tree",
      .type = Integer{0, max_trees - 1},
      .fallback = "",
      .sample = "1",
      .change = Change::live,
      .required = true,
      .help = "Number of the tree, its multicast id."},
     [](TreeDraft& t, const Value& v) { t.number = std::get<std::int64_t>(v); }},
    {{.name = "wait_count",
      .type = Integer{0, max_contributions},
      .fallback = "",
      .sample = "1",
      .change = Change::live,
      .required = true,
      .help = "Number of endpoints below this switch on this tree, whose contributions its engine "
              "waits for; 0: an ordinary multicast, no reduction."},
     [](TreeDraft& t, const Value& v) { t.wait_count = std::get<std::int64_t>(v); }},
    {{.name = "parent",
      .type = Name{},
      .fallback = "",
      .sample = "\"host0\"",
      .change = Change::live,
      .required = true,
      .help = "Port toward the root; at the last switch, the root's own edge port."},
     [](TreeDraft& t, const Value& v) { t.parent = text(v); }},
    {{.name = "children",
      .type = configuration::Names{1, max_ports},
      .fallback = "",
      .sample = "[\"host1\"]",
      .change = Change::live,
      .required = true,
      .help = "Ports away from the root."},
     [](TreeDraft& t, const Value& v) { t.children = std::get<std::vector<std::string>>(v); }},
    {{.name = "slots",
      .type = Integer{reductions_per_tree, most_reductions_per_tree},
      .fallback = "8",
      .sample = "",
      .change = Change::live,
      .help = "Number of reductions that may be in flight at the same time: 8, 16, 32, 64 or 128. "
              "More than "
              "8 need a payload."},
     [](TreeDraft& t, const Value& v) {
       t.slots.slots = configuration::integer<std::uint32_t>(v);
     }},
    {{.name = "payload",
      .type = Integer{0, wire::longest_switched_payload},
      .fallback = "0",
      .sample = "",
      .change = Change::live,
      .help =
          "Longest vector of a wide reduction frame in bytes, a multiple of 64: 1408 for an MTU "
          "of 1500. The frame is 62 bytes longer. 0: no wide frames."},
     [](TreeDraft& t, const Value& v) {
       t.slots.payload_bytes = configuration::integer<std::uint32_t>(v);
     }},
    {{.name = "float16",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .change = Change::live,
      .help = "Whether slots are made for sums of binary16 and bfloat16, which need twice the "
              "memory. false: this switch makes such sums of vectors up to half the payload, and "
              "passes longer ones on."},
     [](TreeDraft& t, const Value& v) { t.slots.half_floats = std::get<bool>(v); }},
    {{.name = "in_switch_results",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .change = Change::live,
      .help =
          "Whether this switch, which is next to the root, sends in-switch results: it waits for "
          "the root's contribution, too (wait_count is the size of the group), and sends the "
          "result to all. The hosts need the same setting. With a payload it takes one "
          "more vector of slot memory for each slot."},
     [](TreeDraft& t, const Value& v) { t.slots.in_switch = std::get<bool>(v); }},
    {{.name = "shared",
      .type = configuration::Flag{},
      .fallback = "false",
      .sample = "",
      .change = Change::live,
      .help =
          "Whether any member may multicast on the tree: shared frames are copied to its parent "
          "and children. All switches of the tree need it, and the hosts the same setting. While "
          "the tree's ports change, leave it false at all of them."},
     [](TreeDraft& t, const Value& v) { t.shared = std::get<bool>(v); }},
};

const Key<RouteDraft> route_keys[] = {
    {{.name = "nid",
      .type = Integer{0, max_nid},
      .fallback = "",
      .sample = "0x00001",
      .change = Change::live,
      .required = true,
      .help = "Destination of unicast frames."},
     [](RouteDraft& r, const Value& v) { r.nid = std::get<std::int64_t>(v); }},
    {{.name = "port",
      .type = Name{},
      .fallback = "",
      .sample = "\"host0\"",
      .change = Change::live,
      .required = true,
      .help = "Port by which they leave."},
     [](RouteDraft& r, const Value& v) { r.port = text(v); }},
};

} // namespace

std::span<const configuration::KeySpec> specs_of_tree() {
  static const auto specs = specs_of(tree_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, TreeDraft& target) {
  tree_keys[index].set(target, value);
}

std::span<const configuration::KeySpec> specs_of_route() {
  static const auto specs = specs_of(route_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, RouteDraft& target) {
  route_keys[index].set(target, value);
}

} // namespace tributary::config
