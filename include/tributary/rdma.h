/* libtributary: memory of other hosts, read and written through an unreliable fabric (RDMA).
 *
 * A host registers memory as a region and tells its peers; they write to it and read from it, of
 * any length, while its own program does something else. What is lost, doubled, changed or
 * overtaken on the way is mended; a transfer is done when every byte has been placed.
 *
 *   the one that is written to                       the one that writes
 *
 *   struct tributary_rdma_region region;
 *   tributary_rdma_register(host, memory, length,
 *       TRIBUTARY_RDMA_PEERS_WRITE, vni, &region);
 *   send(connection, &region, sizeof region, 0);     recv(connection, &region, sizeof region, 0);
 *
 *                                                    tributary_rdma_write(host, &region, offset,
 *                                                                         data, bytes);
 *
 * The host is one of tributary.h, beside its groups or without any. RDMA takes memory (some 6 MB)
 * and time with the first call of this header that takes a host, not before.
 *
 * Threads. As in tributary.h: one thread of the program at a time. Peers are answered while calls
 * of this host are made, or by the host's own thread: so the first region that peers may access
 * begins that thread, unless the host was opened with TRIBUTARY_PROGRESS_CALLER (or the environment
 * says TRIBUTARY_PROGRESS=caller): then peers wait until a call is made, and the program calls
 * tributary_progress often. When the thread begins tributary_fd and tributary_timeout_usec are
 * those of a host with a thread: ask for the descriptor again.
 *
 * Memory. A region's memory, and the memory of a transfer that was started, belong to the caller
 * and must stay where they are: until tributary_rdma_deregister, and until the completion was
 * taken.
 *
 *                                           may be used again
 *   ours, of a write or a read              once it has completed, however it ended, or once
 *                                           the host was closed
 *   the peer's, of a write that is done     at once
 *   the peer's, of a write that failed      holds anything; frames on their way, and the peer's own
 *                                           retries, may still change it, until the peer has
 *                                           deregistered the region, which ends all that at once
 *   ours, of a read that failed             holds anything; nothing changes it any more
 *
 * The bytes of one transfer arrive in any order. A write is complete for the peer's program when
 * its arrival was announced (immediate data), or when the writer, told that it is done, says so.
 *
 * Errors. As in tributary.h; tributary_last_error names the peer, the transfer, and the cause. A
 * transfer always ends: with a peer that does not answer after some seconds.
 */
#ifndef TRIBUTARY_RDMA_H
#define TRIBUTARY_RDMA_H

#include <tributary/tributary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how much of everything ----
 *
 * 0: as the environment says, in the variable named beside it; if that is not there, the number in
 * front of it. */
struct tributary_rdma_options {
  uint32_t transfers; /* 4096; TRIBUTARY_RDMA_TRANSFERS. At once, of ours, and as many of peers; to
                           65536. 192 bytes of each that comes in, 250 of each that goes out. */
  uint32_t regions;   /* 1024; TRIBUTARY_RDMA_REGIONS; to 65536 */
  uint32_t peers;     /* 4096; TRIBUTARY_RDMA_PEERS; to 65536 */
  uint32_t window;    /* 1024; TRIBUTARY_RDMA_WINDOW. Frames that a sender may be ahead: 128, 256,
                           512 or 1024 */
  uint32_t retries; /* 250; TRIBUTARY_RDMA_RETRIES; to 60000. How often in a row a peer is asked in
                         vain until it counts as unreachable: 1 to 20 seconds, for it is asked after
                         4 to 80 ms, by how long answers took before */
  uint32_t frame_bytes;  /* the interface's MTU; TRIBUTARY_RDMA_FRAME_BYTES. Of the longest frame,
                           behind its Ethernet header; from 256 on, for paths that carry less. */
  uint32_t buffer_bytes; /* 16777216; TRIBUTARY_RDMA_BUFFER_BYTES. For frames that were received and
                            not yet taken; what peers may have on their way follows from it. */
};
/* All 0. */
TRIBUTARY_API struct tributary_rdma_options tributary_rdma_defaults(void);

