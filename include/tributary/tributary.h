/* libtributary: in-network reductions for host programs. rdma.h has access to memory of other
 * hosts; events.h, of another library, has notifications of fabric events.
 *
 * Build with $(pkg-config --cflags --libs tributary).
 *
 *   #include <tributary/tributary.h>
 *
 *   struct tributary_host* host;
 *   struct tributary_host_options on = tributary_host_defaults("eth0");
 *   if (tributary_open(&on, &host) != TRIBUTARY_OK)
 *     die(tributary_last_error(NULL));
 *
 *   struct tributary_group* group;
 *   struct tributary_group_options who = tributary_group_defaults();
 *   who.tree = 7; who.vni = 100; who.cookie = 0x1234; who.rank = rank; who.size = 16;
 *   if (tributary_join(host, &who, &group) != TRIBUTARY_OK)
 *     die(tributary_last_error(host));
 *
 *   double in[100], out[100];
 *   struct tributary_result result;
 *   tributary_allreduce(group, in, out, 100, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, &result);
 *
 *   tributary_leave(group);
 *   tributary_close(host);
 *
 * With a fabric manager, a group needs only a name, and the manager computes the tree:
 *
 *   struct tributary_named_group_options who = tributary_named_group_defaults("demo");
 *   who.rank = rank; who.size = 16;
 *   if (tributary_join_named(host, &who, &group) != TRIBUTARY_OK)
 *     die(tributary_last_error(host));
 *
 * Collective. All members of a group must call the same operations, with the same operator, type,
 * count and named rank, in the same order, starting and blocking ones alike.
 *
 * Threads. A host, its groups and their requests may be used by one thread of the program at a
 * time; different hosts are independent. tributary_wake may be called by any thread between
 * tributary_open and tributary_close; tributary_error_string, the ..._name functions, the
 * ..._defaults functions and the tributary_repsum_... functions by any thread at any time.
 *
 * Progress is made inside calls, unless the host was opened with TRIBUTARY_PROGRESS_THREAD. While
 * requests are outstanding and no call waits, call tributary_progress periodically, or when poll()
 * on tributary_fd returns, and at the latest after tributary_timeout_usec.
 *
 * With TRIBUTARY_PROGRESS_THREAD a thread of the library makes progress while no call does: a root
 * answers members that lost a result, and retries, while its program computes. The host may still
 * be used by only one thread of the program at a time. It costs a mutex in every call, and some 60
 * wake-ups a second while calls are made. The thread calls no code of the program and blocks all
 * signals; tributary_close ends it immediately. It reads and writes the buffers of operations that
 * were started.
 *
 * A host with named groups has another small thread, from the first tributary_join_named until it
 * is closed. It announces the host on its link once a second and renews the groups' leases at the
 * manager; it blocks all signals and calls no code of the program. After fork() only the parent
 * may use the host and its groups; a child may call tributary_close, which then ends only the
 * child's own part.
 *
 * Errors. Functions return TRIBUTARY_OK or a negative enum tributary_error; tributary_last_error
 * says what happened, to what, and what to do. While the interface is down, tributary_progress,
 * _test and _wait return TRIBUTARY_ERR_INTERFACE_DOWN, but no operation is lost: requests stay
 * valid, and continue once it is up. If the interface goes away, the host ends: every further call
 * returns TRIBUTARY_ERR_NO_INTERFACE, and only tributary_close remains to be called.
 *
 * Missing members. tributary_wait with a time-out names the missing members, at every member, and
 * so does tributary_status_text. A group ends when the fabric manager reports that a member is
 * gone, or when one is missing for member_timeout_usec: then every waiting and every later call
 * returns TRIBUTARY_ERR_MEMBER_MISSING, and only tributary_leave remains to be called.
 * docs/protocol/collective.md has a table of the times until then.
 *
 * Memory. Buffers belong to the caller, and must not move until their operation is done. in and out
 * may be the same buffer; any other overlap is TRIBUTARY_ERR_ARGUMENT.
 */
#ifndef TRIBUTARY_TRIBUTARY_H
#define TRIBUTARY_TRIBUTARY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TRIBUTARY_API __attribute__((visibility("default")))
#else
#define TRIBUTARY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One interface of this machine. */
struct tributary_host;
/* This host's membership in one reduction group. Belongs to its host. */
struct tributary_group;
/* A started operation, until tributary_test or tributary_wait reports it done. Belongs to its
 * group. */
struct tributary_request;

