/* libtributary: access to memory of other hosts through an unreliable fabric (RDMA).
 *
 * A host registers memory as a region and passes its description to its peers; they write to it and
 * read from it, any length, while its own program does something else. Lost, duplicated, corrupted
 * and reordered frames are repaired; a transfer is done when every byte has been placed.
 *
 *   the target                                       the writer
 *
 *   struct tributary_rdma_region region;
 *   tributary_rdma_register(host, memory, length,
 *       TRIBUTARY_RDMA_PEERS_WRITE, vni, &region);
 *   send(connection, &region, sizeof region, 0);     recv(connection, &region, sizeof region, 0);
 *
 *                                                    tributary_rdma_write(host, &region, offset,
 *                                                                         data, bytes);
 *
 * Any number of programs on one host may use RDMA: each has an end point of its own, which regions
 * name. Transfers go between hosts; programs of the same host share memory.
 *
 * The host is one of tributary.h, with or without groups. RDMA takes memory (some 6 MB) and time
 * from the first call of this header with a host on, not before.
 *
 * Threads. As in tributary.h: one thread of the program at a time. Peers are answered during calls
 * of this host, or by the host's own thread: so the first region that peers may access starts that
 * thread, unless the host was opened with TRIBUTARY_PROGRESS_CALLER (or the environment has
 * TRIBUTARY_PROGRESS=caller): then peers wait until a call is made, and the program must call
 * tributary_progress often. Once the thread runs, tributary_fd and tributary_timeout_usec are those
 * of a host with a thread: call tributary_fd again.
 *
 * Memory. A region's memory, and the memory of a started transfer, belong to the caller and must
 * not move: until tributary_rdma_deregister, and until the completion was taken.
 *
 *                                           may be used again
 *   ours, of a write or a read              once it has completed, however it ended, or once
 *                                           the host was closed
 *   the peer's, of a write that is done     immediately
 *   the peer's, of a write that failed      contents undefined; frames in flight, and the peer's
 *                                           own retries, may still change it, until the peer has
 *                                           deregistered the region, which ends all of them
 *   ours, of a read that failed             contents undefined, but it does not change any more
 *
 * The bytes of one transfer arrive in any order. A write is complete for the peer's program when
 * its arrival was announced (immediate data), or when the writer has seen its completion and
 * informs the peer.
 *
 * Errors. As in tributary.h; tributary_last_error names the peer, the transfer, and the cause. A
 * transfer always ends; if the peer does not answer, after some seconds.
 */
#ifndef TRIBUTARY_RDMA_H
#define TRIBUTARY_RDMA_H

#include <tributary/tributary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- limits ----
 *
 * 0: the value of the environment variable named beside it; if that is unset, the number in front
 * of it. */
struct tributary_rdma_options {
  uint32_t transfers;   /* 4096; TRIBUTARY_RDMA_TRANSFERS. Simultaneous ones of ours, and as many of
                           peers; up to 65536. 192 bytes per incoming, 250 per outgoing one. */
  uint32_t regions;     /* 1024; TRIBUTARY_RDMA_REGIONS; up to 65536 */
  uint32_t peers;       /* 4096; TRIBUTARY_RDMA_PEERS; up to 65536 */
  uint32_t window;      /* 1024; TRIBUTARY_RDMA_WINDOW. Frames that a sender may be ahead: 128, 256,
                           512 or 1024 */
  uint32_t retries;     /* 250; TRIBUTARY_RDMA_RETRIES; up to 60000. Consecutive unanswered requests
                           before a peer counts as unreachable: 1 to 20 seconds, as retries follow
                           after 4 to 80 ms, depending on previous response times */
  uint32_t frame_bytes; /* the interface's MTU; TRIBUTARY_RDMA_FRAME_BYTES. Of the longest frame,
                           after its Ethernet header; at least 256, for paths with a smaller MTU. */
  uint32_t buffer_bytes; /* 16777216; TRIBUTARY_RDMA_BUFFER_BYTES. For received frames that wait;
                            limits the frames that peers may have in flight. */
};
/* All 0. */
TRIBUTARY_API struct tributary_rdma_options tributary_rdma_defaults(void);

