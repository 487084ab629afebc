// Every path, and every status that a whole and timely request can meet.
#include "controlplane/rest/router.hpp"
#include "tests/unit/controlplane/rest/server_fixture.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace tributary::rest {

using api::error_answer;

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string multicast = R"({"macs":["0:00:01","0:00:02"],"vni":1024,"timeout":20000000,)"
                              R"("jobID":"j1","jobStepID":"0"})";
const std::string join = R"({"rank":3,"size":16,"mac":"02:00:00:00:00:04","host":"h3"})";

class Paths : public ServerTest {};

TEST_F(Paths, each_asks_the_service_for_what_it_says) {
  start();
  struct Case {
    const char* method;
    const char* path;
    std::string body;
    const char* call;
  };
  const Case cases[] = {
      {"POST", "/fabric/collectives/jobs", R"({"jobID":"c-17","mcastLimit":4})",
       "create_job c-17 4"},
      {"GET", "/fabric/collectives/jobs", "", "list_jobs"},
      {"GET", "/fabric/collectives/jobs/c-17", "", "get_job c-17"},
      {"PATCH", "/fabric/collectives/jobs/c-17",
       R"({"sessionToken":"x","jobSteps":{"0":null,"7":null}})", "patch_job c-17 0 7"},
      {"DELETE", "/fabric/collectives/jobs/c-17", "", "delete_job c-17"},
      {"POST", "/fabric/collectives/multicasts", multicast,
       "create_multicast 1,2 vni 1024 timeout 20000000 job j1 step 0"},
      {"DELETE", "/fabric/collectives/multicasts/8191", "", "delete_multicast 8191"},
      {"POST", "/api/v1/groups", R"({"name":"demo","job":"j1","size":16,"trees":2,"root_rank":15})",
       "create_group 'demo' job 'j1' size 16 trees 2 root 15"},
      {"POST", "/api/v1/groups", R"({"name":"demo","size":1})",
       "create_group 'demo' job '' size 1 trees 1 root -"},
      {"POST", "/api/v1/groups", R"({"name":"demo","size":1,"in_switch_results":true})",
       "create_group 'demo' job '' size 1 trees 1 root - in_switch_results true"},
      {"POST", "/api/v1/groups", R"({"name":"demo","size":1,"in_switch_results":false})",
       "create_group 'demo' job '' size 1 trees 1 root - in_switch_results false"},
      {"GET", "/api/v1/groups", "", "view 4 -"},
      {"GET", "/api/v1/groups/j1/demo", "", "get_group j1 demo"},
      {"GET", "/api/v1/groups/j%2F1/d%C3%A9mo", "", "get_group j/1 d\u00e9mo"},
      {"DELETE", "/api/v1/groups/j1/demo", "", "delete_group j1 demo"},
      {"POST", "/api/v1/groups/demo/members?wait=60000", join,
       "join_group 'demo' job '' size 16 trees 1 root - rank 3 nid 4 host 'h3' wait 60000"},
      {"POST", "/api/v1/groups/demo/members", join,
       "join_group 'demo' job '' size 16 trees 1 root - rank 3 nid 4 host 'h3' wait 0"},
      {"DELETE", "/api/v1/groups/j1/demo/members/3", "", "leave_group j1 demo 3"},
      {"PUT", "/api/v1/groups/j1/demo/members/3/lease", "", "renew_lease j1 demo 3"},
      {"PUT", "/api/v1/allocations/j1/lease", "", "renew_allocation j1"},
      {"GET", "/api/v1/topology", "", "view 0 -"},
      {"GET", "/api/v1/switches", "", "view 1 -"},
      {"GET", "/api/v1/switches/leaf0", "", "view 1 leaf0"},
      {"GET", "/api/v1/hosts", "", "view 2 -"},
      {"GET", "/api/v1/hosts/h0", "", "view 2 h0"},
      {"GET", "/api/v1/links", "", "view 3 -"},
      {"GET", "/api/v1/links/3", "", "view 3 3"},
      {"GET", "/api/v1/trees", "", "view 5 -"},
      {"GET", "/api/v1/trees/5", "", "view 5 5"},
      {"GET", "/api/v1/trees?limit=5&after=7&switch=leaf0&job=j1&group=a", "", "view 5 -"},
      {"GET", "/api/v1/transactions", "", "view 6 -"},
      {"GET", "/api/v1/transactions/9", "", "view 6 9"},
      {"GET", "/api/v1/jobs", "", "view 7 -"},
      {"GET", "/api/v1/jobs/j1", "", "view 7 j1"},
      {"GET", "/api/v1/memory", "", "view 8 -"},
      {"GET", "/api/v1/memory/leaf0", "", "view 8 leaf0"},
      {"GET", "/api/v1/loads?switch=leaf0", "", "view 9 -"},
      {"GET", "/api/v1/loads/leaf0", "", "view 9 leaf0"},
      {"POST", "/api/v1/rebalance", "", "rebalance false"},
      {"GET", "/api/v1/managers", "", "managers"},
      {"POST", "/api/v1/adoptions", R"({"fabric":"00000000000000ab"})", "adopt ab"},
      {"GET", "/api/v1/routes", "", "routes"},
      {"GET", "/api/v1/paths?from=h0&to=17", "", "path h0 17"},
      {"GET", "/api/v1/faults", "", "faults 1000"},
      {"GET", "/api/v1/faults?limit=3", "", "faults 3"},
      {"GET", "/api/v1/switches/leaf0/drain", "", "look leaf0 false"},
      {"POST", "/api/v1/switches/leaf0/drain", "", "drain leaf0 false"},
      {"POST", "/api/v1/switches/leaf0/drain?force=true", "", "drain leaf0 true"},
      {"DELETE", "/api/v1/switches/leaf0/drain", "", "undrain leaf0 false"},
      {"GET", "/api/v1/rdma/policy?vni=1024", "", "rdma_view 0 1024 1000"},
      {"PATCH", "/api/v1/rdma/policy",
       R"({"set": {"window": 512, "initial_timeout_ns": "2ms"}, "reset": ["restarts"]})",
       "rdma_set_policy window=512 initial_timeout_ns=2ms -restarts"},
      {"GET", "/api/v1/rdma/peers?limit=5", "", "rdma_view 1 -1 5"},
      {"GET", "/api/v1/rdma/transfers", "", "rdma_view 2 -1 1000"},
      {"GET", "/api/v1/rdma/exceptions", "", "rdma_view 3 -1 1000"},
      {"PUT", "/api/v1/rdma/quarantined/7/h0", "", "rdma_quarantine true h0 7"},
      {"DELETE", "/api/v1/rdma/quarantined/7/h0", "", "rdma_quarantine false h0 7"},
      {"POST", "/api/v1/rdma/reports",
       R"({"nid": 5, "vnis": [7], "exceptions": [{"nid": 6, "vni": 7, "cause": "busy_storm", "times": 2}]})",
       "rdma_report 5 1"},
  };
  std::size_t service_routes = 0;
  for (const api::Route& route : FakeService().routes()) {
    service_routes += route.kind == api::Route::Kind::service ? 1 : 0;
  }
  for (const Case& c : cases) {
    const RawAnswer answer = ask(c.method, c.path, c.body);
    EXPECT_EQ(answer.status, 200) << c.method << ' ' << c.path << ' ' << answer.body;
    EXPECT_EQ(answer.body, "{\"done\":true}\n");
    EXPECT_EQ(answer.fields.at("content-type"), "application/json");
    EXPECT_EQ(last_call(), c.call);
  }
  EXPECT_GE(std::size(cases), service_routes);
}

