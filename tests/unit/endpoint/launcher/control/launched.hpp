// A job of two nodes with two ranks each, and the daemons' side of its channels.
#pragma once

#include "endpoint/launcher/control/launch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::launch::control {

inline messages::Job job_of_four() {
  messages::Job job;
  job.set_id("job");
  job.set_ranks(4);
  for (std::uint32_t node = 0; node < 2; ++node) {
    messages::Node& one = *job.add_nodes();
    one.set_name(node == 0 ? "ns1" : "ns2");
    one.add_ranks(2 * node);
    one.add_ranks(2 * node + 1);
  }
  job.add_command("app");
  return job;
}

class Launched : public ::testing::Test {
protected:
  using Kind = messages::ToNode::KindCase;

  static messages::FromNode hello() {
    messages::FromNode message;
    message.mutable_hello()->set_protocol(messages::launch_protocol);
    message.mutable_hello()->set_version("1");
    return message;
  }
  void greet() {
    for (const NodeIndex node : {0U, 1U}) {
      launch.said(node, hello(), now());
    }
  }
  void ready(NodeIndex node, const std::string& error = "") {
    messages::FromNode message;
    message.mutable_ready()->set_error(error);
    launch.said(node, message, now());
  }
  void started(std::uint32_t rank, const std::string& error = "") {
    messages::FromNode message;
    message.mutable_started()->set_rank(rank);
    message.mutable_started()->set_pid(100 + rank);
    message.mutable_started()->set_error(error);
    launch.said(rank / 2, message, now());
  }
  void ended(std::uint32_t rank, int status = 0) {
    messages::FromNode message;
    message.mutable_ended()->set_rank(rank);
    message.mutable_ended()->set_pid(100 + rank);
    message.mutable_ended()->set_status(status);
    launch.said(rank / 2, message, now());
  }
  /// All ranks run.
  void run() {
    greet();
    launch.allocated({}, {}, now());
    ready(0);
    ready(1);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      started(rank);
    }
    (void)launch.take_orders();
  }
  /// Messages of this kind to a node since the last call of this or `take_orders`.
  std::vector<messages::ToNode> sent_to(NodeIndex node, Kind kind) {
    std::vector<messages::ToNode> found;
    std::vector<Order> others;
    for (Order& order : launch.take_orders()) {
      if (order.node == node && order.message.kind_case() == kind) {
        found.push_back(std::move(order.message));
      } else {
        kept.push_back(std::move(order));
      }
    }
    for (auto at = kept.begin(); at != kept.end();) {
      if (at->node == node && at->message.kind_case() == kind) {
        found.push_back(std::move(at->message));
        at = kept.erase(at);
      } else {
        ++at;
      }
    }
    return found;
  }
  /// Time advances to the next due event.
  void wait() {
    ASSERT_NE(launch.deadline(), never);
    time = launch.deadline();
    launch.time_is(time);
  }
  [[nodiscard]] TimeNs now() { return time = time + ns_per_ms; }
  std::string errors() {
    std::string all;
    for (const std::string& line : launch.take_errors()) {
      all += line + "\n";
    }
    return all;
  }

  TimeNs time{ns_per_second};
  /// Nodes may be silent for a while.
  Launch launch{job_of_four(), {.silent_after = {}, .version = "1"}, time};
  std::vector<Order> kept;
};

} // namespace tributary::launch::control
