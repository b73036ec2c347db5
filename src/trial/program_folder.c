/*
 * The run folder of a program's trial: what the program is told, what it measured, and its
 * checkpoints, which are folders that it has filled, with the hash of each file.
 */
#include "program_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINTS "checkpoints"
#define ASIDE       ".rolled-back"

enum { SAVED_LIMIT = 16 << 20, MOST_DEPTH = 32 };

static rgm_status checkpoint_path(char **out, const char *run_dir, int64_t step, const char *end)
{
    return rgm_strprintf(out, "%s/" CHECKPOINTS "/step-%08lld%s", run_dir, (long long)step, end);
}

/* ---- a checkpoint is what it was ------------------------------------------------------------ */

static rgm_status hash_file(char out[17], int64_t *size, const char *path)
{
    rgm_mapped_file file;

    RGM_TRY(rgm_file_map(&file, path));
    snprintf(out, 17, "%016" PRIx64, rgm_hash64(file.data, (size_t)file.size));
    *size = file.size;
    rgm_file_unmap(&file);
    return RGM_OK;
}

static rgm_status check_file(const char *folder, const rgm_json *row)
{
    const char *name = rgm_json_text(rgm_json_find(row, "path"));
    const char *hash = rgm_json_text(rgm_json_find(row, "hash"));
    rgm_status status = RGM_OK;
    char *path = NULL, found[17];
    int64_t size;

    if (name == NULL || hash == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s/" RGMI_SAVED " does not say what it has", folder);
    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(hash_file(found, &size, path));
    if (strcmp(found, hash) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s is damaged: it is not what the program saved", path));
done:
    rgm_free(path);
    return status;
}

static rgm_status load_saved(rgm_json **out, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(rgm_path_join(&path, folder, RGMI_SAVED));
    RGM_GO(rgm_file_load(&text, &size, path, SAVED_LIMIT));
    RGM_GO(rgm_json_parse(out, text, size, path));
done:
    rgm_free(path);
    rgm_free(text);
    return status;
}

/* *offset: of metrics.jsonl when it was saved. */
static rgm_status check_checkpoint(int64_t *offset, const char *folder)
{
    rgm_status status = RGM_OK;
    const rgm_json *files;
    rgm_json *saved = NULL;

    RGM_GO(load_saved(&saved, folder));
    files = rgm_json_find(saved, "files");
    if (!rgm_json_int(offset, rgm_json_find(saved, "metrics")) || *offset < 0 ||
        rgm_json_count(files) < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s/" RGMI_SAVED " is none of a checkpoint", folder));
    for (int64_t i = 0; i < rgm_json_count(files); i++)
        RGM_GO(check_file(folder, rgm_json_at(files, i)));
done:
    rgm_json_release(saved);
    return status;
}

/* Behind a rollback: later ones are of steps that are trained again. */
static rgm_status set_later_aside(const char *run_dir, int64_t at)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *folder = NULL, *from = NULL, *to = NULL;
    int64_t count = 0;

    RGM_GO(rgm_path_join(&folder, run_dir, CHECKPOINTS));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        char *end = NULL;
        long long step = strncmp(names[i], "step-", 5) == 0 ? strtoll(names[i] + 5, &end, 10) : -1;

        if (step <= at || *end != '\0')
            continue;
        rgm_free(from);
        rgm_free(to);
        from = to = NULL;
        RGM_GO(checkpoint_path(&from, run_dir, step, ""));
        RGM_GO(checkpoint_path(&to, run_dir, step, ASIDE));
        if (rgm_path_exists(to))
            RGM_GO(rgm_folder_remove(to));
        if (rename(from, to) != 0)
            RGM_GO(RGM_FAIL_SYSTEM("set aside", from));
    }
done:
    rgm_names_release(names, count);
    rgm_free(folder);
    rgm_free(from);
    rgm_free(to);
    return status;
}

/* ---- what the program reads ----------------------------------------------------------------- */

/* The longest that the searcher may ask for, for schedules; 0: not known. */
static int64_t longest(const rgm_program_setup *setup)
{
    rgm_batches batches = {0};
    double units;
    rgm_length length = rgm_search_file_units(&units, setup->file, setup->values, 0);

    if (rgm_search_file_batches(&batches, setup->file, setup->values, length) != RGM_OK)
        rgm_error_reset();
    return batches.batches;
}

static rgm_status print_trial(rgm_text *out, const rgmi_program_folder *f,
                              const rgm_program_setup *setup)
{
    rgm_json_writer w = {.out = out};
    rgm_status status = RGM_OK;
    const rgm_objective *objectives;
    rgm_text values = {0};

    RGM_GO(rgm_space_print_json(&values, rgm_search_file_space(setup->file), setup->values));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_int(&w, "experiment", setup->experiment));
    RGM_GO(rgm_json_write_int(&w, "trial", setup->trial));
    RGM_GO(rgm_json_write_int(&w, "number", setup->number));
    RGM_GO(rgm_json_write_int(&w, "seed", setup->seed));
    RGM_GO(rgm_json_write_int(&w, "threads", setup->threads));
    RGM_GO(rgm_json_write_bool(&w, "debug", rgm_search_file_settings(setup->file)->debug));
    RGM_GO(rgm_json_write_printed(&w, "hyperparameters", values.data));
    RGM_GO(rgm_json_write_int(&w, "step", setup->at_batches));
    RGM_GO(rgm_json_write_text(&w, "checkpoint", f->from));
    RGM_GO(rgm_json_write_text(&w, "save", f->save));
    RGM_GO(rgm_json_write_int(&w, "max_length", longest(setup)));
    if (rgm_search_file_objectives(&objectives, setup->file) > 0) {
        RGM_GO(rgm_json_write_text(&w, "metric", objectives[0].metric));
        RGM_GO(rgm_json_write_bool(&w, "smaller_is_better", objectives[0].smaller_is_better));
    }
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(out, "\n", 1));
done:
    rgm_text_clear(&values);
    return status;
}

