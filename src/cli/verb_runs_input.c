/* Of a run at work: who makes its batches, what waits, and who waits for whom. */
#include <string.h>

#include "verb_runs.h"

json_t *run_file_json(const char *folder, const char *name)
{
    char *path = NULL, *data = NULL;
    int64_t size = 0;
    json_t *json = NULL;

    if (rgm_path_join(&path, folder, name) == RGM_OK && rgm_path_exists(path) &&
        rgm_file_load(&data, &size, path, 1 << 20) == RGM_OK)
        json = json_loadb(data, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
    rgm_error_reset();
    rgm_free(data);
    rgm_free(path);
    if (json_is_object(json))
        return json;
    json_decref(json);
    return json_null();
}

static json_int_t count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double seconds_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* "node1:4711 120 batches, waited 3 s" of each that is at work. */
static rgm_status add_workers(rgm_text *out, const json_t *workers)
{
    const char *between = ":";

    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i);
        const char *state = json_string_value(json_object_get(w, "state"));
        const char *name = json_string_value(json_object_get(w, "name"));

        if (state == NULL || name == NULL || strcmp(state, "at work") != 0)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s ", between));
        RGM_TRY(rgm_text_add_visible(out, name));
        RGM_TRY(rgm_text_printf(out, " %s batches, waited %.0f s", grouped(count_of(w, "made")),
                                seconds_of(w, "waited")));
        between = ";";
    }
    return RGM_OK;
}

static int64_t count_at_work(const json_t *workers)
{
    int64_t count = 0;

    for (size_t i = 0; i < json_array_size(workers); i++) {
        const char *state = json_string_value(json_object_get(json_array_get(workers, i), "state"));
        count += state != NULL && strcmp(state, "at work") == 0;
    }
    return count;
}

rgm_status runs_input(rgm_text *out, const listed_run *run)
{
    json_t *input = NULL;
    const json_t *batches, *workers;
    const char *state;
    double seconds;
    rgm_status status = RGM_OK;

    if (run->look.state != RGM_RUN_RUNNING)
        return RGM_OK;
    input = run_file_json(run->path, "input_workers.json");
    state = json_string_value(json_object_get(input, "state"));
    if (state == NULL)
        goto done;
    batches = json_object_get(input, "batches");
    workers = json_object_get(input, "workers");
    seconds = seconds_of(input, "seconds");
    RGM_GO(rgm_text_printf(out, "input    %s ", run->name));
    RGM_GO(rgm_text_add_visible(out, state));
    RGM_GO(rgm_text_printf(
        out,
        "; %lld of %lld batches wait for it, %lld are under way; it waited %.0f %% of the time; "
        "%lld workers",
        (long long)count_of(batches, "waiting"), (long long)count_of(batches, "ahead"),
        (long long)count_of(batches, "under_way"),
        seconds > 0 ? 100 * seconds_of(input, "trainer_waited") / seconds : 0,
        (long long)count_at_work(workers)));
    RGM_GO(add_workers(out, workers));
    RGM_GO(rgm_text_printf(out, "\n"));
done:
    json_decref(input);
    return status;
}
