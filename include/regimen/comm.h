/*
 * comm: the ranks that train one model together, and what they tell each other. A rank is a process
 * that mpirun or srun started; a program that was started alone is rank 0 of 1, by the same calls.
 * Sums over ranks are made in one fixed binary tree over the shards of a batch, so their bits do
 * not depend on how many ranks hold the shards. Other layers know neither MPI nor hosts.
 *
 *     RGM_TRY(rgm_comm_open(&comm));
 *     RGM_TRY(rgm_comm_shards(&first, &count, comm, 4));           what is this rank's
 *     for (int64_t i = first; i < first + count; i++) {
 *         gradient of shard i ...
 *         rgm_shard_sum_add(sum, gradient);                        over this rank's shards
 *     }
 *     RGM_TRY(rgm_comm_sum(comm, gradient, size, RGM_F32));        over all ranks
 *     rgm_comm_close(comm);
 *
 * Collective functions are called by every rank, in the same order and with sizes that fit. One
 * thread of a rank at a time calls them. A rank that waits for another is never stuck for ever:
 * when one has ended, fails or is silent, the call returns an error with its number and host, and
 * so does every later call.
 */
#ifndef REGIMEN_COMM_H
#define REGIMEN_COMM_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks of a job, as one of them sees it. */
typedef struct rgm_comm rgm_comm;

/** The communicator of one process by itself: rank 0 of 1. It is always there, none of its calls
 * waits, and it needs no close. */
rgm_comm *rgm_comm_self(void);
/**
 * The communicator of the job that this process belongs to, where mpirun, mpiexec or srun started
 * it (their environment says so); else that of rgm_comm_self(). A process has one: a second open
 * gives the same. The last rgm_comm_close() ends it, and then there is no other.
 *
 * Errors: RGM_ERR_UNSUPPORTED (this build has no MPI; the number of ranks is no power of two),
 * RGM_ERR_IO (MPI does not start, the message has its words). Collective: every rank calls it.
 */
rgm_status rgm_comm_open(rgm_comm **out);
/** Takes NULL and rgm_comm_self(). Others that wait for this rank afterwards get an error. */
void rgm_comm_close(rgm_comm *comm);

int rgm_comm_rank(const rgm_comm *comm); /* 0 .. size - 1; rank 0 writes files and prints */
int rgm_comm_size(const rgm_comm *comm); /* a power of two */

/** Where a rank runs. */
typedef struct rgm_comm_member {
    char host[64];
    int32_t pid;
    int32_t processors; /* that it may run on: its launcher may have bound it to some */
    int32_t threads;    /* of its parallel loops, rgm_threads(), when it came           */
} rgm_comm_member;
/** Of each rank: [size]. Borrowed from the comm; of rgm_comm_self() valid until this thread's next
 * call. */
const rgm_comm_member *rgm_comm_members(const rgm_comm *comm);

/** What this rank has done with the others since the beginning. */
typedef struct rgm_comm_times {
    int64_t transfers; /* calls that were collective, a sum counts once          */
    int64_t bytes;     /* that it sent in sums, decisions and gatherings         */
    double waited;     /* seconds in which it did nothing else                   */
    double under_way;  /* seconds of the transfers; of two at once the sum       */
    double sums;       /* seconds in which a sum, or several, was under way      */
    double sums_shown; /* of these seconds those that are in `waited`            */
    double engine;     /* seconds of a processor that its thread for MPI has had */
} rgm_comm_times;
/** The share of the sums between two copies of the times that was hidden: the seconds in which this
 * rank did something else meanwhile. NAN: nothing was summed. */
double rgm_comm_hidden(const rgm_comm_times *before, const rgm_comm_times *after);
/** A copy; zeros for one process. */
void rgm_comm_get_times(rgm_comm_times *out, rgm_comm *comm);

/**
 * Tell the others that this rank cannot go on: what they wait for, now or later, ends with `status`
 * and this thread's error message, after "rank 3 on node7: ". For errors that one rank alone has;
 * where all fail alike it does no harm. Returns `status`; never fails.
 */
rgm_status rgm_comm_fail(rgm_comm *comm, rgm_status status);

/** Whether a rank is gone: it died, is silent, or does not come to where the others wait. Other
 * failures would come again with the same ranks. */
bool rgm_comm_is_lost(rgm_comm *comm);

/* ---- what ranks tell each other ------------------------------------------------------------ */

/** Return when every rank has called it. Errors: RGM_ERR_IO (a rank is lost, MPI fails); the status
 * of a rank that failed. Collective: every rank calls it. */
rgm_status rgm_comm_barrier(rgm_comm *comm);

/**
 * Copy `bytes` at `memory` of rank `root` to the others.
 * Errors: those of rgm_comm_barrier(), RGM_ERR_ARG (no such rank). Collective: every rank calls it.
 */
