/*
 * Answers about one run, told out of its folder alone: each adds one JSON object to `out`. What a
 * run does not keep is an empty list or null; what is there and cannot be read is said in "damage",
 * for people, and is no error either: the page shows what there is.
 */
#ifndef RGM_WEB_TAB_H
#define RGM_WEB_TAB_H

#include "folder_file.h"

#include <pthread.h>

/* ---- JSON ---------------------------------------------------------------------------------- */

/** Bytes in quotes; zeros and what is no UTF-8 become U+FFFD, control characters \u001b.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_put_text(rgm_text *out, const char *data, int64_t size);
/** The same to the end of a text; NULL: null. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_put_name(rgm_text *out, const char *text);
/** A number; null where it is not finite. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_put_number(rgm_text *out, double number);
/** Note why something could not be read. RGM_OK: go on without it; what is not there is no damage.
 * The first reason stays. Errors: RGM_ERR_NOMEM, those of the status that is no error. */
rgm_status rgmi_note(char **damage, rgm_status status);
/** A file of a run that is one JSON object, as it is; *text is NULL after an error (owned).
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_load_object(char **text, int64_t *size, const char *folder, const char *name,
                            int64_t most);
/** ,"damage":"..."} and the object's end. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_put_end(rgm_text *out, const char *damage);

/* ---- answers ------------------------------------------------------------------------------- */

enum {
    RGMI_TOLD_STEPS = 100,       /* of histograms and samples, evenly spread over all        */
    RGMI_TOLD_POINTS = 2000,     /* of system.jsonl                                          */
    RGMI_TOLD_CHECKPOINTS = 200, /* the newest                                               */
    RGMI_TOLD_LINES = 1000,      /* of a search in a log                                     */
    RGMI_TOLD_LINE = 4096,       /* bytes of one of them                                     */
    RGMI_TOLD_TEXT = 1 << 20,    /* bytes of a log in one answer                             */
    RGMI_CACHE_BYTES = 48 << 20  /* for rgmi_kept_cache_create(), of a server                */
};

/** {text, values: [{key, value, source}]}. Errors: RGM_ERR_NOMEM, as of all that follow. */
rgm_status rgmi_tell_config(rgm_text *out, const char *folder);

/** Which part of which log; `{0}`: the beginning of log.txt. */
typedef struct rgmi_log_query {
    const char *file;      /* "log", "trial"; NULL: the first of these that there is             */
    int64_t offset, limit; /* bytes; 0 for limit: 64 KiB                                        */
    int64_t tail;          /* above 0: so many of the last lines instead                         */
    const char *find;      /* only lines with this text, ASCII letters in any case; NULL: all    */
    double seconds;        /* that a search may take; 0: half a second                           */
} rgmi_log_query;
/** {files, file, size, offset, next, text | lines: [{offset, line, cut}]}. RGM_ERR_ARG: no such
 * log. */
rgm_status rgmi_tell_logs(rgm_text *out, const char *folder, const rgmi_log_query *query);
/** {checkpoints: [{step, bytes, time, newest, best, kept, files}], total, best}. RGM_ERR_NOMEM. */
rgm_status rgmi_tell_checkpoints(rgm_text *out, const char *folder);
/** {exports: [{number, name, bytes, time}]}. A number is the name's, whatever else there is. */
rgm_status rgmi_tell_exports(rgm_text *out, const char *folder);
/** How many of these there are; 1 where there is none but damage to tell. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_count_exports(int64_t *count, const char *folder);
/**
 * Open the export of a number.
 *
 * @param name  [out, owned] of the file alone, of letters, digits, '.', '_' and '-'
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_open_export(rgmi_kept_file *file, char **name, const char *folder, int64_t number);
/** {tags: [{tag, kind}]}, or of one {tag, kind, total, steps: [...]}. `cache` may be NULL here and
 * below. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_tell_histograms(rgm_text *out, const char *folder, rgmi_kept_cache *cache,
                                const char *tag);
/** {total, steps: [{step, time, split, samples}]}. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_tell_samples(rgm_text *out, const char *folder, rgmi_kept_cache *cache);
/**
 * {splits, split, labels, label, steps, step, classes, counts, per_class}.
 *
 * @param split, label  [in] NULL: "valid", or the first there is; the first there is
 * @param step          [in] below 0: the last
 */
