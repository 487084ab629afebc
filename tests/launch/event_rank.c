/* A rank that receives the fabric's events through tributary/events.h, and prints them as lines of
 * JSON.
 *
 *   event-rank hear N      a handler of links, one of links of the environment, too; once the first
 *                          * has received N events, a late one
 *   event-rank latency N   how long N events of peers took from the manager to the handler
 */
#include <tributary/events.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512 };

struct heard {
  const char* name;
  atomic_int count;
  struct {
    int code, scope, past;
    uint32_t epoch;
    uint64_t sequence;
    int64_t took_ns;
  } events[MOST];
};

static struct heard links = {.name = "links"}, wide = {.name = "wide"}, late = {.name = "late"},
                    peers = {.name = "peers"};
static atomic_int chains, results;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int on_event(const struct tributary_event* event, struct tributary_event_chain* chain,
                    void* data) {
  struct heard* heard = data;
  const int at = atomic_load(&heard->count);
  if (at < MOST) {
    heard->events[at].code = event->code;
    heard->events[at].scope = event->scope;
    heard->events[at].past = event->past;
    heard->events[at].epoch = event->epoch;
    heard->events[at].sequence = event->sequence;
    heard->events[at].took_ns = now_ns() - event->time_ns;
    atomic_store(&heard->count, at + 1);
  }
  tributary_event_add_result(chain, "heard by", heard->name);
  return TRIBUTARY_EVENT_GO_ON;
}

static void on_end(const struct tributary_event* event, const struct tributary_event_chain* chain,
                   const char* completed_by, void* data) {
  (void)event;
  (void)completed_by;
  (void)data;
  atomic_fetch_add(&chains, 1);
  atomic_fetch_add(&results, (int)tributary_event_result_count(chain));
}

static void demand(int code, const char* doing) {
  if (code != TRIBUTARY_OK) {
    fprintf(stderr, "event-rank: %s: %s\n", doing, tributary_events_last_error());
    exit(3);
  }
}

static uint64_t listen_to(struct tributary_events* events, struct heard* heard, const int* codes,
                          size_t count, int environment) {
  struct tributary_event_handler_options on = tributary_event_handler_defaults(on_event, heard);
  uint64_t handler = 0;
  on.name = heard->name;
  on.codes = codes;
  on.code_count = count;
  on.environment = environment;
  demand(tributary_events_register(events, &on, &handler), heard->name);
  return handler;
}

/* At least this many, and a moment more for events that should not arrive. */
static void wait_for(struct heard* heard, int count) {
  for (int waited_ms = 0; atomic_load(&heard->count) < count; ++waited_ms) {
    if (waited_ms > 60000) {
      fprintf(stderr, "event-rank: %s heard %d events of %d\n", heard->name,
              atomic_load(&heard->count), count);
      exit(4);
    }
    usleep(1000);
  }
  usleep(150 * 1000);
}

static void print(struct heard* heard) {
  printf(", \"%s\": [", heard->name);
  for (int i = 0; i < atomic_load(&heard->count); ++i) {
    printf("%s[\"%s\", \"%s\", %u, %llu, %d]", i == 0 ? "" : ", ",
           tributary_event_name(heard->events[i].code),
           heard->events[i].scope == TRIBUTARY_EVENT_OF_JOB ? "job" : "environment",
           heard->events[i].epoch, (unsigned long long)heard->events[i].sequence,
           heard->events[i].past);
  }
  printf("]");
}

static int by_value(const void* a, const void* b) {
  const int64_t left = *(const int64_t*)a, right = *(const int64_t*)b;
  return left < right ? -1 : left > right;
}

int main(int argc, char** argv) {
  const int link_codes[] = {TRIBUTARY_EVENT_LINK_DOWN, TRIBUTARY_EVENT_LINK_UP};
  const int peer_codes[] = {TRIBUTARY_EVENT_PEER_QUARANTINED, TRIBUTARY_EVENT_PEER_RELEASED};
  const char* rank = getenv("PMI_RANK");
  const int wanted = argc > 2 ? atoi(argv[2]) : 1;
  struct tributary_events* events = NULL;
  uint64_t of_links;
  demand(tributary_events_open(NULL, &events), "open");
  demand(tributary_events_on_chain_end(events, on_end, NULL), "on_chain_end");
  of_links = listen_to(events, &links, link_codes, 2, 0);
  listen_to(events, &wide, link_codes, 1, 1);
  listen_to(events, &peers, peer_codes, 2, 0);
  printf("{\"rank\": %s, \"ready\": true}\n", rank);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "latency") == 0) {
    static int64_t took[MOST];
    int count;
    wait_for(&peers, wanted);
    count = atomic_load(&peers.count);
    for (int i = 0; i < count; ++i) {
      took[i] = peers.events[i].took_ns;
    }
    qsort(took, (size_t)count, sizeof took[0], by_value);
    printf("{\"rank\": %s, \"events\": %d, \"median_us\": %.1f, \"p90_us\": %.1f}\n", rank, count,
           (double)took[count / 2] / 1e3, (double)took[count * 9 / 10] / 1e3);
  } else {
    wait_for(&links, wanted);
    listen_to(events, &late, link_codes, 1, 0);
    wait_for(&late, 1);
    /* Again under its name: nothing is repeated. */
    demand(tributary_events_deregister(events, of_links), "deregister");
    listen_to(events, &links, link_codes, 2, 0);
    usleep(100 * 1000);
    printf("{\"rank\": %s", rank);
    print(&links);
    print(&wide);
    print(&late);
    printf(", \"chains\": %d, \"results\": %d}\n", atomic_load(&chains), atomic_load(&results));
  }
  fflush(stdout);
  tributary_events_close(events);
  return 0;
}
