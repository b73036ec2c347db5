/*
 * A small GPT: a model that reads a text letter by letter and says which letter is next, on the
 * training core. It is trained as a run, with checkpoints, and then writes on from a prompt.
 * docs/own_sequence.md goes through it.
 *
 *     13_gpt [FILE [STEPS [PROMPT]]]     a text of one's own; without it, numbers that are counted
 * up
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/regimen.h>

#define FOLDER      "gpt"      /* of the numbers */
#define TEXT_FOLDER "gpt_text" /* of a text of one's own, where the run goes on */
enum { LETTERS = 256, WINDOW = 48, WIDTH = 64, LAYERS = 2, HEADS = 4, BATCH = 16 };

typedef struct gpt {
    rgm_tensor *read, *next; /* [windows, WINDOW] i64: letters, and the letter behind each */
    rgm_value *read_value, *next_value;
} gpt;

/* ---- the model ------------------------------------------------------------------------------- */

/* x [rows, WIDTH] plus what its letters find in those before them. */
static rgm_value *attend(rgm_scope *layer, rgm_value *x, rgm_dim batch)
{
    static const char *const names[] = {"query", "key", "value"};
    rgm_attention_options how = {.heads = HEADS, .causal = true, .dropout = 0.1};
    rgm_value *normed = rgm_layer_norm(layer, "attention_norm", x), *parts[3], *y;

    for (int i = 0; i < 3; i++)
        parts[i] = rgm_reshape(rgm_dense(layer, names[i], normed, WIDTH), 3,
                               (rgm_dim[]){batch, WINDOW, WIDTH});
    y = rgm_attention(parts[0], parts[1], parts[2], &how);
    y = rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, WIDTH});
    return rgm_add(x, rgm_dropout(layer, rgm_dense(layer, "output", y, WIDTH), 0.1));
}

static rgm_value *feed_forward(rgm_scope *layer, rgm_value *x)
{
    rgm_value *y = rgm_layer_norm(layer, "ffn_norm", x);

    y = rgm_gelu(rgm_dense(layer, "inner", y, 4 * WIDTH));
    return rgm_add(x, rgm_dropout(layer, rgm_dense(layer, "outer", y, WIDTH), 0.1));
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    static const char *const layers[LAYERS] = {"layer_0", "layer_1"};
    gpt *g = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim batch = rgm_cgraph_symbol(graph, "batch"), shape[] = {batch, WINDOW};
    rgm_dim rows = RGM_INFER;
    rgm_head *head = &out->heads[0];
    rgm_value *x, *places;

    g->read_value = rgm_input(graph, "read", RGM_I64, 2, shape);
    g->next_value = rgm_input(graph, "next", RGM_I64, 2, shape);
    places = rgm_scope_parameter(scope, "places", 2, (int64_t[]){WINDOW, WIDTH},
                                 (rgm_init){RGM_INIT_NORMAL, 0.02});
    x = rgm_embedding(scope, "letters", rgm_reshape(g->read_value, 1, &rows), LETTERS, WIDTH);
    x = rgm_add(rgm_reshape(x, 3, (rgm_dim[]){batch, WINDOW, WIDTH}), places);
    x = rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, WIDTH});
    for (int i = 0; i < LAYERS; i++) {
        rgm_scope *layer = rgm_scope_enter(scope, layers[i]);
        rgm_value *heard = attend(layer, x, batch);

        x = feed_forward(layer, heard);
    }
    out->head_count = 1;
    head->predictions = rgm_dense(scope, "logits", rgm_layer_norm(scope, "norm", x), LETTERS);
    head->labels = rgm_reshape(g->next_value, 1, &rows);
    head->loss = rgm_mean(rgm_softmax_cross_entropy(head->predictions, head->labels));
    head->loss_weight = 1;
    head->metrics[head->metric_count++] =
        (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    return RGM_OK;
}

/* ---- the data -------------------------------------------------------------------------------- */

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    gpt *g = state;

    *out = NULL;
    if (mode != RGM_TRAIN)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, (rgm_tensor *[]){g->read, g->next}, 2));
    RGM_TRY(rgm_dataset_shuffle(out, rgm_tensor_dim(g->read, 0)));
    RGM_TRY(rgm_dataset_batch(out, BATCH, true));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 0));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    gpt *g = state;

    return rgm_feed_tensors(out, capacity, count, (rgm_value *[]){g->read_value, g->next_value}, 2,
                            batch);
}

