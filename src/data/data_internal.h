/*
 * What the files of this layer share: a buffered byte source, CRC masking, LEB128, and the recipe
 * and look-ahead machinery behind rgm_dataset.
 */
#ifndef RGMI_DATA_INTERNAL_H
#define RGMI_DATA_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <regimen/data.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are read in place");

/* ---- file_window.c: bytes of a plain or gzip file ------------------------------------------ */

/** `data` is a window on the uncompressed bytes that starts at byte `offset`. */
typedef struct rgmi_input {
    const uint8_t *data;
    int64_t available; /* bytes in the window                                */
    int64_t offset;    /* of data[0] in the uncompressed bytes               */
    int64_t file_size; /* as stored, at open; -1 when it is no regular file  */
    bool gzip;
    bool is_kept; /* what is read stays in memory: all of it may be bounded, not the window alone */
    char *path;
    struct rgmi_input_file *file;
} rgmi_input;

/** Opened as a plain file. */
rgm_status rgmi_input_open(rgmi_input **out, const char *path);
void rgmi_input_close(rgmi_input *input);
/** If the file starts as gzip does, read it as that from now on. To be called at offset 0. */
rgm_status rgmi_input_detect_gzip(rgmi_input *input);
/** The same for a zlib stream (RFC 1950), whose first two bytes many other files have too. */
rgm_status rgmi_input_detect_zlib(rgmi_input *input);
/** Have `need` bytes in the window, or all there are up to the end. Moves data. */
rgm_status rgmi_input_fill(rgmi_input *input, int64_t need);
/** Whether a fill would not wait: a pipe may have nothing yet, files never wait. */
bool rgmi_input_ready(const rgmi_input *input);
/** Drop the first `count` of the available bytes; they stay readable until the next fill. */
static inline void rgmi_input_consume(rgmi_input *input, int64_t count)
{
    input->data += count;
    input->available -= count;
    input->offset += count;
}
/** Plain: O(1). Gzip: inflates up to there, from the start if it lies behind. */
rgm_status rgmi_input_seek(rgmi_input *input, int64_t offset);

/* ---- tfrecord ------------------------------------------------------------------------------ */

