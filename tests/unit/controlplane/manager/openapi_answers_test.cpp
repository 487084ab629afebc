// The manager's real answers match docs/protocol/openapi.json strictly: no unknown field, no
// unexpected null, nothing missing.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

namespace json = boost::json;

const json::object& openapi() {
  static const json::value value = [] {
    std::ostringstream text;
    text << std::ifstream(TRIBUTARY_SOURCE_ROOT "/docs/protocol/openapi.json").rdbuf();
    return json::parse(text.str());
  }();
  return value.as_object();
}

/// The subset of JSON Schema that the document uses. Returns errors with their locations.
class Checker {
public:
  std::vector<std::string> wrong;

  void check(const json::object& given, const json::value& value, const std::string& at) {
    const json::object& schema = resolved(given);
    if (value.is_null()) {
      expect(schema.if_contains("nullable") != nullptr, at, "is null");
      return;
    }
    const json::value* const type = schema.if_contains("type");
    if (type != nullptr && !has_type(value, type->as_string())) {
      wrong.push_back(at + ": is no " + std::string(type->as_string()));
      return;
    }
    if (const json::value* const words = schema.if_contains("enum")) {
      const json::array& all = words->as_array();
      expect(std::find(all.begin(), all.end(), value) != all.end(), at, "is none of the words");
    }
    if (const json::value* const least = schema.if_contains("minimum")) {
      expect(value.to_number<double>() >= least->to_number<double>(), at, "is too small");
    }
    if (const json::value* const most = schema.if_contains("maximum")) {
      expect(value.to_number<double>() <= most->to_number<double>(), at, "is too large");
    }
    if (value.is_array() && schema.contains("items")) {
      std::size_t index = 0;
      for (const json::value& item : value.as_array()) {
        check(schema.at("items").as_object(), item, fmt::format("{}[{}]", at, index++));
      }
    }
    if (value.is_object()) {
      check_object(schema, value.as_object(), at);
    }
  }

private:
  static const json::object& resolved(const json::object& schema) {
    const json::value* const reference = schema.if_contains("$ref");
    if (reference == nullptr) {
      return schema;
    }
    const std::string_view name(reference->as_string());
    const std::string last(name.substr(name.rfind('/') + 1));
    return openapi().at("components").at("schemas").at(last).as_object();
  }
  static bool has_type(const json::value& value, std::string_view type) {
    return type == "integer"   ? value.is_int64() || value.is_uint64()
           : type == "number"  ? value.is_number()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_bool()
           : type == "array"   ? value.is_array()
                               : value.is_object();
  }
  void expect(bool holds, const std::string& at, const char* what) {
    if (!holds) {
      wrong.push_back(at + ": " + what);
    }
  }
  void check_object(const json::object& schema, const json::object& value, const std::string& at) {
    if (const json::value* const required = schema.if_contains("required")) {
      for (const json::value& name : required->as_array()) {
        expect(value.contains(name.as_string()), at,
               fmt::format("has no \"{}\"", std::string_view(name.as_string())).c_str());
      }
    }
    const json::value* const properties = schema.if_contains("properties");
    const json::value* const others = schema.if_contains("additionalProperties");
    for (const auto& member : value) {
      const std::string there = at + "." + std::string(member.key());
      const json::value* const known =
          properties == nullptr ? nullptr : properties->as_object().if_contains(member.key());
      if (known != nullptr) {
        check(known->as_object(), member.value(), there);
      } else if (others != nullptr && others->is_object()) {
        check(others->as_object(), member.value(), there);
      } else {
        expect(properties == nullptr, there, "is not in the document");
      }
    }
  }
};

/// An answer against the document's schema of this operation and status.
void expect_documented(const std::string& method, const std::string& path, const Given& given) {
  ASSERT_TRUE(given.there()) << method << ' ' << path;
  const std::string status = std::to_string(given->status);
  const json::object& responses =
      openapi().at("paths").at(path).at(method).at("responses").as_object();
  ASSERT_TRUE(responses.contains(status)) << method << ' ' << path << ": " << status;
  const json::object* response = &responses.at(status).as_object();
  if (response->contains("$ref")) {
    response = &openapi().at("components").at("responses").at(status).as_object();
  }
  const json::object& schema =
      response->at("content").at("application/json").at("schema").as_object();
  Checker checker;
  checker.check(schema, given->body, method + " " + path + " " + status);
  EXPECT_THAT(checker.wrong, testing::IsEmpty()) << json::serialize(given->body);
}

void look_at_everything(World& world) {
  for (const auto& [what, path] :
       {std::pair(api::View::topology, "topology"), std::pair(api::View::switches, "switches"),
        std::pair(api::View::hosts, "hosts"), std::pair(api::View::links, "links"),
        std::pair(api::View::groups, "groups"), std::pair(api::View::trees, "trees"),
        std::pair(api::View::transactions, "transactions"), std::pair(api::View::jobs, "jobs"),
        std::pair(api::View::memory, "memory"), std::pair(api::View::loads, "loads")}) {
    Given given;
    world.manager->ask<&Manager::view>(administrator, api::ViewRequest{.what = what},
                                       given.reply());
    expect_documented("get", std::string("/api/v1/") + path, given);
  }
}

