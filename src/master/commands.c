/*
 * A scheduler of three commands as an engine. A job is a script beside its trial's log, which has
 * environment, folder and program in it: so no scheduler has to pass anything on, and no shell
 * reads anything but quoted words.
 */
#include "commands.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PRINTED (64 << 20)

#define RGM_OPTIONS rgmi_commands_table
#define NODE_ROW(member, text)                                                                     \
    {                                                                                              \
        .name = #member, .kind = RGM_FIELD_NODE, .offset = offsetof(rgmi_commands_table, member),  \
        .help = (text)                                                                             \
    }
const rgm_field rgmi_commands_fields[] = {
    NODE_ROW(submit, "words of the command that submits {script}"),
    NODE_ROW(look, "words of the command that prints a line for each job"),
    NODE_ROW(cancel, "words of the command that ends job {job}, or {name}"),
    RGM_TEXT_FIELD(submitted, "group 1 is the number in what submit prints"),
    RGM_TEXT_FIELD(row, "a line of look that is of a job"),
    RGM_TEXTS_FIELD(fields, "its groups: number, name, state, reason"),
    RGM_TEXT_FIELD(exit, "group 1 is an exit status in that line"),
    RGM_TEXTS_FIELD(pending, "states of jobs that wait"),
    RGM_TEXTS_FIELD(running, "states of jobs that run"),
    RGM_TEXTS_FIELD(done, "states of jobs that ended"),
    RGM_TEXTS_FIELD(failed, "states of jobs that failed"),
    RGM_TEXT_FIELD(nothing, "what look says where it fails since there is no job"),
    RGM_TEXT_FIELD(unknown, "what cancel says where it fails since the job is over"),
    RGM_TEXT_FIELD(passing, "what a command says that may work the next time"),
    {0}};
#undef RGM_OPTIONS

typedef struct commands_state {
    rgm_arena *arena; /* all texts */
    const rgmi_commands_table *table;
    rgmi_commands_options options;
    rgmi_job_tag *missing; /* [missing_count] that the last look did not list */
    int64_t missing_count, missing_capacity;
} commands_state;

void rgmi_job_name(char out[RGMI_JOB_NAME_ROOM], const rgmi_job_tag *tag)
{
    snprintf(out, RGMI_JOB_NAME_ROOM, "rgm-%.11s", tag->run);
}

/* ---- words ---------------------------------------------------------------------------------- */

typedef struct word_list {
    char **items; /* ended by NULL */
    int64_t count, capacity;
} word_list;

static void clear_words(word_list *words)
{
    for (int64_t i = 0; i < words->count; i++)
        rgm_free(words->items[i]);
    rgm_free(words->items);
}

static rgm_status add_word(word_list *words, const char *text)
{
    RGM_TRY(RGM_RESERVE(words->items, words->capacity, words->count + 2));
    RGM_TRY(rgm_strdup(&words->items[words->count], text));
    words->items[++words->count] = NULL;
    return RGM_OK;
}

/* The variable that begins at text[0], "{queue}": its name's size; 0: it is none, as in JSON. */
static size_t variable_at(const char *text)
{
    size_t size = text[0] == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

    return size > 0 && text[1 + size] == '}' ? size : 0;
}

/* What words are about. */
typedef struct words_of {
    const commands_state *state;
    const rgmi_job *job;
    const rgmi_job_request *request; /* NULL: nothing is submitted */
    const char *script;
    int depth; /* of variables in variables */
} words_of;

static const char *find_fixed(char room[64], const words_of *w, const char *name)
{
    const rgmi_commands_options *o = &w->state->options;
    const rgmi_named_text fixed[] = {
        {"queue", o->queue},
        {"account", o->account},
        {"qos", o->qos},
        {"time", o->time},
        {"memory", o->memory},
        {"script", w->script},
        {"log", w->request != NULL ? w->request->output : NULL},
        {"folder", w->request != NULL ? w->request->folder : NULL},
    };

    room[0] = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(fixed[i].name, name) == 0)
            return fixed[i].value != NULL ? fixed[i].value : "";
    if (strcmp(name, "slots") == 0 && w->request != NULL)
        snprintf(room, 64, "%" PRId64, w->request->cpus);
    else if (strcmp(name, "job") == 0 && w->job != NULL)
        snprintf(room, 64, "%" PRId64, w->job->id);
    else if (strcmp(name, "name") == 0 && w->job != NULL)
        rgmi_job_name(room, &w->job->tag);
    return room;
}

