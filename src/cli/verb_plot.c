/* regimen plot: learning curves of runs as SVG or PNG. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <regimen/draw.h>

#include "cli.h"

#define LARGEST_SIDE 20000

/* ---- which curves -------------------------------------------------------------------------- */

/* "valid.accuracy" is one curve of a run; "accuracy" is that of every part. */
static bool is_asked_for(const rgm_curve *c, const char *name)
{
    size_t part = strlen(c->split);

    return strcmp(c->metric, name) == 0 ||
           (strncmp(c->split, name, part) == 0 && name[part] == '.' &&
            strcmp(c->metric, name + part + 1) == 0);
}

/* NULL: all that say how good the model is; the learning rate is drawn when it is asked for. */
static bool is_wanted(const rgm_curve *curve, const char *name)
{
    return name != NULL ? is_asked_for(curve, name) : strcmp(curve->metric, "learning_rate") != 0;
}

/* Add the curves of that name (NULL: see above) of every run; *found counts them. */
static rgm_status add_curves(int64_t *found, rgm_figure *f, const char *name)
{
    rgm_panel *panel;

    *found = 0;
    for (int64_t r = 0; r < f->run_count; r++)
        for (int64_t i = 0; i < f->runs[r].count; i++)
            if (is_wanted(&f->runs[r].curves[i], name)) {
                RGM_TRY(rgm_figure_add_panel(&panel, f, f->runs[r].curves[i].metric));
                RGM_TRY(rgm_panel_add_curve(panel, r, &f->runs[r].curves[i]));
                ++*found;
            }
    return RGM_OK;
}

/* "part.metric" of every curve, each once. */
static rgm_status curve_names(rgm_map *names, const rgm_figure *f)
{
    rgm_status status = RGM_OK;
    char *name = NULL;

    for (int64_t r = 0; r < f->run_count; r++)
        for (int64_t i = 0; i < f->runs[r].count; i++) {
            RGM_GO(rgm_strprintf(&name, "%s.%s", f->runs[r].curves[i].split,
                                 f->runs[r].curves[i].metric));
            RGM_GO(rgm_map_set(names, name, NULL));
            rgm_free(name);
            name = NULL;
        }
done:
    rgm_free(name);
    return status;
}

static rgm_status no_such_metric(const char *name, const rgm_figure *f)
{
    rgm_status status = RGM_OK;
    rgm_map *names = NULL;

    RGM_GO(rgm_map_create(&names));
    RGM_GO(curve_names(names, f));
    RGM_GO(unknown_metric("--metric", name, names));
done:
    rgm_map_release(names);
    return status;
}

/* A panel of one part says which. */
static rgm_status complete_title(rgm_panel *panel)
{
    char *title = NULL;

    for (int64_t i = 1; i < panel->count; i++)
        if (strcmp(panel->curves[i].curve->split, panel->curves[0].curve->split) != 0)
            return RGM_OK;
    RGM_TRY(rgm_strprintf(&title, "%s %s", panel->curves[0].curve->split, panel->title));
    rgm_free(panel->title);
    panel->title = title;
    return RGM_OK;
}