static rgm_status write_trial(const rgmi_program_folder *f, const rgm_program_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(print_trial(&text, f, setup));
    RGM_GO(rgm_path_join(&path, f->run_dir, "trial.json"));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* config.yaml is a search file of this one point. */
static rgm_status enter_run(rgmi_program_folder *f, const rgm_program_setup *setup)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    rgm_yaml *point = NULL;
    rgm_text config = {0};

    RGM_GO(rgm_search_file_point(&point, setup->file, setup->values, setup->seed));
    if (setup->code != NULL)
        RGM_GO(rgm_yaml_set(point, "code_folder", "../code", "trial"));
    RGM_GO(rgm_yaml_print(&config, rgm_yaml_root(point)));
    options.config = config.data;
    options.resume = RGM_RESUME_ANY;
    options.seed = setup->seed;
    options.threads = (int)(setup->threads > 0 ? setup->threads : 1);
    RGM_GO(rgm_run_folder_open(&f->folder, f->run_dir, &options));
    f->outer = rgm_logger_enter(rgm_run_folder_logger(f->folder));
    f->entered = true;
done:
    rgm_yaml_release(point);
    rgm_text_clear(&config);
    return status;
}

static rgm_status open_metrics(rgmi_program_folder *f, int64_t offset)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, f->run_dir, "metrics.jsonl"));
    status = rgm_metrics_log_open(&f->metrics, path, offset);
    if (status == RGM_ERR_FORMAT ||
        status == RGM_ERR_NOT_FOUND) { /* worth less than a checkpoint */
        rgm_error_reset();
        RGM_GO(rgm_metrics_log_repair(&offset, path, offset));
        status = rgm_metrics_log_open(&f->metrics, path, offset);
    }
done:
    rgm_free(path);
    return status;
}

static rgm_status make_empty(const char *folder)
{
    if (rgm_path_exists(folder))
        RGM_TRY(rgm_folder_remove(folder));
    return rgm_folder_make(folder);
}

/* Its own checkpoint, or that of the trial that it begins with. */
static rgm_status find_start(rgmi_program_folder *f, int64_t *offset,
                             const rgm_program_setup *setup)
{
    int64_t others;

    if (setup->at_batches > 0) {
        RGM_TRY(checkpoint_path(&f->from, f->run_dir, setup->at_batches, ""));
        return rgmi_lost_checkpoint(check_checkpoint(offset, f->from), setup->at_batches);
    }
    if (setup->from == NULL)
        return RGM_OK;
    RGM_TRY(rgm_strdup(&f->from, setup->from));
    return rgm_error_prefix(check_checkpoint(&others, f->from), "warm start from %s", f->from);
}

rgm_status rgmi_program_folder_open(rgmi_program_folder *f, const rgm_program_setup *setup)
{
    int64_t offset = 0;

    *f = (rgmi_program_folder){0};
    RGM_TRY(rgm_strdup(&f->run_dir, setup->run_dir));
    RGM_TRY(rgm_path_join(&f->work, f->run_dir, "work"));
    RGM_TRY(rgm_path_join(&f->save, f->run_dir, CHECKPOINTS "/saving"));
    RGM_TRY(enter_run(f, setup));
    RGM_TRY(find_start(f, &offset, setup));
    RGM_TRY(set_later_aside(f->run_dir, setup->at_batches));
    RGM_TRY(open_metrics(f, offset));
    RGM_TRY(make_empty(f->save));
    RGM_TRY(rgm_folder_make(f->work));
    return write_trial(f, setup);
}

static void clear_resources(rgmi_program_folder *f)
{
    for (int64_t i = 0; i < f->resource_count; i++)
        rgm_free((char *)f->resources[i].name);
    f->resource_count = 0;
}

void rgmi_program_folder_close(rgmi_program_folder *f)
{
    rgm_metrics_log_close(f->metrics);
    if (f->entered)
        rgm_logger_enter(f->outer);
    rgm_run_folder_close(f->folder);
    clear_resources(f);
    rgm_free(f->resources);
    rgm_free(f->run_dir);
    rgm_free(f->work);
    rgm_free(f->save);
    rgm_free(f->from);
    *f = (rgmi_program_folder){0};
}

