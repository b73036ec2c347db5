/*
 * Samples on disk, out of core and by several processes: each file is complete or not there, so who
 * comes later, or again, writes those that are missing. What was asked for stands beside them:
 * files of another seed or spec are never mixed in.
 */
#include <stdio.h>
#include <string.h>

#include <regimen/graph_data.h>

#include "sampler_internal.h"

typedef struct saving {
    const rgm_sampler *sampler;
    const rgm_sample_part *parts;
    int64_t count;
    rgm_sampler_save_options options;
    char *folder, *work; /* its final name, and where it grows */
    rgm_text asked;      /* what sampling.txt has               */
    bool fresh;          /* this call began it                  */
    int64_t written;     /* files */
} saving;

/* ---- what was asked for ---- */

static rgm_status add_hash(void *payload, int64_t i, rgm_graph *graph, const rgm_text *example)
{
    uint64_t *hash = payload;

    (void)i;
    (void)graph;
    *hash = *hash * 31 + rgm_hash64(example->data, (size_t)example->size);
    return RGM_OK;
}

/* Of a few subgraphs of a part: other data, of the same sets and seeds, have others. */
static rgm_status hash_some(uint64_t *hash, const saving *self, rgm_tensor *nodes)
{
    enum { SOME = 16 };
    rgm_sampler_run_options run = self->options.run;
    int64_t seeds[SOME], all = rgm_tensor_count(nodes), count = all < SOME ? all : SOME;

    *hash = 0;
    run.encode = true;
    run.threads = 1;
    for (int64_t i = 0; i < count; i++)
        seeds[i] = rgm_tensor_i64(nodes)[i * all / count];
    return count > 0 ? rgm_sampler_run(self->sampler, seeds, count, &run, add_hash, hash) : RGM_OK;
}

/* In each part's line, but in those of versions that kept none. */
#define HASH_OF_DATA ", subgraphs "

static rgm_status describe_part(saving *self, const rgm_sample_part *part)
{
    size_t bytes = (size_t)rgm_tensor_count(part->nodes) * sizeof(int64_t);
    uint64_t hash;

    RGM_TRY(hash_some(&hash, self, part->nodes));
    return rgm_text_printf(&self->asked, "part '%s', %lld seeds %016llx" HASH_OF_DATA "%016llx\n",
                           part->name, (long long)rgm_tensor_count(part->nodes),
                           (unsigned long long)rgm_hash64(rgm_tensor_i64(part->nodes), bytes),
                           (unsigned long long)hash);
}

static rgm_status describe(saving *self)
{
    const rgm_sampler_save_options *o = &self->options;
    rgm_text schema = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_schema_print(&schema, rgm_sampler_schema(self->sampler)));
    RGM_GO(rgm_text_printf(&self->asked, "seed %llu, epoch %llu, once %d\nreadout %d, label '%s'\n",
                           (unsigned long long)self->sampler->seed,
                           (unsigned long long)o->run.epoch, self->sampler->once, o->run.readout,
                           o->run.label != NULL ? o->run.label : ""));
    RGM_GO(rgm_text_printf(&self->asked, "files %lld, gzip %d\nschema %016llx\n",
                           (long long)o->shards, o->gzip,
                           (unsigned long long)rgm_hash64(schema.data, (size_t)schema.size)));
    for (int64_t i = 0; i < self->count; i++)
        RGM_GO(describe_part(self, &self->parts[i]));
    RGM_GO(rgm_text_printf(&self->asked, "%s", self->sampler->spec.data));
done:
    rgm_text_clear(&schema);
    return status;
}

/* What was asked for when the folder was begun; *text NULL: it has no sampling.txt. */
static rgm_status load_asked(char **text, int64_t *size, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    *text = NULL;
    RGM_GO(rgm_path_join(&path, folder, "sampling.txt"));
    if (rgm_path_exists(path))
        status = rgm_file_load(text, size, path, INT64_C(1) << 24);
done:
    rgm_free(path);
    return status;
}

/* Whether the folder is of the same; *there: it has a sampling.txt at all. */
static rgm_status compare(bool *same, bool *there, const saving *self, const char *folder)
{
    char *text;
    int64_t size;

    *same = *there = false;
    RGM_TRY(load_asked(&text, &size, folder));
    *there = text != NULL;
    *same = *there && size == self->asked.size && memcmp(text, self->asked.data, (size_t)size) == 0;
    rgm_free(text);
    return RGM_OK;
}