/* Sets limits other than the environment's; must precede all other RDMA calls, otherwise it returns
 * TRIBUTARY_ERR_BUSY. NULL: the defaults. */
TRIBUTARY_API int tributary_rdma_enable(struct tributary_host* host,
                                        const struct tributary_rdma_options* options);

/* ---- regions ---- */

enum tributary_rdma_rights { TRIBUTARY_RDMA_PEERS_WRITE = 1, TRIBUTARY_RDMA_PEERS_READ = 2 };

/* The description of a region for peers: its host, VNI, key, rights and length, in a portable byte
 * format. Any peer that knows the bytes can access the region. */
struct tributary_rdma_region {
  unsigned char bytes[32];
};

/* The decoded description. */
struct tributary_rdma_region_facts {
  uint32_t nid;    /* the host that registered it */
  uint16_t vni;    /* frames of other VNIs are refused */
  uint16_t rights; /* enum tributary_rdma_rights, OR-ed */
  uint64_t key;
  uint64_t length;    /* bytes */
  uint16_t end_point; /* the program there that registered it: 0 to 4095 */
};
/* TRIBUTARY_ERR_ARGUMENT if the bytes are not a region. */
TRIBUTARY_API int tributary_rdma_describe(const struct tributary_rdma_region* region,
                                          struct tributary_rdma_region_facts* facts);
/* The reverse, for facts from other sources. */
TRIBUTARY_API int tributary_rdma_region_of(const struct tributary_rdma_region_facts* facts,
                                           struct tributary_rdma_region* region);

/* rights may be 0: then no peer can access the region. length may be 0, and memory NULL then.
 * Memory may be part of several regions. TRIBUTARY_ERR_FULL if the limit of regions is reached. */
TRIBUTARY_API int tributary_rdma_register(struct tributary_host* host, void* memory, size_t length,
                                          int rights, uint16_t vni,
                                          struct tributary_rdma_region* region);
/* From now on no frame accesses the memory. Transfers of peers to or from it end, and the peers are
 * notified. TRIBUTARY_ERR_ARGUMENT if it is not a region of this host, or no longer. */
TRIBUTARY_API int tributary_rdma_deregister(struct tributary_host* host,
                                            const struct tributary_rdma_region* region);

/* ---- blocking transfers ----
 *
 * From our memory to the region, from the byte offset on, or the reverse; length may be 0. Return
 * when the transfer is done, or the peer has refused it or does not answer. */
TRIBUTARY_API int tributary_rdma_write(struct tributary_host* host,
                                       const struct tributary_rdma_region* region, uint64_t offset,
                                       const void* memory, size_t length);
TRIBUTARY_API int tributary_rdma_read(struct tributary_host* host,
                                      const struct tributary_rdma_region* region, uint64_t offset,
                                      void* memory, size_t length);

/* ---- non-blocking transfers ----
 *
 * Each ends in one completion, which stays with the host until it is taken: by its number with
 * tributary_rdma_test or _wait, or as one of any with _poll or _wait_any. */

enum tributary_rdma_flags {
  TRIBUTARY_RDMA_IMMEDIATE = 1 /* a write: notifies the peer's program once all is placed, with
                                  `immediate` */
};

struct tributary_rdma_work {
  const struct tributary_rdma_region* region; /* read only during the call */
  uint64_t offset;                            /* within it */
  void* memory;                               /* ours; a write only reads it */
  size_t length;
  uint64_t user;      /* returned with the completion; any value, such as a pointer */
  uint64_t immediate; /* with TRIBUTARY_RDMA_IMMEDIATE */
  uint32_t flags;     /* enum tributary_rdma_flags */
};

/* *transfer is its number, never 0. TRIBUTARY_ERR_FULL if the limit of transfers is reached, in
 * progress or with completions that were not taken: take some, and start it again. */