rgm_status rgm_comm_broadcast(rgm_comm *comm, void *memory, size_t bytes, int root);

/** A block of bytes of each rank, one behind the other: that of rank i begins at memory + begin[i]
 * and ends at memory + begin[i + 1]. */
typedef struct rgm_comm_blocks {
    int count;     /* ranks; 0: this rank was not to get any */
    char *memory;  /* 64-byte aligned                        */
    size_t *begin; /* [count + 1]                            */
} rgm_comm_blocks;
void rgm_comm_blocks_clear(rgm_comm_blocks *blocks);

#define RGM_COMM_ALL (-1) /* in the place of a root: every rank gets them */
/**
 * Collect `bytes` at `memory` of every rank, which need not be as many on each, in the order of
 * ranks.
 *
 * @param out   [out, owned] filled on rank `root`, empty on the others; on all with RGM_COMM_ALL
 *
 * Errors: those of rgm_comm_broadcast(), RGM_ERR_NOMEM; *out is then empty.
 * Collective: every rank calls it.
 */
rgm_status rgm_comm_gather(rgm_comm_blocks *out, rgm_comm *comm, const void *memory, size_t bytes,
                           int root);

/** What a rank has for each other, and what it gets of each: a block for every rank in one array,
 * that of rank i from begin[i] to begin[i + 1], in bytes. */
typedef struct rgm_comm_mail {
    const void *out;
    const size_t *out_begin; /* [ranks + 1] */
    void *in;
    const size_t *in_begin; /* [ranks + 1], of which each sender knows its own */
} rgm_comm_mail;
/** Mail that is under way. */
typedef struct rgm_comm_sum_request rgm_comm_mail_request;
/**
 * Begin to give every rank its block and return: it goes on while the caller computes. Blocks of no
 * bytes are not sent. The arrays, of which `out` stays unchanged, may not be touched until
 * rgm_comm_mail_wait().
 *
 * @param out   [out, owned] for rgm_comm_mail_wait(); NULL where there is nothing to wait for
 * @param mail  [in] arrays of the caller's; copied itself
 *
 * Errors: RGM_ERR_ARG (a rank's block for itself has two sizes), RGM_ERR_NOMEM, those of
 * rgm_comm_barrier(); *out is then NULL. Collective: every rank calls it.
 */
rgm_status rgm_comm_mail_begin(rgm_comm_mail_request **out, rgm_comm *comm,
                               const rgm_comm_mail *mail);
/** Return when all that this rank gets is there, and what it gave may be written again. Takes NULL
 * in *request, and leaves NULL there. Errors: those of rgm_comm_barrier(). */
rgm_status rgm_comm_mail_wait(rgm_comm_mail_request **request);
/**
 * Give every rank its block, and get one of each, of sizes that their senders alone know: they are
 * told first.
 *
 * @param out     [out, owned] the blocks for this rank, in the order of the ranks that sent them
 * @param memory  [in] what this rank has for the others: for rank i from begin[i] to begin[i + 1]
 * @param begin   [in] [ranks + 1]
 *
 * Errors: those of rgm_comm_barrier(), RGM_ERR_NOMEM; *out is then empty.
 * Collective: every rank calls it.
 */
rgm_status rgm_comm_swap(rgm_comm_blocks *out, rgm_comm *comm, const void *memory,
                         const size_t *begin);

/**
 * Agree on what to do next, in one exchange: *any becomes the bits of all ranks or-ed ("somebody
 * was told to stop"), *first becomes what rank 0 had there (its choice, its clock). Each may be
 * NULL, on every rank alike.
 *
 * Errors: those of rgm_comm_barrier(). Collective: every rank calls it.
 */
rgm_status rgm_comm_decide(rgm_comm *comm, uint64_t *any, uint64_t *first);

/* ---- sums over the shards of a batch ------------------------------------------------------- */

/*
 * A batch has a power of two of shards, 0 .. S-1. The sum over them is a binary tree: neighbours 2i
 * and 2i + 1 are added, lower + higher, then neighbours of those, to the root. Rank r of R holds
 * the shards r S/R .. (r+1) S/R - 1, which are one subtree: rgm_shard_sum makes its sum, and
 * rgm_comm_sum() goes on from there. All numbers are added as their dtype says, none wider: of bf16
 * each sum of two is rounded, so that every place of the tree has a number of 16 bits, and it does
 * not matter which of them travel.
 */

/**
 * The shards that this rank holds: *count of them, from *first on.
 *
 * @param shards  [in] of the whole batch: a power of two, at least the number of ranks
 *
 * Errors: RGM_ERR_CONFIG (the message says what to use). Alike on every rank.
 */