/* Panels as asked for; by default the loss, then every other metric as it comes. */
static rgm_status choose_curves(rgm_figure *f, const text_list *metrics)
{
    int64_t found;

    for (int64_t i = 0; i < metrics->count; i++) {
        RGM_TRY(add_curves(&found, f, metrics->items[i]));
        if (found == 0)
            return no_such_metric(metrics->items[i], f);
    }
    if (metrics->count == 0) {
        RGM_TRY(add_curves(&found, f, "loss"));
        RGM_TRY(add_curves(&found, f, NULL));
    }
    for (int64_t i = 0; i < f->panel_count; i++)
        RGM_TRY(complete_title(&f->panels[i]));
    return RGM_OK;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static rgm_status rename_run(rgm_run_curves *run, const char *path)
{
    char *name = NULL;

    RGM_TRY(rgm_strdup(&name, path));
    rgm_free(run->name);
    run->name = name;
    return RGM_OK;
}

/* Runs go by their folder's name, those that share one by the way to it. */
static rgm_status read_runs(rgm_figure *f, const text_list *folders)
{
    RGM_TRY(RGM_NEW(f->runs, folders->count));
    for (int64_t i = 0; i < folders->count; i++) {
        f->run_count++;
        RGM_TRY(rgm_run_curves_load(&f->runs[i], folders->items[i]));
    }
    for (int64_t i = 0; i < folders->count; i++) {
        bool shared = false;

        for (int64_t k = i + 1; k < folders->count; k++)
            if (strcmp(f->runs[i].name, f->runs[k].name) == 0) {
                RGM_TRY(rename_run(&f->runs[k], folders->items[k]));
                shared = true;
            }
        if (shared)
            RGM_TRY(rename_run(&f->runs[i], folders->items[i]));
    }
    return RGM_OK;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int read_size(rgm_figure *f, const char *size)
{
    char end;

    if (size == NULL)
        return EXIT_DONE;
    if (strlen(size) < 16 && size[0] >= '0' && size[0] <= '9' &&
        sscanf(size, "%" SCNd64 "x%" SCNd64 "%c", &f->width, &f->height, &end) == 2 &&
        f->width > 0 && f->width <= LARGEST_SIDE && f->height > 0 && f->height <= LARGEST_SIDE)
        return EXIT_DONE;
    return usage_error("--size: '%s' is not a width and a height such as 900x300, each %d at most",
                       size, LARGEST_SIDE);
}

static bool ends_in(const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');

    return dot != NULL && strcasecmp(dot, ending) == 0;
}

static rgm_status plot(rgm_figure *f, const text_list *folders, const text_list *metrics,
                       const char *path)
{
    rgm_status status = RGM_OK;
    rgm_text picture = {0};

    RGM_GO(read_runs(f, folders));
    RGM_GO(choose_curves(f, metrics));
    RGM_GO(ends_in(path, ".png") ? rgm_figure_png(&picture, f) : rgm_figure_svg(&picture, f));
    RGM_GO(rgm_file_save(path, picture.data, picture.size));
done:
    rgm_text_clear(&picture);
    return status;
}

int verb_plot(int argc, char **argv)
{
    const char *output = NULL, *size = NULL;
    text_list metrics = {.count = 0}, rest;
    rgm_figure f = {0};
    const argument arguments[] = {
        {"metric", ARG_LIST, &metrics, "NAME", "valid.accuracy, or accuracy for all parts; repeat"},
        {"o", ARG_TEXT, &output, "FILE", "FILE.svg or FILE.png; default RUN_DIR/curves.svg"},
        {"log", ARG_FLAG, &f.log, NULL, "logarithmic values; what is not above 0 is left out"},
        {"size", ARG_TEXT, &size, "WxH", "points of an SVG, pixels of a PNG"},
        {0}};
    const usage how = {
        "plot RUN_DIR... [--metric NAME]... [-o FILE.svg|FILE.png] [--log] [--size WxH]",
        "Learning curves of one run or several: a panel a metric, from each run's metrics.jsonl.\n"
        "The same runs give the same bytes of SVG.",
        arguments, 1, (int64_t)(sizeof rest.items / sizeof *rest.items)};
    rgm_status status;
    char *path = NULL;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if ((code = read_size(&f, size)) != EXIT_DONE)
        return code;
    if (output != NULL && !ends_in(output, ".svg") && !ends_in(output, ".png"))
        return usage_error("-o: '%s' ends in neither .svg nor .png", output);
    status = output != NULL ? rgm_strdup(&path, output)
                            : rgm_path_join(&path, rest.items[0], "curves.svg");
    if (status == RGM_OK)
        status = plot(&f, &rest, &metrics, path);
    if (status == RGM_OK)
        printf("%-8s %s\n", "plot", path);
    code = status == RGM_OK ? print_text("") : report(status);
    rgm_figure_clear(&f);
    rgm_free(path);
    return code;
}