static const char *const fixed_names[] = {"name",   "job",     "slots",   "log", "script",
                                          "folder", "queue",   "account", "qos", "time",
                                          "memory", "options", NULL};

static const rgmi_named_text *find_own(const rgmi_commands_table *table, const char *name)
{
    for (int64_t i = 0; i < table->variable_count; i++)
        if (strcmp(table->variables[i].name, name) == 0)
            return &table->variables[i];
    return NULL;
}

/* *lacks: a variable of it is empty. */
static rgm_status expand(rgm_text *out, bool *lacks, const words_of *w, const char *text)
{
    while (*text != 0) {
        size_t size = variable_at(text);
        char name[64], room[64];
        const rgmi_named_text *own;

        if (size == 0 || size >= sizeof name) {
            RGM_TRY(rgm_text_add(out, text++, 1));
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)size, text + 1);
        own = find_own(w->state->table, name);
        if (own != NULL && w->depth == 0) {
            words_of inside = *w;

            inside.depth = 1;
            RGM_TRY(expand(out, lacks, &inside, own->value));
            *lacks = *lacks || own->value[0] == 0;
        } else {
            const char *value = find_fixed(room, w, name);

            *lacks = *lacks || value[0] == 0;
            RGM_TRY(rgm_text_printf(out, "%s", value));
        }
        text += size + 2;
    }
    return RGM_OK;
}

static rgm_status add_expanded(word_list *words, bool *lacks, const words_of *w, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_text word = {0};

    if (strcmp(text, "{options}") == 0) {
        for (int64_t i = 0; i < w->state->options.options.count; i++)
            RGM_TRY(add_word(words, w->state->options.options.items[i]));
        return RGM_OK;
    }
    RGM_GO(expand(&word, lacks, w, text));
    RGM_GO(add_word(words, word.data != NULL ? word.data : ""));
done:
    rgm_text_clear(&word);
    return status;
}

/* Of a command: words, and lists of words that are there together or not at all. */
static rgm_status make_words(word_list *words, const words_of *w, const rgm_yaml_node *list)
{
    for (int64_t i = 0; i < list->count; i++) {
        const rgm_yaml_node *item = list->items[i];
        int64_t before = words->count;
        bool lacks = false;

        if (item->kind == RGM_YAML_SCALAR) {
            RGM_TRY(add_expanded(words, &lacks, w, item->text));
            continue;
        }
        for (int64_t k = 0; k < item->count; k++)
            RGM_TRY(add_expanded(words, &lacks, w, item->items[k]->text));
        while (lacks && words->count > before)
            rgm_free(words->items[--words->count]);
        words->items[words->count] = NULL;
    }
    return RGM_OK;
}

static rgm_status run(rgmi_outcome *out, word_list *words, const words_of *w,
                      const rgm_yaml_node *list)
{
    double seconds = w->state->options.command_s;

    *out = (rgmi_outcome){0};
    RGM_TRY(make_words(words, w, list));
    return rgmi_command_run(out, &(rgmi_command){.argv = (const char *const *)words->items,
                                                 .max_size = MAX_PRINTED,
                                                 .seconds = seconds > 0 ? seconds : 60});
}

static bool says(const rgmi_pattern *pattern, const rgmi_outcome *out)
{
    return pattern->is_set && ((out->out.data != NULL &&
                                regexec(&pattern->compiled, out->out.data, 0, NULL, 0) == 0) ||
                               (out->error.data != NULL &&
                                regexec(&pattern->compiled, out->error.data, 0, NULL, 0) == 0));
}

static rgm_status refused(const commands_state *s, const word_list *words, const rgmi_outcome *out)
{
    return rgmi_command_fail(says(&s->table->passing_pattern, out) ? RGM_ERR_IO : RGM_ERR_CONFIG,
                             words->items[0], out);
}

/* ---- start ---------------------------------------------------------------------------------- */

static rgm_status add_quoted(rgm_text *out, const char *word)
{
    RGM_TRY(rgm_text_add(out, "'", 1));
    for (; *word != 0; word++)
        RGM_TRY(*word == '\'' ? rgm_text_add(out, "'\\''", 4) : rgm_text_add(out, word, 1));
    return rgm_text_add(out, "'", 1);
}