enum tributary_error {
  TRIBUTARY_OK = 0,
  TRIBUTARY_ERR_ARGUMENT = -1,             /* a parameter is out of range, or contradicts others */
  TRIBUTARY_ERR_MEMORY = -2,               /* no memory */
  TRIBUTARY_ERR_NO_INTERFACE = -3,         /* no interface of this name, or it went away */
  TRIBUTARY_ERR_INTERFACE_DOWN = -4,       /* the interface is down; bring it up and call again */
  TRIBUTARY_ERR_NOT_PERMITTED = -5,        /* no CAP_NET_RAW, no job that the host agent knows */
  TRIBUTARY_ERR_SYSTEM = -6,               /* another system call failed */
  TRIBUTARY_ERR_TREE_IN_USE = -7,          /* this host is in a group on this tree already */
  TRIBUTARY_ERR_BUSY = -8,                 /* requests or dups of the group are outstanding */
  TRIBUTARY_ERR_TIMEOUT = -9,              /* the time-out expired; the request is still valid */
  TRIBUTARY_ERR_OP_MISMATCH = -10,         /* members called different operators; no result */
  TRIBUTARY_ERR_ABANDONED = -11,           /* left, but some members may not have */
  TRIBUTARY_ERR_MANAGER_UNREACHABLE = -12, /* no fabric manager, or an untrusted one */
  TRIBUTARY_ERR_MANAGER_REFUSED = -13,     /* it refused; tributary_last_error has its reason */
  TRIBUTARY_ERR_NOT_READY = -14,           /* the group was not ready in time; tributary_last_error
                                              names the missing members */
  TRIBUTARY_ERR_MEMBER_MISSING = -15,      /* the group has ended, because members are missing;
                                              tributary_last_error names them */
  TRIBUTARY_ERR_COUNT_MISMATCH = -16,      /* the group has ended, because members called one
                                              operation with different counts; tributary_last_error
                                              names two */
  TRIBUTARY_ERR_GROUP_ENDED = -17,         /* the fabric manager ended the group, or a result was
                                              lost; tributary_last_error says why */
  /* From rdma.h: */
  TRIBUTARY_ERR_PEER_REFUSED = -18,     /* the peer refuses the transfer; tributary_last_error says
                                           why */
  TRIBUTARY_ERR_PEER_UNREACHABLE = -19, /* the peer does not answer, or no longer */
  TRIBUTARY_ERR_PEER_ENDED = -20,       /* the peer ended the transfer before it was done */
  TRIBUTARY_ERR_CANCELLED = -21,        /* tributary_rdma_cancel ended it */
  TRIBUTARY_ERR_FULL = -22,             /* the limit is reached */
  TRIBUTARY_ERR_PEER_QUARANTINED = -23, /* the fabric manager allows no new transfers with it */
  TRIBUTARY_ERR_INTERRUPTED = -24       /* tributary_wake ended the wait; the request is still
                                           valid */
};

enum tributary_type {
  TRIBUTARY_INT8 = 0,
  TRIBUTARY_UINT8 = 1,
  TRIBUTARY_INT16 = 2,
  TRIBUTARY_UINT16 = 3,
  TRIBUTARY_INT32 = 4,
  TRIBUTARY_UINT32 = 5,
  TRIBUTARY_INT64 = 6,
  TRIBUTARY_UINT64 = 7,
  TRIBUTARY_DOUBLE = 8,
  TRIBUTARY_MINMAXLOC_INT64 = 9,   /* struct tributary_minmaxloc_int64 */
  TRIBUTARY_MINMAXLOC_DOUBLE = 10, /* struct tributary_minmaxloc_double */
  TRIBUTARY_FLOAT = 11,            /* binary32 */
  TRIBUTARY_FLOAT16 = 12,          /* binary16 */
  TRIBUTARY_BFLOAT16 = 13,         /* the upper half of a binary32 */
  TRIBUTARY_REPSUM_STATE = 14      /* struct tributary_repsum_state */
};

/* Value and index of a minimum and of a maximum. Among equal values the lowest index wins. */
struct tributary_minmaxloc_int64 {
  int64_t min;
  uint64_t min_index;
  int64_t max;
  uint64_t max_index;
};
struct tributary_minmaxloc_double {
  double min;
  uint64_t min_index;
  double max;
  uint64_t max_index;
};

/* An unfinished reproducible sum, as frames carry it. A caller that has summed several doubles,
 * such as those of the processes of one machine, passes this instead of a rounded double, so that
 * the bits of the result do not depend on what was added where. docs/protocol/wire-format.md, 4.7,
 * has the rules. */
struct tributary_repsum_state {
  int64_t limbs[4];
  int8_t m;          /* -26 to 25, or 125 to 127 for infinities and NaN */
  uint8_t unused[7]; /* zero */
};

