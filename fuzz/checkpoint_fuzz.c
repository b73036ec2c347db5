/*
 * A run continued from a checkpoint that somebody else made: one of a real run of a small
 * experiment (records, subgraphs sampled on the way, translation; stopped inside a pass), edited as
 * the input says, with hashes that fit again. What is taken up trains two steps and is validated.
 *
 * The input: a byte for the experiment, then edits of four bytes, [file and kind of edit, place,
 * place, value]. Places are counted from the end of the file, where positions have their numbers.
 */
#include <regimen/experiment.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

/* The manifest is the first, so that it can be written last, when the others' hashes are known. */
static const char *const files[] = {
    "manifest.json",       "data.bin",          "sums.bin",        "best_list.bin",
    "weights.safetensors", "slots.safetensors", "best.safetensors"};
enum { MANIFEST, DATA, FILES = sizeof files / sizeof *files };

typedef struct checkpoint {
    rgm_text files[FILES]; /* the manifest with "@" in the place of what is said of each file */
    bool present[FILES];
    rgm_text metrics; /* the run's metrics.jsonl, without which it would not go on */
} checkpoint;

/* ---- the experiments ----------------------------------------------------------------------- */

#define COMMON                                                                                     \
    "optimizer: {type: adam, learning_rate: 1e-2}\n"                                               \
    "trainer: {epochs: ~, train_steps: 50, steps_per_loop: 5, validation_interval: 10,\n"          \
    "          checkpoint: {every_steps: 4, best: {metric: valid.loss}}}\n"                        \
    "runtime: {seed: 3, threads: 1}\n"

static const char *const experiments[] = {
    "data: {path: ., train: t.csv, valid_fraction: 0.2, batch_size: 4}\n"
    "task: {type: classification, num_classes: 2}\n"
    "model: {type: mlp, hidden: [2]}\n" COMMON,

    "data: {type: citation, batch_size: 4, sampling: {sizes: [2], store: memory},\n"
    "       citation: {nodes: 40, edges: 80, classes: 2, words: 4, words_per_node: 2,\n"
    "                  train_per_class: 15, valid: 4, test: 4}}\n"
    "task: {type: root_node_classification, node_set: nodes, label: label, num_classes: 2}\n"
    "model: {type: vanilla_mpnn, units: 2, message_dim: 2, encode: false,\n"
    "        receiver_state: false}\n" COMMON,

    "data: {reverse: {vocabulary: 9, min_length: 1, max_length: 3, train: 60, valid: 4},\n"
    "       batch_tokens: 32, batch_shapes: 2, max_length: 8}\n"
    "task: {type: translation}\n"
    "model: {type: seq2seq_transformer, embedding_width: 2, max_positions: 8,\n"
    "        encoder: {num_layers: 1, num_attention_heads: 1, intermediate_size: 2},\n"
    "        decoder: {num_layers: 1, num_attention_heads: 1, intermediate_size: 2}}\n" COMMON,
};
enum { KINDS = sizeof experiments / sizeof *experiments, STEPS = 12 };

/* ---- a run ----------------------------------------------------------------------------------- */

static void must(rgm_status status)
{
    if (status != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        abort();
    }
}

static void write_file(const char *folder, const char *name, const void *data, int64_t size)
{
    char path[256];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "wb");
    if (out == NULL || fwrite(data, 1, (size_t)size, out) != (size_t)size || fclose(out) != 0)
        abort();
}

