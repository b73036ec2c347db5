/* One run as a row: what its folder tells, packed into one block of memory that never changes. */
#include "folder_file.h"
#include "index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKED_AT_ONCE = 16 << 20 };

const char *const rgmi_run_kinds[] = {"run", "trial", "experiment", NULL};

void rgmi_run_id_print(char hex[17], uint64_t id)
{
    snprintf(hex, 17, "%016" PRIx64, id);
}

bool rgmi_run_id_read(uint64_t *id, const char *hex)
{
    if (hex == NULL || strlen(hex) != 16 || strspn(hex, "0123456789abcdef") != 16)
        return false;
    *id = strtoull(hex, NULL, 16);
    return true;
}

/* ---- names of columns ---------------------------------------------------------------------- */

rgm_status rgmi_keys_open(rgmi_keys *keys)
{
    pthread_mutex_init(&keys->lock, NULL);
    return rgm_map_create(&keys->numbers);
}

void rgmi_keys_close(rgmi_keys *keys)
{
    rgm_map_release(keys->numbers);
    pthread_mutex_destroy(&keys->lock);
}

/* The map's values are numbers from 1, its order is theirs. */
static int32_t find_key(const rgmi_keys *keys, const char *name)
{
    return (int32_t)(intptr_t)rgm_map_get(keys->numbers, name) - 1;
}

rgm_status rgmi_keys_add(int32_t *key, rgmi_keys *keys, const char *name)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&keys->lock);
    *key = find_key(keys, name);
    if (*key < 0 && rgm_map_count(keys->numbers) < RGMI_MOST_KEYS) {
        int64_t number = rgm_map_count(keys->numbers) + 1;

        status = rgm_map_set(keys->numbers, name, (void *)(intptr_t)number);
        if (status == RGM_OK)
            *key = (int32_t)number - 1;
    }
    pthread_mutex_unlock(&keys->lock);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

int32_t rgmi_keys_find(rgmi_keys *keys, const char *name)
{
    int32_t key;

    pthread_mutex_lock(&keys->lock);
    key = find_key(keys, name);
    pthread_mutex_unlock(&keys->lock);
    return key;
}

const char *rgmi_keys_name(rgmi_keys *keys, int32_t key)
{
    const char *name;

    pthread_mutex_lock(&keys->lock);
    name = rgm_map_key(keys->numbers, key);
    pthread_mutex_unlock(&keys->lock);
    return name;
}