/* Operator         types                         frame opcode
 *
 * AND OR XOR       all integers                  01 02 03
 * MIN MAX          INT64, other integers *       10 11
 *                  DOUBLE, other floats *        24 25      a number beats a NaN
 * SUM              INT64, other integers *       14         wraps; reported for signed types
 *                  DOUBLE, other floats *        28         rounds to nearest
 * MINMAXLOC        MINMAXLOC_INT64               12
 *                  MINMAXLOC_DOUBLE              26         a number beats a NaN
 * MIN_NAN MAX_NAN  DOUBLE, other floats *        20 21      a NaN beats a number
 * MINMAXLOC_NAN    MINMAXLOC_DOUBLE              22         a NaN beats a number
 * SUM_...          DOUBLE, other floats *        29 .. 2F   other roundings; FTZ: subnormal results
 *                                                           become zero
 * REPSUM           DOUBLE, REPSUM_STATE          30         reproducible: the same bits in any
 *                                                           order of the additions
 *
 * * Only in groups with wide frames (payload in struct tributary_group_options): others return
 * TRIBUTARY_ERR_ARGUMENT. Sums of FLOAT16 and BFLOAT16 are made in binary32, and rounded to the
 * type once for each switch they pass and once at the root.
 *
 * A SUM of doubles that rounds depends on the order, and so on the tree; REPSUM does not. */
enum tributary_op {
  TRIBUTARY_AND = 0,
  TRIBUTARY_OR = 1,
  TRIBUTARY_XOR = 2,
  TRIBUTARY_MIN = 3,
  TRIBUTARY_MAX = 4,
  TRIBUTARY_SUM = 5,
  TRIBUTARY_MINMAXLOC = 6,
  TRIBUTARY_MIN_NAN = 7,
  TRIBUTARY_MAX_NAN = 8,
  TRIBUTARY_MINMAXLOC_NAN = 9,
  TRIBUTARY_SUM_UPWARD = 10,
  TRIBUTARY_SUM_DOWNWARD = 11,
  TRIBUTARY_SUM_TOWARD_ZERO = 12,
  TRIBUTARY_SUM_FTZ = 13,
  TRIBUTARY_SUM_FTZ_UPWARD = 14,
  TRIBUTARY_SUM_FTZ_DOWNWARD = 15,
  TRIBUTARY_SUM_FTZ_TOWARD_ZERO = 16,
  TRIBUTARY_REPSUM = 17
};

/* Numerical conditions of a result; the worst one of the whole operation. The result is valid in
 * all of these cases. */
enum tributary_result_code {
  TRIBUTARY_EXACT = 0,
  TRIBUTARY_INEXACT = 1,        /* a floating sum was rounded, or flushed to zero */
  TRIBUTARY_FLOAT_OVERFLOW = 3, /* finite numbers summed beyond the largest */
  TRIBUTARY_INVALID = 4,        /* a signalling NaN, or Inf - Inf */
  TRIBUTARY_REPSUM_INEXACT = 5, /* a reproducible sum dropped low digits */
  TRIBUTARY_INT_OVERFLOW = 6,   /* an integer sum wrapped, or a limb of a reproducible sum */
  TRIBUTARY_CONTR_OVERFLOW = 7  /* a switch counted more contributions than its tree has; only
                                   without check_contributions */
};

struct tributary_result {
  /* enum tributary_result_code */
  int code;
  /* With TRIBUTARY_ERR_OP_MISMATCH: the NIDs of a member with the first operator, and of one with
   * another. Otherwise 0. */
  uint32_t first_nid;
  uint32_t offending_nid;
};

/* ---- one interface ---- */

#define TRIBUTARY_NID_FROM_ADDRESS 0xFFFFFFFFu
#define TRIBUTARY_SPIN_AUTO 0xFFFFFFFFu

enum tributary_progress_mode {
  TRIBUTARY_PROGRESS_DEFAULT = 0, /* environment variable TRIBUTARY_PROGRESS, "caller" or
                                     "thread"; if unset, the caller's thread */
  TRIBUTARY_PROGRESS_CALLER = 1,  /* only inside calls */
  TRIBUTARY_PROGRESS_THREAD = 2   /* also on a thread of the host's own */
};

enum tributary_transport {
  TRIBUTARY_TRANSPORT_DEFAULT = 0, /* environment variable TRIBUTARY_TRANSPORT, "raw" or
                                      "af_xdp"; if unset, raw sockets */
  TRIBUTARY_TRANSPORT_RAW = 1,     /* from the host agent, or with CAP_NET_RAW */
  /* Fewer system calls. Needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, and exclusive use of the
   * interface's frames of its EtherType: one host per interface. Other traffic stays with the
   * kernel. */
  TRIBUTARY_TRANSPORT_AF_XDP = 2
};