TRIBUTARY_API int tributary_rdma_write_start(struct tributary_host* host,
                                             const struct tributary_rdma_work* work,
                                             uint64_t* transfer);
TRIBUTARY_API int tributary_rdma_read_start(struct tributary_host* host,
                                            const struct tributary_rdma_work* work,
                                            uint64_t* transfer);

enum tributary_rdma_kind {
  TRIBUTARY_RDMA_WRITE = 0,  /* ours */
  TRIBUTARY_RDMA_READ = 1,   /* ours */
  TRIBUTARY_RDMA_ARRIVAL = 2 /* a peer's complete write with immediate data */
};

struct tributary_rdma_completion {
  int kind;           /* enum tributary_rdma_kind */
  int error;          /* TRIBUTARY_OK, or why it failed */
  uint64_t transfer;  /* its number; 0 for an arrival */
  uint64_t user;      /* ours; 0 for an arrival */
  uint64_t immediate; /* for an arrival */
  uint64_t key;       /* of the region */
  uint64_t offset;
  uint64_t length;
  uint32_t nid; /* of the peer */
  uint16_t vni;
  uint8_t cause;       /* library-internal; for tributary_rdma_completion_text */
  uint8_t peer_status; /* the peer's status, if it refused or ended it: docs/protocol/rdma.md */
  uint32_t message;    /* the transfer's number in frames, and in logs of the peer */
  uint16_t end_point;  /* of the peer: its program on that host */
};

/* Makes progress, and sets *done to whether the transfer is over. If it is, its completion is taken
 * and its error is returned. completion may be NULL. */
TRIBUTARY_API int tributary_rdma_test(struct tributary_host* host, uint64_t transfer, int* done,
                                      struct tributary_rdma_completion* completion);
/* Waits until it is over. After timeout_usec it returns TRIBUTARY_ERR_TIMEOUT, tributary_last_error
 * says what it waits for, and the transfer continues; negative waits forever. */
TRIBUTARY_API int tributary_rdma_wait(struct tributary_host* host, uint64_t transfer,
                                      int64_t timeout_usec,
                                      struct tributary_rdma_completion* completion);
/* Makes progress, and takes the oldest completions, at most `most`; sets *count to their number.
 * First those of our transfers, then arrivals. Failed transfers are not errors of this call. */
TRIBUTARY_API int tributary_rdma_poll(struct tributary_host* host,
                                      struct tributary_rdma_completion* completions, size_t most,
                                      size_t* count);
/* The same, but waits until there is one. After timeout_usec it returns TRIBUTARY_ERR_TIMEOUT and
 * *count is 0; negative waits forever. */
TRIBUTARY_API int tributary_rdma_wait_any(struct tributary_host* host,
                                          struct tributary_rdma_completion* completions,
                                          size_t most, int64_t timeout_usec, size_t* count);
/* Ends a transfer: it completes with TRIBUTARY_ERR_CANCELLED, unless it was over already. */
TRIBUTARY_API int tributary_rdma_cancel(struct tributary_host* host, uint64_t transfer);

/* ---- statistics and status ---- */

/* The outcome of a transfer, in a sentence that names peer, transfer and cause. Like snprintf. */
TRIBUTARY_API int tributary_rdma_completion_text(const struct tributary_rdma_completion* completion,
                                                 char* text, size_t size);
/* All transfers in progress, ours and those of peers, one line each: the peer, the progress, and
 * what it waits for; followed by the counters other than 0. Like snprintf. */
TRIBUTARY_API int tributary_rdma_status_text(struct tributary_host* host, char* text, size_t size);

struct tributary_rdma_counter {
  const char* name; /* "bytes_placed"; stays valid */
  const char* text; /* what it counts */
  uint64_t value;
};
/* Counter number `index`, from 0 on; TRIBUTARY_ERR_ARGUMENT after the last one. */
TRIBUTARY_API int tributary_rdma_get_counter(struct tributary_host* host, size_t index,
                                             struct tributary_rdma_counter* counter);

#ifdef __cplusplus
}
#endif

#endif