TEST_F(Paths, a_path_without_two_hosts_and_a_flag_that_is_none_are_refused) {
  start();
  for (const char* path : {"/api/v1/paths", "/api/v1/paths?from=h0", "/api/v1/paths?to=h0",
                           "/api/v1/paths?from=&to=h0", "/api/v1/faults?limit=0"}) {
    EXPECT_EQ(ask("GET", path).status, 400U) << path;
  }
  EXPECT_EQ(ask("POST", "/api/v1/switches/leaf0/drain?force=1").status, 400U);
  EXPECT_EQ(ask("PUT", "/api/v1/rdma/quarantined/70000/h0").status, 400U);
}

TEST_F(Paths, pages_of_lists_are_asked_for_and_limits_that_are_none_refused) {
  start();
  EXPECT_EQ(ask("GET", "/api/v1/trees?limit=5&after=7&switch=leaf0&job=j1&group=a%2Fb").status,
            200U);
  on_loop([&] {
    EXPECT_EQ(service.asked_view.limit, 5U);
    EXPECT_EQ(service.asked_view.after, "7");
    EXPECT_EQ(service.asked_view.at_switch, "leaf0");
    EXPECT_EQ(service.asked_view.job, "j1");
    EXPECT_EQ(service.asked_view.group, "a/b");
  });
  EXPECT_EQ(ask("GET", "/api/v1/trees").status, 200U);
  on_loop([&] { EXPECT_EQ(service.asked_view.limit, api::ViewRequest::default_limit); });
  for (const char* query : {"limit=0", "limit=10001", "limit=x", "limit=", "after=", "switch="}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/trees?") + query).status, 400U) << query;
  }
}

