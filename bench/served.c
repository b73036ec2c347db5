/*
 * A served translation model: what loading it takes, and lines that are translated in batches by
 * tokens, through rgm_translation_lines() as `regimen translate` and `regimen answer` do it.
 * `make-served` writes a Transformer of 3+3 layers of 256 as an export in f32, as one in 8 bits and
 * as CTranslate2 reads it, and sentences as long as Multi30k's. peer_ctranslate2.py translates the
 * same.
 *
 * The weights are random but for those that let a translation end behind as many tokens as its
 * source has, in any program and precision, so that everybody has the same to do: the last layer's
 * first head attends from each position of the target to the same one of the source, and what it
 * finds at the source's end makes the end probable.
 */
#include "bench.h"

#include <regimen/experiment.h>
#include <regimen/translation.h>

#include <stdio.h>
#include <string.h>

enum { VOCABULARY = 8000, WIDTH = 256, DEPTH = 64, POSITIONS = 63, END = 1, WORDS = 2 };
enum { SENTENCES = 128, BATCH_TOKENS = 512 };
/* Channels: the first DEPTH are a position's, then one for the end of a source and one that all
 * targets have; those behind them are the token's. */
enum { OF_END = DEPTH, OF_ALL, OF_TOKEN };

/* Words and marks of Multi30k's German test sentences of 2016: each of these is as frequent. */
static const int8_t lengths[] = {6,  7,  7,  8,  8,  9,  9,  9,  9,  10, 10, 10, 11, 11, 11, 11,
                                 12, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 17, 18, 20, 25};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- the model ------------------------------------------------------------------------------- */

static rgm_status weights_of(float **out, const rgm_parameters *parameters, const char *name,
                             int64_t rows)
{
    rgm_tensor *tensor = rgm_parameters_find(parameters, name);

    if (tensor == NULL || rgm_tensor_count(tensor) < rows * WIDTH)
        return RGM_FAIL(RGM_ERR_ARG, "the model has no %s of %lld rows", name, (long long)rows);
    *out = rgm_tensor_f32(tensor);
    return RGM_OK;
}

/* 64 signs for each position; the product of those of two positions is 0. */
static rgm_status set_positions(const rgm_parameters *parameters, const char *name)
{
    float *table;

    RGM_TRY(weights_of(&table, parameters, name, POSITIONS));
    for (unsigned p = 0; p < POSITIONS; p++)
        for (unsigned c = 0; c < WIDTH; c++)
            table[p * WIDTH + c] =
                c >= DEPTH ? 0 : (__builtin_popcount((p + 1) & c) % 2 != 0 ? -1 : 1);
    return RGM_OK;
}

/* Random tokens without a position; the end's row has those numbers alone. */
static rgm_status set_table(const rgm_parameters *parameters, const char *name, int64_t rows,
                            float of_all, float end_at_end, float end_at_all)
{
    float *table;

    RGM_TRY(weights_of(&table, parameters, name, rows));
    for (int64_t t = 0; t < rows; t++) {
        float *row = table + t * WIDTH;
        for (int64_t c = 0; c < WIDTH; c++)
            row[c] = c < OF_TOKEN || t == END ? 0 : row[c] / 2;
        row[OF_ALL] = t == END ? end_at_all : of_all;
        row[OF_END] = t == END ? end_at_end : 0;
    }
    return RGM_OK;
}

/* What blocks add is little, so that positions and ends stay what they are. */
static void weaken_blocks(const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const char *name = rgm_parameters_name(parameters, i);
        rgm_tensor *tensor;
        if (strstr(name, "/output/kernel") == NULL && strstr(name, "/outer/kernel") == NULL)
            continue;
        tensor = rgm_parameters_tensor(parameters, i);
        for (int64_t k = 0; k < rgm_tensor_count(tensor); k++)
            rgm_tensor_f32(tensor)[k] *= 0.02F;
    }
}

/* The head that looks at its own position of the source, and takes over whether it is the end. */
static rgm_status set_head(const rgm_parameters *parameters)
{
    static const char layer[] = "decoder/layer_2/cross_attention";
    static const char *const parts[] = {"query", "key", "value", "output"};
    float *kernel[4];
    char name[96];

    for (int k = 0; k < 4; k++) {
        snprintf(name, sizeof name, "%s/%s/kernel", layer, parts[k]);
        RGM_TRY(weights_of(&kernel[k], parameters, name, WIDTH));
    }
    for (int64_t i = 0; i < WIDTH; i++) {
        for (int64_t c = 0; c < DEPTH; c++)
            kernel[0][i * WIDTH + c] = kernel[1][i * WIDTH + c] = i == c ? 1.5F : 0;
        kernel[2][i * WIDTH] = i == OF_END;
        kernel[3][i] = i == OF_END;
    }
    return RGM_OK;
}