struct tributary_host_options {
  const char* interface; /* "": that of this node's host agent */
  uint16_t ethertype;    /* 0x88B5; that of the switch port; at least 0x0600 */
  uint32_t nid; /* 20 bits; TRIBUTARY_NID_FROM_ADDRESS: the low 20 of the interface's MAC */
  /* How long a waiting call polls for frames, yielding the processor in between, before it sleeps;
   * this saves the wake-up. TRIBUTARY_SPIN_AUTO, the default: 30 for reductions of at most four
   * frames, 100 for those of up to 64; for longer ones it yields and polls once. Otherwise, and
   * with 0, it sleeps immediately. With any value, after another program has taken the processor
   * for a whole time slice, or for two, calls sleep immediately for a while. */
  uint32_t spin_usec;
  /* For received frames that wait; 1 MiB. 0: the host receives no frames, and costs those that do
   * nothing; it can only hold the trees of named groups, with TRIBUTARY_NO_IDS. */
  uint32_t buffer_bytes;
  int progress;  /* enum tributary_progress_mode; TRIBUTARY_PROGRESS_DEFAULT */
  int transport; /* enum tributary_transport; TRIBUTARY_TRANSPORT_DEFAULT */
};
TRIBUTARY_API struct tributary_host_options tributary_host_defaults(const char* interface);

/* Opens an interface. On an error *host is NULL, and tributary_last_error(NULL) has the details. */
TRIBUTARY_API int tributary_open(const struct tributary_host_options* options,
                                 struct tributary_host** host);
/* Closes it, with all its groups and requests, without leaving the groups. NULL is allowed. */
TRIBUTARY_API void tributary_close(struct tributary_host* host);

TRIBUTARY_API uint32_t tributary_nid(const struct tributary_host* host);

/* Processes received frames and expired timers, and sends pending frames. Never sleeps. */
TRIBUTARY_API int tributary_progress(struct tributary_host* host);
/* Readable when frames wait; with TRIBUTARY_PROGRESS_THREAD, when frames were received, and a
 * request may be done. For poll() only. */
TRIBUTARY_API int tributary_fd(const struct tributary_host* host);
/* Microseconds, rounded up, after which tributary_progress should be called even if nothing
 * arrives; -1 if no timer is set, and always with TRIBUTARY_PROGRESS_THREAD. */
TRIBUTARY_API int64_t tributary_timeout_usec(const struct tributary_host* host);

/* Ends a tributary_wait of this host: it returns TRIBUTARY_ERR_INTERRUPTED, unless its operation is
 * done. Where no thread waits, the next tributary_wait ends in this way; several calls before it
 * count once. For any thread, at the same time as other calls: a program that has one thread for a
 * host gives it new work so. */
TRIBUTARY_API int tributary_wake(struct tributary_host* host);

/* The error of the last failed call with this host, its groups or its requests; with NULL, of the
 * last call of this thread without a host, because tributary_open failed or a handle was NULL.
 * Valid until the next failure. */
TRIBUTARY_API const char* tributary_last_error(const struct tributary_host* host);
/* The general meaning of an error, and what to do. Never NULL. */
TRIBUTARY_API const char* tributary_error_string(int error);
/* "exact", "inexact"... Never NULL. */
TRIBUTARY_API const char* tributary_result_name(int code);

/* ---- groups ---- */

#define TRIBUTARY_NID_UNKNOWN 0xFFFFFFFFu
#define TRIBUTARY_NO_TREE 0xFFFFFFFFu
#define TRIBUTARY_NO_IDS 0xFFFFFFFFu