rgm_status rgmi_program_folder_log(rgmi_program_folder *f, const char *split, int64_t step,
                                   const rgm_json *metrics)
{
    rgm_status status = RGM_OK;
    rgm_named_number *numbers = NULL;
    rgm_json_entry entry = {0};
    int64_t count = 0, capacity = 0;

    while (metrics != NULL && rgm_json_next(&entry, metrics)) {
        RGM_GO(RGM_RESERVE(numbers, capacity, count + 1));
        numbers[count] = (rgm_named_number){.name = entry.key};
        rgm_json_number(&numbers[count++].value, entry.value);
    }
    if (count > 0)
        RGM_GO(rgm_metrics_log_add(f->metrics, split, step, 0, numbers, count));
done:
    rgm_free(numbers);
    return status;
}

/* ---- saving --------------------------------------------------------------------------------- */

static rgm_status sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    rgm_status status;

    if (fd < 0)
        return RGM_FAIL_SYSTEM("open", path);
    status = rgm_sync(fd, path);
    close(fd);
    return status;
}

static rgm_status add_resource(rgmi_program_folder *f, const char *name, int64_t size)
{
    char *copy;

    RGM_TRY(RGM_RESERVE(f->resources, f->resource_capacity, f->resource_count + 1));
    RGM_TRY(rgm_strdup(&copy, name));
    f->resources[f->resource_count++] = (rgm_named_number){copy, (double)size};
    return RGM_OK;
}

static rgm_status take_folder(rgmi_program_folder *f, rgm_json_writer *w, const char *folder,
                              const char *below, int depth);

static rgm_status take_entry(rgmi_program_folder *f, rgm_json_writer *w, const char *path,
                             const char *name, int depth)
{
    char hash[17], *inside;
    struct stat info;
    rgm_status status;
    int64_t size;

    if (lstat(path, &info) != 0)
        return RGM_FAIL_SYSTEM("look at", path);
    if (S_ISDIR(info.st_mode)) {
        RGM_TRY(rgm_strprintf(&inside, "%s/", name));
        status = add_resource(f, inside, 0);
        if (status == RGM_OK)
            status = take_folder(f, w, path, inside, depth + 1);
        rgm_free(inside);
        return status;
    }
    if (!S_ISREG(info.st_mode))
        return RGM_FAIL(RGM_ERR_FORMAT, "a checkpoint has files and folders, but %s is neither",
                        path);
    RGM_TRY(sync_file(path));
    RGM_TRY(hash_file(hash, &size, path));
    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "path", name));
    RGM_TRY(rgm_json_write_int(w, "size", size));
    RGM_TRY(rgm_json_write_text(w, "hash", hash));
    RGM_TRY(rgm_json_close(w));
    return add_resource(f, name, size);
}

/* below: "" or "model/". */
static rgm_status take_folder(rgmi_program_folder *f, rgm_json_writer *w, const char *folder,
                              const char *below, int depth)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL, *name = NULL;
    int64_t count = 0;

    if (depth > MOST_DEPTH)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s is more than %d folders deep", folder, (int)MOST_DEPTH);
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        rgm_free(path);
        rgm_free(name);
        path = name = NULL;
        RGM_GO(rgm_path_join(&path, folder, names[i]));
        RGM_GO(rgm_strprintf(&name, "%s%s", below, names[i]));
        if (strcmp(name, RGMI_SAVED) != 0)
            RGM_GO(take_entry(f, w, path, name, depth));
    }
    RGM_GO(rgm_folder_sync(folder));
done:
    rgm_names_release(names, count);
    rgm_free(path);
    rgm_free(name);
    return status;
}

/* regimen.json beside what the program wrote; all of it is synced. */
static rgm_status describe(rgmi_program_folder *f, int64_t step)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};
    int64_t offset;

    clear_resources(f);
    RGM_GO(rgm_metrics_log_commit(&offset, f->metrics));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_int(&w, "step", step));
    RGM_GO(rgm_json_write_int(&w, "metrics", offset));
    RGM_GO(rgm_json_open_list(&w, "files", RGM_JSON_LINES));
    RGM_GO(take_folder(f, &w, f->save, "", 0));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_json_close(&w));
    if (f->resource_count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "a checkpoint of step %lld is told, but nothing was written to %s",
                        (long long)step, f->save));
    RGM_GO(rgm_path_join(&path, f->save, RGMI_SAVED));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

rgm_status rgmi_program_folder_save(rgmi_program_folder *f, int64_t step)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *aside = NULL;

    RGM_GO(describe(f, step));
    RGM_GO(checkpoint_path(&path, f->run_dir, step, ""));
    RGM_GO(checkpoint_path(&aside, f->run_dir, step, ASIDE));
    RGM_GO(rgm_folder_publish(f->save, path));
    if (rgm_path_exists(aside))
        RGM_GO(rgm_folder_remove(aside));
    RGM_GO(make_empty(f->save)); /* of the step that was saved before, where there was one */
    snprintf(f->checkpoint, sizeof f->checkpoint, CHECKPOINTS "/step-%08lld", (long long)step);
done:
    rgm_free(path);
    rgm_free(aside);
    return status;
}