/* For those who want other sizes than the environment's; the first call of all, otherwise the
 * answer is TRIBUTARY_ERR_BUSY. NULL: the defaults. */
TRIBUTARY_API int tributary_rdma_enable(struct tributary_host* host,
                                        const struct tributary_rdma_options* options);

/* ---- regions ---- */

enum tributary_rdma_rights { TRIBUTARY_RDMA_PEERS_WRITE = 1, TRIBUTARY_RDMA_PEERS_READ = 2 };

/* What a peer needs to access a region: its host, VNI, key, rights and length. Bytes that are the
 * same on every machine, to be sent in whatever way. Whoever knows them can access the region. */
struct tributary_rdma_region {
  unsigned char bytes[32];
};

/* What stands in them. */
struct tributary_rdma_region_facts {
  uint32_t nid;    /* of the host that registered it */
  uint16_t vni;    /* frames of another one are refused */
  uint16_t rights; /* of enum tributary_rdma_rights, or-ed */
  uint64_t key;
  uint64_t length; /* bytes */
};
/* TRIBUTARY_ERR_ARGUMENT if they are no region. */
TRIBUTARY_API int tributary_rdma_describe(const struct tributary_rdma_region* region,
                                          struct tributary_rdma_region_facts* facts);
/* The other way round, for those who learnt the facts otherwise. */
TRIBUTARY_API int tributary_rdma_region_of(const struct tributary_rdma_region_facts* facts,
                                           struct tributary_rdma_region* region);

/* rights may be 0: then the region is of no use to anybody. length may be 0, and then memory NULL.
 * Memory may be part of several regions. TRIBUTARY_ERR_FULL if there are as many as may be. */
TRIBUTARY_API int tributary_rdma_register(struct tributary_host* host, void* memory, size_t length,
                                          int rights, uint16_t vni,
                                          struct tributary_rdma_region* region);
/* From here on no frame touches the memory. Transfers of peers to or from it end, and they are
 * told. TRIBUTARY_ERR_ARGUMENT if it is no region of this host, or not any more. */
TRIBUTARY_API int tributary_rdma_deregister(struct tributary_host* host,
                                            const struct tributary_rdma_region* region);

/* ---- transfers that are waited for ----
 *
 * From our memory to the region, from the byte offset on, or the other way round; length may be 0.
 * Wait as long as it takes: until it is done, or the peer has refused it or does not answer. */
TRIBUTARY_API int tributary_rdma_write(struct tributary_host* host,
                                       const struct tributary_rdma_region* region, uint64_t offset,
                                       const void* memory, size_t length);
TRIBUTARY_API int tributary_rdma_read(struct tributary_host* host,
                                      const struct tributary_rdma_region* region, uint64_t offset,
                                      void* memory, size_t length);

/* ---- transfers that are started ----
 *
 * Each ends in one completion, which stays with the host until it is taken: by its number with
 * tributary_rdma_test or _wait, or as one of any with _poll or _wait_any. */

enum tributary_rdma_flags {
  TRIBUTARY_RDMA_IMMEDIATE = 1 /* a write: the peer's program is told once all is there, and gets
                                  `immediate` */
};

struct tributary_rdma_work {
  const struct tributary_rdma_region* region; /* read during the call alone */
  uint64_t offset;                            /* within it */
  void* memory;                               /* ours; a write only reads it */
  size_t length;
  uint64_t user;      /* comes back with the completion; a pointer, or what you like */
  uint64_t immediate; /* with TRIBUTARY_RDMA_IMMEDIATE */
  uint32_t flags;     /* enum tributary_rdma_flags */
};

/* *transfer is its number, never 0. TRIBUTARY_ERR_FULL if as many as may be are in progress, or
 * have completed and were not taken: take some, and start it again. */