struct tributary_group_options {
  uint32_t tree; /* 0 to 8191, as installed in the switches */
  /* The second tree of a group on two trees that share as little as possible: each reduction runs
   * on both, and a loss on one of them costs no time. TRIBUTARY_NO_TREE: one tree only. */
  uint32_t twin_tree;
  uint16_t vni;    /* protection key */
  uint32_t cookie; /* the group's own random number */
  uint32_t rank;   /* 0 to size - 1 */
  uint32_t size;   /* 1 to 1048575 */
  uint32_t root_rank;
  uint32_t root_nid;  /* TRIBUTARY_NID_UNKNOWN: frames from above are accepted from any sender */
  int armed;          /* root: 0 bypasses the engines, for comparison */
  int cxi_compatible; /* talk to public libfabric cxi hosts; the cookie is then computed */
  int check_contributions; /* refuse results in which a contribution was counted twice; 1 */
  int ieee_nan;            /* root: must match the switches' setting; 0 */
  uint32_t retry_usec;     /* 32000 */
  uint32_t collective_timeout_usec; /* 20000000; not less than the engines' timers */
  uint32_t result_timeout_usec;     /* 1600000 */
  uint32_t leave_timeout_usec;      /* 20000000 */
  uint32_t leave_grace_usec;        /* 4800000 */
  /* The group ends when a member is missing for this long; at least 64 times retry_usec. 0: it
   * waits forever, or until the fabric manager reports that a member is gone. Choose it longer than
   * any member computes between two calls. The same at all members. */
  uint32_t member_timeout_usec; /* 0 */
  /* As installed in the trees, the same at all members. For a named group the manager sets them,
   * and these are upper limits of this member: 0, the default there, is as much as its interface
   * carries, 8 and 32 mean no wide frames. slots: reductions in flight, 8, 16, 32, 64 or 128.
   * payload: bytes of elements in a frame; above 32, a multiple of 64, vectors travel in frames as
   * long as the links carry: 1408 with an MTU of 1500, 8896 with 9000. */
  uint32_t slots;   /* 8 */
  uint32_t payload; /* 32 */
  /* 1: the switch next to the root sends the results itself (in-switch results,
   * docs/protocol/in-switch-results.md); the same at all members, and as the tree was installed
   * there. A named group's default is TRIBUTARY_IN_SWITCH_RESULTS_AUTO: the setting of the fabric
   * manager's file, which is on by default, if all members support it. There 1 requests such a
   * tree, and 0 refuses it: one request is enough to enable it, one refusal disables it, and
   * tributary_get_membership returns the outcome. Not with twin trees, nor cxi_compatible. */
  int in_switch_results; /* 0 */
  /* A range of the tree's ids, for a group that shares the tree with others (a context,
   * docs/protocol/contexts.md): ids of them, a power of two, from first_id on, with a cookie of its
   * own, and the root's first sequence, 0 to 1021. Members of other processes have the other ids,
   * which is not checked here. Leaving such a group sends nothing: see tributary_leave. ids 0:
   * all ids of the tree. Not with cxi_compatible, nor for a dup, which has these from its members'
   * agreement. A named group has all ids, or with TRIBUTARY_NO_IDS none: it holds its tree, and
   * renews its lease, for other processes that join ranges of it; such a group reduces nothing, and
   * its host may have been opened with buffer_bytes 0. */
  uint32_t first_id;       /* 0 */
  uint32_t ids;            /* 0 */
  uint32_t first_sequence; /* 0 */
};
TRIBUTARY_API struct tributary_group_options tributary_group_defaults(void);

/* Becomes a member. Sends nothing yet: members may join in any order. On an error *group is NULL.
 */
TRIBUTARY_API int tributary_join(struct tributary_host* host,
                                 const struct tributary_group_options* options,
                                 struct tributary_group** group);
#define TRIBUTARY_RANK_ANY 0xFFFFFFFFu
#define TRIBUTARY_IN_SWITCH_RESULTS_AUTO (-1)

/* A group identified to the fabric manager by its job and name. name, size, trees and root_rank
 * must be the same at all members, rank differs. */
struct tributary_named_group_options {
  const char* name;
  uint32_t rank;      /* 0 to size - 1 */
  uint32_t size;      /* 1 to 1048575 */
  uint32_t root_rank; /* TRIBUTARY_RANK_ANY: the manager chooses */
  uint32_t trees;     /* 1, or 2 for twin trees */
  int64_t wait_usec;  /* limit for all members to join, and for an unreachable manager; 60 s */
  /* NULL: from the environment, TRIBUTARY_JOB_ID or FI_CXI_COLL_JOB_ID; if unset, the token's */
  const char* job;
  /* unix:/path, http://host:port or https://host:port. NULL: TRIBUTARY_FABRIC_MANAGER_URL, or the
   * server that FI_CXI_COLL_FABRIC_MGR_URL names, or unix:/run/tributary/fabricd.sock */
  const char* manager_url;
  /* NULL: TRIBUTARY_FABRIC_MANAGER_TOKEN or FI_CXI_COLL_MCAST_TOKEN; "" for none */
  const char* token;
  /* Authorities for the manager's certificate: "yes" those of the system, "no" unverified,
   * otherwise a PEM file or a directory. NULL: TRIBUTARY_FABRIC_MANAGER_CACERT or
   * FI_CXI_COLL_FABRIC_MGR_CACERT, or "yes" */
  const char* certificate_authority;
  /* The members' protocol: armed, check_contributions and all fields after them. The fields before
   * armed come from the manager and are ignored here. */
  struct tributary_group_options protocol;
};
TRIBUTARY_API struct tributary_named_group_options tributary_named_group_defaults(const char* name);

