/*
 * Messages between server and worker: numbers, texts and arrays as saved states have them
 * (rgm_state_put_int()), read with the same distrust.
 */
#include "async_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rgm_status rgmi_put_double(rgm_text *out, double number)
{
    return rgm_state_put_bytes(out, &number, sizeof number);
}

/* Bytes of a size that is known, borrowed from the message. */
static rgm_status get_exactly(const uint8_t **data, rgm_state_reader *reader, int64_t size)
{
    int64_t found;

    RGM_TRY(rgm_state_get_bytes(data, &found, reader));
    if (found != size)
        return RGM_FAIL(RGM_ERR_FORMAT, "a message has %lld bytes where %lld belong",
                        (long long)found, (long long)size);
    return RGM_OK;
}

rgm_status rgmi_get_double(double *out, rgm_state_reader *reader)
{
    const uint8_t *data;

    *out = 0;
    RGM_TRY(get_exactly(&data, reader, sizeof *out));
    memcpy(out, data, sizeof *out);
    return RGM_OK;
}

rgm_status rgmi_get_text(char **out, rgm_state_reader *reader, int64_t most)
{
    const uint8_t *data;
    int64_t size;
    char *text;

    *out = NULL;
    RGM_TRY(rgm_state_get_bytes(&data, &size, reader));
    if (size > most)
        return RGM_FAIL(RGM_ERR_FORMAT, "a message has a text of %lld bytes", (long long)size);
    RGM_TRY(RGM_NEW(text, size + 1));
    memcpy(text, data, (size_t)size);
    *out = text;
    return RGM_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

rgm_status rgmi_put_rows(rgm_text *out, const rgmi_row_set *rows, int64_t first)
{
    int64_t count = rows->count - first;

    RGM_TRY(rgm_state_put_int(out, count));
    return rgm_state_put_bytes(out, count > 0 ? (const void *)(rows->items + first) : "",
                               count * (int64_t)sizeof *rows->items);
}

rgm_status rgmi_get_rows(const int32_t **rows, int64_t *count, rgm_state_reader *reader,
                         int64_t table_rows)
{
    const uint8_t *data;

    *rows = NULL;
    RGM_TRY(rgm_state_get_count(count, reader, table_rows, "a number of rows"));
    RGM_TRY(get_exactly(&data, reader, *count * (int64_t)sizeof **rows));
    *rows = (const int32_t *)(const void *)data;
    for (int64_t i = 0; i < *count; i++) {
        int32_t row;

        memcpy(&row, data + i * (int64_t)sizeof row, sizeof row);
        if (row < 0 || row >= table_rows)
            return RGM_FAIL(RGM_ERR_FORMAT, "a message has row %d of a table of %lld", (int)row,
                            (long long)table_rows);
    }
    return RGM_OK;
}

/* Row i of a list in a message, which need not be aligned. */
static int64_t row_at(const int32_t *rows, int64_t i)
{
    int32_t row;

    memcpy(&row, (const char *)(const void *)rows + i * (int64_t)sizeof row, sizeof row);
    return row;
}

static rgm_status room(char **out, rgm_text *text, int64_t size)
{
    /* a size, as rgm_state_put_bytes() writes it, and room behind it */
    RGM_TRY(rgm_state_put_int(text, size));
    RGM_TRY(RGM_RESERVE(text->data, text->capacity, text->size + size + 1));
    *out = text->data + text->size;
    text->size += size;
    text->data[text->size] = '\0';
    return RGM_OK;
}

/* ---- gradients ----------------------------------------------------------------------------- */

static rgm_status put_table_gradient(rgm_text *out, const rgm_tensor *gradient,
                                     const rgmi_row_table *table, const rgmi_row_set *rows)
{
    const char *data = rgm_tensor_data(gradient);
    char *to;

    RGM_TRY(rgmi_put_rows(out, rows, 0));
    RGM_TRY(room(&to, out, rows->count * table->row_bytes));
    for (int64_t i = 0; i < rows->count; i++)
        memcpy(to + i * table->row_bytes, data + rows->items[i] * table->row_bytes,
               (size_t)table->row_bytes);
    return RGM_OK;
}

rgm_status rgmi_put_gradients(rgm_text *out, rgm_tensor *const *gradients,
                              const rgmi_tables *tables, const rgmi_row_set *rows)
{
    for (int64_t i = 0; i < tables->parameters; i++) {
        int64_t t = tables->of[i];

        if (gradients[i] == NULL)
            continue;
        if (t >= 0)
            RGM_TRY(put_table_gradient(out, gradients[i], &tables->items[t], &rows[t]));
        else
            RGM_TRY(rgm_state_put_bytes(out, rgm_tensor_data(gradients[i]),
                                        (int64_t)rgm_tensor_bytes(gradients[i])));
    }
    return RGM_OK;
}

static rgm_status get_table_gradient(rgm_tensor *gradient, int64_t *rows, rgm_state_reader *reader,
                                     const rgmi_row_table *table)
{
    char *to = rgm_tensor_data(gradient);
    const int32_t *numbers;
    const uint8_t *data;
    int64_t count;

    RGM_TRY(rgmi_get_rows(&numbers, &count, reader, table->rows));
    RGM_TRY(get_exactly(&data, reader, count * table->row_bytes));
    memset(to, 0, rgm_tensor_bytes(gradient));
    for (int64_t i = 0; i < count; i++)
        memcpy(to + row_at(numbers, i) * table->row_bytes, data + i * table->row_bytes,
               (size_t)table->row_bytes);
    *rows += count;
    return RGM_OK;
}

rgm_status rgmi_get_gradients(rgm_tensor *const *gradients, int64_t *rows, rgm_state_reader *reader,
                              const rgmi_tables *tables)
{
    for (int64_t i = 0; i < tables->parameters; i++) {
        int64_t t = tables->of[i];
        const uint8_t *data;

        if (gradients[i] == NULL)
            continue;
        if (t >= 0) {
            RGM_TRY(get_table_gradient(gradients[i], rows, reader, &tables->items[t]));
            continue;
        }
        RGM_TRY(get_exactly(&data, reader, (int64_t)rgm_tensor_bytes(gradients[i])));
        memcpy(rgm_tensor_data(gradients[i]), data, rgm_tensor_bytes(gradients[i]));
    }
    return RGM_OK;
}

/* ---- states -------------------------------------------------------------------------------- */

rgm_status rgmi_put_states(rgm_text *out, const rgm_parameters *parameters,
                           const rgmi_tables *tables, rgm_tensor *const *before)
{
    for (int64_t k = 0; k < tables->state_count; k++) {
        const rgm_tensor *now = rgm_parameters_read(parameters, tables->states[k]);

        RGM_TRY(rgm_state_put_bytes(out, rgm_tensor_data(before[k]),
                                    (int64_t)rgm_tensor_bytes(before[k])));
        RGM_TRY(rgm_state_put_bytes(out, rgm_tensor_data(now), (int64_t)rgm_tensor_bytes(now)));
    }
    return RGM_OK;
}

static void move_by(rgm_tensor *state, const uint8_t *before, const uint8_t *after)
{
    for (int64_t i = 0; i < rgm_tensor_count(state); i++) {
        float a, b;
        double x, y;

        if (rgm_tensor_dtype(state) == RGM_F32) {
            memcpy(&a, before + i * (int64_t)sizeof a, sizeof a);
            memcpy(&b, after + i * (int64_t)sizeof b, sizeof b);
            rgm_tensor_f32(state)[i] += b - a;
        } else {
            memcpy(&x, before + i * (int64_t)sizeof x, sizeof x);
            memcpy(&y, after + i * (int64_t)sizeof y, sizeof y);
            rgm_tensor_f64(state)[i] += y - x;
        }
    }
}

rgm_status rgmi_get_states(rgm_parameters *parameters, rgm_state_reader *reader,
                           const rgmi_tables *tables)
{
    rgm_state_reader look = *reader;
    const uint8_t *before, *after;

    for (int64_t k = 0; k < tables->state_count; k++) {
        int64_t size =
            (int64_t)rgm_tensor_bytes(rgm_parameters_form(parameters, tables->states[k]));

        RGM_TRY(get_exactly(&before, &look, size));
        RGM_TRY(get_exactly(&after, &look, size));
    }
    for (int64_t k = 0; k < tables->state_count; k++) {
        rgm_tensor *state = rgm_parameters_tensor(parameters, tables->states[k]);
        int64_t size = (int64_t)rgm_tensor_bytes(state);

        (void)get_exactly(&before, reader, size);
        (void)get_exactly(&after, reader, size);
        if (memcmp(rgm_tensor_data(state), before, (size_t)size) == 0)
            memcpy(rgm_tensor_data(state), after, (size_t)size);
        else
            move_by(state, before, after);
    }
    rgm_parameters_touch(parameters);
    return RGM_OK;
}

/* ---- weights ------------------------------------------------------------------------------- */

rgm_status rgmi_put_weights(rgm_text *out, int64_t *rows, const rgm_parameters *parameters,
                            const rgmi_tables *tables, bool whole, rgm_state_reader *wanted)
{
    for (int64_t i = 0; i < tables->parameters && whole; i++) {
        const rgm_tensor *w = rgm_parameters_read(parameters, i);

        if (tables->of[i] < 0)
            RGM_TRY(rgm_state_put_bytes(out, rgm_tensor_data(w), (int64_t)rgm_tensor_bytes(w)));
    }
    for (int64_t t = 0; t < tables->count; t++) {
        const rgmi_row_table *table = &tables->items[t];
        const char *data = rgm_tensor_data(rgm_parameters_read(parameters, table->parameter));
        const int32_t *numbers;
        int64_t count;
        char *to;

        RGM_TRY(rgmi_get_rows(&numbers, &count, wanted, table->rows));
        RGM_TRY(room(&to, out, count * table->row_bytes));
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * table->row_bytes, data + row_at(numbers, i) * table->row_bytes,
                   (size_t)table->row_bytes);
        *rows += count;
    }
    return RGM_OK;
}