rgm_status rgmi_tell_confusion(rgm_text *out, const char *folder, rgmi_kept_cache *cache,
                               const char *split, const char *label, int64_t step);
/** {outputs: [{step, split, label, curves: [{name, positives, negatives, roc_area,
 * average_precision, points: [[threshold, false positives, true positives, precision]]}],
 * hits: {links, mean_reciprocal_rank, points: [[k, share]]} or null, left_out}]}. RGM_ERR_NOMEM. */
rgm_status rgmi_tell_scores(rgm_text *out, const char *folder);
/** {names, total, name, explanation: {part, item, node, output, class, method, weights, step,
 * value, nothing, left, edge_total, nodes: [{set, name, asked}], edges: [{set, from, to, score}],
 * feature_total, features: [{set, feature, item, column, score}]} or null}; from and to are places
 * in nodes.
 * @param name  [in] NULL: the newest. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_tell_explanations(rgm_text *out, const char *folder, const char *name);
/** {total_bytes, down_sampled, points: [...], input: input_workers.json as it is, or null}. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgmi_tell_system(rgm_text *out, const char *folder);
/** model.json as it is; {parameters: null, ..., layers: []} where there is none. RGM_ERR_NOMEM. */
rgm_status rgmi_tell_model(rgm_text *out, const char *folder);

enum { RGMI_KEPT_PROFILES = 8 };
/** What was told of profiles lately, by their files as they were then. Thread-safe. */
typedef struct rgmi_profile_cache {
    pthread_mutex_t lock;
    struct {
        rgmi_kept_file of; /* not open */
        int64_t used;      /* 0: a free place */
        rgm_text told;
    } items[RGMI_KEPT_PROFILES];
    int64_t uses, made; /* made: how many were added up, for tests */
} rgmi_profile_cache;
void rgmi_profile_cache_open(rgmi_profile_cache *cache);
void rgmi_profile_cache_close(rgmi_profile_cache *cache);
/** {steps, dropped, total, rows: [{kind, name, scope, calls, seconds, flops, bytes}]}, of
 * profile.json added up. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_tell_profile(rgm_text *out, const char *folder, rgmi_profile_cache *cache);

/* ---- records of several files --------------------------------------------------------------- */

/** A record that is valid yet, of one of the files of a gathering. */
typedef struct rgmi_point {
    int64_t key, step, offset;
    double time;
    int32_t file, size;
} rgmi_point;
/** Event files of some folders of a run in the order of their names, or tables.jsonl alone. */
typedef struct rgmi_gathering {
    char **files; /* below the run folder */
    int64_t file_count, file_capacity;
    rgmi_point *points;
    int64_t count, capacity;
    char *damage;
    bool more; /* there was no time to read all: what is told is the older part */
} rgmi_gathering;
/** What of an index is wanted: a key for the points of a name, or -1. */
typedef rgm_status rgmi_wanted(int64_t *key, const rgmi_index *index, int64_t name, void *payload);
/** Every event file of a folder below a run folder. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gather_events(rgmi_gathering *g, const char *folder, const char *name,
                              rgmi_kept_cache *cache, rgmi_wanted *wanted, void *payload,
                              double until);
/** The lines of tables.jsonl. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gather_tables(rgmi_gathering *g, const char *folder, rgmi_kept_cache *cache,
                              rgmi_wanted *wanted, void *payload, double until);
void rgmi_gathering_clear(rgmi_gathering *g);
/** Of `count` things the i-th of at most `most` that lie evenly, the first and last among them. */
int64_t rgmi_spread(int64_t i, int64_t count, int64_t most);

#endif
