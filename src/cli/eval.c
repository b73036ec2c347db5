/* regimen eval: metrics of a run folder's weights. */
#include <stdio.h>

#include "cli.h"

static int evaluate(session *s, const char *part, bool json)
{
    const rgm_logs *values;
    rgm_mode mode;
    rgm_status status = mode_by_name(&mode, part);

    if (status == RGM_OK)
        status = rgm_trainer_evaluate(rgm_run_trainer(s->run), mode, RGM_TO_END, &values);
    if (status != RGM_OK)
        return report(status);
    if (json)
        return print_json(json_pack("{s:s, s:o}", "part", part, "metrics", metrics_json(values)));
    printf("%s", part);
    for (int64_t i = 0; i < values->count; i++)
        printf(" %s %.4f", values->items[i].name, values->items[i].value);
    return print_text("\n");
}

int verb_eval(int argc, char **argv)
{
    const char *part = "test";
    text_list sets = {.count = 0}, rest;
    bool json = false, last = false;
    const argument arguments[] = {
        {"part", ARG_TEXT, &part, "NAME", "train, valid or test (default)"},
        {"last", ARG_FLAG, &last, NULL, "the newest weights, not the best"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {"json", ARG_FLAG, &json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {"eval RUN_DIR [--part NAME] [--last] [--set KEY=VALUE]... [--json]",
                       "Metrics of a run folder's best weights on one part of its data.", arguments,
                       1, 1};
    session s;
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    status = session_open(&s, rest.items[0], &sets, last);
    code = status == RGM_OK ? evaluate(&s, part, json) : report(status);
    session_close(&s);
    return code;
}