rgm_status rgmi_get_weights(rgm_parameters *parameters, rgm_state_reader *reader,
                            const rgmi_tables *tables, bool whole, const rgmi_row_set *rows,
                            const int64_t *first)
{
    const uint8_t *data;

    for (int64_t i = 0; i < tables->parameters && whole; i++) {
        rgm_tensor *w = rgm_parameters_tensor(parameters, i);

        if (tables->of[i] >= 0)
            continue;
        RGM_TRY(get_exactly(&data, reader, (int64_t)rgm_tensor_bytes(w)));
        memcpy(rgm_tensor_data(w), data, rgm_tensor_bytes(w));
    }
    for (int64_t t = 0; t < tables->count; t++) {
        const rgmi_row_table *table = &tables->items[t];
        char *to = rgm_tensor_data(rgm_parameters_tensor(parameters, table->parameter));
        int64_t count = rows[t].count - first[t];

        RGM_TRY(get_exactly(&data, reader, count * table->row_bytes));
        for (int64_t i = 0; i < count; i++)
            memcpy(to + rows[t].items[first[t] + i] * table->row_bytes, data + i * table->row_bytes,
                   (size_t)table->row_bytes);
    }
    rgm_parameters_touch(parameters);
    return reader->at == reader->size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "a message has bytes behind its weights");
}