/** Train `root`/run by so many steps from where it stands. */
static rgm_status go_on(const char *root, size_t kind, int64_t steps)
{
    rgm_status status = RGM_OK;
    char file[160], run_dir[160], path[160];
    const char *sets[] = {path};
    rgm_experiment *experiment = NULL;
    rgm_run_options options;
    rgm_open_run *run = NULL;
    const rgm_logs *logs;

    snprintf(file, sizeof file, "%s/e.yaml", root);
    snprintf(run_dir, sizeof run_dir, "%s/run", root);
    snprintf(path, sizeof path, "data.path=%s", root);
    RGM_GO(rgm_experiment_load(&experiment, file, sets, kind == 0));
    RGM_GO(rgm_experiment_prepare(&options, experiment, run_dir));
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(rgm_run_train(run, rgm_run_steps(run) + steps));
    RGM_GO(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

static void make_root(char root[64], size_t kind)
{
    static const char records[] = "1,2,0\n2,1,1\n3,2,0\n1,3,1\n2,2,0\n5,1,1\n1,1,0\n4,4,1\n2,5,0\n"
                                  "3,1,1\n1,2,0\n2,1,1\n3,2,0\n1,3,1\n2,2,0\n5,1,1\n1,1,0\n4,4,1\n";

    /* In memory where there is such a place: every save waits for the disk. */
    snprintf(root, 64, "%s/regimen-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(root) == NULL)
        abort();
    write_file(root, "t.csv", records, sizeof records - 1);
    write_file(root, "e.yaml", experiments[kind], (int64_t)strlen(experiments[kind]));
}

/* ---- a real checkpoint --------------------------------------------------------------------- */

/** What the manifest says of each file becomes "@"; its last line, its own hash, goes. */
static void make_template(rgm_text *manifest)
{
    char *last = strstr(manifest->data, "  \"xxh3\""), *entry = manifest->data, *to;

    if (last == NULL)
        abort();
    *last = '\0';
    to = entry;
    while (*entry != '\0') {
        char *end = strncmp(entry, "{\"size\"", 7) == 0 ? strchr(entry, '}') : NULL;

        *to++ = end != NULL ? '@' : *entry;
        entry = end != NULL ? end + 1 : entry + 1;
    }
    manifest->size = to - manifest->data;
}

static bool load_file(rgm_text *out, const char *folder, const char *name)
{
    char path[256], *data = NULL;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) != 0)
        return false;
    must(rgm_file_load(&data, &size, path, 1 << 20));
    must(rgm_text_add(out, data, size));
    rgm_free(data);
    return true;
}

static char bases[KINDS][64]; /* where each experiment was run; "" before */

static void remove_bases(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (bases[kind][0] != '\0')
            must(rgm_folder_remove(bases[kind]));
}

static void run_base(size_t kind)
{
    static bool registered;

    if (bases[kind][0] != '\0')
        return;
    if (!registered && atexit(remove_bases) != 0)
        abort();
    registered = true;
    make_root(bases[kind], kind);
    must(go_on(bases[kind], kind, STEPS));
}

static void make_checkpoint(checkpoint *out, size_t kind)
{
    char folder[160];

    run_base(kind);
    snprintf(folder, sizeof folder, "%s/run", bases[kind]);
    load_file(&out->metrics, folder, "metrics.jsonl");
    snprintf(folder, sizeof folder, "%s/run/ckpt/step-%08d", bases[kind], STEPS);
    for (int i = 0; i < FILES; i++)
        out->present[i] = load_file(&out->files[i], folder, files[i]);
    make_template(&out->files[MANIFEST]);
    if (out->files[DATA].size < 20) /* it would not stand inside a pass */
        abort();
}

static void checkpoint_clear(checkpoint *c)
{
    for (int i = 0; i < FILES; i++)
        rgm_text_clear(&c->files[i]);
    rgm_text_clear(&c->metrics);
}

/* ---- edits --------------------------------------------------------------------------------- */

static void edit(checkpoint *c, const uint8_t how[4])
{
    rgm_text *file = &c->files[how[0] % FILES];
    int64_t back = (how[1] | how[2] << 8) % (file->size + 1);
    char *at = file->data + file->size - back;

    if (!c->present[how[0] % FILES] || file->size == 0)
        return;
    switch (how[0] / FILES % 4) {
    case 0: /* another byte */
        if (back > 0)
            *at = (char)how[3];
        break;
    case 1: /* one more */
        must(rgm_text_add(file, "", 1));
        at = file->data + file->size - 1 - back;
        memmove(at + 1, at, (size_t)back);
        *at = (char)how[3];
        break;
    case 2: /* one less */
        if (back > 0)
            memmove(at, at + 1, (size_t)--file->size - (size_t)(at - file->data));
        break;
    default: /* cut, or gone */
        file->size -= back;
        c->present[how[0] % FILES] = how[3] != 0;
    }
}

static void fit_position(rgm_text *data)
{
    uint64_t hash;

    if (data->size < 16)
        return;
    hash = rgm_hash64(data->data + 16, (size_t)data->size - 16);
    memcpy(data->data + 8, &hash, sizeof hash);
}

/** The file that the text's end `"NAME": ` is about; NULL: none. */
static const rgm_text *named_at_end(const rgm_text *text, const checkpoint *c)
{
    for (int i = 1; i < FILES; i++) {
        char end[64];
        int size = snprintf(end, sizeof end, "\"%s\": ", files[i]);

        if (text->size >= size && memcmp(text->data + text->size - size, end, (size_t)size) == 0)
            return &c->files[i];
    }
    return NULL;
}

static void fit_manifest(rgm_text *out, const checkpoint *c)
{
    const rgm_text *text = &c->files[MANIFEST], *file;

    for (int64_t i = 0; i < text->size; i++) {
        if (text->data[i] == '@' && (file = named_at_end(out, c)) != NULL)
            must(rgm_text_printf(out, "{\"size\": %lld, \"xxh3\": \"%016llx\"}",
                                 (long long)file->size,
                                 (unsigned long long)rgm_hash64(file->data, (size_t)file->size)));
        else
            must(rgm_text_add(out, text->data + i, 1));
    }
    must(rgm_text_printf(out, "  \"xxh3\": \"%016llx\"\n}\n",
                         (unsigned long long)rgm_hash64(out->data, (size_t)out->size)));
}

static void write_checkpoint(const char *folder, checkpoint *c)
{
    rgm_text manifest = {0};

    must(rgm_folder_make(folder));
    fit_position(&c->files[DATA]);
    fit_manifest(&manifest, c);
    write_file(folder, files[MANIFEST], manifest.data, manifest.size);
    for (int i = 1; i < FILES; i++)
        if (c->present[i])
            write_file(folder, files[i], c->files[i].data, c->files[i].size);
    rgm_text_clear(&manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool whole[KINDS]; /* the checkpoint of no edits is taken up: tried once */
    char root[64], folder[160];
    size_t kind = size > 0 ? data[0] % KINDS : 0;
    checkpoint c = {0};
    rgm_status status;

    make_checkpoint(&c, kind);
    for (size_t at = 1; whole[kind] && at + 4 <= size; at += 4)
        edit(&c, data + at);
    make_root(root, kind);
    snprintf(folder, sizeof folder, "%s/run/ckpt/step-%08d", root, STEPS);
    write_checkpoint(folder, &c);
    snprintf(folder, sizeof folder, "%s/run", root);
    write_file(folder, "metrics.jsonl", c.metrics.data, c.metrics.size);
    status = go_on(root, kind, 2);
    if (!whole[kind])
        must(status);
    whole[kind] = true;
    must(rgm_folder_remove(root));
    checkpoint_clear(&c);
    return 0;
}
