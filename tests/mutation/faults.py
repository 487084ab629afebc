"""Planted faults: each changes one line of the product into one that is wrong, and compiles.

`scripts/mutation` plants them one at a time and reports which are detected. A fault is (name, file,
why it is wrong, the right text, the wrong text); the right text must occur in its file exactly
once. A change of such a line needs a change of its fault.
"""

from dataclasses import dataclass

ENGINE = "dataplane/core/engine.cpp"
APPLIED = "dataplane/core/applied.hpp"
DECIDE = "dataplane/core/decide.hpp"
PROCESS_BURST = "dataplane/core/process_burst.cpp"
ENGINE_HPP = "dataplane/core/engine.hpp"
CORE = "dataplane/core/switch_core.cpp"
TABLES = "dataplane/core/tables.hpp"
CLASSIFY = "dataplane/core/classify.hpp"
CLASSIFY_CPP = "dataplane/core/classify.cpp"
DESCRIPTOR = "dataplane/core/descriptor.hpp"
WIDE_ENGINE = "dataplane/core/wide_engine.cpp"
WIDE_HOLDING = "dataplane/core/wide_holding.hpp"
SLOT_DEALER = "dataplane/core/slot_dealer.cpp"
SLOT_PLACE = "dataplane/core/slot_place.hpp"
DEADLINES = "dataplane/core/deadline_queues.cpp"
DEADLINES_HPP = "dataplane/core/deadline_queues.hpp"
IN_SWITCH_DECIDE = "dataplane/core/in_switch_decide.hpp"
IN_SWITCH_RECORD = "dataplane/core/in_switch_record.hpp"
IN_SWITCH = "dataplane/core/in_switch.cpp"
ENGINE_STATE = "dataplane/core/engine_state.cpp"
OWNERS = "dataplane/placement/owners.hpp"
ROOT = "endpoint/collective/root.cpp"
ROOT_SEQUENCES = "endpoint/collective/root_sequences.cpp"
ROOT_GATHERING = "endpoint/collective/root_gathering.cpp"
ROOT_LEAVING = "endpoint/collective/root_leaving.cpp"
ROOT_IN_SWITCH = "endpoint/collective/root_in_switch.cpp"
LEAF = "endpoint/collective/leaf.cpp"
CHANNEL = "endpoint/collective/channel.cpp"
SEQUENCE = "endpoint/collective/sequence.hpp"
INTEGER = "include/tributary/reduce/integer.hpp"
FLOATING = "include/tributary/reduce/floating.hpp"
FLOAT_SUM = "include/tributary/reduce/float_sum.hpp"
MINMAXLOC = "include/tributary/reduce/minmaxloc.hpp"
REDUCER = "include/tributary/reduce/reducer.hpp"
REPSUM = "include/tributary/reduce/repsum.hpp"
WIDE_EXTREME = "include/tributary/reduce/wide_extreme.hpp"
WIDE_HALF_SUM = "include/tributary/reduce/wide_half_sum.hpp"
WIDE_NARROW_SUM = "include/tributary/reduce/wide_narrow_sum.hpp"
WIDE_REPSUM = "include/tributary/reduce/wide_repsum.hpp"
SUM_ENVIRONMENT = "include/tributary/reduce/sum_environment.hpp"
WIRE = "include/tributary/wire/reduction.hpp"
UNICAST = "dataplane/core/unicast.hpp"
PORT_QUEUES = "dataplane/egress/port_queues.hpp"
ROUTE_DECIDE = "dataplane/forwarding_table/decide.hpp"
CORNERS = "controlplane/unicast/corner_tables.cpp"
VTFTR_PLUS = "controlplane/unicast/vtftr_plus.cpp"
PHASES = "controlplane/unicast/phase_search.cpp"
VERIFY = "controlplane/unicast/verify.cpp"
ACYCLIC = "controlplane/unicast/acyclic_graph.cpp"
GENERAL = "controlplane/unicast/general.cpp"


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    why: str
    right: str
    wrong: str