TEST(openapi, says_what_is_answered) {
  World world;
  const std::string jobs = "/fabric/collectives/jobs";
  Given made;
  world.manager->ask<&Manager::create_job>(
      administrator, {"job", std::nullopt, {{Nid{1}, Nid{2}, Nid{3}}}, {}}, made.reply());
  world.reconcile();
  expect_documented("post", jobs, made);
  Given twice;
  world.manager->ask<&Manager::create_job>(administrator, {"job", std::nullopt}, twice.reply());
  world.reconcile();
  expect_documented("post", jobs, twice);
  world.create_job("empty");
  world.wide = {.payload = 1408, .slots = 128, .memory = 1 << 20, .forms = 0xFE};
  world.takes = group::any_frames;
  group::Settings wide;
  wide.frames = {.slots = 128, .payload = 1408, .half_floats = false};
  world.manager->reconfigure(wide);
  world.connect_star("a", 4);
  world.connect_star("b", 2, 11);
  world.report_link("a", 6, "b", 6);
  look_at_everything(world);

  const Given waits = world.join("demo", 2, 0, 1, administrator, 0);
  world.reconcile();
  expect_documented("post", "/api/v1/groups/{name}/members", waits);
  look_at_everything(world);
  const Given joined = world.join("demo", 2, 1, 2);
  world.reconcile();
  expect_documented("post", "/api/v1/groups/{name}/members", joined);
  Given multicast;
  world.manager->ask<&Manager::create_multicast>(
      administrator,
      {.macs = {Nid{2}, Nid{3}}, .vni = Vni{9}, .timeout = {}, .job = "job", .step = "0"},
      multicast.reply());
  world.reconcile();
  expect_documented("post", "/fabric/collectives/multicasts", multicast);
  world.switches_answer = false;
  static_cast<void>(world.join("slow", 2, 0, 1, administrator, 0));
  static_cast<void>(world.join("slow", 2, 1, 3, administrator, 0));
  world.reconcile();
  look_at_everything(world);
  world.switches_answer = true;

  Given job;
  world.manager->ask<&Manager::get_job>(administrator, {"job"}, job.reply());
  expect_documented("get", jobs + "/{job}", job);
  Given listed;
  world.manager->ask<&Manager::list_jobs>(administrator, {}, listed.reply());
  expect_documented("get", jobs, listed);
  Given group;
  world.manager->ask<&Manager::get_group>(administrator, {"job", "demo"}, group.reply());
  expect_documented("get", "/api/v1/groups/{job}/{name}", group);
  Given created;
  world.manager->ask<&Manager::create_group>(
      administrator, {.job = "job", .name = "new", .size = 3, .trees = 2, .root_rank = 1},
      created.reply());
  world.reconcile();
  expect_documented("post", "/api/v1/groups", created);
  Given renewed;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "demo", 0}, renewed.reply());
  expect_documented("put", "/api/v1/groups/{job}/{name}/members/{rank}/lease", renewed);
  Given left;
  world.manager->ask<&Manager::leave_group>(administrator, {"job", "demo", 0}, left.reply());
  world.reconcile();
  expect_documented("delete", "/api/v1/groups/{job}/{name}/members/{rank}", left);
  look_at_everything(world);
  Given managers;
  world.manager->ask<&Manager::view_managers>(administrator, {}, managers.reply());
  expect_documented("get", "/api/v1/managers", managers);
  Given last;
  world.manager->ask<&Manager::leave_group>(administrator, {"job", "demo", 1}, last.reply());
  world.reconcile();
  expect_documented("delete", "/api/v1/groups/{job}/{name}/members/{rank}", last);
  Given destroyed;
  world.manager->ask<&Manager::delete_group>(administrator, {"job", "new"}, destroyed.reply());
  world.reconcile();
  expect_documented("delete", "/api/v1/groups/{job}/{name}", destroyed);
  Given ended;
  world.manager->ask<&Manager::delete_multicast>(
      administrator, TreeNumber{multicast.body().at("mcastID").to_number<std::uint16_t>()},
      ended.reply());
  world.reconcile();
  expect_documented("delete", "/fabric/collectives/multicasts/{mcast}", ended);
  Given patched;
  world.manager->ask<&Manager::patch_job>(administrator, {"job", {"0"}, 7}, patched.reply());
  world.reconcile();
  expect_documented("patch", jobs + "/{job}", patched);
  Given deleted;
  world.manager->ask<&Manager::delete_job>(administrator, {"job"}, deleted.reply());
  world.reconcile();
  expect_documented("delete", jobs + "/{job}", deleted);
  Given none;
  world.manager->ask<&Manager::get_job>(administrator, {"job"}, none.reply());
  expect_documented("get", jobs + "/{job}", none);
}