/* A window begins at every seventh letter of the text. */
static rgm_status cut(gpt *g, const char *text, int64_t size)
{
    int64_t windows = (size - WINDOW - 1) / 7;

    if (windows < BATCH)
        return RGM_FAIL(RGM_ERR_DATA, "the text has %lld letters, too few for a batch",
                        (long long)size);
    RGM_TRY(rgm_tensor_create(&g->read, RGM_I64, 2, (int64_t[]){windows, WINDOW}));
    RGM_TRY(rgm_tensor_create(&g->next, RGM_I64, 2, (int64_t[]){windows, WINDOW}));
    for (int64_t i = 0; i < windows * WINDOW; i++) {
        const char *at = text + i / WINDOW * 7 + i % WINDOW;

        rgm_tensor_i64(g->read)[i] = (unsigned char)at[0];
        rgm_tensor_i64(g->next)[i] = (unsigned char)at[1];
    }
    return RGM_OK;
}

static rgm_status read_text(gpt *g, const char *path)
{
    static const char *const numbers[] = {"one ", "two ",   "three ", "four ", "five ",
                                          "six ", "seven ", "eight ", "nine ", "ten. "};
    rgm_status status = RGM_OK;
    rgm_text counted = {0};
    char *text = NULL;
    int64_t size;

    for (int i = 0; path == NULL && i < 600; i++)
        RGM_GO(rgm_text_printf(&counted, "%s", numbers[i % 10]));
    if (path != NULL)
        RGM_GO(rgm_file_load(&text, &size, path, INT64_C(1) << 26));
    RGM_GO(path != NULL ? cut(g, text, size) : cut(g, counted.data, counted.size));
done:
    rgm_free(text);
    rgm_text_clear(&counted);
    return status;
}

/* ---- writing on ------------------------------------------------------------------------------ */

/* The likeliest letter behind the last `known` ones of a window. */
static rgm_status next_letter(char *out, const rgm_open_run *run, const gpt *g, rgm_tensor *window,
                              int64_t known)
{
    rgm_tensor *logits;
    rgm_feed feed = {.input = g->read_value, .tensor = window};
    int64_t best = 0;

    RGM_TRY(rgm_run_predict_feeds(&logits, run, 0, &feed, 1));
    for (int64_t i = 0, row = (known - 1) * LETTERS; i < LETTERS; i++)
        if (rgm_tensor_at(logits, row + i) > rgm_tensor_at(logits, row + best))
            best = i;
    rgm_tensor_release(logits);
    *out = (char)best;
    return RGM_OK;
}

/* `text` has room for `count` letters more. */
static rgm_status write_on(char *text, int64_t count, const rgm_open_run *run, const gpt *g)
{
    for (; count > 0; count--) {
        rgm_tensor *window;
        int64_t size = (int64_t)strlen(text), known = size < WINDOW ? size : WINDOW;
        rgm_status status;

        /* What is behind the known letters is read by none of them: attention is causal. */
        RGM_TRY(rgm_tensor_create(&window, RGM_I64, 2, (int64_t[]){1, WINDOW}));
        for (int64_t i = 0; i < WINDOW; i++)
            rgm_tensor_i64(window)[i] = i < known ? (unsigned char)text[size - known + i] : 0;
        status = next_letter(text + size, run, g, window, known);
        text[size + 1] = '\0';
        rgm_tensor_release(window);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status train(gpt *g, const char *path, int64_t steps, const char *prompt)
{
    rgm_status status = RGM_OK;
    rgm_task task = {.name = "gpt",
                     .state = g,
                     .build_inputs = build_inputs,
                     .build_model = build_model,
                     .feeds = feeds};
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run = NULL;
    char text[256];

    how.optimizer = rgm_adam(3e-3);
    how.trainer.train_steps = steps;
    how.run_dir = path != NULL ? TEXT_FOLDER : FOLDER;
    RGM_GO(read_text(g, path));
    RGM_GO(rgm_run_open(&run, &task, &how));
    RGM_GO(rgm_run_train(run, steps));
    snprintf(text, sizeof text - 64, "%s", prompt);
    RGM_GO(write_on(text, 40, run, g));
    printf("step %lld  %s\n", (long long)rgm_run_steps(run), text);
    if (path == NULL && strncmp(text, "seven eight nine ten. one two ", 30) != 0)
        status = RGM_FAIL(RGM_ERR_DATA, "it has not learnt to count");
done:
    rgm_run_close(run);
    return status;
}

int main(int argc, char **argv)
{
    gpt g = {0};
    rgm_status status = RGM_OK;

    if (argc < 2 && rgm_path_exists(FOLDER))
        status = rgm_folder_remove(FOLDER);
    if (status == RGM_OK)
        status = train(&g, argc > 1 ? argv[1] : NULL, argc > 2 ? atoll(argv[2]) : 150,
                       argc > 3 ? argv[3] : "seven ");
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_tensor_release(g.read);
    rgm_tensor_release(g.next);
    return status != RGM_OK;
}
