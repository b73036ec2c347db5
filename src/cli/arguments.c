/* Options by table, with the nearest name for an unknown one, and --help from the same table. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool completing;

void complete_with(const char *name, const char *word)
{
    if (strncmp(name, word, strlen(word)) == 0)
        printf("%s\n", name);
}

/* A name of one letter is a short option. */
static const char *dashes(const char *name)
{
    return name[1] != '\0' ? "--" : "-";
}

static void print_help(const usage *how)
{
    printf("usage: regimen %s\n\n%s\n", how->line, how->text);
    if (how->arguments[0].name != NULL)
        printf("\noptions:\n");
    for (const argument *a = how->arguments; a->name != NULL; a++) {
        char left[64];

        snprintf(left, sizeof left, "%s%s%s%s", dashes(a->name), a->name,
                 a->meta != NULL ? " " : "", a->meta != NULL ? a->meta : "");
        printf("  %-26s %s\n", left, a->help);
    }
}

static const argument *find(const usage *how, const char *name, size_t size)
{
    for (const argument *a = how->arguments; a->name != NULL; a++)
        if (strlen(a->name) == size && memcmp(a->name, name, size) == 0)
            return a;
    return NULL;
}

/* How far a key is from what most mean by its last word: those in few sections before others, and
 * of equals those of the sections that all experiments have. */
static int distance(const char *key, size_t length)
{
    static const char *const sections[] = {"trainer.", "model.", "optimizer.", "runtime.", "data."};
    enum { SECTIONS = sizeof sections / sizeof *sections };
    int dots = 0, section = 0;

    for (size_t i = 0; i < length; i++)
        dots += key[i] == '.';
    while (section < SECTIONS && strncmp(key, sections[section], strlen(sections[section])) != 0)
        section++;
    return dots * (SECTIONS + 1) + section;
}

/* The nearest key of experiment files that ends in a word, or is it; "" if there is none. '-' in
 * the word counts as '_'. */
static void key_named(char key[96], const char *word, size_t size)
{
    rgm_text keys = {0};
    int nearest = INT_MAX;

    key[0] = '\0';
    if (rgm_experiment_keys(&keys, NULL, NULL) != RGM_OK)
        rgm_error_reset();
    for (const char *line = keys.data; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, " \n"), at = length > size ? length - size : 0;
        bool fits = length >= size && length < 96 && (at == 0 || line[at - 1] == '.');

        for (size_t i = 0; i < size && fits; i++)
            fits = line[at + i] == (word[i] == '-' ? '_' : word[i]);
        if (fits && distance(line, length) < nearest) {
            nearest = distance(line, length);
            snprintf(key, 96, "%.*s", (int)length, line);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    rgm_text_clear(&keys);
}

/* What is a key of the file is set by --set, where the verb has that. */
static bool hint_at_set(const usage *how, const char *option)
{
    const char *word = option + 2, *equals = strchr(word, '=');
    size_t size = equals != NULL ? (size_t)(equals - word) : strlen(word);
    char key[96] = "";

    if (find(how, "set", 3) != NULL && size == 2 && strncmp(word, "lr", 2) == 0)
        snprintf(key, sizeof key, "optimizer.learning_rate"); /* as everybody calls it */
    else if (find(how, "set", 3) != NULL && size > 1)
        key_named(key, word, size);
    if (key[0] != '\0')
        usage_error("unknown option '%s'; a key of the experiment file is set by --set %s=%s",
                    option, key, equals != NULL ? equals + 1 : "VALUE");
    return key[0] != '\0';
}

static int unknown(const usage *how, const char *option)
{
    const char *names[64], *near;
    int64_t count = 0;

    if (hint_at_set(how, option))
        return EXIT_USAGE;
    for (const argument *a = how->arguments; a->name != NULL && count < 64; a++)
        names[count++] = a->name;
    near = rgm_nearest_name(option + 2, names, count);
    if (near != NULL)
        return usage_error("unknown option '%s'; did you mean '%s%s'?", option, dashes(near), near);
    return usage_error("unknown option '%s'; see regimen %.*s --help", option,
                       (int)strcspn(how->line, " "), how->line);
}

static int store_int(const argument *a, const char *text)
{
    int64_t *value = a->value;
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return usage_error("%s%s: '%s' is not a whole number", dashes(a->name), a->name, text);
    if (a->kind == ARG_COUNT && *value < 1)
        return usage_error("%s%s is %s, but must be 1 or more", dashes(a->name), a->name, text);
    return EXIT_DONE;
}

static int store(const argument *a, const char *text)
{
    char *end = NULL;

    switch (a->kind) {
    case ARG_TEXT:
        *(const char **)a->value = text;
        return EXIT_DONE;
    case ARG_INT:
    case ARG_COUNT:
        return store_int(a, text);
    case ARG_FLOAT:
        *(double *)a->value = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(*(double *)a->value))
            return usage_error("%s%s: '%s' is not a number", dashes(a->name), a->name, text);
        return EXIT_DONE;
    default: {
        text_list *list = a->value;

        if (list->count == (int64_t)(sizeof list->items / sizeof *list->items))
            return usage_error("%s%s was given more than %lld times", dashes(a->name), a->name,
                               (long long)list->count);
        list->items[list->count++] = text;
        return EXIT_DONE;
    }
    }
}