TEST_F(Paths, slashes_at_the_end_or_doubled_do_not_matter) {
  start();
  EXPECT_EQ(ask("DELETE", "/fabric/collectives/multicasts//5/").status, 200);
  EXPECT_EQ(last_call(), "delete_multicast 5");
  EXPECT_EQ(ask("GET", "http://fabricd:7580/api/v1/hosts/h0").status, 200);
  EXPECT_EQ(last_call(), "view 2 h0");
}

TEST_F(Paths, unknown_ones_are_404) {
  start();
  for (const char* path : {"/api", "/view", "/api/v1", "/api/v1/nothing", "/api/v1/groups/a/b/c",
                           "/api/v1/groups/a/b/members", "/fabric", "/openapi.json/x"}) {
    const RawAnswer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(message_of(answer), HasSubstr("no such path"));
  }
  EXPECT_TRUE(on_loop([this] { return service.calls.empty(); }));
}

TEST_F(Paths, a_method_that_a_path_does_not_have_is_405_and_names_those_it_has) {
  start();
  const RawAnswer answer = ask("PUT", "/fabric/collectives/jobs");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.fields.at("allow"), "POST, GET, HEAD");
  EXPECT_EQ(ask("GET", "/fabric/collectives/multicasts").fields.at("allow"), "POST");
  EXPECT_EQ(ask("BREW", "/healthz").status, 405);
  EXPECT_EQ(ask("OPTIONS", "/healthz").fields.at("allow"), "GET, HEAD");
  EXPECT_EQ(ask("BREW", "/pot").status, 404);
}

TEST_F(Paths, head_is_get_without_the_body) {
  start();
  for (const char* path : {"/healthz", "/api/v1/hosts", "/openapi.json", "/metrics"}) {
    RawClient client(tcp_address());
    client.send(request_text("HEAD", path));
    const RawAnswer head = client.read_answer(true);
    EXPECT_EQ(head.status, 200) << path;
    client.send(request_text("GET", path));
    const RawAnswer get = client.read_answer();
    EXPECT_EQ(get.status, 200) << "a body behind HEAD would have broken this";
    EXPECT_NE(head.fields.at("content-length"), "0");
  }
  EXPECT_EQ(ask("HEAD", "/nothing").status, 404);
}