rgm_status rgm_comm_shards(int64_t *first, int64_t *count, const rgm_comm *comm, int64_t shards);

/** The sum over the shards of one rank, given one by one: it keeps log2(shards) arrays, not all. */
typedef struct rgm_shard_sum rgm_shard_sum;
/**
 * For arrays of `size` numbers of `dtype` from `shards` shards; one shard needs no memory.
 * Errors: RGM_ERR_ARG (shards is no power of two; the dtype is none of f32, f64 and bf16),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_shard_sum_create(rgm_shard_sum **out, rgm_dtype dtype, int64_t size, int64_t shards);
void rgm_shard_sum_release(rgm_shard_sum *sum);
/**
 * Add the next shard's values, from the lowest shard to the highest.
 *
 * @param values  [in, out] [size] of any content afterwards, but after the last shard the sum over
 *                all of them; the next call then begins with the first shard again
 *
 * Returns true after the last. Threads: its loops are rgm_parallel()'s, with the same bits for any
 * number.
 */
bool rgm_shard_sum_add(rgm_shard_sum *sum, void *values);
/**
 * Add numbers [from, to) of the last shard's values, where some are there before others: they
 * become their sum over all shards. In any order, each number once; rgm_shard_sum_reset() then ends
 * the round, as rgm_shard_sum_add() does by itself.
 *
 * @param values  [in, out] [size], of which [from, to) is read and written
 */
void rgm_shard_sum_add_part(rgm_shard_sum *sum, void *values, int64_t from, int64_t to);
/** Forget the shards since the first: the next one given is the first again. */
void rgm_shard_sum_reset(rgm_shard_sum *sum);

/**
 * Sum an array over the ranks, each of which hands in the sum over its own shards; all get the same
 * bits.
 *
 * @param values  [in, out] [size], as many on every rank
 * @param dtype   RGM_F32, RGM_F64 or RGM_BF16
 *
 * Errors: those of rgm_comm_barrier(), RGM_ERR_ARG (dtype), RGM_ERR_NOMEM; values are then of any
 * content. Collective: every rank calls it.
 */
rgm_status rgm_comm_sum(rgm_comm *comm, void *values, int64_t size, rgm_dtype dtype);

/** A sum over ranks that is under way. */
typedef struct rgm_comm_sum_request rgm_comm_sum_request;
/**
 * Begin rgm_comm_sum() and return: it goes on while the caller computes. Several may be under way,
 * begun in the same order on all ranks; each is to be waited for. `values` may not be touched until
 * then.
 *
 * @param out  [out, owned] for rgm_comm_sum_wait(); NULL where there is nothing to wait for
 *
 * Errors: those of rgm_comm_sum(); *out is then NULL. Collective: every rank calls it.
 */
rgm_status rgm_comm_sum_begin(rgm_comm_sum_request **out, rgm_comm *comm, void *values,
                              int64_t size, rgm_dtype dtype);
/**
 * Return when the sum is there; in any order. Takes NULL in *request, and leaves NULL there also
 * after an error, when `values` are the caller's again.
 * Errors: those of rgm_comm_sum().
 */
rgm_status rgm_comm_sum_wait(rgm_comm_sum_request **request);

/* ---- what there is, for people ------------------------------------------------------------- */

/** How this process was started, and what MPI there is, whether or not it has been used. */
typedef struct rgm_comm_facts {
    char launcher[64];   /* "mpirun (Open MPI)"; "": started alone                     */
    int started;         /* processes that the launcher says there are; 1 without      */
    char mpi[256];       /* "Open MPI v4.1.4, ..."; "": none                           */
    char missing[512];   /* why there is none                                          */
    char threads[32];    /* what MPI gave: "funneled"; "": it has not been started     */
    char addresses[512]; /* of this host: "eth0 192.0.2.2, lo 127.0.0.1"               */
} rgm_comm_facts;
void rgm_comm_get_facts(rgm_comm_facts *out, const rgm_comm *comm);

/** The number of processes that mpirun or srun has started together, by what these leave in the
 * environment, and which of them this is, from 0. MPI is neither loaded nor asked: for processes
 * that need no ranks. */
int rgm_comm_launched(int *place);

/** What the ranks' network does for sums. */
typedef struct rgm_comm_speed {
    double decision;  /* seconds of one rgm_comm_decide(), median              */
    double bandwidth; /* bytes a second of an array of `bytes` that is summed */
    size_t bytes;
} rgm_comm_speed;
/**
 * Sum and decide for about `seconds`, and check that the sums are right.
 * Errors: those of rgm_comm_sum(); RGM_ERR_DATA (a sum is wrong). Collective: every rank calls it.
 */
rgm_status rgm_comm_measure(rgm_comm_speed *out, rgm_comm *comm, double seconds);

#ifdef __cplusplus
}
#endif
#endif
