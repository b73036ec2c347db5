/*
 * A search file: a document with a searcher. Its own sections are read and taken out; what is left
 * is checked by its subject, as the documents of some points.
 */
#include <stdio.h>
#include <string.h>

#include "search_file_internal.h"

/* Points of the space whose documents are checked when the file is read. To make one takes the
 * square of its values: of some thousand values fewer points, so that nobody waits for a second. */
enum { POINTS = 16, MOST_VALUES = 16000 };

bool rgm_search_file_is_one(const rgm_yaml *merged)
{
    static const char *const sections[] = {"searcher", "hyperparameters", "entrypoint"};
    const rgm_yaml_node *root = rgm_yaml_root(merged);

    for (size_t i = 0; i < sizeof sections / sizeof *sections && root->kind == RGM_YAML_MAP; i++)
        if (rgm_yaml_find(root, sections[i]) != NULL)
            return true;
    return false;
}

/* ---- space and searcher --------------------------------------------------------------------- */

/* "accuracy" is validation's. */
static rgm_status full_metric(const char **out, rgm_search_file *file, const char *name)
{
    char *full = NULL;

    if (strchr(name, '.') != NULL)
        *out = rgm_arena_strdup(file->arena, name);
    else {
        RGM_TRY(rgm_strprintf(&full, "valid.%s", name));
        *out = rgm_arena_strdup(file->arena, full);
        rgm_free(full);
    }
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a metric's name");
}

static const rgm_search_rows *rows_of(const rgm_search_file *file)
{
    return file->has_subject ? file->subject.rows : NULL;
}

static rgm_status take_objectives(rgm_search_file *file, const rgm_objective *objectives,
                                  int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        file->objectives[i] = objectives[i];
        RGM_TRY(full_metric(&file->objectives[i].metric, file, objectives[i].metric));
    }
    file->objective_count = count;
    if (count == 0)
        return RGM_OK;
    file->smaller_is_better = file->objectives[0].smaller_is_better;
    return rgm_strdup(&file->metric, file->objectives[0].metric);
}

/* What any searcher's section says: its metrics, and mostly a length. */
static rgm_status glance_at_searcher(rgm_search_file *file)
{
    const rgm_yaml_node *section = file->nodes.searcher, *length;
    rgm_objective objectives[RGM_MAX_OBJECTIVES];
    int64_t count;

    RGM_TRY(rgm_objectives_read(objectives, &count, section, file->arena));
    length = rgm_yaml_find(section, "max_length");
    if (length == NULL)
        length = rgm_yaml_find(section, "max_steps");
    if (length != NULL)
        RGM_TRY(rgm_length_read(&file->max_length, length, "searcher.max_length"));
    return take_objectives(file, objectives, count);
}

/* What of the searcher the file's other parts need. */
static rgm_status look_at_searcher(rgm_search_file *file, rgmi_faults *mistakes)
{
    rgm_searcher *searcher = NULL;
    const rgm_objective *objectives;
    rgm_status status = RGM_OK;
    int64_t count;

    if (file->nodes.searcher == NULL)
        return rgmi_faults_note(
            mistakes, rgm_yaml_fail(rgm_yaml_root(file->merged),
                                    "the section 'searcher' is missing: {name: random, metric: "
                                    "valid.loss, max_trials: 10, max_length: 5}, say"));
    status = rgmi_searcher_read(&searcher, file->nodes.searcher, file->space, 0, rows_of(file),
                                file->reading != RGMI_OF_NEW, file->tried);
    if (status == RGM_ERR_CONFIG && file->reading == RGMI_OF_GLANCE) {
        rgm_error_reset();
        status = glance_at_searcher(file);
    }
    if (status != RGM_OK)
        return rgmi_faults_note(mistakes, status);
    if (searcher == NULL)
        return RGM_OK;
    file->max_length = rgm_searcher_max_length(searcher);
    file->most_points = searcher->most_points;
    count = rgm_searcher_objectives(&objectives, searcher);
    status = take_objectives(file, objectives, count);
    rgm_searcher_release(searcher);
    return status;
}

/* ---- hyperparameters against the subject ---------------------------------------------------- */

/* A hyperparameter is a key of a section. */
static rgm_status check_sections(const rgm_search_file *file, rgmi_faults *mistakes)
{
    const char *const *names = file->subject.sections;
    int64_t count = rgm_space_count(file->space), sections = 0;

    while (names[sections] != NULL)
        sections++;
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_space_at(file->space, i)->name;
        size_t size = strcspn(name, ".");
        char section[128];
        int64_t k = 0;

        snprintf(section, sizeof section, "%.*s", (int)size, name);
        while (k < sections && strcmp(section, names[k]) != 0)
            k++;
        if (k == sections)
            RGM_TRY(rgmi_faults_note(
                mistakes,
                RGM_FAIL(RGM_ERR_CONFIG,
                         "%s: the hyperparameter '%s' is no key of the experiment: its first part "
                         "is a section%s",
                         file->path, name,
                         rgm_did_you_mean(section, names, sections, NULL, "there are ").text)));
    }
    return RGM_OK;
}

