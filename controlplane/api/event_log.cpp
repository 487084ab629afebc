#include "controlplane/api/event_log.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::api {

class EventLog::Reader final : public EventReader {
public:
  Reader(EventLog& log, std::uint64_t number, EventInterest interest, std::function<void()> wake)
      : log_(log), number_(number), interest_(std::move(interest)), wake_(std::move(wake)) {}
  ~Reader() override { log_.forget(*this); }

  std::optional<ShownEvent> next() override {
    if (gap_) {
      shown_gap_ = {std::move(*gap_), {}};
      gap_.reset();
      return show(shown_gap_, Form::of_job);
    }
    if (due_ == 0 || has_missed()) {
      return std::nullopt;
    }
    Kept& due = log_.at(due_);
    const Form form = form_for(due.event);
    look_from(due_ + 1);
    return show(due, form);
  }
  [[nodiscard]] bool has_missed() const override { return due_ != 0 && due_ < log_.first_number(); }
  [[nodiscard]] std::uint64_t seen() const override {
    return due_ != 0 ? due_ - 1 : log_.last_number_;
  }

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const EventInterest& interest() const { return interest_; }
  [[nodiscard]] bool wants(const Event& event) const {
    switch (interest_.what) {
    case EventInterest::Of::everything: return true;
    case EventInterest::Of::own_job: {
      const boost::json::value* const owner = event.body.if_contains("job");
      return owner == nullptr ? event.kind != "transaction"
                              : owner->is_string() && owner->get_string() == interest_.job;
    }
    case EventInterest::Of::job:
      return is_touched(event) ||
             (!event.code.empty() &&
              std::ranges::find(interest_.environment, event.code) != interest_.environment.end());
    }
    return false;
  }
  void begin_behind(std::uint64_t after) { look_from(std::max(after + 1, log_.first_number())); }
  void begin_with(Event gap) { gap_ = std::move(gap); }
  /// Whether it has to be woken.
  [[nodiscard]] bool note(std::uint64_t number) {
    const bool first = due_ == 0;
    due_ = first ? number : due_;
    return first;
  }
  [[nodiscard]] const std::function<void()>& wake() const { return wake_; }

private:
  [[nodiscard]] bool is_touched(const Event& event) const {
    return std::ranges::binary_search(event.jobs, interest_.job);
  }
  [[nodiscard]] Form form_for(const Event& event) const {
    if (interest_.what != EventInterest::Of::job) {
      return Form::plain;
    }
    return is_touched(event) ? Form::of_job : Form::of_environment;
  }
  ShownEvent show(Kept& shown, Form form) {
    const auto& text = shown.event.body.at("text").as_string();
    return {shown.event.number,
            shown.event.kind,
            {text.data(), text.size()},
            data_of(shown, interest_.what == EventInterest::Of::job ? form : Form::plain)};
  }
  void look_from(std::uint64_t number) {
    while (number <= log_.last_number_ && !wants(log_.at(number).event)) {
      ++number;
    }
    due_ = number <= log_.last_number_ ? number : 0;
  }

  EventLog& log_;
  std::uint64_t number_;
  EventInterest interest_;
  std::function<void()> wake_;
  std::uint64_t due_ = 0; ///< number of the first event to show; 0: none
  std::optional<Event> gap_;
  Kept shown_gap_;
};

void EventLog::add(std::string kind, boost::json::object body, std::string_view code,
                   std::vector<std::string> jobs) {
  std::ranges::sort(jobs);
  touched_ += jobs.size();
  events_.push_back(
      {{++last_number_, std::move(kind), std::move(body), code, std::move(jobs)}, {}});
  while (events_.size() > most_ || (touched_ > most_touched && events_.size() > 1)) {
    drop_oldest();
  }
  const Event& event = events_.back().event;
  std::vector<std::uint64_t> to_wake;
  const auto note = [&](const Readers& readers) {
    for (const auto& [number, reader] : readers) {
      if (reader->wants(event) && reader->note(event.number)) {
        to_wake.push_back(number);
      }
    }
  };
  note(of_much_);
  for (const std::string& job : event.jobs) {
    if (const auto found = by_job_.find(job); found != by_job_.end()) {
      note(found->second);
    }
  }
  if (const auto found = by_code_.find(event.code); found != by_code_.end()) {
    note(found->second);
  }
  // A callback may end its own reader or another one.
  for (const std::uint64_t number : to_wake) {
    if (const auto found = readers_.find(number); found != readers_.end()) {
      const std::function<void()> wake = found->second->wake();
      wake();
    }
  }
}

void EventLog::drop_oldest() {
  touched_ -= events_.front().event.jobs.size();
  events_.pop_front();
}

boost::json::object EventLog::body_in(Form form, const Event& event) {
  boost::json::object body = event.body;
  if (form != Form::plain) {
    if (event.kind == "gap") {
      body["code"] = "events_lost";
    }
    body["scope"] = form == Form::of_job ? "job" : "environment";
    body["epoch"] = event.number >> 32U;
    body["sequence"] = event.number & 0xFFFF'FFFFU;
  }
  return body;
}

std::string_view EventLog::data_of(Kept& shown, Form form) {
  std::string& data = shown.data[static_cast<std::size_t>(form)];
  if (data.empty()) {
    data = boost::json::serialize(body_in(form, shown.event));
  }
  return data;
}

Event EventLog::gap(std::uint64_t after, const std::string& time) const {
  const std::uint64_t next = first_number();
  const std::uint64_t start = after >> 32U;
  const bool restarted = start != 0 && start < last_number_ >> 32U;
  // Numbered one below the next event: a reader that stops here resumes at the same place.
  return {next - 1,
          "gap",
          boost::json::object{
              {"time", time},
              {"text", fmt::format("events may be missing behind number {}: {}", after,
                                   restarted ? "the manager has been restarted since"
                                   : after > last_number_ || start != last_number_ >> 32U
                                       ? "no event has this number"
                                       : "the following ones are no longer kept")},
              {"severity", "warning"},
              {"after", after},
              {"next", next}},
          {},
          {}};
}

std::vector<EventLog::Readers*> EventLog::places_of(const EventInterest& interest) {
  if (interest.what != EventInterest::Of::job) {
    return {&readers_, &of_much_};
  }
  std::vector<Readers*> places{&readers_, &by_job_[interest.job]};
  for (const std::string& code : interest.environment) {
    places.push_back(&by_code_[code]);
  }
  return places;
}

std::unique_ptr<EventReader> EventLog::read(EventInterest interest, std::uint64_t after,
                                            const std::string& time, std::function<void()> wake) {
  auto reader =
      std::make_unique<Reader>(*this, next_reader_++, std::move(interest), std::move(wake));
  for (Readers* const place : places_of(reader->interest())) {
    place->emplace(reader->number(), reader.get());
  }
  if (after != 0 && (after + 1 < first_number() || after > last_number_)) {
    reader->begin_with(gap(after, time));
    after = 0;
  }
  reader->begin_behind(after);
  return reader;
}

void EventLog::forget(const Reader& reader) {
  for (Readers* const place : places_of(reader.interest())) {
    place->erase(reader.number());
  }
  if (const auto found = by_job_.find(reader.interest().job);
      found != by_job_.end() && found->second.empty()) {
    by_job_.erase(found);
  }
}

} // namespace tributary::api
