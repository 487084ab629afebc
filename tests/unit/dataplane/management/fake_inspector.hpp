// An Inspector with figures of its own, and a capture that yields the test's frames.
#pragma once

#include "dataplane/management/inspector.hpp"

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace tributary::management {

struct FakePacket {
  std::uint64_t unix_time_ns = 0;
  std::uint32_t interface = 0;
  bool received = true;
  std::vector<std::byte> bytes;
};

/// Shared between the test and the capture, which lives as long as its client.
struct FakeCaptureState {
  std::deque<FakePacket> pending;
  std::uint64_t missed = 0;
  int running = 0;
};

class FakeCapture : public CaptureSource {
public:
  explicit FakeCapture(FakeCaptureState& state) : state_(state) { ++state_.running; }
  ~FakeCapture() override { --state_.running; }
  FakeCapture(const FakeCapture&) = delete;
  FakeCapture& operator=(const FakeCapture&) = delete;

  [[nodiscard]] const std::vector<std::string>& interfaces() const override { return interfaces_; }
  std::size_t drain(const std::function<void(const CapturedPacket&)>& f) override {
    const std::size_t count = state_.pending.size();
    for (; !state_.pending.empty(); state_.pending.pop_front()) {
      const FakePacket& p = state_.pending.front();
      f({p.unix_time_ns, p.interface, p.received, static_cast<std::uint32_t>(p.bytes.size()),
         p.bytes});
    }
    return count;
  }
  [[nodiscard]] std::uint64_t missed() const override { return state_.missed; }

private:
  FakeCaptureState& state_;
  std::vector<std::string> interfaces_ = {"leaf0/host0", "leaf0/up"};
};

class FakeInspector : public Inspector {
public:
  std::vector<PortReport> ports(const std::string& switch_name) override {
    if (!switch_name.empty() && switch_name != "leaf0") {
      throw RequestError("no switch \"" + switch_name + "\"; known are leaf0");
    }
    PortReport p;
    p.switch_name = "leaf0";
    p.number = 3;
    p.name = "host0";
    p.kind = "af_xdp";
    p.device = "af_xdp eth1 (native)";
    p.state = "up";
    p.nid = Nid{0x12345};
    p.link = {.state = "down",
              .since_us = 7,
              .last_reason = "silent",
              .last_silence_us = 30'400,
              .silence_us = 30'407,
              .longest_gap_us = 21'000};
    p.device_counts = {.link_transitions = 1, .rx_missed = 4, .tx_refused = 6};
    p.link_counts = {.times_down = 2, .hellos_sent = 100, .hellos_heard = 90, .hellos_missed = 3};
    p.lldp_counts = {.sent = 6,
                     .received = 5,
                     .discarded = 4,
                     .refused = 3,
                     .aged_out = 2,
                     .last_error = lldp::Error::truncated};
    p.counts.rx_frames = 10;
    p.counts.rx_bytes = 940;
    p.counts.tx_frames = 5;
    p.counts.tx_bytes = 470;
    p.counts.drops[static_cast<std::size_t>(core::DropReason::source_guard)] = 2;
    return {p};
  }
  std::vector<QueueReport> queues(const std::string&, const std::string& port) override {
    QueueReport r;
    r.switch_name = "leaf0";
    r.port = port.empty() ? "host0" : port;
    r.queue.traffic_class = TrafficClass{2};
    r.queue.frames = 20;
    r.queue.bytes = 1880;
    r.queue.waiting = {3, 282};
    r.queue.highest = {5, 470};
    r.queue.limit = {512, 1 << 20};
    r.queue.pauses_received = 4;
    r.queue.paused_ns = 77'000;
    r.queue.pauses_sent = 6;
    r.queue.resumes_sent = 2;
    r.queue.given_up_times = 1;
    r.queue.trimmed = 8;
    r.queue.trimmed_bytes = 11'440;
    r.queue.trimmed_waiting = 2;
    r.queue.trimmed_limit = 256;
    r.queue.paused = true;
    r.queue.drops[egress::queue_drop_index(core::DropReason::queue_full)] = 9;
    return {r};
  }
  std::vector<ImpairmentReport> impairments(const ImpairmentSelection& selection) override {
    asked = selection;
    ImpairmentReport i;
    i.switch_name = "leaf0";
    i.port = "host0";
    i.direction = impairment::Direction::sent;
    i.on = true;
    i.settings.loss = 0.25;
    i.settings.delay_ns = 10'000;
    i.settings.kinds = {};
    i.settings.kinds.insert(impairment::Kind::unicast);
    i.seed = 7;
    i.held = 3;
    i.counts.frames = 100;
    i.counts.lost = 26;
    return {i};
  }
  std::vector<ImpairmentReport> impair(const ImpairmentSelection& selection,
                                       const std::string& settings) override {
    asked_settings = settings;
    return impairments(selection);
  }
  std::vector<ImpairmentReport> clear_impairments(const ImpairmentSelection& selection) override {
    asked = selection;
    return {};
  }
  ImpairmentSelection asked;
  std::string asked_settings;
  std::vector<TreeReport> trees(const std::string&) override {
    TreeReport t;
    t.switch_name = "leaf0";
    t.tree = TreeNumber{0xABC};
    t.wait_count = 15;
    t.parent = "up";
    t.children = {"host0", "host1"};
    t.timer_us = 20'000;
    t.counts.full = 7;
    return {t};
  }
  std::vector<EngineReport> engines(const std::string&) override {
    EngineReport e;
    e.switch_name = "leaf0";
    e.port = "up";
    e.descriptors = 8;
    e.counts.arms = 9;
    DescriptorReport d;
    d.tree = TreeNumber{0xABC};
    d.reduction = ReductionId{5};
    d.sequence = 0x155;
    d.vni = Vni{1024};
    d.cookie = Cookie{0x677DAABC};
    d.count = 12;
    d.wait_count = 15;
    d.opcode = "INT_SUM";
    d.result_code = "success";
    d.age_us = 120;
    d.remaining_us = 19'880;
    d.children = {"host0", "host1"};
    e.occupied = {d};
    return {e};
  }
  std::vector<ManagerReport> managers(const std::string& switch_name) override {
    ManagerReport m;
    m.switch_name = switch_name.empty() ? "leaf0" : switch_name;
    m.address = "unix:/run/x.sock";
    m.channel = "up";
    m.manager = "fabric";
    m.leader = {.fabric = 0xA1B2, .epoch = 12, .boot = 3};
    m.managers_refused = 1;
    m.since_ms = 1500;
    m.tables_version = 7;
    m.trees_of_file = 1;
    m.trees_of_manager = 2;
    m.permissions = 3;
    m.transactions = {.prepared = 4, .committed = 5, .refused = 6};
    m.last_refusal = "transaction 9: tree 7 has no child port";
    m.ports = {{.name = "host0",
                .up = true,
                .speed_mbps = 10'000,
                .neighbour = "node7",
                .neighbour_port = "eth1",
                .neighbour_nid = Nid{42}},
               {.name = "up0",
                .up = false,
                .speed_mbps = 0,
                .neighbour = {},
                .neighbour_port = {},
                .neighbour_nid = {}}};
    m.problems = {"port 3 and port 4 are the two ends of one link"};
    return {m};
  }
  std::vector<NeighbourReport> neighbours(const std::string&) override {
    return {{.switch_name = "leaf0",
             .port = "host0",
             .chassis = "02:00:00:00:00:07",
             .neighbour_port = "eth1",
             .port_description = "to the fabric",
             .system_name = "node7",
             .system_description = "Debian",
             .capabilities = {"bridge", "station"},
             .ttl_s = 120,
             .forget_in_ms = 90'000,
             .since_ms = 60'000}};
  }
  std::vector<WorkerReport> workers() override {
    WorkerReport w;
    w.number = 1;
    w.core = 3;
    w.ports = {"leaf0/host0"};
    w.counts.iterations = 1000;
    w.busy_share = 0.25;
    return {w};
  }
  [[nodiscard]] core::Tracing tracing() const override { return tracing_; }
  void set_tracing(core::Tracing which) override { tracing_ = which; }
  std::vector<TraceReport> trace() override {
    TraceReport t;
    t.age_ns = 55;
    t.switch_name = "leaf0";
    t.port = "host0";
    t.event = core::Event::none;
    t.action = core::Action::drop;
    t.reason = core::DropReason::stale_sequence;
    t.reduction = TraceReport::Reduction{TreeNumber{1}, ReductionId{2}, 3, false, 0x14, 1};
    return {t};
  }
  std::unique_ptr<CaptureSource> capture(const CaptureSelection& selection) override {
    last_selection = selection;
    if (selection.switch_name == "busy") {
      throw RequestError("another capture is running");
    }
    return std::make_unique<FakeCapture>(capture_state);
  }
  ExplainReport explain(const std::string& switch_name, const std::string& port,
                        std::span<const std::byte> frame) override {
    ExplainReport e;
    e.action = core::Action::drop;
    e.reason = core::DropReason::runt;
    e.steps = {switch_name + "/" + port, std::to_string(frame.size()) + " bytes"};
    return e;
  }
  VersionReport version() override {
    return {"tributary-switch", "0.1.0", 42, 7, "test.toml", {{"leaf0", 2, 1, 3}}};
  }
  MetricsReport metrics() override {
    MetricsReport m;
    m.version = version();
    m.started_unix_s = 1'764'000'000;
    m.resident_bytes = 123'456'768;
    m.frame_buffers = 8192;
    m.frame_buffers_free = 8000;
    m.ports = ports({});
    m.queues = queues({}, {});
    m.engines = engines({});
    m.workers = workers();
    m.managers = managers({});
    ++scrapes;
    return m;
  }
  ReloadReport reload() override {
    ++reloads;
    return {{"leaf0: trees 1 added"}, {"process: workers, 1 -> 2"}};
  }

  core::Tracing tracing_ = core::Tracing::notable;
  int reloads = 0;
  int scrapes = 0;
  CaptureSelection last_selection;
  FakeCaptureState capture_state;
};

} // namespace tributary::management