rgm_status rgm_samples_of_before(bool *of_before, const char *folder)
{
    char *text;
    int64_t size;

    *of_before = false;
    RGM_TRY(load_asked(&text, &size, folder));
    *of_before = text != NULL && strstr(text, HASH_OF_DATA) == NULL;
    rgm_free(text);
    return RGM_OK;
}

static rgm_status refuse_those_of_before(const char *folder)
{
    bool of_before;

    RGM_TRY(rgm_samples_of_before(&of_before, folder));
    return of_before ? RGM_FAIL(RGM_ERR_BUSY,
                                "%s is of an earlier version, which did not keep of which data it "
                                "drew; nothing is overwritten: remove it",
                                folder)
                     : RGM_OK;
}

/* RGM_END: all is there already. */
static rgm_status begin(saving *self)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    bool same, there;

    if (rgm_path_exists(self->folder)) {
        RGM_TRY(compare(&same, &there, self, self->folder));
        RGM_TRY(refuse_those_of_before(self->folder));
        if (!same)
            return RGM_FAIL(RGM_ERR_BUSY, "%s is there already; nothing is overwritten",
                            self->folder);
        return RGM_END;
    }
    RGM_GO(rgm_path_sweep(self->folder)); /* of a version that had no files to go on with */
    RGM_GO(rgm_folder_make(self->work));
    RGM_GO(compare(&same, &there, self, self->work));
    RGM_GO(refuse_those_of_before(self->work));
    if (there && !same)
        RGM_GO(RGM_FAIL(RGM_ERR_BUSY,
                        "%s was begun with another seed, spec or number of files, or of other data "
                        "(its sampling.txt says which); give the same, or remove it",
                        self->work));
    if (there)
        goto done;
    self->fresh = true;
    RGM_GO(rgm_path_join(&path, self->work, "sampling.txt"));
    RGM_GO(rgm_file_save(path, self->asked.data, self->asked.size));
done:
    rgm_free(path);
    return status;
}

/* ---- files ---- */

static rgm_status add_sample(void *payload, int64_t i, rgm_graph *graph, const rgm_text *example)
{
    (void)i;
    (void)graph;
    return rgm_tfrecord_writer_add(payload, example->data, example->size);
}

/* The schema of what a run makes: that of its first subgraph. */
static rgm_status keep_schema(void *payload, int64_t i, rgm_graph *graph, const rgm_text *example)
{
    (void)i;
    (void)example;
    return rgm_schema_save_in(rgm_graph_schema(graph), payload);
}

static rgm_status save_schema(const saving *self)
{
    rgm_sampler_run_options run = self->options.run;

    if (rgm_folder_has(self->work, "schema.pbtxt"))
        return RGM_OK;
    run.encode = false;
    run.threads = 1;
    for (int64_t i = 0; i < self->count; i++)
        if (rgm_tensor_count(self->parts[i].nodes) > 0)
            return rgm_sampler_run(self->sampler, rgm_tensor_i64(self->parts[i].nodes), 1, &run,
                                   keep_schema, self->work);
    return rgm_schema_save_in(rgm_sampler_schema(self->sampler), self->work);
}

static rgm_status save_shards(const saving *self)
{
    return rgm_folder_has(self->work, RGM_SHARDS_FILE)
               ? RGM_OK
               : rgm_graph_shards_save(self->work, self->options.shards);
}

/*
 * What all processes write alike, whoever comes first. A machine takes the drafts of another one
 * that shares the folder for those of a process that is gone, and who has lost one looks again.
 */
static rgm_status begin_all(saving *self)
{
    enum { TRIES = 10 };
    rgm_status status = RGM_OK;

    for (int i = 0; i < TRIES; i++) {
        status = begin(self);
        if (status == RGM_OK)
            status = save_schema(self);
        if (status == RGM_OK)
            status = save_shards(self);
        if (status != RGM_ERR_NOT_FOUND)
            break;
    }
    return status;
}

/* Files have equal shares, one after the other: read in their order they give that of the seeds. */
static int64_t first_seed(int64_t file, int64_t files, int64_t seeds)
{
    return (file * seeds + files - 1) / files;
}