static rgm_status set_weights(rgm_parameters *parameters, int64_t vocabulary)
{
    weaken_blocks(parameters);
    RGM_TRY(set_positions(parameters, "encoder/positions"));
    RGM_TRY(set_positions(parameters, "decoder/positions"));
    RGM_TRY(set_table(parameters, "source_embedding/table", vocabulary, 0, 0.5F, 0));
    RGM_TRY(set_table(parameters, "target_embedding/table", vocabulary, 1.0F / 16, 6, -8));
    RGM_TRY(set_head(parameters));
    rgm_parameters_touch(parameters);
    return RGM_OK;
}

/* ---- its files ------------------------------------------------------------------------------- */

static rgm_status open_model(rgm_experiment **experiment, rgm_open_run **run, int64_t vocabulary)
{
    char words[64];
    const char *const sets[] = {words,
                                "data.max_length=62",
                                "data.reverse.train=8",
                                "data.reverse.valid=4",
                                "task.search.extra_decode_length=8",
                                "model.embedding_width=256",
                                "model.embeddings=target",
                                "model.positions=learned",
                                "model.max_positions=63",
                                "model.encoder.num_layers=3",
                                "model.decoder.num_layers=3",
                                "model.encoder.intermediate_size=1024",
                                "model.decoder.intermediate_size=1024",
                                "model.encoder.norm_first=false",
                                "model.decoder.norm_first=false",
                                "model.encoder.use_bias=true",
                                "model.decoder.use_bias=true",
                                "optimizer.learning_rate=1e-3",
                                "trainer.epochs=~",
                                "trainer.train_steps=1"};
    rgm_run_options options;

    snprintf(words, sizeof words, "data.reverse.vocabulary=%lld", (long long)vocabulary);
    RGM_TRY(rgm_experiment_load(experiment, "reverse", sets, sizeof sets / sizeof *sets));
    RGM_TRY(rgm_experiment_prepare(&options, *experiment, NULL));
    return rgm_experiment_open(run, *experiment, &options);
}

static rgm_status export_as(const rgm_open_run *run, const char *path, const char *name,
                            const rgm_exporter *exporter)
{
    rgm_status status = RGM_OK;
    char *folder;

    RGM_TRY(rgm_path_join(&folder, path, name));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(exporter->save(run, folder, exporter->payload));
done:
    rgm_free(folder);
    return status;
}