/* Announces the host, requests membership from the manager, and waits until all members have joined
 * and the tree is in every switch. Meanwhile this host's other groups make no progress, unless the
 * host has a thread for it. On an error *group is NULL, and the manager is notified if it had
 * accepted the host as a member. */
TRIBUTARY_API int tributary_join_named(struct tributary_host* host,
                                       const struct tributary_named_group_options* options,
                                       struct tributary_group** group);

/* A new group of the same members, with the same ranks. It shares the parent's tree, or another one
 * of these members, with all their groups: no request to the manager, and no entry in a switch. So
 * it takes about as long as an operation of the parent; the first dup of a group that was joined as
 * long as two, and such a group has half as many reductions in flight from then on
 * (docs/protocol/contexts.md). Operations of different groups have no order.
 *
 * All members must call it, in the same order as the parent's operations; it waits without limit
 * for a member that is late. Like an operation it returns TRIBUTARY_ERR_MEMBER_MISSING where a
 * member is missing for the parent's member_timeout_usec, or reported as gone, and
 * TRIBUTARY_ERR_COUNT_MISMATCH or _OP_MISMATCH where a member called something else. Members that
 * pass different parents wait for each other, as with an operation. Outstanding operations of the
 * parent continue; the first dup of a joined group waits for them.
 *
 * Where all ids of the members' trees are in use it waits for the next tree, which a fabric manager
 * makes in the background from when three quarters are. TRIBUTARY_ERR_FULL at all members: it
 * refused one, or the group was joined without a manager; tributary_last_error has the reason.
 * Leave a group that is not needed, or join one by name.
 *
 * options: armed, check_contributions and all fields after them up to member_timeout_usec, for the
 * new group's protocol; the other fields are ignored. NULL: those of the parent. On an error *child
 * is NULL. TRIBUTARY_ERR_ARGUMENT for a parent with cxi_compatible, or one that was joined with a
 * range of ids.
 *
 * The new group ends when the manager ends the group of its tree, and moves with its tree. It may
 * outlive its parent if that is a dup, too; the group that was joined is left last. */
TRIBUTARY_API int tributary_group_dup(struct tributary_group* parent,
                                      const struct tributary_group_options* options,
                                      struct tributary_group** child);
/* The same, for programs that divide groups by colour, as far as all members are on one side: with
 * the same colour at all members it is tributary_group_dup, and with a negative one at all of them
 * *child is NULL and the result TRIBUTARY_OK. Where colours differ all members get
 * TRIBUTARY_ERR_ARGUMENT: members of a part of a group need a tree of their own, from
 * tributary_join_named. */
TRIBUTARY_API int tributary_group_split(struct tributary_group* parent, int32_t colour,
                                        const struct tributary_group_options* options,
                                        struct tributary_group** child);

/* Moves a group that was joined with tributary_join to the trees, VNI, cookie and root NID of the
 * options, with the same members, root, slots, payload and range of ids. All members must do so, at
 * any time; what was under way is repeated on the new trees. TRIBUTARY_ERR_ARGUMENT for a named
 * group, for a dup, and for a group that has dups. */
TRIBUTARY_API int tributary_move(struct tributary_group* group,
                                 const struct tributary_group_options* options);

/* From the next operation on, a group that was joined with a range of a tree's ids uses only the
 * first ids of them, a power of two. All members must do so between the same two operations, each
 * when it has the results of those before; when all have, the other ids may be given to another
 * group. Until then the root answers members that have lost results under them. Takes no time.
 * TRIBUTARY_ERR_BUSY if operations are outstanding; TRIBUTARY_ERR_ARGUMENT for more ids than the
 * group has, and for groups that have their ids from the manager or from a dup. */
TRIBUTARY_API int tributary_keep_ids(struct tributary_group* group, uint32_t ids);

/* TRIBUTARY_OK, or the error that every operation of the group returns since it has ended. Makes
 * progress. */
TRIBUTARY_API int tributary_check(struct tributary_group* group);

/* Ends the group at this member at once: nothing of its operations' memory is read or written any
 * more, their requests return TRIBUTARY_ERR_GROUP_ENDED, and only tributary_leave remains to be
 * called, which takes no time. Other groups of the host continue, those on the same tree included.
 * At the root the other members are notified, and get TRIBUTARY_ERR_GROUP_ENDED; otherwise they
 * wait for this member. */