static rgm_status save_file(saving *self, const char *path, rgm_tensor *nodes, int64_t file)
{
    rgm_status status = RGM_OK;
    const rgm_tfrecord_writer_options how = {.gzip = self->options.gzip};
    rgm_sampler_run_options run = self->options.run;
    int64_t seeds = rgm_tensor_count(nodes), files = self->options.shards;
    int64_t begin = first_seed(file, files, seeds), end = first_seed(file + 1, files, seeds);
    rgm_tfrecord_writer *writer = NULL;

    run.encode = true;
    RGM_GO(rgm_path_sweep(path));
    RGM_GO(rgm_tfrecord_writer_open(&writer, path, &how));
    RGM_GO(rgm_sampler_run(self->sampler, rgm_tensor_i64(nodes) + begin, end - begin, &run,
                           add_sample, writer));
    RGM_GO(rgm_tfrecord_writer_finish(writer));
    self->written++;
done:
    rgm_tfrecord_writer_close(writer);
    return status;
}

/* Those of this share that are missing; *missing counts what is not there afterwards. */
static rgm_status save_files(saving *self, int64_t *missing)
{
    const rgm_sampler_save_options *o = &self->options;
    rgm_status status = RGM_OK;
    char *path = NULL;

    *missing = 0;
    for (int64_t i = 0; i < self->count; i++)
        for (int64_t file = 0; file < o->shards; file++) {
            rgm_free(path);
            path = NULL;
            RGM_GO(rgm_graph_shard_path(&path, self->work, self->parts[i].name, file, o->shards,
                                        o->gzip));
            if (file % o->shares == o->share && !rgm_path_exists(path))
                RGM_GO(save_file(self, path, self->parts[i].nodes, file));
            *missing += !rgm_path_exists(path);
        }
done:
    rgm_free(path);
    return status;
}

/* Two that end at once see both that all is there; one of them renames. */
static rgm_status finish(const saving *self)
{
    rgm_status status = rgm_folder_sweep(self->work);
    bool same = false, there;

    if (status == RGM_OK)
        status = rgm_graph_folder_rename(self->work, self->folder);
    if (status != RGM_OK && rgm_path_exists(self->folder) &&
        compare(&same, &there, self, self->folder) == RGM_OK && same)
        return RGM_OK;
    return status;
}

/* ---- all ---- */

static rgm_status save_all(saving *self, const char *folder)
{
    size_t size = strlen(folder);
    int64_t missing;
    rgm_status status;

    while (size > 1 && folder[size - 1] == '/')
        size--;
    RGM_TRY(rgm_graph_shards_check(self->options.shards));
    if (self->options.shares < 1 || self->options.share < 0 ||
        self->options.share >= self->options.shares)
        return RGM_FAIL(RGM_ERR_ARG, "share %lld of %lld; shares are numbered from 0",
                        (long long)self->options.share, (long long)self->options.shares);
    RGM_TRY(rgm_strprintf(&self->folder, "%.*s", (int)size, folder));
    RGM_TRY(rgm_strprintf(&self->work, "%s.sampling", self->folder));
    RGM_TRY(describe(self));
    status = begin_all(self);
    if (status != RGM_OK)
        return status == RGM_END ? RGM_OK : status;
    RGM_TRY(save_files(self, &missing));
    return missing > 0 ? RGM_OK : finish(self);
}

rgm_status rgm_sampler_saved(bool *same, const rgm_sampler *sampler, const rgm_sample_part *parts,
                             int64_t count, const char *folder,
                             const rgm_sampler_save_options *options)
{
    rgm_sampler_save_options defaults = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    saving self = {.sampler = sampler,
                   .parts = parts,
                   .count = count,
                   .options = options != NULL ? *options : defaults};
    rgm_status status = RGM_OK;
    bool there;

    *same = false;
    RGM_GO(describe(&self));
    RGM_GO(compare(same, &there, &self, folder));
done:
    rgm_text_clear(&self.asked);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_sampler_save(const rgm_sampler *sampler, const rgm_sample_part *parts, int64_t count,
                            const char *folder, const rgm_sampler_save_options *options)
{
    rgm_sampler_save_options defaults = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    saving self = {.sampler = sampler,
                   .parts = parts,
                   .count = count,
                   .options = options != NULL ? *options : defaults};
    rgm_status status = save_all(&self, folder);
    rgm_error error;

    /* A mistake that nothing came of shall not stand in the way of the right command. Of several
     * processes this one does not know what has come of it. */
    if (status < 0 && self.fresh && self.written == 0 && self.options.shares == 1) {
        rgm_error_save(&error, status);
        rgm_folder_remove(self.work);
        status = rgm_error_restore(&error);
    }
    rgm_free(self.folder);
    rgm_free(self.work);
    rgm_text_clear(&self.asked);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
