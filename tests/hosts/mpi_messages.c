/* An MPI program that sends in every way there is, and checks what arrives:
 *
 *     mpi_messages kinds | probes | wildcards | truncated | self | many | unexpected | cancelled |
 *                  windows | flood
 *
 * Rank 0 prints "MODE: right" when all ranks have what they should; otherwise MPI_Abort. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 1 << 20, outstanding = 10000, flooding = 100000, tag = 7 };

static int rank, ranks;
static const int lengths[] = {0, 1, 64, 1025, 16384, 16385, 100000, longest};
enum { length_count = sizeof lengths / sizeof lengths[0] };

static void wrong(const char* what, int a, int b) {
  fprintf(stderr, "rank %d: %s (%d, %d)\n", rank, what, a, b);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(unsigned char* bytes, int length, unsigned seed) {
  for (int i = 0; i < length; ++i) {
    seed = seed * 1103515245u + 12345u;
    bytes[i] = (unsigned char)(seed >> 16);
  }
}

static void check(const unsigned char* bytes, int length, unsigned seed) {
  for (int i = 0; i < length; ++i) {
    seed = seed * 1103515245u + 12345u;
    if (bytes[i] != (unsigned char)(seed >> 16)) {
      wrong("a byte is wrong: place, length", i, length);
    }
  }
}

static void check_status(const MPI_Status* status, int source, int of_tag, int length) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  if (status->MPI_SOURCE != source || status->MPI_TAG != of_tag) {
    wrong("another message came: source, tag", status->MPI_SOURCE, status->MPI_TAG);
  }
  if (count != length) {
    wrong("another length came", count, length);
  }
}

static unsigned char* out;
static unsigned char* in;

/* Each rank sends to the next one. */
static int next_rank(void) { return (rank + 1) % ranks; }
static int previous(void) { return (rank + ranks - 1) % ranks; }