TRIBUTARY_API int tributary_abandon(struct tributary_group* group);

/* The trees and parameters of a group; for a named group as last set by the manager. */
struct tributary_membership {
  uint32_t tree;
  uint32_t twin_tree; /* or TRIBUTARY_NO_TREE */
  uint16_t vni;
  uint32_t cookie;
  uint32_t root_rank;
  uint32_t root_nid;     /* or TRIBUTARY_NID_UNKNOWN */
  int disjoint;          /* named, two trees: they share no link and no inner switch */
  uint32_t lease_msec;   /* named; 0 otherwise */
  uint32_t slots;        /* reductions in flight of the tree */
  uint32_t payload;      /* bytes of elements in a frame; 32: no wide frames */
  int in_switch_results; /* in-switch results: the switch next to the root sends them */
  uint32_t first_id;     /* of the range of the tree's ids that the group uses */
  uint32_t ids;          /* reductions in flight of the group */
  uint32_t first_sequence;
  uint32_t moves; /* named: how often the manager has moved it to other trees */
};
TRIBUTARY_API int tributary_get_membership(const struct tributary_group* group,
                                           struct tributary_membership* membership);

/* Waits until every member has all its results and leaves, too; then the group is gone and the
 * pointer invalid. TRIBUTARY_ERR_BUSY if requests are outstanding: then the group stays. Takes at
 * most leave_timeout_usec + leave_grace_usec; returns TRIBUTARY_ERR_ABANDONED if some members did
 * not leave in that time, or an interface error: the group is gone in these cases, too. For a named
 * group the manager is notified, which takes a few seconds at most; if that fails, one of the
 * manager's errors is returned, and the lease expires on its own. NULL is allowed.
 *
 * A dup, and a group that was joined with a range of ids, is gone at once and sends nothing; its
 * root continues to answer members that have lost its last results, until the ids are given to
 * another group. TRIBUTARY_ERR_BUSY for a group that was joined while dups of it, or of these, are
 * not left here. */
TRIBUTARY_API int tributary_leave(struct tributary_group* group);

TRIBUTARY_API uint32_t tributary_rank(const struct tributary_group* group);
TRIBUTARY_API uint32_t tributary_size(const struct tributary_group* group);

/* ---- operations ----
 *
 * The blocking functions wait without limit, also for an interface that is down; use tributary_wait
 * for a time-out. The ..._start functions return immediately; pass *request to tributary_test or
 * tributary_wait until the operation is done. result may be NULL. count is the number of elements
 * of the type, without limit; it must be the same at all members, otherwise all get
 * TRIBUTARY_ERR_COUNT_MISMATCH and the group has ended. type is an enum tributary_type, op an enum
 * tributary_op. */

TRIBUTARY_API int tributary_allreduce(struct tributary_group* group, const void* in, void* out,
                                      size_t count, int type, int op,
                                      struct tributary_result* result);
TRIBUTARY_API int tributary_allreduce_start(struct tributary_group* group, const void* in,
                                            void* out, size_t count, int type, int op,
                                            struct tributary_request** request);

/* out is used at to_rank only, and may be NULL elsewhere. */
TRIBUTARY_API int tributary_reduce(struct tributary_group* group, const void* in, void* out,
                                   size_t count, int type, int op, uint32_t to_rank,
                                   struct tributary_result* result);
TRIBUTARY_API int tributary_reduce_start(struct tributary_group* group, const void* in, void* out,
                                         size_t count, int type, int op, uint32_t to_rank,
                                         struct tributary_request** request);

/* buffer is read at from_rank and written elsewhere. Any type. */
TRIBUTARY_API int tributary_broadcast(struct tributary_group* group, void* buffer, size_t count,
                                      int type, uint32_t from_rank);
TRIBUTARY_API int tributary_broadcast_start(struct tributary_group* group, void* buffer,
                                            size_t count, int type, uint32_t from_rank,
                                            struct tributary_request** request);

TRIBUTARY_API int tributary_barrier(struct tributary_group* group);
TRIBUTARY_API int tributary_barrier_start(struct tributary_group* group,
                                          struct tributary_request** request);

/* Makes progress, and sets *done to whether the operation is done. If it is, *request is freed and
 * set to NULL, and the operation's result is returned. */
TRIBUTARY_API int tributary_test(struct tributary_request** request, int* done,
                                 struct tributary_result* result);
/* Waits until the operation is done, and frees it like tributary_test. After timeout_usec it
 * returns TRIBUTARY_ERR_TIMEOUT and the request stays; negative waits forever. After tributary_wake
 * it returns TRIBUTARY_ERR_INTERRUPTED, and the request stays, too. */