static int64_t points_to_check(int64_t values)
{
    return values * POINTS <= MOST_VALUES ? POINTS
           : values < MOST_VALUES         ? MOST_VALUES / values
                                          : 1;
}

/* The documents of some points. Without a subject, and where hooks say what is trained, there is
 * nothing in one that could be checked: that it can be had is all. */
static rgm_status check_points(const rgm_search_file *file, rgmi_faults *mistakes)
{
    int64_t before = mistakes->count;
    bool checks = file->has_subject && !rgm_search_file_is_own(file);
    int64_t points = checks ? points_to_check(rgm_space_count(file->space)) : 1;
    rgm_hyper_value *values = NULL;
    rgm_mt19937 random;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(values, rgm_space_count(file->space)));
    rgm_mt19937_seed(&random, 0);
    for (int64_t i = 0; i < points && mistakes->count == before; i++) {
        rgm_yaml *document = NULL;

        status = rgm_space_draw(values, file->space, &random);
        if (status == RGM_OK)
            status = rgm_search_file_point(&document, file, values, 0);
        if (status == RGM_OK && checks)
            status = file->subject.check(file->path, document, file->subject.payload);
        rgm_yaml_release(document);
        if (status != RGM_OK)
            RGM_GO(rgmi_faults_note(mistakes, status));
    }
done:
    rgm_free(values);
    return status;
}

/* Each period is a number of batches, so that no trial finds out. */
static rgm_status check_lengths(const rgm_search_file *file, rgmi_faults *mistakes)
{
    const rgm_length lengths[] = {file->options.min_validation_period,
                                  file->options.min_checkpoint_period, file->max_length};
    rgm_hyper_value *values = NULL;
    rgm_mt19937 random;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(values, rgm_space_count(file->space)));
    rgm_mt19937_seed(&random, 0);
    status = rgm_space_draw(values, file->space, &random);
    if (status != RGM_OK) {
        status = rgmi_faults_note(mistakes, status);
        goto done;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t before = mistakes->count;
        rgm_batches batches;

        RGM_GO(rgmi_faults_note(mistakes,
                                rgm_search_file_batches(&batches, file, values, lengths[i])));
        if (mistakes->count > before) /* the others would say the same */
            break;
    }
done:
    rgm_free(values);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Each is looked up in the file again and again. */
enum { MOST_HYPERPARAMETERS = 10000 };

static rgm_status check_space(rgm_search_file *file, rgmi_faults *mistakes)
{
    rgm_status status =
        rgm_space_read(&file->space, file->nodes.hyperparameters, file->nodes.constraints);
    int64_t before;

    if (status != RGM_OK)
        return rgmi_faults_note(mistakes, status);
    if (rgm_space_count(file->space) > MOST_HYPERPARAMETERS)
        return rgmi_faults_note(mistakes, rgm_yaml_fail(file->nodes.hyperparameters,
                                                        "%lld hyperparameters; %d are the most",
                                                        (long long)rgm_space_count(file->space),
                                                        MOST_HYPERPARAMETERS));
    RGM_TRY(look_at_searcher(file, mistakes));
    before = mistakes->count;
    RGM_TRY(rgmi_faults_note(mistakes, rgmi_search_file_check_devices(file)));
    if (file->has_subject && !rgm_search_file_is_own(file))
        RGM_TRY(check_sections(file, mistakes));
    if (!rgm_search_file_is_own(file)) /* there names are free */
        RGM_TRY(rgmi_search_file_check_overruled(file, mistakes));
    RGM_TRY(rgmi_search_command_check(file, mistakes));
    if (mistakes->count == before)
        RGM_TRY(check_lengths(file, mistakes));
    return mistakes->count == before ? check_points(file, mistakes) : RGM_OK;
}

static rgm_status name_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    return rgm_strndup(out, name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
}

/* file->merged is there. */
static rgm_status read_file(rgm_search_file *file, rgm_text *told)
{
    rgmi_faults mistakes = {0};
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(name_of(&file->name, file->path));
    RGM_GO(rgm_arena_create(&file->arena));
    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(file->merged)));
    file->text = text.data;
    text = (rgm_text){0};
    RGM_GO(rgm_yaml_parse(&file->left, "", 0, file->path));
    RGM_GO(rgm_yaml_merge(file->left, file->merged));
    if (!rgm_search_file_is_one(file->merged))
        RGM_GO(rgm_yaml_fail(rgm_yaml_root(file->merged),
                             "this is no search: it has neither 'searcher' nor 'hyperparameters'; "
                             "regimen run %s trains it once",
                             file->path));
    RGM_GO(rgmi_search_options_read(file, &mistakes));
    RGM_GO(check_space(file, &mistakes));
    RGM_GO(rgmi_faults_tell(told, &mistakes));
done:
    rgmi_faults_clear(&mistakes);
    rgm_text_clear(&text);
    return status;
}

static rgm_status begin(rgm_search_file **out, const char *name, const rgm_search_subject *subject)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(file, 1));
    file->references = 1;
    file->most_points = INT64_MAX;
    file->has_subject = subject != NULL;
    if (subject != NULL)
        file->subject = *subject;
    RGM_GO(rgm_strdup(&file->path, name));
    *out = file;
    file = NULL;