static rgm_status print_script(rgm_text *out, const commands_state *s,
                               const rgmi_job_request *request)
{
    const rgm_texts *setup = &s->options.setup;

    RGM_TRY(rgm_text_printf(out, "#!/bin/sh\nexec </dev/null >>"));
    RGM_TRY(add_quoted(out, request->output));
    RGM_TRY(rgm_text_printf(out, " 2>&1\ncd "));
    RGM_TRY(add_quoted(out, request->folder));
    RGM_TRY(rgm_text_printf(out, " || exit 1\n"));
    for (const char *const *v = request->environment; v != NULL && *v != NULL; v++) {
        size_t size = strcspn(*v, "=");

        RGM_TRY(rgm_text_printf(out, "export %.*s=", (int)size, *v));
        RGM_TRY(add_quoted(out, *v + size + ((*v)[size] == '=')));
        RGM_TRY(rgm_text_add(out, "\n", 1));
    }
    if (setup->count > 0)
        RGM_TRY(rgm_text_printf(out, "set -e\n"));
    for (int64_t i = 0; i < setup->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s\n", setup->items[i]));
    RGM_TRY(rgm_text_printf(out, "exec"));
    for (const char *const *word = request->argv; *word != NULL; word++) {
        RGM_TRY(rgm_text_add(out, " ", 1));
        RGM_TRY(add_quoted(out, *word));
    }
    return rgm_text_add(out, "\n", 1);
}

/* A new file, which is nobody else's from its first byte on. */
static rgm_status save_script(const char *path, const rgm_text *script)
{
    rgm_status status = RGM_OK;
    int fd;

    (void)unlink(path); /* of the trial's job before */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", path);
    RGM_GO(rgm_write_all(fd, script->data, script->size, path));
    RGM_GO(rgm_sync(fd, path)); /* another machine reads it */
done:
    close(fd);
    return status;
}

/* Beside the log. It has the token of the run, and is the user's alone. */
static rgm_status write_script(char **path, const commands_state *s,
                               const rgmi_job_request *request)
{
    const char *slash = strrchr(request->output, '/');
    rgm_status status = RGM_OK;
    rgm_text script = {0};
    char *folder = NULL;

    if (slash == NULL || request->argv[0] == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a job without a log or a program");
    RGM_GO(rgm_strndup(&folder, request->output, (size_t)(slash - request->output)));
    RGM_GO(rgm_path_join(path, folder, "job.sh"));
    RGM_GO(print_script(&script, s, request));
    RGM_GO(save_script(*path, &script));
done:
    rgm_text_clear(&script);
    rgm_free(folder);
    return status;
}

/* Where the scheduler numbers nothing, a number of our own stands for the name. */
static int64_t number_of_name(const rgmi_job_tag *tag)
{
    return (int64_t)(rgm_hash64(tag->run, strlen(tag->run)) >> 11) + 1;
}

static rgm_status read_number(int64_t *id, const commands_state *s, const rgmi_job *job,
                              const rgmi_outcome *out)
{
    const rgmi_pattern *pattern = &s->table->submitted_pattern;
    const char *said = out->out.data != NULL ? out->out.data : "";
    regmatch_t match[2];

    *id = number_of_name(&job->tag);
    if (!pattern->is_set)
        return RGM_OK;
    *id = regexec(&pattern->compiled, said, 2, match, 0) == 0 && match[1].rm_so >= 0
              ? strtoll(said + match[1].rm_so, NULL, 10)
              : 0;
    return *id > 0 ? RGM_OK
                   : RGM_FAIL(RGM_ERR_IO,
                              "%s: '%.80s' has no number of a job, by the expression 'submitted'",
                              s->table->name, said);
}

static rgm_status commands_start(void *state, int64_t *id, const rgmi_job_request *request)
{
    const commands_state *s = state;
    rgmi_job job = {.tag = request->tag};
    rgm_status status = RGM_OK;
    rgmi_outcome out = {0};
    word_list words = {0};
    char *script = NULL;

    *id = 0;
    RGM_GO(write_script(&script, s, request));
    words_of w = {.state = s, .job = &job, .request = request, .script = script};
    RGM_GO(run(&out, &words, &w, s->table->submit));
    if (out.exit_status != 0)
        RGM_GO(refused(s, &words, &out));
    RGM_GO(read_number(id, s, &job, &out));
done:
    clear_words(&words);
    rgmi_outcome_clear(&out);
    rgm_free(script);
    return status;
}

/* ---- look ----------------------------------------------------------------------------------- */

static bool is_one_of(const rgm_texts *names, const char *name)
{
    for (int64_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static rgmi_job_state state_of(const rgmi_commands_table *t, const char *name)
{
    return is_one_of(&t->pending, name)   ? RGMI_JOB_PENDING
           : is_one_of(&t->running, name) ? RGMI_JOB_RUNNING
           : is_one_of(&t->done, name)    ? RGMI_JOB_COMPLETED
           : is_one_of(&t->failed, name)  ? RGMI_JOB_FAILED
                                          : RGMI_JOB_UNKNOWN;
}

/* A line of a job. */
typedef struct job_row {
    int64_t number; /* 0: it has none */
    char name[64], state[64], reason[96];
    int64_t exit; /* 0, or what the line says */
} job_row;

static void copy_group(char *out, size_t room, const char *line, const regmatch_t *match)
{
    int size = (int)(match->rm_eo - match->rm_so);

    snprintf(out, room, "%.*s", size, line + match->rm_so);
    for (size_t end = strlen(out); end > 0 && out[end - 1] == ' ';)
        out[--end] = 0;
}

/* false: it is no job's. */
static bool read_row(job_row *out, const rgmi_commands_table *t, const char *line)
{
    regmatch_t match[RGMI_ROW_GROUPS + 1];
    char number[32];

    *out = (job_row){.number = 0};
    if (regexec(&t->row_pattern.compiled, line, RGMI_ROW_GROUPS + 1, match, 0) != 0)
        return false;
    for (int64_t i = 0; i < t->fields.count; i++) {
        const regmatch_t *m = &match[i + 1];
        const char *field = t->fields.items[i];

        if (m->rm_so < 0)
            continue;
        if (strcmp(field, "number") == 0) {
            copy_group(number, sizeof number, line, m);
            out->number = strtoll(number, NULL, 10);
        } else if (strcmp(field, "name") == 0) {
            copy_group(out->name, sizeof out->name, line, m);
        } else if (strcmp(field, "state") == 0) {
            copy_group(out->state, sizeof out->state, line, m);
        } else {
            copy_group(out->reason, sizeof out->reason, line, m);
        }
    }
    if (t->exit_pattern.is_set && regexec(&t->exit_pattern.compiled, line, 2, match, 0) == 0 &&
        match[1].rm_so >= 0)
        out->exit = strtoll(line + match[1].rm_so, NULL, 10);
    return true;
}

static bool is_of(const job_row *row, const rgmi_job *job)
{
    char name[RGMI_JOB_NAME_ROOM];

    rgmi_job_name(name, &job->tag);
    if (row->name[0] != 0)
        return strcmp(row->name, name) == 0;
    return row->number > 0 && row->number == job->id;
}

static void take_row(rgmi_job *job, const rgmi_commands_table *t, const job_row *row)
{
    job->state = state_of(t, row->state);
    if (job->state == RGMI_JOB_COMPLETED && row->exit != 0)
        job->state = RGMI_JOB_FAILED;
    if (job->id == 0)
        job->id = row->number > 0 ? row->number : number_of_name(&job->tag);
    snprintf(job->reason, sizeof job->reason, "%s", row->reason);
    if (job->state == RGMI_JOB_UNKNOWN)
        snprintf(job->reason, sizeof job->reason, "'%.40s' is no state of the table", row->state);
    else if (row->exit != 0 && row->reason[0] == 0)
        snprintf(job->reason, sizeof job->reason, "exit status %" PRId64, row->exit);
}

/* The lines of what was printed; `text` is cut into them. */
static void take_rows(rgmi_job *jobs, bool *seen, int64_t count, const rgmi_commands_table *t,
                      char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        job_row row;

        if (!read_row(&row, t, line))
            continue;
        for (int64_t i = 0; i < count; i++)
            if (is_of(&row, &jobs[i])) {
                take_row(&jobs[i], t, &row);
                seen[i] = true;
            }
    }
}

static bool was_missing(const commands_state *s, const rgmi_job *job)
{
    for (int64_t i = 0; i < s->missing_count; i++)
        if (strcmp(s->missing[i].run, job->tag.run) == 0)
            return true;
    return false;
}

/* One that is not listed may not be listed yet: twice is gone. Nobody says how it ended, so that
 * this counts as a failure, and a trial that always fails is not begun without end. */
static rgm_status take_missing(commands_state *s, rgmi_job *jobs, const bool *seen, int64_t count)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        bool before = was_missing(s, &jobs[i]);

        if (seen[i])
            continue;
        jobs[i].state = !before           ? RGMI_JOB_UNKNOWN
                        : jobs[i].id == 0 ? RGMI_JOB_GONE
                                          : RGMI_JOB_FAILED;
        snprintf(jobs[i].reason, sizeof jobs[i].reason, "%s does not list it%s", s->table->name,
                 before ? " any more" : "");
    }
    RGM_TRY(RGM_RESERVE(s->missing, s->missing_capacity, count));
    for (int64_t i = 0; i < count; i++)
        if (!seen[i])
            s->missing[kept++] = jobs[i].tag;
    s->missing_count = kept;
    return RGM_OK;
}

static rgm_status commands_poll(void *state, rgmi_job *jobs, int64_t count)
{
    commands_state *s = state;
    words_of w = {.state = s};
    rgm_status status = RGM_OK;
    rgmi_outcome out = {0};
    word_list words = {0};
    bool *seen = NULL;

    if (count == 0)
        return RGM_OK;
    RGM_GO(RGM_NEW(seen, count));
    RGM_GO(run(&out, &words, &w, s->table->look));
    if (out.exit_status != 0 && !says(&s->table->nothing_pattern, &out)) {
        status = refused(s, &words, &out);
        if (status == RGM_ERR_CONFIG) /* the jobs are as they were */
            status = RGM_ERR_IO;
        goto done;
    }
    if (out.out.size > 0)
        take_rows(jobs, seen, count, s->table, out.out.data);
    RGM_GO(take_missing(s, jobs, seen, count));
done:
    clear_words(&words);
    rgmi_outcome_clear(&out);
    rgm_free(seen);
    return status;
}

/* ---- cancel --------------------------------------------------------------------------------- */

static rgm_status commands_kill(void *state, const rgmi_job *job)
{
    const commands_state *s = state;
    words_of w = {.state = s, .job = job};
    rgm_status status = RGM_OK;
    rgmi_outcome out = {0};
    word_list words = {0};

    RGM_GO(run(&out, &words, &w, s->table->cancel));
    if (out.exit_status != 0 && !says(&s->table->unknown_pattern, &out))
        RGM_GO(refused(s, &words, &out));
done:
    clear_words(&words);
    rgmi_outcome_clear(&out);
    return status;
}

static rgm_status commands_requeue(void *state, const rgmi_job *job)
{
    (void)job;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: no command begins a job again",
                    ((const commands_state *)state)->table->name);
}