TRIBUTARY_API int tributary_rdma_write_start(struct tributary_host* host,
                                             const struct tributary_rdma_work* work,
                                             uint64_t* transfer);
TRIBUTARY_API int tributary_rdma_read_start(struct tributary_host* host,
                                            const struct tributary_rdma_work* work,
                                            uint64_t* transfer);

enum tributary_rdma_kind {
  TRIBUTARY_RDMA_WRITE = 0,  /* ours */
  TRIBUTARY_RDMA_READ = 1,   /* ours */
  TRIBUTARY_RDMA_ARRIVAL = 2 /* a peer's write with immediate data, all of it */
};

struct tributary_rdma_completion {
  int kind;           /* enum tributary_rdma_kind */
  int error;          /* TRIBUTARY_OK, or why it failed */
  uint64_t transfer;  /* its number; 0 for an arrival */
  uint64_t user;      /* ours; 0 for an arrival */
  uint64_t immediate; /* of an arrival */
  uint64_t key;       /* of the region */
  uint64_t offset;
  uint64_t length;
  uint32_t nid; /* of the peer */
  uint16_t vni;
  uint8_t cause;       /* in the library's own words; for tributary_rdma_completion_text */
  uint8_t peer_status; /* what the peer says, if it refused or ended it: docs/protocol/rdma.md */
  uint32_t message;    /* the transfer's number as it stands in frames, and in logs of the peer */
};

/* Makes progress, and says in *done whether the transfer is over. If it is, its completion is taken
 * and the answer is its error. completion may be NULL. */
TRIBUTARY_API int tributary_rdma_test(struct tributary_host* host, uint64_t transfer, int* done,
                                      struct tributary_rdma_completion* completion);
/* Waits until it is over. After timeout_usec the answer is TRIBUTARY_ERR_TIMEOUT,
 * tributary_last_error says what it waits for, and it goes on; negative waits for ever. */
TRIBUTARY_API int tributary_rdma_wait(struct tributary_host* host, uint64_t transfer,
                                      int64_t timeout_usec,
                                      struct tributary_rdma_completion* completion);
/* Makes progress, and takes the oldest completions, at most `most`; says how many in *count. First
 * those of our transfers, then arrivals. What failed is no error of this call. */
TRIBUTARY_API int tributary_rdma_poll(struct tributary_host* host,
                                      struct tributary_rdma_completion* completions, size_t most,
                                      size_t* count);
/* The same, and waits until there is one. After timeout_usec the answer is TRIBUTARY_ERR_TIMEOUT
 * and *count is 0; negative waits for ever. */
TRIBUTARY_API int tributary_rdma_wait_any(struct tributary_host* host,
                                          struct tributary_rdma_completion* completions,
                                          size_t most, int64_t timeout_usec, size_t* count);
/* Ends a transfer: it completes with TRIBUTARY_ERR_CANCELLED, unless it was over already. */
TRIBUTARY_API int tributary_rdma_cancel(struct tributary_host* host, uint64_t transfer);

/* ---- looking in ---- */

/* What has become of a transfer, in a sentence that names peer, transfer and cause. Like
 * snprintf. */
TRIBUTARY_API int tributary_rdma_completion_text(const struct tributary_rdma_completion* completion,
                                                 char* text, size_t size);
/* All transfers in progress, ours and those of peers, a line each: with whom, how far it is, and
 * what it waits for; behind them the counters that are not 0. Like snprintf. */
TRIBUTARY_API int tributary_rdma_status_text(struct tributary_host* host, char* text, size_t size);

struct tributary_rdma_counter {
  const char* name; /* "bytes_placed"; stays valid */
  const char* text; /* what it counts */
  uint64_t value;
};
/* Counter number `index`, from 0 on; TRIBUTARY_ERR_ARGUMENT behind the last one. */
TRIBUTARY_API int tributary_rdma_get_counter(struct tributary_host* host, size_t index,
                                             struct tributary_rdma_counter* counter);

#ifdef __cplusplus
}
#endif

#endif