static void kinds(void) {
  char* attached = malloc(longest + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(attached, longest + MPI_BSEND_OVERHEAD);
  for (int l = 0; l < length_count; ++l) {
    const int length = lengths[l];
    for (int kind = 0; kind < 5; ++kind) {
      MPI_Request requests[2];
      MPI_Status statuses[2];
      const int of_tag = 10 * l + kind;
      memset(in, 0, longest);
      fill(out, length, (unsigned)(rank * 100 + of_tag));
      MPI_Irecv(in, length, MPI_BYTE, previous(), of_tag, MPI_COMM_WORLD, &requests[0]);
      if (kind == 3) {
        MPI_Barrier(MPI_COMM_WORLD); /* the receive is there */
      }
      switch (kind) {
      case 0:
        MPI_Isend(out, length, MPI_BYTE, next_rank(), of_tag, MPI_COMM_WORLD, &requests[1]);
        break;
      case 1:
        MPI_Issend(out, length, MPI_BYTE, next_rank(), of_tag, MPI_COMM_WORLD, &requests[1]);
        break;
      case 2:
        MPI_Ibsend(out, length, MPI_BYTE, next_rank(), of_tag, MPI_COMM_WORLD, &requests[1]);
        break;
      case 3:
        MPI_Irsend(out, length, MPI_BYTE, next_rank(), of_tag, MPI_COMM_WORLD, &requests[1]);
        break;
      default:
        MPI_Send(out, length, MPI_BYTE, next_rank(), of_tag, MPI_COMM_WORLD);
        requests[1] = MPI_REQUEST_NULL;
        break;
      }
      MPI_Waitall(2, requests, statuses);
      check_status(&statuses[0], previous(), of_tag, length);
      check(in, length, (unsigned)(previous() * 100 + of_tag));
    }
  }
  int size = 0;
  MPI_Buffer_detach(&attached, &size);
  free(attached);
}

static void probes(void) {
  for (int l = 0; l < length_count; ++l) {
    for (int kind = 0; kind < 3; ++kind) {
      MPI_Request request;
      MPI_Status status;
      MPI_Message message;
      int count = -1, flag = 0;
      fill(out, lengths[l], (unsigned)(rank + l));
      MPI_Isend(out, lengths[l], MPI_BYTE, next_rank(), l, MPI_COMM_WORLD, &request);
      if (kind == 0) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      } else if (kind == 1) {
        while (!flag) {
          MPI_Iprobe(previous(), l, MPI_COMM_WORLD, &flag, &status);
        }
      } else {
        MPI_Mprobe(previous(), MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
      }
      check_status(&status, previous(), l, lengths[l]);
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (kind == 2) {
        MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
      } else {
        MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
      }
      check_status(&status, previous(), l, lengths[l]);
      check(in, count, (unsigned)(previous() + l));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

/* All send to rank 0, which receives from whomever: in each one's order. */
static void wildcards(void) {
  const int each = 1000;
  if (rank != 0) {
    for (int i = 0; i < each; ++i) {
      MPI_Send(&i, 1, MPI_INT, 0, i % 5, MPI_COMM_WORLD);
    }
    return;
  }
  int* expected = calloc((size_t)ranks, sizeof(int));
  for (int i = 0; i < each * (ranks - 1); ++i) {
    MPI_Status status;
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (got != expected[status.MPI_SOURCE]++ || status.MPI_TAG != got % 5) {
      wrong("out of order: source, number", status.MPI_SOURCE, got);
    }
  }
  free(expected);
}

/* The memory is too small: an error, nothing beyond it, and the next message is not touched. */
static void truncated(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int l = 2; l < length_count; ++l) {
    MPI_Request requests[2];
    int class = MPI_SUCCESS;
    fill(out, lengths[l], (unsigned)l);
    MPI_Isend(out, lengths[l], MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&l, 1, MPI_INT, next_rank(), tag, MPI_COMM_WORLD, &requests[1]);
    const int room = lengths[l] / 2;
    memset(in, 0xA5, longest);
    const int error =
        MPI_Recv(in, room, MPI_BYTE, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) {
      MPI_Error_class(error, &class);
    }
    if (class != MPI_ERR_TRUNCATE) {
      wrong("not cut: error class, length", class, lengths[l]);
    }
    for (int i = room; i < longest; ++i) {
      if (in[i] != 0xA5) {
        wrong("written beyond the memory: place, room", i, room);
      }
    }
    int then = -1;
    MPI_Recv(&then, 1, MPI_INT, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (then != l) {
      wrong("the next message", then, l);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

static void self(void) {
  for (int l = 0; l < length_count; ++l) {
    MPI_Status status;
    memset(in, 0, longest);
    fill(out, lengths[l], (unsigned)l);
    MPI_Sendrecv(out, lengths[l], MPI_BYTE, rank, l, in, longest, MPI_BYTE, rank, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    check_status(&status, rank, l, lengths[l]);
    check(in, lengths[l], (unsigned)l);
  }
}

static void many(void) {
  MPI_Request* requests = malloc(2 * outstanding * sizeof(MPI_Request));
  int* numbers = malloc(2 * outstanding * sizeof(int));
  for (int i = 0; i < outstanding; ++i) {
    MPI_Irecv(&numbers[i], 1, MPI_INT, previous(), i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < outstanding; ++i) {
    numbers[outstanding + i] = i * 3 + rank;
    MPI_Isend(&numbers[outstanding + i], 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD,
              &requests[outstanding + i]);
  }
  MPI_Waitall(2 * outstanding, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < outstanding; ++i) {
    if (numbers[i] != i * 3 + previous()) {
      wrong("number, place", numbers[i], i);
    }
  }
  free(requests);
  free(numbers);
}

/* Nobody waits for them when they arrive; they are taken last first. */
static void unexpected(void) {
  MPI_Request* requests = malloc(outstanding * sizeof(MPI_Request));
  int* numbers = malloc(outstanding * sizeof(int));
  for (int i = 0; i < outstanding; ++i) {
    numbers[i] = i + rank;
    MPI_Isend(&numbers[i], 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = outstanding - 1; i >= 0; --i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, previous(), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got != i + previous()) {
      wrong("number, tag", got, i);
    }
  }
  MPI_Waitall(outstanding, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(numbers);
}

/* A receive that nothing is for is taken back; the message that comes then is the next one's. */
static void cancelled(void) {
  for (int i = 0; i < 100; ++i) {
    MPI_Request request;
    MPI_Status status;
    int was = 0, got = -1;
    MPI_Irecv(in, 4, MPI_BYTE, previous(), tag, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was);
    if (!was) {
      wrong("not taken back", i, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(&i, 1, MPI_INT, next_rank(), tag, &got, 1, MPI_INT, previous(), tag,
                 MPI_COMM_WORLD, &status);
    if (got != i) {
      wrong("number, expected", got, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Memory that the next rank writes to, reads from and counts in. */
static void windows(void) {
  enum { cells = 20000, rounds = 200 };
  long* cell = NULL;
  MPI_Win window;
  MPI_Win_allocate(cells * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &cell, &window);
  long* mine = malloc(cells * sizeof(long));
  for (int i = 0; i < cells; ++i) {
    cell[i] = 0;
    mine[i] = rank * 100000L + i;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Put(mine + 1, cells - 1, MPI_LONG, next_rank(), 1, cells - 1, MPI_LONG, window);
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(mine, 0, cells * sizeof(long));
  MPI_Get(mine + 1, cells - 1, MPI_LONG, next_rank(), 1, cells - 1, MPI_LONG, window);
  MPI_Win_flush_all(window);
  for (int i = 1; i < cells; ++i) {
    if (mine[i] != rank * 100000L + i) {
      wrong("another value: place", i, (int)mine[i]);
    }
  }
  /* All count in rank 0's first cell: each gets another number. */
  const long one = 1;
  long last = -1;
  for (int i = 0; i < rounds; ++i) {
    long old = -1;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    if (old <= last || old >= (long)rounds * ranks) {
      wrong("counted: number, last", (int)old, (int)last);
    }
    last = old;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long all = -1, expected = (long)rounds * ranks, swapped = -2;
  if (rank == ranks - 1) {
    MPI_Compare_and_swap(&swapped, &expected, &all, MPI_LONG, 0, 0, window);
    MPI_Win_flush(0, window);
    if (all != expected) {
      wrong("all counted, expected", (int)all, (int)expected);
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  free(mine);
}

/* More than have room without a receive: senders wait, and none is lost. */
static void flood(void) {
  MPI_Request* requests = malloc(flooding * sizeof(MPI_Request));
  int* numbers = malloc(flooding * sizeof(int));
  for (int i = 0; i < flooding; ++i) {
    numbers[i] = i + rank;
    MPI_Isend(&numbers[i], 1, MPI_INT, next_rank(), tag, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < flooding; ++i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got != i + previous()) {
      wrong("number, place", got, i);
    }
  }
  MPI_Waitall(flooding, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(numbers);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } modes[] = {{"kinds", kinds},
               {"probes", probes},
               {"wildcards", wildcards},
               {"truncated", truncated},
               {"self", self},
               {"many", many},
               {"unexpected", unexpected},
               {"cancelled", cancelled},
               {"windows", windows},
               {"flood", flood}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  out = malloc(longest);
  in = malloc(longest);
  int found = 0;
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m) {
    for (int a = 1; a < argc; ++a) {
      if (strcmp(argv[a], modes[m].name) == 0) {
        modes[m].run();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
          printf("%s: right\n", modes[m].name);
          fflush(stdout);
        }
        ++found;
      }
    }
  }
  free(out);
  free(in);
  MPI_Finalize();
  return found == argc - 1 && found > 0 ? 0 : 2;
}