/* ---- tables --------------------------------------------------------------------------------- */

static rgm_status compile(rgmi_pattern *out, const char *text, const char *key,
                          const rgm_yaml_node *node)
{
    char why[120];
    int code;

    if (text == NULL)
        return RGM_OK;
    code = regcomp(&out->compiled, text, REG_EXTENDED | REG_NEWLINE);
    if (code != 0) {
        regerror(code, &out->compiled, why, sizeof why);
        return rgm_yaml_fail(node, "'%s' is no regular expression: %s: %s", key, why, text);
    }
    out->is_set = true;
    return RGM_OK;
}

static rgm_status check_variables(const rgmi_commands_table *t, const rgm_yaml_node *word)
{
    const char *names[64];
    int64_t count = 0;

    if (word->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(word, "a command is a list of words, and of lists of words");
    for (const char *text = word->text; *text != 0; text++) {
        size_t size = variable_at(text);
        char name[64];
        bool is_known = false;

        if (size == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)size, text + 1);
        for (int i = 0; fixed_names[i] != NULL; i++)
            is_known = is_known || strcmp(fixed_names[i], name) == 0;
        if (is_known || find_own(t, name) != NULL)
            continue;
        for (; fixed_names[count] != NULL; count++)
            names[count] = fixed_names[count];
        return rgm_yaml_fail(word, "there is no variable {%s}%s; 'variables' gives others", name,
                             rgm_did_you_mean(name, names, count, NULL, "there are ").text);
    }
    return RGM_OK;
}