FAULTS = [
    # ---- unicast in the core, and its pauses ----
    Fault("unicast_waits_for_stuck_ports", UNICAST, "frames go on to a port that pauses without end",
          "effects.any_stuck() ? decide_past_stuck", "false ? decide_past_stuck"),
    Fault("unicast_keeps_its_channel", UNICAST, "a virtual channel does not rise where the table says so",
          "d.spare ? Event::detoured : Event::unicast, out_vc);",
          "d.spare ? Event::detoured : Event::unicast, vc);"),
    Fault("pause_of_the_class_it_leaves_in", PORT_QUEUES,
          "a frame whose virtual channel rose counts against senders that did not send it",
          "!accounts_->enter(ingress.port, ingress.traffic_class, bytes)",
          "!accounts_->enter(ingress.port, c, bytes)"),
    # ---- engines ----
    Fault("timer_twice_too_long", ENGINE, "a partial result comes after twice the tree's timer",
          "now + timer_ns_[entry.timer]);\n  return outcome;",
          "now + 2 * timer_ns_[entry.timer]);\n  return outcome;"),
    Fault("timer_of_another_class", ENGINE, "every tree runs the timer of the smallest ones",
          "now + timer_ns_[entry.timer]);\n  return outcome;", "now + timer_ns_[0]);\n  return outcome;"),
    Fault("one_descriptor_less", ENGINE_HPP, "an arm fails while one descriptor is free",
          "return room(entry) != 0 ?", "return room(entry) > 1 ?"),
    Fault("one_descriptor_more", ENGINE_HPP, "an engine holds more reductions than it has descriptors",
          "keys_ : descriptors_per_engine_ - in_use(entry.parent);",
          "keys_ : descriptors_per_engine_ + 1 - in_use(entry.parent);"),
    Fault("rearm_keeps_count", ENGINE_HPP, "what a re-arm threw away counts as discarded once more",
          "    d.match = waiting;\n    d.accumulator.contributions = 0;",
          "    d.match = waiting;"),
    Fault("rearm_not_counted_as_discard", ENGINE, "contributions thrown away by a re-arm are not counted",
          "    counted.rearms.add();\n    counted.discarded.add(descriptor(key).accumulator.contributions);",
          "    counted.rearms.add();"),
    Fault("disarm_of_foreigners", ENGINE_HPP, "a frame of another group frees a descriptor",
          "return match.armed() && match.same_group(carried) ?", "return match.armed() ?"),
    Fault("disarm_ignored", ENGINE, "a release leaves the descriptor occupied until its timer",
          "    release(key, entry);\n", ""),
    Fault("release_leaks_a_descriptor", ENGINE, "the count of occupied descriptors only grows",
          "  in_use_[entry.parent.value] -= entry.has_place() ? 0 : 1;",
          "  in_use_[entry.parent.value] -= entry.has_place() || entry.parent.value % 2U != 0U ? 0 : 1;"),
    Fault("late_not_remembered", ENGINE, "a late contribution is taken for one that was never armed",
          "  record.has_ended = true;\n  release(", "  record.has_ended = false;\n  release("),
    Fault("older_taken_for_newer", ENGINE, "contributions to old sequences travel on to the root",
          "? MatchResult::older : MatchResult::newer;", "? MatchResult::newer : MatchResult::older;"),
    Fault("foreign_taken_for_member", ENGINE, "another group's contribution is combined",
          "  if (!match.same_group(carried)) {\n    return MatchResult::foreign;",
          "  if (!match.same_group(carried) && match.sequence() != carried.sequence()) {\n"
          "    return MatchResult::foreign;"),
    Fault("result_without_signature", ENGINE, "a result carries the first contribution's signature",
          "  wire::store_signature(p, d.signature);\n", ""),
    Fault("overflow_not_reported", ENGINE, "too many contributions make no result code",
          "  if (a.contributions > wait_count) {", "  if (a.contributions > wait_count + 1) {"),
    Fault("result_of_previous_sequence", ENGINE, "a result names another sequence than its own",
          ".resno = d.match.sequence(),",
          ".resno = SequenceNumber{d.match.sequence().value() + 1023U},"),
    # ---- the path of a frame ----
    Fault("contribution_on_ingress_engine", APPLIED, "contributions are booked on a wrong engine",
          "core_->counters_->engines[entry.parent.value].contributions.add();\n    begin",
          "core_->counters_->engines[entry.parent.value ^ 1U].contributions.add();\n    begin"),
    Fault("completes_one_early", TABLES, "a reduction is emitted before the last contribution",
          "    return total >= wait_count;", "    return total + 1 >= wait_count;"),
    Fault("completes_only_when_equal", TABLES, "a reduction that counts too many waits for its timer",
          "    return total >= wait_count;", "    return total == wait_count;"),
    Fault("count_adds_one", APPLIED, "a frame with several contributions counts once",
          "return d.accumulator.contributions += operand.count();",
          "return d.accumulator.contributions += 1;"),
    Fault("signature_of_the_last", APPLIED, "the signatures of one reduction are not added up",
          "    d.signature += wire::signature_of(operand.portals());",
          "    d.signature = wire::signature_of(operand.portals());"),
    Fault("arm_from_child_accepted", DECIDE, "an arm that comes from below travels up to the root",
          "  if (word.arm) {\n    return drop(effects, in, DropReason::arm_from_child);",
          "  if (word.arm && word.count > 0xFFFFF) {\n"
          "    return drop(effects, in, DropReason::arm_from_child);"),
    Fault("empty_frames_combined", DECIDE, "a request for a result ends in an engine",
          "  if (word.count == 0) {\n    return word.retry()",
          "  if (word.count == 0 && word.arm) {\n    return word.retry()"),
    Fault("stale_forwarded", DECIDE, "contributions to an older sequence are passed on",
          "return drop(effects, in, DropReason::stale_sequence);",
          "return forward(effects, frame, entry.parent, Event::passed_newer);"),
    Fault("late_counted_as_passed", DECIDE, "late contributions are not distinguished from unarmed ones",
          "effects.count(key.tree(), &TreeCounters::late);",
          "effects.count(key.tree(), &TreeCounters::passed_through);"),
    Fault("full_not_counted", APPLIED, "completed reductions are missing in the tree's counter",
          "    count(key.tree(), &TreeCounters::full);\n", ""),
    Fault("complete_releases_without_end", APPLIED, "a completed sequence is forgotten",
          "core_->engines_.end(key, entry);", "core_->engines_.release(key, entry);"),
    Fault("mismatch_not_counted", APPLIED, "operators that differ are combined and not reported",
          "    core_->counters_->engines[entry.parent.value].op_mismatches.add();\n", ""),
    Fault("replicated_to_parent", DECIDE, "a frame from the root goes back to it",
          "return replicate(effects, frame, entry.children,\n",
          "return replicate(effects, frame,\n"
          "                   PortSet(entry.children.bits() | std::uint64_t{1} << entry.parent.value),\n"),
    Fault("reserved_opcode_combined", DECIDE, "an operator there is not is combined",
          "  if (!operand.is_known() || !operand.fits(effects.tables())) {",
          "  if (!operand.is_known() && word.arm) {"),
    Fault("unicast_back_out", DECIDE, "a frame returns to the port it came in on",
          "  if (out == in) {", "  if (out == in && out == no_port) {"),
    # ---- vectors ----
    Fault("slot_of_the_neighbour", SLOT_PLACE, "two reductions of a tree share a slot",
          "first_line + id.value * stride_lines();", "first_line + id.value / 2U * stride_lines();"),
    Fault("places_overlap", SLOT_DEALER, "two trees share a line of slot memory",
          "    next += lines_of(wanted.demand);", "    next += lines_of(wanted.demand) - 1;"),
    Fault("gap_too_small", SLOT_DEALER, "a tree gets a gap that another one reaches into",
          "(at == taken.begin() || (at - 1)->end <= begin);", "(at == taken.begin() || (at - 1)->end <= begin + 1);"),
    Fault("halves_take_half", SLOT_PLACE, "16-bit sums have slots that are too small",
          "return std::uint64_t{payload_bytes} * (half_floats ? 2 : 1);", "return std::uint64_t{payload_bytes};"),
    Fault("no_room_is_room", SLOT_DEALER, "more slot memory is dealt out than there is",
          "  if (demand.bytes() > free_bytes()) {", "  if (demand.bytes() > free_bytes() + 4096) {"),
    Fault("shape_not_compared", WIDE_HOLDING, "vectors of another form or length are added",
          "d.match.is_wide() && held_shape(d) == shape &&", "d.match.is_wide() &&"),
    Fault("report_keeps_its_length", WIDE_HOLDING, "a report leaves under the headers of a vector",
          "    make_short_form(record.header.data());\n", ""),
    Fault("same_opcode_no_report", WIDE_HOLDING, "two forms of one opcode are combined",
          "  if (contribution.op == d.accumulator.op) {", "  if (contribution.op == d.accumulator.op && !d.match.armed()) {"),
    Fault("vector_taken_for_words", DESCRIPTOR, "84 bytes are combined with what a slot holds",
          "return MatchWord(holding().bits_ | wide_bit);", "return holding();"),
    Fault("last_vector_not_added", WIDE_ENGINE, "the contribution that fills the count is missing in the sum",
          "wire::worse(rc, kernel_of(d).end(", "wire::worse(rc, kernel_of(d).emit("),
    Fault("vector_code_lost", APPLIED, "the code of a contribution in the middle is lost",
          "core_->wide_.add(d, operand.frame().data, operand.code());",
          "core_->wide_.add(d, operand.frame().data, wire::ResultCode::success);"),
    Fault("partial_vector_of_94_bytes", CORE, "a partial vector is written into a buffer for four words",
          "wide ? held_shape(d).frame_bytes() : wire::reduction_frame_bytes;", "wire::reduction_frame_bytes;"),
    Fault("place_moves_unnoticed", TABLES, "a tree whose slots moved keeps what it held elsewhere",
          "return tree(t) == other.tree(t) && slot_place(t) == other.slot_place(t);", "return tree(t) == other.tree(t);"),
    Fault("id_beyond_the_slots", CLASSIFY_CPP, "an id that the tree has no slot for is armed",
          "wire::dfa_of(p).slot().value >= entry.slots()", "wire::dfa_of(p).slot().value >= 128U"),
    Fault("vector_beyond_the_limit", CLASSIFY_CPP, "a vector that is longer than the slot is taken",
          "wire::wide_packet_header_bytes + place.payload_bytes)",
          "wire::wide_packet_header_bytes + place.payload_bytes + 8U)"),
    Fault("upper_ids_of_old_trees", TABLES, "a tree of eight ids heeds bits that it must ignore",
          "    return has_upper_ids()\n               ? key", "    return has_upper_ids() || !has_place()\n               ? key"),
    Fault("vector_run_takes_any_form", CLASSIFY, "a vector is added whose form does not exist",
          "               wire::reduction_packet_bytes &&\n           !problem_with_wide(frame);",
          "               wire::reduction_packet_bytes;"),
    Fault("held_flags_stay", SUM_ENVIRONMENT, "a vector has the code of the one before it",
          "if (held_ != nullptr && state != control_)", "if (held_ != nullptr && state == ~control_)"),
    Fault("held_rounding_stays", SUM_ENVIRONMENT, "a vector is rounded as the one before it",
          "} else if (held_->control != control_) {", "} else if (held_->control == FloatsAsHeld::unknown) {"),
    Fault("slots_counted_as_descriptors", ENGINE_HPP, "an arm on a slot fails for want of a descriptor",
          "return entry.has_place() ? keys_ :", "return keys_ == 0 ? keys_ :"),
    Fault("one_endpoint_adds_twice", DECIDE, "a repeated contribution is added again",
          "(operand.count() != 1 || (counted.bits() & from.bits()) != 0)", "(operand.count() != 1)"),
    Fault("one_endpoint_adds_many", DECIDE, "a host contributes for others",
          "(operand.count() != 1 || (counted.bits() & from.bits()) != 0)",
          "((counted.bits() & from.bits()) != 0)"),
    Fault("copies_to_any_tree", PROCESS_BURST, "a run of copies takes in the frames of another tree",
          "((destination.value ^ to.value) & ~ids) != 0)", "false)"),
    Fault("copies_of_any_length", CLASSIFY, "a frame that ends before its total length is copied",
          "return differing == 0 && has_its_length(frame) &&", "return differing == 0 &&"),
    Fault("run_counts_one_less", PROCESS_BURST, "contributions between two engines of one burst are not counted",
          "      counted = frame;\n", "      counted = frame + 1;\n"),
    Fault("run_combines_what_differs", PROCESS_BURST, "a contribution of another operation is added by the fast path",
          "  return held.op == op && (", "  return ("),
    Fault("key_tables_forget", ENGINE, "trees of higher numbers cost others what they hold",
          "      descriptors_[i] = descriptors[i];\n", ""),
    # ---- timers and tables ----
    Fault("adopt_drops_held", CORE, "what an engine holds is lost when its tree changes",
          "match.has_data() && !emit_partial(key, before, emission)",
          "match.has_data() && before.parent == no_port && !emit_partial(key, before, emission)"),
    Fault("adopt_keeps_changed_trees", CORE, "a tree that moved keeps its old descriptors",
          "    if (old->has_same(*tables_, key.tree())) {",
          "    if (before.children == tables_->tree(key.tree()).children) {"),
    Fault("adopt_touches_all_trees", CORE, "other trees' changes empty this one's engines",
          "    if (old->has_same(*tables_, key.tree())) {",
          "    if (old->has_same(*tables_, key.tree()) && tables_->version() % 2 == 0) {"),
    Fault("expiry_without_end", CORE, "a sequence that timed out is taken for one never armed",
          "    engines_.end(key, entry);\n  });", "    engines_.release(key, entry);\n  });"),
    Fault("engine_at_ingress", CORE, "contributions are processed by the worker they came to",
          "  return homes_[wire::dfa_of(", "  return in.value < max_ports ? in : homes_[wire::dfa_of("),
    Fault("partial_counted_as_full", CORE, "a partial result counts as a full one",
          "  counters_->trees[key.tree().value].partial.add();",
          "  counters_->trees[key.tree().value].full.add();"),
    Fault("timer_limits_exclusive", TABLES, "a wait count at a limit gets the shorter timer",
          "(limit <= wait_count ? 1 : 0)", "(limit < wait_count ? 1 : 0)"),
    Fault("deadlines_forget_to_tighten", DEADLINES, "the next deadline is one that comes too late",
          "      earliest_ = std::min(earliest_, links_[first].deadline);",
          "      earliest_ = links_[first].deadline;"),
    Fault("deadlines_out_of_order", DEADLINES_HPP, "the earliest deadline of a queue is not the first",
          "    earliest_ = size_ == 0 || deadline < earliest_ ? deadline : earliest_;",
          "    earliest_ = deadline;"),
    Fault("checksum_not_verified", CLASSIFY, "a damaged header is believed",
          "    return sum * inverse <= ~std::uint64_t{0} / 0xFFFF;", "    return sum != 0;"),
    Fault("source_guard_open", CLASSIFY, "a host speaks in another one's name",
          "guard_mask_(policy.nid ? ~wire::FabricAddress::unicast(Nid{0}, 0xFFF).value : 0),",
          "guard_mask_(policy.nid ? 0xFF000000U : 0),"),
    # ---- hosts ----
    Fault("root_counts_stale", ROOT, "a contribution to an old sequence counts for the current one",
          "if (word.count == 0 || !slot.armed || word.resno != slot.sequence) {",
          "if (word.count == 0 || !slot.armed) {"),
    Fault("root_trusts_counts", ROOT_GATHERING, "a duplicate stands in for a member that is missing",
          "  return !group.checks() ||\n         all_members_", "  return gathered.count == group.size ||\n         all_members_"),
    Fault("retry_does_not_back_off", ROOT_SEQUENCES, "a root without answers asks as fast forever",
          "std::min(2 * slot.retry_interval_ns, retry_backoff_limit",
          "std::min(slot.retry_interval_ns, retry_backoff_limit"),
    Fault("retry_keeps_sequence", ROOT_SEQUENCES, "a retry re-arms the sequence it gives up",
          "  advance(slot, now);\n  slot.asked_at = now;",
          "  if (!slot.armed) {\n    advance(slot, now);\n  }\n  slot.gathered = {};\n  slot.asked_at = now;"),
    Fault("own_operand_missing_after_retry", ROOT_SEQUENCES, "the root's own operand is lost with a retry",
          "    contribute(id, slot);\n    slot.retry_at = now + slot.retry_interval_ns;\n  }\n}",
          "    if (slot.retries == 0) {\n      contribute(id, slot);\n    }\n"
          "    slot.retry_at = now + slot.retry_interval_ns;\n  }\n}"),
    Fault("arms_nothing_ahead", ROOT_SEQUENCES, "each of a group's first 128 pieces takes two round trips",
          "  if (!all_are_there) {\n", "  if (true) {\n"),
    Fault("arms_ahead_of_late_members", ROOT_SEQUENCES, "who is not there yet waits for a retry of each piece",
          "  if (!all_are_there) {\n", "  if (false) {\n"),
    Fault("arms_what_is_armed", ROOT_SEQUENCES, "contributions that came in early are void",
          "    if (slot.in_progress || !is_to_be_armed(slot, now)) {\n", "    if (slot.in_progress) {\n"),
    Fault("answers_every_request", ROOT_SEQUENCES, "each request for a result makes a retry of its own",
          "  if (!have_it || asked_just_now ||", "  if (!have_it ||"),
    Fault("departs_one_leave_frame_early", ROOT_LEAVING, "the root goes while one leaf still needs it",
          "if (leaves.count == group.size - 1 && all_once) {",
          "if (leaves.count + 1 >= group.size - 1) {"),
    Fault("no_release_at_the_end", ROOT_LEAVING, "engines stay armed when the group has left",
          "      open_sequence(channel_.id_at(i), slot, false, false);", ""),
    Fault("leaf_believes_old_sequences", LEAF, "a frame that was overtaken is followed",
          "  if (!slot.heard || is_newer(sequence, *slot.heard)) {",
          "  if (!slot.heard || sequence != *slot.heard) {"),
    Fault("leaf_contributes_to_completed", LEAF, "an old result is taken for the new one",
          "  if (sequence == slot.completed) {\n    return false;\n  }\n", ""),
    Fault("leaf_takes_any_result", LEAF, "a result of a sequence not contributed to completes",
          "  if (slot.state != State::waiting_for_result || word.count == 0 ||\n"
          "      !slot.contributed.test(word.resno.value())) {",
          "  if (slot.state != State::waiting_for_result || word.count == 0) {"),
    Fault("leaf_requests_at_once", LEAF, "leaves ask for results that are in flight",
          "std::min(first_request_retries * group.retry_ns, group.result_timeout_ns);",
          "std::min(group.retry_ns / 1'000, group.result_timeout_ns);"),
    Fault("leaf_sends_no_leave_frame", LEAF, "the root stays for leaves that have gone",
          "      send_up(tree, id, *slot.heard, {}, {}, leave_piece_, no_mark);\n", ""),
    Fault("cookie_not_checked", CHANNEL, "frames of another group are taken",
          "frame.vni != parameters.vni || frame.cookie != parameters.cookie_of(frame.reduction)) {",
          "frame.vni != parameters.vni) {"),
    Fault("sequence_wraps_at_1024", SEQUENCE, "hosts hand out the pre-arm's number",
          "(std::uint32_t{s.value()} + 1) % usable_sequences", "(std::uint32_t{s.value()} + 1) % 1024U"),
    # ---- in-switch results ----
    Fault("in_switch_without_the_root", IN_SWITCH_DECIDE, "a count that is full without the root is sent to all",
          "  return !effects.counted_now(key).contains(entry.parent);", "  return false;"),
    Fault("in_switch_root_counts_twice", IN_SWITCH_DECIDE, "a contribution of the root that came twice counts twice",
          "  if (effects.engines().has_counted(key, operand.carried(), in)) {", "  if (false) {"),
    Fault("in_switch_kept_is_not_missed", IN_SWITCH_RECORD, "a root that has no result yet is not sent the kept one",
          "(last_result == no_result || last_result.older_than(kept_result()));",
          "last_result.older_than(kept_result());"),
    Fault("in_switch_replay_opens_old", IN_SWITCH, "what is sent again opens the sequence that it did at first",
          "  word.seqno = opens;\n  wire::store_word(record.kept.data()", "  wire::store_word(record.kept.data()"),
    Fault("in_switch_timer_ends_at_once", IN_SWITCH, "the descriptor is freed between two reductions",
          "  if (!std::exchange(in_switch_[key].armed_itself, false)) {", "  if (true) {"),
    Fault("in_switch_root_asks_with_next", ROOT_SEQUENCES, "the root asks with the sequence that the switch opens by itself",
          "    slot.sequence = successor(slot.sequence); // the switch uses the one in between\n", ""),
    Fault("in_switch_root_never_hears_of_a_loss", ROOT_IN_SWITCH, "a result that only leaves have stops the group forever",
          "  } else if (elapsed_ns(now, *slot.misses_since) >= channel_.parameters.retry_ns) {", "  } else if (false) {"),
    Fault("in_switch_root_gives_up_at_once", ROOT_IN_SWITCH, "a result that is on its way ends the group",
          "elapsed_ns(now, *slot.misses_since) >= channel_.parameters.retry_ns", "true"),
    Fault("in_switch_leaf_reports_nothing", LEAF, "the root does not learn that a result is lost",
          "  } else if (root_misses) {\n    report_miss(frame.reduction, slot);\n", "  } else if (root_misses) {\n"),
    Fault("in_switch_leaves_all_report", LEAF, "a thousand leaves answer one question",
          "  if ((group.rank + slot.piece) % group.size >= reporting) {\n    return;\n  }\n", ""),
    Fault("result_of_a_child_passes", DECIDE, "any member can send the root a result",
          "                        : drop(effects, in, DropReason::result_from_child);",
          "                        : forward(effects, frame, entry.parent, Event::passed_empty);"),
    Fault("what_does_not_fit_is_not_counted", DECIDE, "a host contributes for others where a switch lacks room",
          "return passing(forward(effects, frame, entry.parent, Event::passed_reserved));",
          "return forward(effects, frame, entry.parent, Event::passed_reserved);"),
    Fault("any_sequence_passes", DECIDE, "a host contributes for others by changing sequences",
          "    if (counts_once && match_result != MatchResult::foreign) {", "    if (false) {"),
    Fault("in_switch_leaf_contributes_to_old", LEAF, "the next piece is added to the one that the root still asks for",
          "    slot.root_lacks_result = root_misses;\n", ""),
    Fault("in_switch_leaf_is_gone_at_once", LEAF, "a leaf leaves before the root has the last result",
          "  if (phase_ == Phase::leave_grace) {\n    phase_ = Phase::left;", "  if (true) {\n    phase_ = Phase::left;"),
    # ---- operators and frames ----
    Fault("int_overflow_hidden", INTEGER, "a sum that wrapped says success",
          "(wrapped | ((a ^ sum) & (b ^ sum)));", "(wrapped | ((a ^ sum) & (b ^ sum) & (a ^ b)));"),
    Fault("int_max_is_unsigned", INTEGER, "negative numbers count as the largest",
          "return b > a ? b : a;",
          "using U = typename UnsignedOf<V>::type;\n    return (U)b > (U)a ? b : a;"),
    Fault("float_max_loses_nan", FLOATING, "a NaN does not win FLT_MIN",
          "return ((order_of(b) < order_of(a)) & ~a_nan) | b_nan;",
          "return ((order_of(b) < order_of(a)) & ~a_nan & ~b_nan);"),
    Fault("rounding_mode_left_behind", FLOAT_SUM, "a directed sum rounds to nearest",
          "  if (other_mode) {\n    fpu::write_control((entry & ~fpu::control) | wanted);\n  }\n",
          "  if (other_mode && wanted == 0) {\n    fpu::write_control((entry & ~fpu::control) | wanted);\n  }\n"),
    Fault("tie_takes_larger_index", MINMAXLOC, "of equal values the later place is named",
          "const std::uint64_t tied = std::min(index_a, index_b);",
          "const std::uint64_t tied = std::max(index_a, index_b);"),
    Fault("result_code_of_the_last", REDUCER, "a milder result code hides a worse one",
          "  acc.rc = worse(acc.rc, in.rc);\n  wire::with_opcode(", "  acc.rc = in.rc;\n  wire::with_opcode("),
    Fault("repsum_inexact_hidden", REPSUM, "limbs that were dropped are not reported",
          "      result.inexact |= smaller[j] != 0;\n", ""),
    Fault("repsum_moved_wrong_way", REPSUM, "operands of different exponents are added unaligned",
          "  acc.m = std::max(acc.m, in.m);\n  set_conditions(acc, result);",
          "  acc.m = std::min(acc.m, in.m);\n  set_conditions(acc, result);"),
    Fault("wide_sum_leaves_its_rounding", SUM_ENVIRONMENT, "a thread continues in the rounding of the last frame",
          "  ~RegisterSums() {\n    if (held_ == nullptr) {", "  ~RegisterSums() {\n    if (false) {"),
    Fault("wide_sum_never_flushes", SUM_ENVIRONMENT, "a flush-to-zero opcode keeps subnormal sums",
          "(to_zero ? fpu::flush_to_zero : 0)", "(to_zero ? 0 : 0)"),
    Fault("wide_minimum_ignores_nans", WIDE_EXTREME, "FLT_MIN of a NaN and a number is the number",
          "number_wins ? std::numeric_limits<Order>::max() : lowest;",
          "number_wins ? lowest : std::numeric_limits<Order>::max();"),
    Fault("wide_signalling_nan_unreported", WIDE_EXTREME, "a signalling NaN raises no code",
          "(noted & Format::quiet_bit) != 0 ?", "(noted & Format::infinity) == 1 ?"),
    Fault("bfloat16_ties_away", WIDE_NARROW_SUM, "ties are not rounded to even",
          "((v >> 16) & nearest_)", "(nearest_)"),
    Fault("binary16_flush_unreported", WIDE_HALF_SUM, "a subnormal that was flushed raises no code",
          "    flushed |= subnormal;\n", ""),
    Fault("wide_repsum_overflow_unreported", WIDE_REPSUM, "a limb that wraps raises no code",
          "return any_negative(wrapped) ? ResultCode::int_overflow : ResultCode::success;",
          "return ResultCode::success;"),
    Fault("result_sequence_of_nine_bits", WIRE, "a frame's result sequence loses its highest bit",
          "std::uint64_t{w.resno.value()} << 37", "std::uint64_t{w.resno.value() & 0x1FFU} << 37"),
    # ---- trees that move between workers ----
    Fault("move_forgets_what_ended", ENGINE_STATE, "the new worker takes a late contribution for one never armed",
          "descriptor(key).match.armed() || record(key).has_ended ||", "descriptor(key).match.armed() ||"),
    Fault("move_expires_at_once", ENGINE_STATE, "a reduction that moves leaves as a partial result",
          "entry.timer, one.deadline);", "entry.timer, TimeNs{});"),
    Fault("move_forgets_counted_ports", ENGINE_STATE, "a port counts twice for a reduction that moved in between",
          "  counted(one.key) = one.counted;\n", ""),
    Fault("move_leaves_the_vector", ENGINE_STATE, "the vector of a reduction that moves stays behind",
          "    if (!one.slot.empty()) {", "    if (one.slot.size() == 1) {"),
    Fault("move_keeps_the_old_engine", ENGINE_STATE, "the old worker still has the reduction, and its timer",
          "    engines_.forget(one.key, entry);\n", ""),
    Fault("trees_stay_where_they_arrive", OWNERS, "a frame that a NIC brings elsewhere is not handed over",
          "    return static_cast<std::uint8_t>(trees.worker_of(tree));", "    return self;"),
    Fault("runs_take_trees_of_others", PROCESS_BURST, "an arm behind others arms at a worker that does not have its tree",
          "its.wait_count == 0 || !owners_.has(key.tree())) {", "its.wait_count == 0) {"),
    # ---- unicast routes; only the tier `unit` has tests of them ----
    Fault("route_spare_back_to_its_port", ROUTE_DECIDE, "a root sends a frame back though another spare is up",
          "      found.except = in;\n", ""),
    Fault("route_spare_without_a_vc", ROUTE_DECIDE, "a detour is begun that runs out of virtual channels",
          "    if (next + action.spare_turns >= table.vcs) {", "    if (next >= table.vcs) {"),
    Fault("route_no_u_turn", ROUTE_DECIDE, "the last resort is not taken",
          "      if (action.u_turn && in != local_port &&", "      if (action.u_turn && in == local_port &&"),
    Fault("route_vc_stays_at_the_turn", CORNERS, "frames turn from columns to rows on one virtual channel",
          "up(up_row, 1, plus_);\n    const std::uint16_t turn_on = up(up_row, 1, false);",
          "up(up_row, 0, plus_);\n    const std::uint16_t turn_on = up(up_row, 0, false);"),
    Fault("route_leaf_by_table", CORNERS, "a leaf sends back what a root sent round a dead corner",
          "b.use_row(1, from_row);", "b.use_row(1, from_host);"),
    Fault("route_dead_destination_unnamed", CORNERS, "a dead destination looks like a missing route",
          ".otherwise = Outcome::dest_dead", ".otherwise = Outcome::no_route"),
    Fault("route_spares_of_one_row", VTFTR_PLUS, "a spare column may be dead in the destination's row",
          "    columns &= columns_of_[row(to)];\n", ""),
    Fault("route_phase_does_not_rise", PHASES, "a segment follows one of the same rank",
          "from_host || d > p % k ? 0 : 1;", "from_host || d >= p % k ? 0 : 1;"),
    Fault("route_back_to_the_dead_corner", PHASES, "of equal ways a leaf takes the one that turns back",
          "(best == nullptr || one.step < best->step)", "best == nullptr"),
    Fault("route_cycle_not_seen", VERIFY, "the verifier knows dependencies on first ports only",
          "          if (states_[i].key < channels_) {", "          if (states_[i].key < channels_ && port == 0) {"),
    Fault("route_risk_not_seen", VERIFY, "a choice that leads to a drop is no risk further back",
          "        before.drops |= states_[ready_[r]].drops;\n", ""),
    Fault("route_cycle_let_in", ACYCLIC, "an edge that closes a long cycle is taken",
          "      if (!seen_[n] && order_[n] < order_[tail]) {", "      if (!seen_[n] && order_[n] + 2 < order_[tail]) {"),
    Fault("route_island_forgets_the_tree", GENERAL, "a detour along the tree joins a route that it must not",
          "if (next_[at.at] && take({link, *next_[at.at], 0})) {",
          "if (next_[at.at] && take({link, tree_.next(at.at, to), 0})) {"),
]
