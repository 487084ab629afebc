#include "endpoint/launcher/run/answers.hpp"

#include "endpoint/launcher/run/report.hpp"

#include <boost/json/serialize.hpp>

#include <string_view>

namespace tributary::launch::run {

namespace {

constexpr std::string_view host_name_key = "pmix.hname"; // PMIX_HOSTNAME

std::string qualifier(const messages::Query& query, std::string_view name) {
  for (const messages::Variable& each : query.qualifiers()) {
    if (each.name() == name) {
      return each.value();
    }
  }
  return {};
}

void add_text(messages::QueryAnswer& answer, const std::string& name, std::string text) {
  messages::Value& value = *answer.add_values();
  value.set_name(name);
  value.set_text(std::move(text));
}

} // namespace

messages::QueryAnswer answer_here(const messages::Query& query, control::Launch& launch,
                                  TimeNs now) {
  messages::QueryAnswer answer;
  answer.set_number(query.number());
  if (query.key() == "fm.request") {
    answer.set_status(ask_the_manager);
  } else if (query.key() == "fm.mark") {
    launch.mark(qualifier(query, "fm.name"), now);
    add_text(answer, "fm.mark", "noted");
  } else if (query.key() == "fm.inventory") {
    const boost::json::value inventory = inventory_of(launch, qualifier(query, host_name_key));
    if (inventory.is_null()) {
      answer.set_status(messages::not_found);
    } else {
      add_text(answer, "fm.inventory", boost::json::serialize(inventory));
    }
  } else {
    answer.set_status(messages::not_supported);
  }
  return answer;
}

fabric::Request request_in(const messages::Query& query) {
  fabric::Request request{qualifier(query, "fm.method"), qualifier(query, "fm.path"),
                          qualifier(query, "fm.body")};
  if (request.method.empty()) {
    request.method = "GET";
  }
  return request;
}

messages::QueryAnswer answer_of(std::uint64_t number, const fabric::Reply& reply) {
  if (reply.status == 0) {
    messages::QueryAnswer answer = no_manager(number);
    add_text(answer, "fm.body", reply.body);
    return answer;
  }
  messages::QueryAnswer answer;
  answer.set_number(number);
  messages::Value& status = *answer.add_values();
  status.set_name("fm.status");
  status.set_number(reply.status);
  add_text(answer, "fm.body", reply.body);
  return answer;
}

messages::QueryAnswer no_manager(std::uint64_t number) {
  messages::QueryAnswer answer;
  answer.set_number(number);
  answer.set_status(messages::unreachable);
  return answer;
}

} // namespace tributary::launch::run
