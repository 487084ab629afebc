/* libtributary_events: what happens to the fabric, told to the ranks of a job.
 *
 * Build with $(pkg-config --cflags --libs tributary-events). Ranks are started by tributary-run,
 * which hears the fabric manager's events and passes them on through PMIx. The library is one of
 * its own because it needs libpmix, which libtributary does not.
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
 * Which events. Those that touch what the job has: its hosts, and the trees of its groups. Others,
 * of the same codes, belong to the environment, and come only to handlers that say so.
 *
 * Order. Each handler hears each event once, in the order of their sequence, which begins with 1
 * for a job and has no holes. A handler that is registered late first gets what was before, alone;
 * the last 1,024 events are kept. Where some are not kept any more, TRIBUTARY_EVENT_EVENTS_LOST
 * stands for them. Of the environment, what was before the job's first handler asked for it may be
 * missing.
 *
 * Chains. An event passes its handlers one after the other: the first of all, those of one code,
 * those of several, those of none (they hear all), the last of all. A handler that answers
 * TRIBUTARY_EVENT_COMPLETE ends the chain, the last of all included. What handlers add with
 * tributary_event_add_result is seen by those behind them and by tributary_events_on_chain_end. The
 * next event begins when this one's chain has ended.
 *
 * Threads. Handlers are called by a thread of the library (it blocks all signals), or, with
 * TRIBUTARY_EVENTS_CALLER, inside of tributary_events_dispatch. They may take their time, and call
 * every function of this header but tributary_events_close and _dispatch. All functions may be
 * called by any thread, _dispatch by one at a time. When tributary_events_deregister has returned,
 * the handler is not running and not called any more; unless a handler deregisters itself.
 *
 * What is behind it: docs/guide/launching.md.
 */
#ifndef TRIBUTARY_EVENTS_H
#define TRIBUTARY_EVENTS_H

#include <tributary/tributary.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tributary_events;
/* Of the call that a handler is in; not valid behind it. */
struct tributary_event_chain;

/* As PMIx carries them, for those who listen there themselves. */
enum tributary_event_code {
  TRIBUTARY_EVENT_LINK_DOWN = -3101, /* also of a host's own link */
  TRIBUTARY_EVENT_LINK_UP = -3102,
  TRIBUTARY_EVENT_ROUTE_CHANGED = -3103,   /* unicast routes to hosts of the job, or a tree moved */
  TRIBUTARY_EVENT_TREE_REPAIRED = -3104,   /* a group goes on over another tree */
  TRIBUTARY_EVENT_GROUP_DESTROYED = -3105, /* a group has ended, for whatever reason */
  TRIBUTARY_EVENT_SWITCH_SUSPECT = -3106,
  TRIBUTARY_EVENT_SWITCH_CLEARED = -3107,
  TRIBUTARY_EVENT_CONGESTION = -3108, /* a port dropped frames for a full queue */
  TRIBUTARY_EVENT_CONGESTION_OVER = -3109,
  TRIBUTARY_EVENT_PEER_PARKED = -3110, /* no RDMA with this host for now */
  TRIBUTARY_EVENT_PEER_UNPARKED = -3111,
  TRIBUTARY_EVENT_NODE_CHANGED = -3112, /* a node has other interfaces, processors or memory */
  TRIBUTARY_EVENT_EVENTS_LOST = -3113   /* some were not kept: look at how things are */
};

enum tributary_event_scope { TRIBUTARY_EVENT_OF_JOB = 0, TRIBUTARY_EVENT_OF_ENVIRONMENT = 1 };

/* Valid in the call that has it. */
struct tributary_event {
  int code;            /* enum tributary_event_code */
  int scope;           /* enum tributary_event_scope */
  uint32_t epoch;      /* rises when the fabric manager is started anew */
  uint64_t sequence;   /* of the job's events */
  int64_t time_ns;     /* since 1970, when the manager raised it; 0: not known */
  const char* text;    /* for a person */
  const char* details; /* JSON: what the manager's event stream says of it */
  int past;            /* it came before the handler was registered */
};