TEST_F(Paths, health_and_readiness) {
  start();
  EXPECT_EQ(ask("GET", "/healthz").body, "{\"status\":\"ok\"}\n");
  EXPECT_EQ(ask("GET", "/readyz").body, "{\"status\":\"ok\"}\n");
  on_loop([this] { service.missing = "no switch has connected yet"; });
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  const RawAnswer answer = ask("GET", "/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(message_of(answer), "no switch has connected yet");
}

TEST_F(Paths, leadership_for_load_balancers) {
  start();
  EXPECT_EQ(ask("GET", "/leader").body, "{\"status\":\"ok\"}\n");
  on_loop([this] { service.stands_by = "this manager stands by"; });
  RawAnswer answer = ask("GET", "/leader");
  EXPECT_EQ(answer.status, 421);
  EXPECT_EQ(message_of(answer), "this manager stands by");
  EXPECT_EQ(answer.body.find("\"leader\""), std::string::npos);
  on_loop([this] { service.leader = "https://fm1:7580"; });
  answer = ask("GET", "/leader");
  EXPECT_NE(answer.body.find("\"leader\":\"https://fm1:7580\""), std::string::npos);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Paths, metrics_are_open_metrics_with_those_of_the_server) {
  start();
  ask("GET", "/nothing");
  const RawAnswer answer = ask("GET", "/metrics");
  EXPECT_EQ(answer.fields.at("content-type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_THAT(answer.body, StartsWith("# TYPE tributary_groups gauge\ntributary_groups 3\n"));
  EXPECT_THAT(answer.body, HasSubstr("tributary_http_answers_total{status=\"404\"} 1\n"));
  EXPECT_THAT(answer.body, EndsWith("\n# EOF\n"));
}

TEST_F(Paths, metrics_come_in_the_form_that_is_asked_for_and_include_the_process) {
  start();
  const RawAnswer answer = ask("GET", "/metrics", {}, "Accept: text/plain;version=0.0.4\r\n");
  EXPECT_EQ(answer.fields.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, StartsWith("# TYPE tributary_groups gauge\n"));
  EXPECT_THAT(answer.body, HasSubstr("# TYPE tributary_http_answers_total counter\n"));
  EXPECT_THAT(answer.body, HasSubstr("\ntributary_build_info{version=\"0.1.0\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("\nprocess_resident_memory_bytes "));
  EXPECT_THAT(answer.body, Not(HasSubstr("# EOF")));
}

TEST_F(Paths, the_openapi_document_is_served_as_it_is) {
  start();
  const RawAnswer answer = ask("GET", "/openapi.json");
  EXPECT_EQ(answer.body, openapi_document());
  EXPECT_EQ(answer.fields.at("content-type"), "application/json");
}

class Page : public ServerTest {};

TEST_F(Page, is_served_with_all_that_it_refers_to_and_may_load_nothing_else) {
  start();
  const RawAnswer page = ask("GET", "/");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.fields.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.fields.at("content-security-policy"),
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'"),
                    HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))));
  EXPECT_EQ(page.fields.at("x-content-type-options"), "nosniff");
  EXPECT_THAT(page.body, HasSubstr("src=\"view/main.js\""));
  EXPECT_THAT(page.body, Not(HasSubstr("http"))) << "it is to work where nothing else is reached";
  // Its modules name each other as "./name.js".
  std::set<std::string> wanted{"main.js", "style.css", "icon.svg"};
  std::set<std::string> looked_at;
  while (looked_at.size() < wanted.size()) {
    const std::set<std::string> now = wanted;
    for (const std::string& name : now) {
      if (!looked_at.insert(name).second) {
        continue;
      }
      const RawAnswer file = ask("GET", "/view/" + name);
      ASSERT_EQ(file.status, 200) << name;
      EXPECT_EQ(file.fields.at("content-security-policy"),
                page.fields.at("content-security-policy"));
      if (name.ends_with(".js")) {
        EXPECT_EQ(file.fields.at("content-type"), "text/javascript; charset=utf-8");
      }
      for (std::size_t at = file.body.find("from \"./"); at != std::string::npos;
           at = file.body.find("from \"./", at + 1)) {
        const std::size_t begin = at + std::string_view("from \"./").size();
        wanted.insert(file.body.substr(begin, file.body.find('"', begin) - begin));
      }
    }
  }
  EXPECT_GT(wanted.size(), 10U);
  EXPECT_TRUE(on_loop([this] { return service.calls.empty(); }));
}

TEST_F(Page, has_no_other_files) {
  start();
  for (const char* path : {"/view/nothing.js", "/view/..%2Fmain.js", "/view/embed.py"}) {
    const RawAnswer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(message_of(answer), HasSubstr("no such file"));
  }
  EXPECT_EQ(ask("POST", "/").status, 405);
}

class Answers : public ServerTest {};

TEST_F(Answers, have_the_status_and_message_of_the_service) {
  start();
  for (const unsigned status :
       {200U, 201U, 202U, 400U, 401U, 403U, 404U, 409U, 422U, 429U, 500U, 503U, 507U}) {
    on_loop([&] { service.answer = error_answer(status, "01: why"); });
    const RawAnswer answer = ask("POST", "/fabric/collectives/multicasts", multicast);
    EXPECT_EQ(answer.status, static_cast<int>(status));
    EXPECT_EQ(answer.body, "{\"message\":\"01: why\",\"detail\":\"01: why\"}\n");
    EXPECT_EQ(answer.fields.contains("www-authenticate"), status == 401);
    EXPECT_FALSE(answer.fields.contains("retry-after"));
  }
  on_loop([&] { service.answer.retry_after = 3; });
  EXPECT_EQ(ask("GET", "/api/v1/hosts").fields.at("retry-after"), "3");
}

TEST_F(Answers, of_null_are_an_empty_object) {
  start();
  on_loop([this] { service.answer = {200, nullptr, 0}; });
  EXPECT_EQ(ask("DELETE", "/fabric/collectives/multicasts/1").body, "{}\n");
}

TEST_F(Answers, a_service_that_throws_is_500_and_other_clients_do_not_notice) {
  start();
  on_loop([this] { service.failure = "a secret of the machine"; });
  for (const char* path : {"/api/v1/hosts", "/metrics", "/api/v1/events"}) {
    const RawAnswer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("secret")));
  }
  on_loop([this] { service.failure.reset(); });
  EXPECT_EQ(ask("GET", "/api/v1/hosts").status, 200);
}