done:
    rgm_search_file_release(file);
    return status;
}

rgm_status rgm_search_file_load(rgm_search_file **out, rgm_text *mistakes, const char *name,
                                const rgm_yaml *merged, const rgm_search_subject *subject)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;

    *out = NULL;
    RGM_GO(begin(&file, name, subject));
    RGM_GO(rgm_yaml_parse(&file->merged, "", 0, file->path));
    RGM_GO(rgm_yaml_merge(file->merged, merged));
    RGM_GO(read_file(file, mistakes));
    RGM_GO(rgm_search_file_check_points(file));
    *out = file;
    file = NULL;
done:
    rgm_search_file_release(file);
    return status;
}

static rgm_status parse(rgm_search_file **out, rgm_text *mistakes, const char *text, int64_t size,
                        const char *name, const rgm_search_subject *subject, rgmi_reading reading,
                        int64_t tried)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;

    *out = NULL;
    RGM_GO(begin(&file, name, subject));
    file->reading = reading;
    file->tried = tried;
    RGM_GO(rgm_yaml_parse(&file->merged, text, size, file->path));
    RGM_GO(read_file(file, mistakes));
    *out = file;
    file = NULL;
done:
    rgm_search_file_release(file);
    return status;
}

rgm_status rgm_search_file_parse(rgm_search_file **out, rgm_text *mistakes, const char *text,
                                 int64_t size, const char *name, const rgm_search_subject *subject)
{
    return parse(out, mistakes, text, size, name, subject, RGMI_OF_NEW, 0);
}

rgm_status rgm_search_file_parse_changed(rgm_search_file **out, rgm_text *mistakes,
                                         const char *text, int64_t size, const char *name,
                                         const rgm_search_subject *subject,
                                         const rgm_searcher *before)
{
    return parse(out, mistakes, text, size, name, subject, RGMI_OF_NEW, before->points_used);
}

rgm_status rgm_search_file_parse_kept(rgm_search_file **out, rgm_text *mistakes, const char *text,
                                      int64_t size, const char *name,
                                      const rgm_search_subject *subject)
{
    return parse(out, mistakes, text, size, name, subject, RGMI_OF_KEPT, INT64_MAX);
}

rgm_status rgm_search_file_glance(rgm_search_file **out, const char *text, int64_t size,
                                  const char *name)
{
    return parse(out, NULL, text, size, name, NULL, RGMI_OF_GLANCE, INT64_MAX);
}

rgm_status rgm_search_file_check_points(const rgm_search_file *file)
{
    const rgm_yaml_node *points = rgm_yaml_find(file->nodes.searcher, "points");
    int64_t most = file->most_points;

    if (points == NULL || points->count <= most)
        return RGM_OK;
    if (most == 0)
        return rgm_yaml_fail(points, "'searcher.points' would not be tried: the searcher's program "
                                     "says which points are");
    return rgm_yaml_fail(points,
                         "'searcher.points' has %lld points, and the search %lld trial%s: the last "
                         "%lld would not be tried; raise the number of trials, or leave them out",
                         (long long)points->count, (long long)most, most == 1 ? "" : "s",
                         (long long)(points->count - most));
}

rgm_search_file *rgm_search_file_retain(rgm_search_file *file)
{
    file->references++;
    return file;
}

void rgm_search_file_release(rgm_search_file *file)
{
    if (file == NULL || --file->references > 0)
        return;
    rgm_space_release(file->space);
    rgm_yaml_release(file->left);
    rgm_yaml_release(file->merged);
    rgm_arena_release(file->arena);
    rgm_free(file->metric);
    rgm_free(file->text);
    rgm_free(file->name);
    rgm_free(file->path);
    rgm_free(file);
}

/* ---- what can be asked ---------------------------------------------------------------------- */

const char *rgm_search_file_path(const rgm_search_file *file)
{
    return file->path;
}

const rgm_search_subject *rgm_search_file_subject(const rgm_search_file *file)
{
    return file->has_subject ? &file->subject : NULL;
}

const char *rgm_search_file_name(const rgm_search_file *file)
{
    return file->name;
}

const char *rgm_search_file_text(const rgm_search_file *file)
{
    return file->text;
}

const rgm_search_settings *rgm_search_file_settings(const rgm_search_file *file)
{
    return &file->options;
}

rgm_space *rgm_search_file_space(const rgm_search_file *file)
{
    return file->space;
}

const rgm_yaml_node *rgm_search_file_section(const rgm_search_file *file, const char *name)
{
    return rgm_yaml_find(rgm_yaml_root(file->merged), name);
}

int64_t rgm_search_file_objectives(const rgm_objective **objectives, const rgm_search_file *file)
{
    *objectives = file->objectives;
    return file->objective_count;
}

rgm_status rgm_search_file_searcher(rgm_searcher **out, const rgm_search_file *file, uint32_t seed,
                                    const rgm_search_rows *own)
{
    return rgmi_searcher_read(out, file->nodes.searcher, file->space, seed,
                              own != NULL ? own : rows_of(file), true, INT64_MAX);
}