TRIBUTARY_API int tributary_wait(struct tributary_request** request, int64_t timeout_usec,
                                 struct tributary_result* result);

/* ---- reproducible sums made by the program ----
 *
 * A program that sums parts itself, such as those of its micro-batches or threads, keeps them as
 * states, adds states in any order, and reduces them with TRIBUTARY_REPSUM as
 * TRIBUTARY_REPSUM_STATE: the bits of the result do not depend on what was added where. type is
 * TRIBUTARY_DOUBLE or TRIBUTARY_FLOAT. Arrays need no alignment, and must not overlap. Sums keep at
 * least the 120 bits below the largest of their numbers (docs/protocol/wire-format.md, 4.7). */

/* states[i] is numbers[i], for count elements. */
TRIBUTARY_API int tributary_repsum_make(const void* numbers, int type, size_t count,
                                        struct tributary_repsum_state* states);
/* total[i] += part[i], for count elements. A sum has room for 2^23 numbers: TRIBUTARY_ERR_FULL if
 * one would overflow, which is left as it was, as are those behind it. */
TRIBUTARY_API int tributary_repsum_add(struct tributary_repsum_state* total,
                                       const struct tributary_repsum_state* part, size_t count);
/* numbers[i] is states[i], rounded to nearest; to a float by way of a double. */
TRIBUTARY_API int tributary_repsum_read(const struct tributary_repsum_state* states, size_t count,
                                        void* numbers, int type);

/* ---- statistics and status ---- */

struct tributary_statistics {
  uint64_t injected;          /* pieces begun: frames' worth of elements */
  uint64_t completed;         /* pieces completed here */
  uint64_t full;              /* root: completed by one frame: reduced completely in the network */
  uint64_t partial;           /* root: completed by several frames, some of them combined */
  uint64_t unreduced;         /* root: completed by single contributions only */
  uint64_t won_on_first;      /* root: completed on the first tree */
  uint64_t won_on_second;     /* root: completed on the second of two trees */
  uint64_t reduction_frames;  /* root: frames that made up the completed pieces */
  uint64_t frames_sent;       /* frames handed to the kernel's queue */
  uint64_t frames_received;   /* frames received on this tree */
  uint64_t armed;             /* root: sequences armed because the arm period was over, or ahead */
  uint64_t retried;           /* root: retries, contributions missing or counted twice */
  uint64_t roll_calls;        /* root: retries without the engines, to find missing members */
  uint64_t double_counted;    /* root: full counts refused: not each contribution once */
  uint64_t overdue;           /* pieces requested because a later one had completed */
  uint64_t requests_received; /* root: requests for a lost result */
  uint64_t replayed;          /* root: results sent again on request */
  uint64_t resent;            /* leaf: contributions sent again at the root's request */
  uint64_t recovered;         /* leaf: results received with a retry */
  uint64_t requests_sent;     /* leaf: requests for a result that may be lost */
  uint64_t pre_arms;          /* leaf: pre-arms received */
  uint64_t reordered;         /* leaf: frames from above reordered or duplicated */
  uint64_t stale;             /* frames of another sequence than the current one */
  uint64_t lagging;           /* root: contributions to reductions the other tree completed */
  uint64_t malformed;         /* frames with a reserved opcode or result code */
  uint64_t foreign;           /* frames of another VNI, cookie or root */
  uint64_t misdirected;       /* frames in the wrong direction, or returned */
  uint64_t outbox_full;       /* frames lost because the outbox was full */
  uint64_t in_switch;         /* root: in-switch results */
  uint64_t refused;           /* in-switch results refused: incomplete, or not expected */
  uint64_t lost_results;      /* reports that a leaf has a result which the root missed */
  /* For the whole host: */
  uint64_t host_frames_unknown; /* not a reduction frame, or of a tree not joined here */
  uint64_t host_kernel_drops;   /* frames the kernel dropped because no call read them in time */
  uint64_t host_contexts;       /* groups that share a tree with dups, dups included */
  uint64_t host_further_trees;  /* trees that were joined for dups */
};
TRIBUTARY_API int tributary_get_statistics(struct tributary_group* group,
                                           struct tributary_statistics* statistics);

/* Writes what each reduction in flight waits for, and since when, one line each. For a named group
 * also the state of its lease, and problems with the manager. Like snprintf: writes at most size
 * bytes with the final zero, and returns the length of the whole text. */
TRIBUTARY_API int tributary_status_text(const struct tributary_group* group, char* text,
                                        size_t size);

#ifdef __cplusplus
}
#endif

#endif