static rgm_status check_command(const rgmi_commands_table *t, const rgm_yaml_node *list,
                                const char *key, const rgm_yaml_node *node)
{
    if (list == NULL || list->kind != RGM_YAML_LIST || list->count == 0 ||
        list->items[0]->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(list != NULL ? list : node,
                             "scheduler '%s' needs '%s', a list of words: a program and what it is "
                             "told",
                             t->name, key);
    for (int64_t i = 0; i < list->count; i++) {
        const rgm_yaml_node *item = list->items[i];

        if (item->kind != RGM_YAML_LIST)
            RGM_TRY(check_variables(t, item));
        for (int64_t k = 0; item->kind == RGM_YAML_LIST && k < item->count; k++)
            RGM_TRY(check_variables(t, item->items[k]));
    }
    return RGM_OK;
}

static rgm_status check_fields(const rgmi_commands_table *t, const rgm_yaml_node *node)
{
    static const char *const known[] = {"number", "name", "state", "reason", NULL};
    bool has[4] = {false};

    for (int64_t i = 0; i < t->fields.count; i++) {
        int k = 0;

        while (known[k] != NULL && strcmp(known[k], t->fields.items[i]) != 0)
            k++;
        if (known[k] == NULL || i >= RGMI_ROW_GROUPS)
            return rgm_yaml_fail(node,
                                 "'fields' has '%s', but may have number, name, state, reason",
                                 t->fields.items[i]);
        has[k] = true;
    }
    if (!has[2] || !(has[0] || has[1]))
        return rgm_yaml_fail(node,
                             "scheduler '%s': 'fields' has no state, or neither name nor "
                             "number",
                             t->name);
    if (!has[1] && t->submitted == NULL)
        return rgm_yaml_fail(node,
                             "scheduler '%s' knows jobs by their numbers, and needs "
                             "'submitted'",
                             t->name);
    if ((size_t)t->fields.count > t->row_pattern.compiled.re_nsub)
        return rgm_yaml_fail(node, "scheduler '%s': 'row' has %zu groups for %lld fields", t->name,
                             t->row_pattern.compiled.re_nsub, (long long)t->fields.count);
    return RGM_OK;
}

rgm_status rgmi_commands_prepare(rgmi_commands_table *t, const rgm_yaml_node *node)
{
    RGM_TRY(check_command(t, t->submit, "submit", node));
    RGM_TRY(check_command(t, t->look, "look", node));
    RGM_TRY(check_command(t, t->cancel, "cancel", node));
    if (t->row == NULL)
        return rgm_yaml_fail(node, "scheduler '%s' needs 'row', an expression for a line of look",
                             t->name);
    RGM_TRY(compile(&t->submitted_pattern, t->submitted, "submitted", node));
    RGM_TRY(compile(&t->row_pattern, t->row, "row", node));
    RGM_TRY(compile(&t->exit_pattern, t->exit, "exit", node));
    RGM_TRY(compile(&t->nothing_pattern, t->nothing, "nothing", node));
    RGM_TRY(compile(&t->unknown_pattern, t->unknown, "unknown", node));
    RGM_TRY(compile(&t->passing_pattern, t->passing, "passing", node));
    return check_fields(t, node);
}

void rgmi_commands_clear(rgmi_commands_table *t)
{
    rgmi_pattern *const all[] = {&t->submitted_pattern, &t->row_pattern,     &t->exit_pattern,
                                 &t->nothing_pattern,   &t->unknown_pattern, &t->passing_pattern};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->is_set)
            regfree(&all[i]->compiled);
}