int64_t rgmi_keys_count(rgmi_keys *keys)
{
    int64_t count;

    pthread_mutex_lock(&keys->lock);
    count = rgm_map_count(keys->numbers);
    pthread_mutex_unlock(&keys->lock);
    return count;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text)
{
    size_t size = text_size(text);
    char *copy = *at;

    if (text == NULL)
        return NULL;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

rgm_status rgmi_run_row_make(rgmi_run_row **out, const rgmi_run_row *draft)
{
    size_t size = sizeof **out + (size_t)draft->cell_count * sizeof *draft->cells;
    rgmi_run_row *row;
    rgmi_cell *cells;
    char *at;

    for (int i = 0; i < RGMI_RUN_TEXTS; i++)
        size += text_size(draft->text[i]);
    for (int64_t i = 0; i < draft->cell_count; i++)
        size += text_size(draft->cells[i].text);
    row = rgm_malloc(size);
    if (row == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a run of %zu bytes", size);
    memcpy(row, draft, sizeof *row);
    atomic_init(&row->holders, 1);
    cells = (rgmi_cell *)(row + 1);
    at = (char *)(cells + draft->cell_count);
    for (int i = 0; i < RGMI_RUN_TEXTS; i++)
        row->text[i] = put_text(&at, draft->text[i]);
    for (int64_t i = 0; i < draft->cell_count; i++) {
        cells[i] = draft->cells[i];
        cells[i].text = put_text(&at, draft->cells[i].text);
    }
    row->cells = cells;
    *out = row;
    return RGM_OK;
}

rgmi_run_row *rgmi_run_row_retain(rgmi_run_row *row)
{
    atomic_fetch_add_explicit(&row->holders, 1, memory_order_relaxed);
    return row;
}

void rgmi_run_row_release(rgmi_run_row *row)
{
    if (row != NULL && atomic_fetch_sub(&row->holders, 1) == 1)
        rgm_free(row);
}

const char *rgmi_run_row_title(const rgmi_run_row *row)
{
    return row->text[RGMI_TEXT_TITLE] != NULL ? row->text[RGMI_TEXT_TITLE]
                                              : row->text[RGMI_TEXT_NAME];
}

const rgmi_cell *rgmi_run_row_cell(const rgmi_run_row *row, int32_t key)
{
    int64_t low = 0, high = row->cell_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (row->cells[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->cell_count && row->cells[low].key == key ? &row->cells[low] : NULL;
}

rgmi_run_row rgmi_run_row_empty(rgmi_run_kind kind, uint64_t id)
{
    return (rgmi_run_row){.kind = kind,
                          .id = id,
                          .step = -1,
                          .steps = -1,
                          .epoch = -1,
                          .epochs = -1,
                          .best_step = -1,
                          .best_value = NAN,
                          .modified = NAN,
                          .started = NAN,
                          .progress = NAN,
                          .master = -1,
                          .experiment = -1,
                          .trial = -1,
                          .trials = -1};
}

/* ---- stamps -------------------------------------------------------------------------------- */

static uint64_t stamp_of(const char *path, const char *const *names, bool deep)
{
    struct stat info;
    uint64_t seen[3 * 24] = {0};
    char file[4096];
    size_t size = strlen(path), count = 0;

    if (size + 32 > sizeof file || lstat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return 0;
    memcpy(file, path, size);
    file[size] = '/';
    for (;; names++) {
        seen[count] = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
        seen[count + 1] = (uint64_t)info.st_size;
        seen[count + 2] = info.st_ino;
        count += 3;
        if (*names == NULL || count == sizeof seen / sizeof *seen)
            break;
        memcpy(file + size + 1, *names, strlen(*names) + 1);
        if (lstat(file, &info) < 0)
            memset(&info, 0, sizeof info);
    }
    return rgm_hash64(seen, count * sizeof *seen) | (deep ? 1u : 2u);
}

uint64_t rgmi_run_stamp(const char *path)
{
    /* The folder's own time tells of what is put in place by a rename: config.yaml. */
    static const char *const names[] = {"metrics.jsonl", ".lock",       "ckpt",
                                        "tags",          "result.json", NULL};

    return stamp_of(path, names, false);
}

uint64_t rgmi_run_wide_stamp(const char *path)
{
    static const char *const names[] = {"metrics.jsonl",
                                        ".lock",
                                        "ckpt",
                                        "tags",
                                        "log.txt",
                                        "trial.log",
                                        "system.jsonl",
                                        "tables.jsonl",
                                        "score_curves.jsonl",
                                        "explanations",
                                        "model.json",
                                        "profile.json",
                                        "sources.json",
                                        "export",
                                        "train",
                                        "validation",
                                        "input_workers.json",
                                        NULL};

    return stamp_of(path, names, true);
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct reading {
    rgmi_keys *keys;
    rgm_arena *arena;
    rgmi_cell *cells;
    int64_t count, capacity;
    rgm_text key;
} reading;

static rgm_status add_cell(reading *r, const char *key, const char *text, double number,
                           bool numeric)
{
    rgmi_cell cell = {.numeric = numeric, .number = number};

    if (r->count >= RGMI_MOST_CELLS)
        return RGM_OK;
    RGM_TRY(rgmi_keys_add(&cell.key, r->keys, key));
    if (cell.key < 0)
        return RGM_OK;
    if (text != NULL) {
        cell.text = rgm_arena_strdup(r->arena, text);
        if (cell.text == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the value of %s", key);
    }
    RGM_TRY(RGM_RESERVE(r->cells, r->capacity, r->count + 1));
    r->cells[r->count++] = cell;
    return RGM_OK;
}

/* A long list is cut behind a whole character, and says so. */
static rgm_status cut_value(rgm_text *value)
{
    int64_t size = RGMI_LONGEST_CELL;

    if (value->size <= size)
        return RGM_OK;
    while (size > 0 && (value->data[size] & 0xc0) == 0x80)
        size--;
    value->size = size;
    return rgm_text_add(value, "\xe2\x80\xa6", 3);
}

typedef struct flattening {
    rgm_text key, value;
    rgmi_config_value *visit;
    void *payload;
} flattening;

static rgm_status flatten(flattening *f, const rgm_yaml_node *node)
{
    int64_t size = f->key.size;

    if (node->kind == RGM_YAML_MAP && node->count > 0) {
        for (int64_t i = 0; i < node->count; i++) {
            RGM_TRY(rgm_text_printf(&f->key, "%s%s", size > 0 ? "." : "", node->items[i]->key));
            RGM_TRY(flatten(f, node->items[i]));
            f->key.size = size;
        }
        return RGM_OK;
    }
    f->value.size = 0;
    if (node->kind == RGM_YAML_SCALAR)
        RGM_TRY(rgm_text_add(&f->value, node->text, (int64_t)strlen(node->text)));
    else
        RGM_TRY(rgm_yaml_print_flow(&f->value, node, false));
    return f->visit(f->key.data != NULL ? f->key.data : "", &f->value,
                    node->kind == RGM_YAML_SCALAR && !node->quoted, f->payload);
}

rgm_status rgmi_config_each(const rgm_yaml_node *root, rgmi_config_value *visit, void *payload)
{
    flattening f = {.visit = visit, .payload = payload};
    rgm_status status = flatten(&f, root);

    rgm_text_clear(&f.key);
    rgm_text_clear(&f.value);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static rgm_status add_config(const char *key, rgm_text *value, bool plain, void *payload)
{
    reading *r = payload;
    double number = NAN;

    r->key.size = 0;
    RGM_TRY(rgm_text_printf(&r->key, "config.%s", key));
    RGM_TRY(cut_value(value));
    plain = plain && rgm_number_parse(&number, value->data);
    return add_cell(r, r->key.data, value->data, number, plain);
}

static const char *section_text(const rgm_yaml_node *root, const char *section, const char *key)
{
    const rgm_yaml_node *map = rgm_yaml_find(root, section);
    const rgm_yaml_node *node = map != NULL ? rgm_yaml_find(map, key) : NULL;

    return node != NULL && node->kind == RGM_YAML_SCALAR ? node->text : NULL;
}

static rgm_status add_metrics(reading *r, const rgm_run_look *look)
{
    for (int64_t i = 0; i < look->last_count; i++) {
        r->key.size = 0;
        RGM_TRY(rgm_text_printf(&r->key, "metric.%s", look->last[i].name));
        RGM_TRY(add_cell(r, r->key.data, NULL, look->last[i].value, true));
    }
    return RGM_OK;
}

/* A run whose files are links would show somebody's files: only what lies in the folder is read. */
rgm_status rgmi_run_find_link(const char **name, const char *path)
{
    static const char *const names[] = {"metrics.jsonl", "config.yaml", "ckpt",  "tags",
                                        ".lock",         "result.json", "title", "note.md",
                                        "archived",      NULL};
    char *file = NULL;
    struct stat info;

    *name = NULL;
    for (int i = 0; names[i] != NULL && *name == NULL; i++) {
        RGM_TRY(rgm_path_join(&file, path, names[i]));
        if (lstat(file, &info) == 0 && S_ISLNK(info.st_mode))
            *name = names[i];
        rgm_free(file);
    }
    return RGM_OK;
}

/* One tag a line; anything that is none, a line too long or one with control characters, is left
 * out. */
static rgm_status read_tags(rgm_text *out, const char *path)
{
    char *file = NULL, *data = NULL, *line, *end;
    int64_t size = 0, count = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&file, path, "tags"));
    if (!rgm_path_exists(file))
        goto done;
    status = rgm_file_load(&data, &size, file, INT64_C(64) << 10);
    if (status != RGM_OK) {
        status = status == RGM_ERR_NOMEM ? status : RGM_OK;
        goto done;
    }
    for (line = data; *line != 0 && count < RGMI_MOST_TAGS; line = end) {
        size_t length = strcspn(line, "\n");

        end = line + length + (line[length] == '\n');
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
                length = 0;
        if (length == 0 || length > RGMI_LONGEST_TAG)
            continue;
        RGM_GO(rgm_text_printf(out, "%s%.*s", count > 0 ? "\n" : "", (int)length, line));
        count++;
    }
done:
    rgm_free(data);
    rgm_free(file);
    return status;
}

/* The beginning of a text that people wrote, without control characters but line ends; what is none
 * is left out. */
static rgm_status read_words(rgm_text *out, const char *path, const char *name, int64_t most)
{
    char *data = NULL;
    int64_t size = 0, kept = 0;
    rgm_status status = rgmi_kept_load(&data, &size, path, name, RGMI_LONGEST_NOTE);

    if (status != RGM_OK) {
        rgm_error_reset();
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    }
    if (rgm_utf8_check(data, size) < 0 && (int64_t)strlen(data) == size) {
        for (int64_t i = 0; i < size; i++)
            if (((unsigned char)data[i] >= 0x20 && data[i] != 0x7f) || data[i] == '\n')
                data[kept++] = data[i];
        while (kept > 0 && data[kept - 1] == '\n')
            kept--;
        if (kept > most)
            for (kept = most; kept > 0 && (data[kept] & 0xc0) == 0x80;)
                kept--;
        status = kept > 0 ? rgm_text_add(out, data, kept) : RGM_OK;
    }
    rgm_free(data);
    return status;
}

/* What people say of a run. */
typedef struct said {
    rgm_text tags, title, note;
} said;

static rgm_status read_said(said *s, rgmi_run_row *draft, const char *path)
{
    rgmi_kept_file archived = {.fd = -1};

    RGM_TRY(read_tags(&s->tags, path));
    RGM_TRY(read_words(&s->title, path, "title", RGMI_LONGEST_TITLE));
    RGM_TRY(read_words(&s->note, path, "note.md", RGMI_NOTE_IN_ROW));
    if (s->title.data != NULL) /* a line */
        s->title.data[strcspn(s->title.data, "\n")] = 0;
    draft->text[RGMI_TEXT_TAGS] = s->tags.data;
    draft->text[RGMI_TEXT_TITLE] = s->title.data;
    draft->text[RGMI_TEXT_NOTE] = s->note.data;
    draft->archived = rgmi_kept_open(&archived, path, "archived") == RGM_OK;
    rgmi_kept_close(&archived);
    rgm_error_reset();
    return RGM_OK;
}

static void clear_said(said *s)
{
    rgm_text_clear(&s->tags);
    rgm_text_clear(&s->title);
    rgm_text_clear(&s->note);
}

/* When the run was begun: each start writes .lock and env.json anew, and copies have a new time of
 * birth, so the earliest of all that tells. */
static double time_of_start(const char *path)
{
    static const char *const names[] = {"", "/env.json", "/config.yaml", "/.lock"};
    double first = NAN;

    for (int i = 0; i < 4; i++) {
        char file[4096];
        struct statx info;
        double at;

        if ((size_t)snprintf(file, sizeof file, "%s%s", path, names[i]) >= sizeof file ||
            statx(AT_FDCWD, file, AT_SYMLINK_NOFOLLOW, STATX_MTIME | STATX_BTIME, &info) < 0)
            continue;
        if (i == 0 && (info.stx_mask & STATX_BTIME) == 0)
            continue;
        at = i == 0 ? (double)info.stx_btime.tv_sec : (double)info.stx_mtime.tv_sec;
        if (isnan(first) || at < first)
            first = at;
    }
    return first;
}

static int by_key(const void *a, const void *b)
{
    const rgmi_cell *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* The same key twice: the configuration's `a.b` and that of `b` in `a`. The first stays. */
static void sort_cells(reading *r)
{
    int64_t kept = 0;

    if (r->count > 1)
        qsort(r->cells, (size_t)r->count, sizeof *r->cells, by_key);
    for (int64_t i = 0; i < r->count; i++)
        if (kept == 0 || r->cells[kept - 1].key != r->cells[i].key)
            r->cells[kept++] = r->cells[i];
    r->count = kept;
}

static rgm_status make_linked(rgmi_run_row **out, rgmi_run_row *draft, const char *name)
{
    char *reason = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&reason, "%s is a symbolic link: links in run folders are not followed",
                         name));
    draft->state = rgm_run_state_names[RGM_RUN_DAMAGED];
    draft->text[RGMI_TEXT_REASON] = reason;
    RGM_GO(rgmi_run_row_make(out, draft));
done:
    rgm_free(reason);
    return status;
}

static double progress_of(const rgm_run_look *look)
{
    double part = NAN;

    if (look->state == RGM_RUN_FINISHED)
        return 1;
    if (look->steps > 0)
        part = (double)look->step / (double)look->steps;
    else if (look->epochs > 0)
        part = (double)look->epoch / (double)look->epochs;
    return part > 1 ? 1 : part;
}

static rgm_status make_row(rgmi_run_row **out, rgmi_run_row *draft, reading *r,
                           const rgm_run_look *look, const rgm_yaml_node *root)
{
    if (root != NULL) {
        RGM_TRY(rgmi_config_each(root, add_config, r));
        draft->text[RGMI_TEXT_TASK] = section_text(root, "task", "type");
    }
    RGM_TRY(add_metrics(r, look));
    sort_cells(r);
    draft->state = rgm_run_state_names[look->state];
    draft->text[RGMI_TEXT_MODEL] = look->model;
    draft->text[RGMI_TEXT_DESCRIPTION] = look->description;
    if (look->reason != NULL)
        draft->text[RGMI_TEXT_REASON] =
            rgmi_without_folder(look->reason, draft->text[RGMI_TEXT_PATH]);
    else if (look->state == RGM_RUN_FAILED)
        draft->text[RGMI_TEXT_REASON] = look->failure;
    draft->text[RGMI_TEXT_BEST_METRIC] = look->best_metric;
    draft->step = look->step;
    draft->epoch = look->epoch;
    draft->steps = look->steps;
    draft->epochs = look->epochs;
    draft->best_step = look->best_step;
    draft->best_value = look->best_value;
    draft->progress = progress_of(look);
    if (look->modified >= 0)
        draft->modified = (double)look->modified;
    draft->cells = r->cells;
    draft->cell_count = r->count;
    return rgmi_run_row_make(out, draft);
}

/* In pieces, so that a log of gigabytes does not keep the server from ending. */
static rgm_status check_log(rgm_run_look *look, rgm_metrics_place *place, const char *path,
                            const atomic_bool *stop)
{
    rgm_status status = RGM_END;

    while (status == RGM_END && !atomic_load(stop))
        status = rgm_run_look_check(look, place, path, CHECKED_AT_ONCE);
    return status == RGM_END ? RGM_OK : status;
}

rgm_status rgmi_run_row_read(rgmi_run_row **out, const rgmi_run_row *known, rgmi_keys *keys,
                             const atomic_bool *stop)
{
    const char *path = known->text[RGMI_TEXT_PATH], *link = NULL;
    rgmi_run_row draft = rgmi_run_row_empty(known->kind, known->id);
    reading r = {.keys = keys};
    rgm_run_look look = {0};
    rgm_yaml *config = NULL;
    said s = {0};
    rgm_status status = RGM_OK;

    for (int i = RGMI_TEXT_PATH; i <= RGMI_TEXT_FOLDER; i++)
        draft.text[i] = known->text[i];
    draft.read = true;
    draft.modified = known->modified;
    draft.master = known->master;
    draft.experiment = known->experiment;
    draft.trial = known->trial;
    draft.started = time_of_start(path);
    draft.checked = known->checked;
    RGM_GO(rgmi_run_find_link(&link, path));
    if (link != NULL) {
        status = make_linked(out, &draft, link);
        goto done;
    }
    RGM_GO(rgm_arena_create(&r.arena));
    RGM_GO(rgm_run_look_load_config(&look, &config, path, RGMI_RUN_DEFAULT_EPOCHS));
    RGM_GO(check_log(&look, &draft.checked, path, stop));
    RGM_GO(read_said(&s, &draft, path));
    RGM_GO(make_row(out, &draft, &r, &look, config != NULL ? rgm_yaml_root(config) : NULL));
done:
    clear_said(&s);
    rgm_text_clear(&r.key);
    rgm_free(r.cells);
    rgm_arena_release(r.arena);
    rgm_yaml_release(config);
    rgm_run_look_clear(&look);
    return status;
}