struct tributary_event_result {
  const char* handler; /* name of who added it; "" without one */
  const char* name;
  const char* value;
};
TRIBUTARY_API size_t tributary_event_result_count(const struct tributary_event_chain* chain);
/* All NULL beyond the last. */
TRIBUTARY_API struct tributary_event_result
tributary_event_get_result(const struct tributary_event_chain* chain, size_t index);
/* For those behind, and the chain's end; a past event has neither. The texts are copied. */
TRIBUTARY_API int tributary_event_add_result(struct tributary_event_chain* chain, const char* name,
                                             const char* value);

enum tributary_event_answer {
  TRIBUTARY_EVENT_GO_ON = 0,
  TRIBUTARY_EVENT_COMPLETE = 1 /* nobody behind it is called */
};
typedef int (*tributary_event_handler)(const struct tributary_event* event,
                                       struct tributary_event_chain* chain, void* data);

enum tributary_event_place {
  TRIBUTARY_EVENT_PLACE_BY_CODES = 0,
  TRIBUTARY_EVENT_PLACE_FIRST = 1, /* of all; one in a process */
  TRIBUTARY_EVENT_PLACE_LAST = 2
};
/* Inside those of one code, of several, or of none. */
enum tributary_event_order {
  TRIBUTARY_EVENT_ORDER_NEWEST_FIRST = 0, /* in front of those that are there */
  TRIBUTARY_EVENT_ORDER_APPEND = 1,
  TRIBUTARY_EVENT_ORDER_FIRST = 2, /* whoever comes; one at a time */
  TRIBUTARY_EVENT_ORDER_LAST = 3,
  TRIBUTARY_EVENT_ORDER_BEFORE = 4, /* in front of relative_to, which must be there */
  TRIBUTARY_EVENT_ORDER_AFTER = 5
};

struct tributary_event_handler_options {
  tributary_event_handler handler;
  void* data;
  /* NULL: none. One that is registered again under the name that it had goes on where it ended. */
  const char* name;
  const int* codes; /* enum tributary_event_code; none: all */
  size_t code_count;
  int place; /* enum tributary_event_place */
  int order; /* enum tributary_event_order */
  const char* relative_to;
  int environment; /* also events of these codes that do not touch the job; needs codes */
  int past;        /* also events that were before; 1 */
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
 * process. TRIBUTARY_ERR_NOT_READY where no PMIx server is: the process was not started by
 * tributary-run. */
TRIBUTARY_API int tributary_events_open(const struct tributary_events_options* options,
                                        struct tributary_events** events);
/* Waits for a handler that is running. NULL is allowed. */
TRIBUTARY_API void tributary_events_close(struct tributary_events* events);

/* TRIBUTARY_ERR_BUSY: the place is somebody else's; TRIBUTARY_ERR_ARGUMENT: it makes no sense. */
TRIBUTARY_API int tributary_events_register(struct tributary_events* events,
                                            const struct tributary_event_handler_options* options,
                                            uint64_t* handler);
TRIBUTARY_API int tributary_events_deregister(struct tributary_events* events, uint64_t handler);

/* Called behind each chain, as handlers are. completed_by is NULL when the chain came to its end.
 * NULL: nobody any more. */
typedef void (*tributary_event_chain_end)(const struct tributary_event* event,
                                          const struct tributary_event_chain* chain,
                                          const char* completed_by, void* data);
TRIBUTARY_API int tributary_events_on_chain_end(struct tributary_events* events,
                                                tributary_event_chain_end end, void* data);

/* Calls handlers for what has come, waiting for timeout_usec for something at most (negative: for
 * ever). The answer is how many calls were made, or an error. */
TRIBUTARY_API int tributary_events_dispatch(struct tributary_events* events, int64_t timeout_usec);
/* Readable while tributary_events_dispatch has something to do. For poll() alone. */
TRIBUTARY_API int tributary_events_fd(const struct tributary_events* events);

/* What was wrong in this thread's last call of this header that failed. Valid until the next. */
TRIBUTARY_API const char* tributary_events_last_error(void);
/* "link_down"; "unknown" for a number that is no code. */
TRIBUTARY_API const char* tributary_event_name(int code);

#ifdef __cplusplus
}
#endif

#endif
