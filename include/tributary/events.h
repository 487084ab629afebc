/* libtributary_events: notifies the ranks of a job of fabric events.
 *
 * Build with $(pkg-config --cflags --libs tributary-events). Ranks are started by tributary-run,
 * which receives the fabric manager's events and forwards them through PMIx. The library is
 * separate because it needs libpmix, which libtributary does not.
 *
 *   static int on_link(const struct tributary_event* event, struct tributary_event_chain* chain,
 *                      void* data) {
 *     fprintf(stderr, "%s\n", event->text);
 *     tributary_event_add_result(chain, "my part", "checkpoint");
 *     return TRIBUTARY_EVENT_GO_ON;
 *   }
 *
 *   struct tributary_events* events;
 *   if (tributary_events_open(NULL, &events) != TRIBUTARY_OK)
 *     die(tributary_events_last_error());
 *   const int codes[] = {TRIBUTARY_EVENT_LINK_DOWN, TRIBUTARY_EVENT_LINK_UP};
 *   struct tributary_event_handler_options on = tributary_event_handler_defaults(on_link, NULL);
 *   on.codes = codes; on.code_count = 2;
 *   uint64_t handler;
 *   tributary_events_register(events, &on, &handler);
 *   ...
 *   tributary_events_deregister(events, handler);
 *   tributary_events_close(events);
 *
 * Scope. By default handlers receive events that affect the job: its hosts, and the trees of its
 * groups. Others of the same codes belong to the environment, and are delivered only to handlers
 * that request them.
 *
 * Order. Each handler receives each event once, in the order of their sequence, which begins with 1
 * for a job and has no gaps. A handler that is registered late first receives past events, outside
 * of chains; the last 1,024 events are kept. TRIBUTARY_EVENT_EVENTS_LOST replaces those that are
 * not kept any more. Events of the environment before the job's first request for them may be
 * missing.
 *
 * Chains. An event passes its handlers one after the other: the first of all, those with one code,
 * those with several, those without codes (they receive all), the last of all. A handler that
 * returns TRIBUTARY_EVENT_COMPLETE ends the chain; the last of all is skipped, too. Results that
 * handlers add with tributary_event_add_result are visible to later handlers and to
 * tributary_events_on_chain_end. The next event begins when this one's chain has ended.
 *
 * Threads. Handlers are called by a thread of the library (it blocks all signals), or, with
 * TRIBUTARY_EVENTS_CALLER, inside tributary_events_dispatch. They may block, and call every
 * function of this header except tributary_events_close and _dispatch. All functions may be called
 * by any thread, _dispatch by one at a time. When tributary_events_deregister has returned, the
 * handler is not running and will not be called any more; unless a handler deregisters itself.
 *
 * docs/guide/launching.md describes the mechanism.
 */
#ifndef TRIBUTARY_EVENTS_H
#define TRIBUTARY_EVENTS_H

#include <tributary/tributary.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tributary_events;
/* The chain of a handler's call; invalid after the call. */
struct tributary_event_chain;

/* The codes in PMIx, for programs that register there directly. */
enum tributary_event_code {
  TRIBUTARY_EVENT_LINK_DOWN = -3101, /* including a host's own link */
  TRIBUTARY_EVENT_LINK_UP = -3102,
  TRIBUTARY_EVENT_ROUTE_CHANGED = -3103,   /* unicast routes to the job's hosts, or a tree's path */
  TRIBUTARY_EVENT_TREE_REPAIRED = -3104,   /* a group continues on another tree */
  TRIBUTARY_EVENT_GROUP_DESTROYED = -3105, /* a group has ended, for any reason */
  TRIBUTARY_EVENT_SWITCH_SUSPECT = -3106,
  TRIBUTARY_EVENT_SWITCH_CLEARED = -3107,
  TRIBUTARY_EVENT_CONGESTION = -3108, /* a port dropped frames because a queue was full */
  TRIBUTARY_EVENT_CONGESTION_OVER = -3109,
  TRIBUTARY_EVENT_PEER_QUARANTINED = -3110, /* no RDMA with this host for now */
  TRIBUTARY_EVENT_PEER_RELEASED = -3111,
  TRIBUTARY_EVENT_NODE_CHANGED = -3112, /* a node's interfaces, processors or memory changed */
  TRIBUTARY_EVENT_EVENTS_LOST = -3113   /* some were not kept: query the current state */
};

enum tributary_event_scope { TRIBUTARY_EVENT_OF_JOB = 0, TRIBUTARY_EVENT_OF_ENVIRONMENT = 1 };

/* Valid during the call that receives it. */
struct tributary_event {
  int code;            /* enum tributary_event_code */
  int scope;           /* enum tributary_event_scope */
  uint32_t epoch;      /* grows when the fabric manager is restarted */
  uint64_t sequence;   /* number among the job's events */
  int64_t time_ns;     /* since 1970, when the manager raised it; 0: unknown */
  const char* text;    /* for users */
  const char* details; /* JSON from the manager's event stream */
  int past;            /* it occurred before the handler was registered */
};