TEST(openapi, says_what_is_answered_about_other_managers) {
  World world;
  records::Snapshot past;
  past.fabric = 0xA;
  world.restart(past);
  for (const Leader& leader : {Leader{0xB, 1, 1}, Leader{0xA, 7, 1}}) {
    Given unknown;
    world.manager->ask<&Manager::adopt_fabric>(administrator, {.fabric = 0xC}, unknown.reply());
    expect_documented("post", "/api/v1/adoptions", unknown);
    world.accepted_before = leader;
    world.connect_star("a", 2);
    Given managers;
    world.manager->ask<&Manager::view_managers>(administrator, {}, managers.reply());
    expect_documented("get", "/api/v1/managers", managers);
    Given adopted;
    world.manager->ask<&Manager::adopt_fabric>(administrator, {.fabric = leader.fabric},
                                               adopted.reply());
    world.reconcile();
    EXPECT_EQ(adopted->status, 200U);
    expect_documented("post", "/api/v1/adoptions", adopted);
  }
  Given leads;
  world.manager->ask<&Manager::adopt_fabric>(administrator, {.fabric = 0xA}, leads.reply());
  EXPECT_EQ(leads->status, 409U);
  expect_documented("post", "/api/v1/adoptions", leads);
}

TEST(openapi, says_what_is_answered_about_a_change_of_leader) {
  for (const bool has_standby : {false, true}) {
    Settings settings;
    std::string successor;
    settings.standbys = [&] {
      return has_standby ? std::vector<api::StandbyPlace>{{"b", {"https://b"}}, {"c", {}}}
                         : std::vector<api::StandbyPlace>{};
    };
    settings.hand_over = [&](const std::string& to) { successor = to; };
    World world{settings};
    for (const char* const to : {"", "c", "d"}) {
      successor.clear();
      Given given;
      world.manager->ask<&Manager::fail_over>(administrator, {.to = to}, given.reply());
      world.reconcile();
      expect_documented("post", "/api/v1/failovers", given);
      const bool is_known = std::string_view(to) != "d";
      EXPECT_EQ(given->status, has_standby ? is_known ? 202U : 404U : 409U) << to;
      EXPECT_EQ(successor, !has_standby || !is_known ? "" : *to == '\0' ? "b" : to);
    }
  }
}

TEST(openapi, says_what_is_answered_about_rdma) {
  World world;
  world.connect_star("a", 8);
  for (const std::uint32_t reporter : {1U, 2U}) {
    api::RdmaReport report{.nid = Nid{reporter}, .vnis = {Vni{7}}, .in_progress = 1};
    report.transfers = {{.peer = Nid{5}, .vni = Vni{7}}};
    for (const std::uint32_t peer : {5U, 6U, 7U}) {
      report.exceptions.push_back({{Nid{peer}, Vni{7}}, retransmit::Cause::unreachable_peer, 2});
    }
    Given reported;
    world.manager->ask<&Manager::rdma_report>(administrator, report, reported.reply());
    world.reconcile();
    expect_documented("post", "/api/v1/rdma/reports", reported);
  }
  for (const auto& [what, path] :
       {std::pair(api::RdmaView::policy, "policy"), std::pair(api::RdmaView::peers, "peers"),
        std::pair(api::RdmaView::transfers, "transfers"),
        std::pair(api::RdmaView::exceptions, "exceptions")}) {
    Given given;
    world.manager->ask<&Manager::rdma_view_peers>(administrator, {.what = what}, given.reply());
    expect_documented("get", std::string("/api/v1/rdma/") + path, given);
  }
  Given set;
  world.manager->ask<&Manager::rdma_set_policy>(
      administrator, {.vni = Vni{7}, .set = {{"window", "512"}}}, set.reply());
  world.reconcile();
  expect_documented("patch", "/api/v1/rdma/policy", set);
  Given quarantined;
  world.manager->ask<&Manager::rdma_quarantine>(
      administrator, {.quarantine = true, .host = "3", .vni = Vni{7}}, quarantined.reply());
  world.reconcile();
  expect_documented("put", "/api/v1/rdma/quarantined/{vni}/{host}", quarantined);
}

void look_for_loose_schemas(const json::value& value, const std::string& at,
                            std::vector<std::string>& found) {
  if (const auto* const object = value.if_object()) {
    if (object->contains("$ref") && object->size() > 1) {
      found.push_back(at + ": beside $ref nothing counts");
    }
    if (object->contains("nullable") && !object->contains("type")) {
      found.push_back(at + ": nullable without a type");
    }
    for (const auto& member : *object) {
      look_for_loose_schemas(member.value(), at + "/" + std::string(member.key()), found);
    }
  } else if (const auto* const array = value.if_array()) {
    for (const json::value& item : *array) {
      look_for_loose_schemas(item, at + "[]", found);
    }
  }
}

TEST(openapi, has_no_schema_that_validators_read_differently) {
  std::vector<std::string> found;
  look_for_loose_schemas(json::value(openapi()), "", found);
  EXPECT_THAT(found, testing::IsEmpty());
}

} // namespace
} // namespace tributary::manager