/* One option at argv[*i]; moves *i over its value. */
static int read_option(const usage *how, int argc, char **argv, int *i)
{
    const char *option = argv[*i], *equals = strchr(option, '=');
    size_t size = equals != NULL ? (size_t)(equals - option) : strlen(option);
    size_t lead = option[1] == '-' ? 2 : 1;
    const argument *a = find(how, option + lead, size - lead);

    if (a == NULL || strlen(dashes(a->name)) != lead)
        return lead == 2 ? unknown(how, option) : usage_error("unknown option '%s'", option);
    if (a->kind == ARG_FLAG) {
        if (equals != NULL)
            return usage_error("%s%s takes no value", dashes(a->name), a->name);
        *(bool *)a->value = true;
        return EXIT_DONE;
    }
    if (equals != NULL)
        return store(a, equals + 1);
    if (*i + 1 >= argc)
        return usage_error("%s%s needs a value: %s", dashes(a->name), a->name, a->meta);
    return store(a, argv[++*i]);
}

/* What the last word may become: an option; a named experiment where one may stand. Files are the
 * shell's matter. */
static void complete(const usage *how, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[argc - 1] : "", *before = argc > 2 ? argv[argc - 2] : "";
    const argument *a = before[0] == '-' ? find(how, before + strspn(before, "-"),
                                                strlen(before + strspn(before, "-")))
                                         : NULL;
    const rgm_named_experiment *named;
    int64_t count;

    if (word[0] == '-' && (a == NULL || a->kind == ARG_FLAG)) {
        for (a = how->arguments; a->name != NULL; a++) {
            char option[72];

            snprintf(option, sizeof option, "%s%s", dashes(a->name), a->name);
            complete_with(option, word);
        }
        complete_with("--help", word);
    }
    if (word[0] == '-' || strstr(how->line, "NAME|FILE") == NULL)
        return;
    named = rgm_named_experiments(&count);
    for (int64_t i = 0; i < count && (a == NULL || a->kind == ARG_FLAG); i++)
        complete_with(named[i].name, word);
}

int arguments_read(text_list *rest, const usage *how, int argc, char **argv)
{
    bool only_rest = false;

    rest->count = 0;
    if (completing) {
        complete(how, argc, argv);
        return -1;
    }
    for (int i = 1; i < argc; i++) {
        if (!only_rest && strcmp(argv[i], "--") == 0) {
            only_rest = true;
        } else if (!only_rest && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            print_help(how);
            return -1;
        } else if (!only_rest && (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "-q") == 0)) {
            verbosity = argv[i][1] == 'v' ? 1 : -1;
        } else if (!only_rest && argv[i][0] == '-' && argv[i][1] != '\0') {
            int code = read_option(how, argc, argv, &i);

            if (code != EXIT_DONE)
                return code;
        } else if (rest->count < how->most) {
            rest->items[rest->count++] = argv[i];
        } else {
            return usage_error("'%s' is one argument too many; usage: regimen %s", argv[i],
                               how->line);
        }
    }
    if (rest->count < how->least)
        return usage_error("usage: regimen %s", how->line);
    return EXIT_DONE;
}

/* ---- verbs --------------------------------------------------------------------------------- */

#define MOST_VERBS 32

void verbs_print(const verb *verbs, int64_t count)
{
    int width = 0;

    for (int64_t i = 0; i < count; i++)
        width = (int)strlen(verbs[i].name) > width ? (int)strlen(verbs[i].name) : width;
    for (int64_t i = 0; i < count; i++)
        printf("  %-*s  %s\n", width, verbs[i].name, verbs[i].help);
}

int verb_dispatch(const char *family, const char *name, const verb *verbs, int64_t count, int argc,
                  char **argv)
{
    const char *names[MOST_VERBS];
    rgm_hint hint;

    for (int64_t i = 0; i < count && i < MOST_VERBS; i++) {
        if (strcmp(name, verbs[i].name) == 0)
            return verbs[i].run(argc, argv);
        names[i] = verbs[i].name;
    }
    hint = rgm_did_you_mean(name, names, count < MOST_VERBS ? count : MOST_VERBS, family, NULL);
    if (hint.text[0] != '\0')
        return usage_error("no verb '%s%s'%s", family, name, hint.text);
    return usage_error("no verb '%s%s'; see regimen %s--help", family, name, family);
}

int verb_family(const char *family, const verb *verbs, int64_t count, int argc, char **argv)
{
    char prefix[32];

    if (completing && argc <= 2) {
        for (int64_t i = 0; i < count; i++)
            complete_with(verbs[i].name, argc == 2 ? argv[1] : "");
        return EXIT_DONE;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        printf("usage: regimen %s VERB [arguments]\n\n", family);
        verbs_print(verbs, count);
        printf("\nregimen %s VERB --help says more.\n", family);
        return argc < 2 ? EXIT_USAGE : EXIT_DONE;
    }
    snprintf(prefix, sizeof prefix, "%s ", family);
    return verb_dispatch(prefix, argv[1], verbs, count, argc - 1, argv + 1);
}

rgm_status read_number(double *out, const char *text, const char *name, bool whole)
{
    char *end;

    *out = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || (whole && !(fabs(*out) < 1e15 && *out == trunc(*out))))
        return RGM_FAIL(RGM_ERR_CONFIG, "--%s: '%s' is no %snumber", name, text,
                        whole ? "whole " : "");
    return RGM_OK;
}

rgm_status set_threads(const char *text)
{
    double number;

    if (text == NULL)
        return RGM_OK;
    RGM_TRY(read_number(&number, text, "threads", true));
    if (number < 1 || number > 1024)
        return RGM_FAIL(RGM_ERR_CONFIG, "--threads is %s, but must be in [1, 1024]", text);
    rgm_threads_set((int)number);
    return RGM_OK;
}
