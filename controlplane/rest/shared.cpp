#include "controlplane/rest/shared.hpp"

#include <fmt/format.h>

#include <iterator>

namespace tributary::rest {

std::string server_metrics(const Shared& shared) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "# TYPE tributary_http_connections gauge\n"
                 "# HELP tributary_http_connections Connections that are open.\n"
                 "tributary_http_connections {}\n"
                 "# TYPE tributary_http_event_streams gauge\n"
                 "# HELP tributary_http_event_streams Readers of the event stream.\n"
                 "tributary_http_event_streams {}\n"
                 "# TYPE tributary_http_refused_connections counter\n"
                 "# HELP tributary_http_refused_connections Connections refused because there "
                 "were too many.\n"
                 "tributary_http_refused_connections_total {}\n"
                 "# TYPE tributary_http_displaced_connections counter\n"
                 "# HELP tributary_http_displaced_connections Connections closed to make room for "
                 "those of callers who have fewer.\n"
                 "tributary_http_displaced_connections_total {}\n"
                 "# TYPE tributary_http_slow_event_readers counter\n"
                 "# HELP tributary_http_slow_event_readers Event streams ended because their "
                 "reader was too far behind.\n"
                 "tributary_http_slow_event_readers_total {}\n"
                 "# TYPE tributary_http_answers counter\n"
                 "# HELP tributary_http_answers Answers given, by status.\n",
                 shared.connections, shared.event_streams, shared.refused_connections,
                 shared.displaced_connections, shared.events_cut_off);
  for (const auto& [status, count] : shared.answers) {
    fmt::format_to(out, "tributary_http_answers_total{{status=\"{}\"}} {}\n", status, count);
  }
  return text;
}

} // namespace tributary::rest