/* ---- the engine ----------------------------------------------------------------------------- */

static void commands_release(void *state)
{
    commands_state *s = state;

    if (s == NULL)
        return;
    rgm_arena_release(s->arena);
    rgm_free(s->missing);
    rgm_free(s);
}

rgm_status rgmi_commands_create(void **out, const rgmi_commands_table *table,
                                const rgmi_commands_options *options)
{
    rgm_status status = RGM_OK;
    commands_state *s = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(s, 1));
    RGM_GO(rgm_arena_create(&s->arena));
    s->table = table;
    s->options.command_s = options->command_s;
    RGM_GO(rgmi_text_keep(&s->options.queue, s->arena, options->queue));
    RGM_GO(rgmi_text_keep(&s->options.account, s->arena, options->account));
    RGM_GO(rgmi_text_keep(&s->options.qos, s->arena, options->qos));
    RGM_GO(rgmi_text_keep(&s->options.time, s->arena, options->time));
    RGM_GO(rgmi_text_keep(&s->options.memory, s->arena, options->memory));
    RGM_GO(rgmi_texts_keep(&s->options.options, s->arena, &options->options));
    RGM_GO(rgmi_texts_keep(&s->options.setup, s->arena, &options->setup));
    *out = s;
    s = NULL;
done:
    commands_release(s);
    return status;
}

/* No command asks a job to save: its trial is told by the answer to its next request. One that has
 * not begun is cancelled. */
const rgmi_engine_type rgmi_commands = {
    .name = "commands",
    .start = commands_start,
    .poll = commands_poll,
    .stop = commands_kill,
    .kill = commands_kill,
    .requeue = commands_requeue,
    .find = NULL,
    .release = commands_release,
};