TEST_F(Answers, may_come_later_and_in_any_order) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient first(tcp_address());
  RawClient second(tcp_address());
  first.send(request_text("GET", "/api/v1/hosts/first"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  second.send(request_text("GET", "/api/v1/hosts/second"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 2; }));
  on_loop([this] { service.held[1](error_answer(404, "second")); });
  EXPECT_EQ(message_of(second.read_answer()), "second");
  on_loop([this] { service.held[0](error_answer(404, "first")); });
  EXPECT_EQ(message_of(first.read_answer()), "first");
}

TEST_F(Answers, given_twice_count_once) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  client.send(request_text("GET", "/api/v1/hosts/a"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  on_loop([this] {
    service.held[0](error_answer(404, "once"));
    service.held[0](error_answer(404, "twice"));
  });
  EXPECT_EQ(message_of(client.read_answer()), "once");
  client.send(request_text("GET", "/api/v1/hosts/b"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 2; }));
  on_loop([this] {
    service.held[0](error_answer(404, "much too late"));
    service.held[1](error_answer(404, "the right one"));
  });
  EXPECT_EQ(message_of(client.read_answer()), "the right one");
}

TEST_F(Answers, a_reply_that_the_service_drops_is_500) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  client.send(request_text("GET", "/api/v1/hosts"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  on_loop([this] { service.held.clear(); });
  EXPECT_EQ(client.read_answer().status, 500);
}

TEST_F(Answers, a_reply_after_the_client_is_gone_is_harmless) {
  start();
  on_loop([this] { service.hold = true; });
  {
    RawClient client(tcp_address());
    client.send(request_text("GET", "/api/v1/hosts"));
    ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  }
  on_loop([this] { service.held[0]({}); });
  EXPECT_TRUE(connections_become(0));
  on_loop([this] {
    service.held[0]({});
    service.hold = false;
  });
  EXPECT_EQ(ask("GET", "/api/v1/hosts").status, 200);
}

TEST_F(Answers, a_reply_after_the_server_is_gone_is_harmless) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  client.send(request_text("GET", "/api/v1/hosts"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  shut_down();
  service.held[0]({});
  EXPECT_EQ(client.read_answer().status, 0);
}

class Callers : public ServerTest {
protected:
  api::Caller caller_of(std::string_view fields, bool by_unix_socket = false) {
    RawClient client(by_unix_socket ? unix_address() : tcp_address());
    client.send(request_text("GET", "/api/v1/hosts", "", fields));
    EXPECT_EQ(client.read_answer().status, 200);
    return *on_loop([this] { return service.caller; });
  }
};

TEST_F(Callers, are_known_by_their_token) {
  start();
  EXPECT_EQ(caller_of("").token, "");
  EXPECT_FALSE(caller_of("").administrator);
  EXPECT_EQ(caller_of("Authorization: Bearer abc\r\n").token, "abc");
  EXPECT_FALSE(caller_of("Authorization: Bearer abc\r\n").administrator);
  EXPECT_EQ(caller_of("authorization: bEARER   abc \r\n").token, "abc");
  // Base64 of a user and a password
  EXPECT_EQ(caller_of("Authorization: Basic YW55Ym9keTphYmM=\r\n").token, "abc");
  EXPECT_EQ(caller_of("Authorization: Digest abc\r\n").token, "");
}

TEST_F(Callers, are_administrators_by_the_right_token_only) {
  start();
  EXPECT_TRUE(caller_of("Authorization: Bearer the-administrator\r\n").administrator);
  EXPECT_FALSE(caller_of("Authorization: Bearer the-administrator2\r\n").administrator);
  EXPECT_FALSE(caller_of("Authorization: Bearer \r\n").administrator);
}

TEST_F(Callers, without_an_administrators_token_no_caller_has_it) {
  Settings settings;
  settings.listen = {"unix:" + folder_.file("s"), "127.0.0.1:0"};
  start(settings);
  EXPECT_FALSE(caller_of("").administrator);
  EXPECT_FALSE(caller_of("Authorization: Bearer \r\n").administrator);
}

TEST_F(Callers, through_the_unix_socket_our_own_user_is_an_administrator) {
  start();
  EXPECT_TRUE(caller_of("", true).administrator);
}

TEST_F(Callers, through_the_unix_socket_a_token_that_is_given_wins) {
  start();
  const api::Caller of_job = caller_of("Authorization: Bearer of-a-job\r\n", true);
  EXPECT_EQ(of_job.token, "of-a-job");
  EXPECT_FALSE(of_job.administrator);
  EXPECT_TRUE(caller_of("Authorization: Bearer the-administrator\r\n", true).administrator);
  EXPECT_FALSE(caller_of("Authorization: Bearer \r\n", true).administrator)
      << "a variable that was not set makes no caller an administrator";
  EXPECT_FALSE(caller_of("Authorization: Digest abc\r\n", true).administrator);
}

TEST_F(Callers, with_two_authorization_fields_are_anonymous) {
  start();
  for (const char* fields :
       {"Authorization: Bearer abc\r\nAuthorization: Bearer the-administrator\r\n",
        "Authorization: Bearer the-administrator\r\nauthorization: Bearer abc\r\n",
        "Authorization: Bearer abc\r\nAuthorization: Bearer abc\r\n"}) {
    const RawAnswer answer = ask("GET", "/api/v1/hosts", "", fields);
    EXPECT_EQ(answer.status, 400) << fields;
    EXPECT_THAT(message_of(answer), HasSubstr("Authorization")) << fields;
  }
  EXPECT_EQ(last_call(), "");
}

TEST_F(Callers, who_may_not_ask_hear_that_first_and_send_no_body) {
  start();
  on_loop([this] { service.refused = api::error_answer(403, "jobs are the administrator's"); });
  EXPECT_EQ(ask("POST", "/fabric/collectives/jobs", "no JSON").status, 403);
  EXPECT_EQ(ask("POST", "/api/v1/groups/g/members?wait=x", "{}").status, 403);
  RawClient patient(tcp_address());
  patient.send("POST /api/v1/allocations HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
               "Content-Length: 1000000\r\n\r\n");
  EXPECT_EQ(patient.read_answer().status, 403) << "before a byte of the body has come";
  EXPECT_EQ(last_call(), "");
}

class Addresses : public ServerTest {};

TEST_F(Addresses, in_use_are_reported) {
  start();
  Settings settings;
  settings.listen = {tcp_address()};
  FakeService other;
  boost::asio::io_context context;
  try {
    const Server second(context, settings, other);
    FAIL() << "a second server listens on the same address";
  } catch (const ListenError& e) {
    EXPECT_THAT(e.what(), HasSubstr(settings.listen[0]));
    EXPECT_THAT(e.what(), HasSubstr("in use"));
  }
  settings.listen = {unix_address()};
  EXPECT_THROW((Server{context, settings, other}), ListenError);
}

TEST_F(Addresses, of_version_six_stand_in_brackets) {
  Settings settings;
  settings.listen = {"[::1]:0"};
  try {
    start(settings);
  } catch (const ListenError& e) {
    GTEST_SKIP() << "no IPv6 here: " << e.what();
  }
  EXPECT_THAT(server_->addresses()[0], StartsWith("[::1]:"));
  EXPECT_EQ(server_->addresses().size(), 1U);
}

TEST_F(Addresses, the_socket_file_goes_with_the_server) {
  start();
  const std::string path = unix_address().substr(5);
  EXPECT_TRUE(std::filesystem::exists(path));
  shut_down();
  EXPECT_FALSE(std::filesystem::exists(path));
}

class Stop : public ServerTest {};

TEST_F(Stop, ends_idle_connections_and_takes_no_new_ones) {
  start();
  RawClient used(tcp_address());
  used.send(request_text("GET", "/healthz"));
  EXPECT_EQ(used.read_answer().status, 200);
  RawClient silent(unix_address());
  ASSERT_TRUE(connections_become(2));
  const std::string address = tcp_address();
  on_loop([this] { server_->stop(); });
  EXPECT_TRUE(used.at_end());
  EXPECT_TRUE(silent.at_end());
  EXPECT_TRUE(connections_become(0));
  EXPECT_THROW(RawClient{address}, std::runtime_error);
}

TEST_F(Stop, lets_a_request_at_work_end) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  client.send(request_text("GET", "/api/v1/hosts"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  on_loop([this] { server_->stop(); });
  on_loop([this] { service.held[0](error_answer(404, "to the end")); });
  const RawAnswer answer = client.read_answer();
  EXPECT_EQ(message_of(answer), "to the end");
  EXPECT_EQ(answer.fields.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_F(Stop, closes_what_does_not_end_in_time) {
  Limits limits;
  limits.stop_time = std::chrono::milliseconds(50);
  start(limits);
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  client.send(request_text("GET", "/api/v1/hosts"));
  ASSERT_TRUE(eventually([this] { return service.held.size() == 1; }));
  on_loop([this] { server_->stop(); });
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(connections_become(0));
}

} // namespace
} // namespace tributary::rest
