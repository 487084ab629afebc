// The tables of some nodes, and agreements that are made among them in lock step.
#pragma once

#include "endpoint/contexts/agreement.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::test {

inline constexpr contexts::NodeSet some_nodes{0xA11};

inline contexts::OfferWords band(const std::vector<contexts::OfferWords>& words) {
  contexts::OfferWords result = words.at(0);
  for (const auto& each : words) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] &= each[i];
    }
  }
  return result;
}

/// One agreement at all nodes, whose reductions are completed at once.
class Together {
public:
  Together(std::vector<std::unique_ptr<contexts::NodeTable>>& tables, contexts::ProcessId process,
           const contexts::Request& request)
      : tables_(&tables), agreements_(tables.size(), contexts::Agreement(process, request)) {}

  void begin() {
    for (std::size_t node = 0; node < agreements_.size(); ++node) {
      words_.push_back(at(node).begin(table(node)));
    }
  }
  /// One reduction. False: it is over.
  bool step() {
    const contexts::OfferWords result = band(words_);
    words_.clear();
    for (std::size_t node = 0; node < agreements_.size(); ++node) {
      if (const auto next = at(node).reduced(table(node), result)) {
        words_.push_back(*next);
      }
    }
    EXPECT_TRUE(words_.empty() || words_.size() == agreements_.size()) << "some nodes are over";
    return !words_.empty();
  }
  /// All of it. The outcome is the same at all nodes.
  const contexts::Outcome& run() {
    begin();
    while (step()) {
    }
    for (const contexts::Agreement& each : agreements_) {
      EXPECT_EQ(each.outcome().result, outcome().result);
      EXPECT_EQ(each.outcome().context, outcome().context);
      EXPECT_EQ(each.outcome().wanted, outcome().wanted);
      EXPECT_EQ(each.outcome().page, outcome().page);
      EXPECT_EQ(each.outcome().reductions, outcome().reductions);
    }
    return outcome();
  }
  [[nodiscard]] const contexts::Outcome& outcome() const { return agreements_[0].outcome(); }
  [[nodiscard]] contexts::Agreement& at(std::size_t node) { return agreements_[node]; }

private:
  [[nodiscard]] contexts::NodeTable& table(std::size_t node) { return *(*tables_)[node]; }

  std::vector<std::unique_ptr<contexts::NodeTable>>* tables_;
  std::vector<contexts::Agreement> agreements_;
  std::vector<contexts::OfferWords> words_;
};

class Nodes {
public:
  static constexpr contexts::ProcessId process{77};

  explicit Nodes(std::size_t count, std::uint32_t slots = 128) : slots_(slots) {
    for (std::size_t node = 0; node < count; ++node) {
      tables.push_back(std::make_unique<contexts::NodeTable>());
    }
  }

  /// A parent's agreement, and the trees that it asks for are there immediately.
  contexts::Outcome agree(const contexts::Request& request, contexts::ProcessId by = process) {
    const contexts::Outcome outcome = Together(tables, by, request).run();
    for (const auto& wanted : outcome.wanted) {
      ready(wanted.name);
    }
    return outcome;
  }
  contexts::Outcome agree(contexts::RangeSize size = contexts::RangeSize::full,
                          bool short_calls = false) {
    const contexts::Outcome outcome = agree(parent.next(size, short_calls));
    parent.learn(outcome.page, outcome.context.has_value());
    return outcome;
  }
  /// One that has a context.
  contexts::Context context(contexts::RangeSize size = contexts::RangeSize::full,
                            bool short_calls = false) {
    for (int tries = 0; tries < 3; ++tries) {
      if (const auto outcome = agree(size, short_calls); outcome.context) {
        return *outcome.context;
      }
    }
    ADD_FAILURE() << "no context";
    return {};
  }
  void ready(contexts::TreeName name) {
    const contexts::TreeFacts facts{.tree = TreeNumber{next_tree_++}, .slots = slots_};
    for (const auto& table : tables) {
      EXPECT_TRUE(table->ready(name, facts));
    }
  }
  void release(const contexts::Context& context, contexts::ProcessId by = process) {
    for (const auto& table : tables) {
      EXPECT_TRUE(table->release(by, context));
    }
  }

  std::vector<std::unique_ptr<contexts::NodeTable>> tables;
  contexts::Parent parent{some_nodes, {Cookie{1'000}, 0}};

private:
  std::uint32_t slots_;
  std::uint16_t next_tree_ = 1;
};

} // namespace tributary::test
