// A page of a list: limits how much one answer holds, so that no reader blocks the loop for long,
// however large the fabric.
//
//   Budget budget(request.limit);
//   Page page(budget);
//   for (thing behind the cursor `after`) {
//     if (!page.has_room()) break;
//     page.add(cursor of the thing, its JSON, its weight);
//   }
//   page.put_into(answer, "things");           and "next" when it is incomplete
//
// A weight is about the number of lines that an object takes: ports of a switch, members of a
// group. The first object always fits, so every reader reaches the end. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::api {

/// The budget of one answer, which may hold several lists.
struct Budget {
  static constexpr std::size_t weight_of_an_answer = 4000;
  explicit Budget(std::size_t limit) : objects(limit) {}
  std::size_t objects;
  std::size_t weight = weight_of_an_answer;
  bool untouched = true;
};

class Page {
public:
  explicit Page(Budget& budget) : budget_(&budget) {}

  /// Whether another object fits; if not, the list has a next page.
  [[nodiscard]] bool has_room() {
    more_ = !budget_->untouched && (budget_->objects == 0 || budget_->weight == 0);
    return !more_;
  }
  void add(std::string cursor, boost::json::object object, std::size_t weight = 1) {
    list_.push_back(std::move(object));
    last_ = std::move(cursor);
    budget_->untouched = false;
    --budget_->objects;
    budget_->weight -= weight < budget_->weight ? weight : budget_->weight;
  }
  /// Whether the page is incomplete; `last` is its cursor, "" when no object of this list fitted.
  [[nodiscard]] bool has_more() const { return more_; }
  [[nodiscard]] const std::string& last() const { return last_; }
  [[nodiscard]] boost::json::array take_list() { return std::move(list_); }

private:
  Budget* budget_;
  boost::json::array list_;
  std::string last_;
  bool more_ = false;
};

} // namespace tributary::api