struct tributary_event_result {
  const char* handler; /* name of the handler that added it; "" without one */
  const char* name;
  const char* value;
};
TRIBUTARY_API size_t tributary_event_result_count(const struct tributary_event_chain* chain);
/* All NULL after the last. */
TRIBUTARY_API struct tributary_event_result
tributary_event_get_result(const struct tributary_event_chain* chain, size_t index);
/* For later handlers, and the chain's end; a past event has neither. The texts are copied. */
TRIBUTARY_API int tributary_event_add_result(struct tributary_event_chain* chain, const char* name,
                                             const char* value);

enum tributary_event_answer {
  TRIBUTARY_EVENT_GO_ON = 0,
  TRIBUTARY_EVENT_COMPLETE = 1 /* no later handler is called */
};
typedef int (*tributary_event_handler)(const struct tributary_event* event,
                                       struct tributary_event_chain* chain, void* data);

enum tributary_event_place {
  TRIBUTARY_EVENT_PLACE_BY_CODES = 0,
  TRIBUTARY_EVENT_PLACE_FIRST = 1, /* of all; one per process */
  TRIBUTARY_EVENT_PLACE_LAST = 2
};
/* Among the handlers with one code, with several, or without codes. */
enum tributary_event_order {
  TRIBUTARY_EVENT_ORDER_NEWEST_FIRST = 0, /* before the existing ones */
  TRIBUTARY_EVENT_ORDER_APPEND = 1,
  TRIBUTARY_EVENT_ORDER_FIRST = 2, /* always; one at a time */
  TRIBUTARY_EVENT_ORDER_LAST = 3,
  TRIBUTARY_EVENT_ORDER_BEFORE = 4, /* before relative_to, which must exist */
  TRIBUTARY_EVENT_ORDER_AFTER = 5
};

struct tributary_event_handler_options {
  tributary_event_handler handler;
  void* data;
  /* NULL: none. A handler registered again under its previous name continues where it ended. */
  const char* name;
  const int* codes; /* enum tributary_event_code; none: all */
  size_t code_count;
  int place; /* enum tributary_event_place */
  int order; /* enum tributary_event_order */
  const char* relative_to;
  int environment; /* also events of these codes that do not affect the job; needs codes */
  int past;        /* also past events; 1 */
};
TRIBUTARY_API struct tributary_event_handler_options
tributary_event_handler_defaults(tributary_event_handler handler, void* data);

enum tributary_events_delivery {
  TRIBUTARY_EVENTS_THREAD = 0, /* a thread of the library calls handlers */
  TRIBUTARY_EVENTS_CALLER = 1  /* tributary_events_dispatch does */
};
struct tributary_events_options {
  int delivery; /* enum tributary_events_delivery */
};

/* NULL options: the library's thread. Initialises PMIx, unless MPI has; any number of times in a
 * process. TRIBUTARY_ERR_NOT_READY without a PMIx server: the process was not started by
 * tributary-run. */
TRIBUTARY_API int tributary_events_open(const struct tributary_events_options* options,
                                        struct tributary_events** events);
/* Waits for a running handler. NULL is allowed. */
TRIBUTARY_API void tributary_events_close(struct tributary_events* events);

/* TRIBUTARY_ERR_BUSY: the place is taken; TRIBUTARY_ERR_ARGUMENT: the options are invalid. */
TRIBUTARY_API int tributary_events_register(struct tributary_events* events,
                                            const struct tributary_event_handler_options* options,
                                            uint64_t* handler);
TRIBUTARY_API int tributary_events_deregister(struct tributary_events* events, uint64_t handler);

/* Called after each chain, on the handlers' thread. completed_by is NULL if no handler completed
 * the chain. NULL: unregisters it. */
typedef void (*tributary_event_chain_end)(const struct tributary_event* event,
                                          const struct tributary_event_chain* chain,
                                          const char* completed_by, void* data);
TRIBUTARY_API int tributary_events_on_chain_end(struct tributary_events* events,
                                                tributary_event_chain_end end, void* data);

/* Calls handlers for received events, waiting for one for at most timeout_usec (negative: forever).
 * Returns the number of calls made, or an error. */
TRIBUTARY_API int tributary_events_dispatch(struct tributary_events* events, int64_t timeout_usec);
/* Readable while tributary_events_dispatch has work. For poll() only. */
TRIBUTARY_API int tributary_events_fd(const struct tributary_events* events);

/* The error of this thread's last failed call of this header. Valid until the next one. */
TRIBUTARY_API const char* tributary_events_last_error(void);
/* "link_down"; "unknown" for an unknown code. */
TRIBUTARY_API const char* tributary_event_name(int code);

#ifdef __cplusplus
}
#endif

#endif