static inline uint32_t rgmi_mask_crc(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
/** N and the length of what stands before "@N"; false when `path` has no such end. */
bool rgmi_parse_shards(const char *path, int64_t *base_size, int64_t *shards);
rgm_status rgmi_shard_path(char **out, const char *path, int64_t base_size, int64_t i,
                           int64_t shards);
/** The name after the last slash. */
const char *rgmi_base_name(const char *path);

int64_t rgmi_tfrecord_file_size(const rgm_tfrecord_reader *reader);
void rgmi_tfrecord_set_bad_records(rgm_tfrecord_reader *reader, int64_t count);

/* ---- numbers in text ----------------------------------------------------------------------- */

/** The whole of `text` as a number, no locale; false if it is none or does not fit. */
bool rgmi_parse_i64(int64_t *out, const char *text, int64_t size);
bool rgmi_parse_f64(double *out, const char *text, int64_t size);

/* ---- recipes ------------------------------------------------------------------------------- */

struct rgm_dataset {
    atomic_int references;
    const rgm_dataset_type *type;
    void *options;
    rgm_dataset **inputs;
    int64_t input_count;
    int64_t depth; /* ops below and including this one on the longest way to a source */
};

/** Of every `period` elements of an iterator, from place `offset` on, those that are wanted. */
typedef struct rgmi_own_elements {
    int64_t period, first, count, offset; /* period 0: all are */
} rgmi_own_elements;
static inline bool rgmi_is_wanted(const rgmi_own_elements *share, int64_t place)
{
    int64_t i;

    if (share->period == 0)
        return true;
    i = (place - share->offset) % share->period;
    return i >= share->first && i < share->first + share->count;
}

/** What all stages of one iterator share. */
typedef struct rgmi_tree {
    atomic_bool stop;             /* the tree is being released              */
    const atomic_bool *user_stop; /* the user asked to stop                  */
    uint64_t seed;
    rgmi_own_elements share; /* set before the first element is read    */
    int threads;             /* to make a pool of, once one is needed   */
    bool in_step;            /* nothing is made before it is asked for  */
    pthread_mutex_t lock;    /* of what follows                         */
    rgm_thread_pool *pool;
    bool own_pool;
    struct rgmi_cache *caches;
} rgmi_tree;

/** The workers, started by the first call; *out is NULL when there are to be none. */
rgm_status rgmi_tree_pool(rgm_thread_pool **out, rgmi_tree *tree);

struct rgm_stage {
    rgmi_tree *tree;
    rgm_dataset *dataset;
    uint64_t branch; /* tells apart equal ops on different ways through the recipe */
    uint64_t epoch;
    bool dynamic; /* below a dataset made while running */
    /* Its element i is the iterator's element base + i: nothing but ops that keep places above. */
    bool aligned;
    int64_t base;
    int64_t opens;       /* the base of stages that it opens                              */
    int64_t restored_at; /* for restore(): the iterator's element that it is to give next */
    rgm_rng rng;
    void *state;
};

/** The stage of `dataset` below `parent`, or the topmost one of `tree` when parent is NULL. */
rgm_status rgmi_stage_create(rgm_stage **out, rgmi_tree *tree, rgm_stage *parent,
                             const rgm_dataset *dataset, int64_t place, uint64_t epoch);
/** Whether element i of the stage is given by an iterator with a share. */
static inline bool rgmi_stage_wants(const rgm_stage *stage, int64_t i)
{
    return !stage->aligned || rgmi_is_wanted(&stage->tree->share, stage->base + i);
}
/** How many places an op that keeps `count` elements ahead runs ahead: those of others are empty.
 */
static inline int64_t rgmi_stage_ahead(const rgm_stage *stage, int64_t count)
{
    const rgmi_own_elements *share = &stage->tree->share;

    if (!stage->aligned || share->period == 0)
        return count;
    return count * ((share->period + share->count - 1) / share->count);
}
/** Restore from a part of a saved state, all of which must be the stage's. */
rgm_status rgmi_stage_restore_part(rgm_stage *stage, rgm_state_reader part);
/** A number as a saved state holds it: zigzag, then seven bits a byte. Returns how many bytes. */
int rgmi_state_encode(uint8_t bytes[10], int64_t number);
/** Replace *dataset by an op of one input upon it. */
rgm_status rgmi_dataset_extend(rgm_dataset **dataset, const rgm_dataset_type *type,
                               const void *options);
/** Rough size of a saved state of this recipe. */
int64_t rgmi_dataset_state_bytes(const rgm_dataset *dataset);
/** Ops whose state begins with the number of elements that they have given. */
extern const rgm_dataset_type rgmi_map_type, rgmi_prefetch_type;
/** True if stages of this recipe answer rgm_stage_at(). */
bool rgmi_dataset_indexed(const rgm_dataset *dataset);
void rgmi_caches_release(struct rgmi_cache *caches);
/** A counted text that many elements share as their origin. */
typedef struct rgmi_item_name rgmi_item_name;
rgm_status rgmi_name_create(rgmi_item_name **out, const char *text);
void rgmi_name_release(rgmi_item_name *name);
void rgmi_element_set_origin(rgm_element *element, rgmi_item_name *name, int64_t record,
                             int64_t offset);
/** The type of a pointer; NULL for other kinds. */
const rgm_element_type *rgmi_element_type(const rgm_element *element);
/** An element's origin put before this thread's message; returns status. */
rgm_status rgmi_blame(rgm_status status, const rgm_element *element);

/**
 * The position of an op that runs ahead of its consumer. Its input's state is taken after every
 * `every`-th of the input's places and travels with the element in that place; what is saved is the
 * last such state that the consumer has passed and how many places were consumed since. So saving
 * does not depend on how far ahead a thread is, and restoring replays fewer than `every` places.
 */
typedef struct rgmi_lookahead {
    int64_t every;
    int64_t consumed;       /* places                                    */
    int64_t snapshot_place; /* how many places lie before the snapshot   */
    rgm_text snapshot;      /* of the input; empty at place 0            */
} rgmi_lookahead;

void rgmi_lookahead_init(rgmi_lookahead *ahead, const rgm_dataset *input);
void rgmi_lookahead_clear(rgmi_lookahead *ahead);
/** True if the state is to be taken once `places` places were read. */
static inline bool rgmi_lookahead_due(const rgmi_lookahead *ahead, int64_t places)
{
    return places % ahead->every == 0;
}
/** One place consumed; `snapshot` (taken over, cleared) if one travelled with it. */
void rgmi_lookahead_consume(rgmi_lookahead *ahead, rgm_text *snapshot);
/** Pass over a place of an input that was not read ahead of its consumer. */
rgm_status rgmi_lookahead_skip(rgmi_lookahead *ahead, rgm_stage *input);
rgm_status rgmi_lookahead_save(rgm_text *out, const rgmi_lookahead *ahead);
/** Also brings `input` to the consumed place; a position that save() never writes is refused. */
rgm_status rgmi_lookahead_restore(rgmi_lookahead *ahead, rgm_stage *input, rgm_state_reader *state);
/** Read and drop `count` places of `input` while restoring; errors in them were reported before. */
rgm_status rgmi_stage_replay(rgm_stage *input, int64_t count);

/** Options that are a user's function with its payload. */
typedef struct rgmi_payload {
    void *payload;
    void (*release)(void *payload);
} rgmi_payload;
static inline void rgmi_payload_clear(rgmi_payload *payload)
{
    if (payload->release != NULL)
        payload->release(payload->payload);
}

/** The most that a place among so many elements can be, for rgm_state_get_count(). */
static inline int64_t rgmi_last_place(int64_t count)
{
    return count < 0 || count > RGM_STATE_MOST ? RGM_STATE_MOST : count;
}

/** count * n, where a count of -1 is unknown and INT64_MAX for ever; n >= 0. */
static inline int64_t rgmi_count_times(int64_t count, int64_t n)
{
    return count < 0               ? -1
           : count == 0 || n == 0  ? 0
           : count > INT64_MAX / n ? INT64_MAX
                                   : count * n;
}

#endif