/* ---- who they are -------------------------------------------------------------------------- */

void rgmi_where_am_i(rgmi_whereabouts *out)
{
    struct stat space;

    *out = (rgmi_whereabouts){.host = "?"};
    (void)gethostname(out->host, sizeof out->host - 1);
    if (stat("/proc/self/ns/pid", &space) == 0)
        out->space = (int64_t)space.st_ino;
}

rgm_status rgmi_introduce(rgm_text *out, const rgm_trainer *trainer, const char *about)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(trainer);
    char shape[128];
    uint64_t recipe;

    RGM_TRY(rgm_trainer_hash_recipe(&recipe, trainer, RGM_TRAIN));
    RGM_TRY(rgm_text_printf(out, "Regimen: %s\n", RGM_VERSION));
    RGM_TRY(rgm_text_printf(out, "%s", about != NULL ? about : ""));
    RGM_TRY(rgm_text_printf(out, "batches of a pass: %lld\nhow they are made: %016" PRIx64 "\n",
                            (long long)rgm_trainer_batches(trainer, RGM_TRAIN), recipe));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const rgm_tensor *w = rgm_parameters_form(parameters, i);
        int64_t at = 0;

        shape[0] = '\0';
        for (int k = 0; k < rgm_tensor_rank(w) && at < 100; k++)
            at += snprintf(shape + at, sizeof shape - (size_t)at, "%s%lld", k > 0 ? "," : "",
                           (long long)rgm_tensor_shape(w)[k]);
        RGM_TRY(rgm_text_printf(out, "parameter %s: %s[%s]\n", rgm_parameters_name(parameters, i),
                                rgm_dtype_name(rgm_tensor_dtype(w)), shape));
    }
    return RGM_OK;
}

rgm_status rgmi_compare(const char *server, const char *worker)
{
    while (*server != '\0' || *worker != '\0') {
        size_t a = strcspn(server, "\n"), b = strcspn(worker, "\n");

        if (a != b || memcmp(server, worker, a) != 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "this worker's experiment is not the server's: it has '%.*s', the "
                            "server '%.*s'",
                            (int)b, b > 0 ? worker : "", (int)a, a > 0 ? server : "");
        server += a + (server[a] == '\n');
        worker += b + (worker[b] == '\n');
    }
    return RGM_OK;
}