static rgm_status write_sentences(const char *path, int64_t vocabulary)
{
    rgm_status status = RGM_OK;
    rgm_rng rng = rgm_rng_stream(1, "sentences", 0);
    rgm_text text = {0};
    char *file = NULL;
    uint64_t at = 0;

    for (int64_t i = 0; i < SENTENCES; i++)
        for (int64_t k = 0, n = lengths[i * 11 % LENGTHS]; k < n; k++)
            RGM_GO(rgm_text_printf(
                &text, "%lld%s",
                (long long)(WORDS + rgm_rng_f64(&rng, at++) * (double)(vocabulary - WORDS)),
                k + 1 < n ? " " : "\n"));
    RGM_GO(rgm_path_join(&file, path, "sources"));
    RGM_GO(rgm_file_save(file, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(file);
    return status;
}

rgm_status bench_make_served(const char *path, char **words, int count)
{
    int64_t vocabulary = (int64_t)bench_number(words, count, "vocabulary", VOCABULARY);
    rgm_predictor_exporter_options whole = {RGM_WEIGHTS_F32}, small = {RGM_WEIGHTS_INT8};
    const rgm_exporter f32 = rgm_predictor_exporter(&whole), int8 = rgm_predictor_exporter(&small),
                       ctranslate2 = rgm_ctranslate2_exporter();
    rgm_experiment *experiment = NULL;
    rgm_open_run *run = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_make(path));
    RGM_GO(open_model(&experiment, &run, vocabulary));
    RGM_GO(set_weights(rgm_trainer_parameters(rgm_run_trainer(run)), vocabulary));
    RGM_GO(export_as(run, path, "f32", &f32));
    RGM_GO(export_as(run, path, "int8", &int8));
    RGM_GO(export_as(run, path, "ctranslate2", &ctranslate2));
    RGM_GO(write_sentences(path, vocabulary));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

/* ---- the workload ---------------------------------------------------------------------------- */

typedef struct served {
    const char *form;
    rgm_predictor *predictor;
    rgm_beam_search_options search;
    char *text;
    rgm_translation_line *lines; /* of `text` */
    int64_t *words;              /* of a line */
    rgm_line_translation *out;
    int64_t count, tokens;
    double loaded;            /* seconds */
    int64_t before, resident; /* bytes of the process, before loading and behind it */
} served;

static void served_close(void *state)
{
    served *s = state;

    if (s == NULL)
        return;
    if (s->out != NULL)
        rgm_line_translations_clear(s->out, s->count);
    rgm_predictor_release(s->predictor);
    rgm_free(s->text);
    rgm_free(s->lines);
    rgm_free(s->words);
    rgm_free(s->out);
    rgm_free(s);
}

static rgm_status load_model(served *s, const char *path)
{
    rgm_status status = RGM_OK;
    bool int8 = strstr(s->form, "-int8") != NULL;
    char *folder;
    double begin;

    RGM_TRY(rgm_path_join(&folder, path, int8 ? "int8" : "f32"));
    s->before = rgm_memory_resident();
    begin = rgm_now();
    RGM_GO(rgm_predictor_open(&s->predictor, folder, NULL, 0));
    s->loaded = rgm_now() - begin;
    s->resident = rgm_memory_resident();
    s->search = *rgm_translation_search(rgm_predictor_task(s->predictor));
    s->search.int8 = rgm_predictor_int8(s->predictor);
    s->search.beam_size = strncmp(s->form, "beam", 4) == 0 ? 4 : 1;
    s->search.decode_batch_size = SENTENCES;
    s->search.decode_batch_tokens = BATCH_TOKENS;
done:
    rgm_free(folder);
    return status;
}

/* The first `most` sentences, 0: all. */
static rgm_status read_sentences(served *s, const char *path, int64_t most)
{
    rgm_status status = RGM_OK;
    int64_t size;
    char *file;

    RGM_TRY(rgm_path_join(&file, path, "sources"));
    RGM_GO(rgm_file_load(&s->text, &size, file, 1 << 20));
    RGM_GO(RGM_NEW(s->lines, SENTENCES));
    RGM_GO(RGM_NEW(s->words, SENTENCES));
    RGM_GO(RGM_NEW(s->out, SENTENCES));
    most = most > 0 && most < SENTENCES ? most : SENTENCES;
    for (char *at = s->text, *end; s->count < most && (end = strchr(at, '\n')) != NULL;
         at = end + 1) {
        s->lines[s->count].text = (rgm_str){at, end - at};
        s->words[s->count] = 1;
        for (const char *c = at; c < end; c++)
            s->words[s->count] += *c == ' ';
        s->count++;
    }
done:
    rgm_free(file);
    return status;
}

static rgm_status served_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    served *s = NULL;

    RGM_GO(RGM_NEW(s, 1));
    s->form = options->form;
    RGM_GO(load_model(s, options->data));
    RGM_GO(read_sentences(s, options->data, options->size));
    *out = s;
    s = NULL;
done:
    served_close(s);
    return status;
}

static rgm_status served_step(void *state, int64_t step)
{
    served *s = state;
    int64_t done;

    (void)step;
    rgm_line_translations_clear(s->out, s->count);
    s->tokens = 0;
    RGM_TRY(rgm_translation_lines(s->out, &done, rgm_predictor_task(s->predictor),
                                  rgm_predictor_parameters(s->predictor), s->lines, s->count,
                                  &s->search, NULL, false));
    for (int64_t i = 0; i < s->count; i++) {
        s->tokens += s->out[i].tokens;
        if (s->out[i].cut || s->out[i].tokens != s->words[i])
            return RGM_FAIL(RGM_ERR_NUMERIC, "sentence %lld of %lld tokens has %lld of them",
                            (long long)i, (long long)s->words[i], (long long)s->out[i].tokens);
    }
    return RGM_OK;
}

static rgm_status served_facts(rgm_text *out, void *state)
{
    const served *s = state;

    return rgm_text_printf(out,
                           ", \"form\": \"%s\", \"sentences\": %lld, \"tokens\": %lld, "
                           "\"batch_tokens\": %d, \"loaded\": %.9f, \"before\": %lld, "
                           "\"resident\": %lld",
                           s->form, (long long)s->count, (long long)s->tokens, BATCH_TOKENS,
                           s->loaded, (long long)s->before, (long long)s->resident);
}

static const char *const forms[] = {"greedy", "beam", "greedy-int8", "beam-int8", NULL};
const bench_workload bench_served = {
    "served",
    "`size` sentences as long as Multi30k's by a loaded model of make-served, in batches of 512 "
    "tokens; forms greedy, beam, each with -int8 too",
    served_open,
    served_step,
    served_facts,
    served_close,
    forms};
