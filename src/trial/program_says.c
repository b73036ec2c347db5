/*
 * A line that a program says, read: everything about it that can be wrong without knowing where the
 * trial stands.
 */
#include "program_parts.h"

#include <stdio.h>
#include <string.h>

#define MOST_STEPS (INT64_C(1) << 53)

static const struct {
    const char *name, *form;
    bool has_step, has_metrics;
} kinds[] = {
    [RGMI_SAYS_NEXT] = {"next", "{\"type\": \"next\"}", false, false},
    [RGMI_SAYS_REPORT] = {"report",
                          "{\"type\": \"report\", \"step\": 4, \"metrics\": {\"loss\": 0.5}}", true,
                          true},
    [RGMI_SAYS_VALIDATION] = {"validation",
                              "{\"type\": \"validation\", \"step\": 4, \"metrics\": "
                              "{\"accuracy\": 0.9}}",
                              true, true},
    [RGMI_SAYS_CHECKPOINT] = {"checkpoint", "{\"type\": \"checkpoint\", \"step\": 4}", true, false},
    [RGMI_SAYS_INVALID] = {"invalid", "{\"type\": \"invalid\", \"reason\": \"...\"}", false, false},
};
enum { KINDS = (int)(sizeof kinds / sizeof *kinds) };

static rgm_status refuse(rgmi_says_kind kind, const char *what)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "the message '%s' %s; it looks like %s", kinds[kind].name, what,
                    kinds[kind].form);
}

static rgm_status read_kind(rgmi_says_kind *out, const rgm_json *json)
{
    const char *type = rgm_json_text(rgm_json_find(json, "type"));
    const char *names[KINDS];

    for (int i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (type != NULL && strcmp(type, names[i]) == 0) {
            *out = (rgmi_says_kind)i;
            return RGM_OK;
        }
    }
    return RGM_FAIL(RGM_ERR_CONFIG, "%s%s%s%s",
                    type != NULL ? "no message has the type '" : "a message has a \"type\"",
                    type != NULL ? type : "", type != NULL ? "'" : "",
                    rgm_did_you_mean(type, names, KINDS, NULL, "there are ").text);
}

static rgm_status check_keys(const rgmi_says *s)
{
    rgm_json_entry entry = {0};

    while (rgm_json_next(&entry, s->json)) {
        char what[160];

        if (strcmp(entry.key, "type") == 0 ||
            (kinds[s->kind].has_step && strcmp(entry.key, "step") == 0) ||
            (kinds[s->kind].has_metrics && strcmp(entry.key, "metrics") == 0) ||
            (s->kind == RGMI_SAYS_INVALID && strcmp(entry.key, "reason") == 0))
            continue;
        snprintf(what, sizeof what, "has an unknown key '%.100s'", entry.key);
        return refuse(s->kind, what);
    }
    return RGM_OK;
}

static rgm_status read_metrics(rgmi_says *s)
{
    rgm_json_entry entry = {0};
    char what[200];
    double number;

    s->metrics = rgm_json_find(s->json, "metrics");
    if (s->metrics != NULL && !rgm_json_is_object(s->metrics))
        return refuse(s->kind, "has 'metrics' that are no object of numbers");
    while (rgm_json_next(&entry, s->metrics))
        if (entry.key[0] == '\0' || !rgm_json_number(&number, entry.value)) {
            snprintf(what, sizeof what, "has a metric '%.100s' that is no number", entry.key);
            return refuse(s->kind, what);
        }
    if (s->kind == RGMI_SAYS_VALIDATION && s->metrics == NULL)
        return refuse(s->kind, "has no 'metrics'");
    return RGM_OK;
}

static rgm_status read_parts(rgmi_says *s)
{
    RGM_TRY(read_kind(&s->kind, s->json));
    RGM_TRY(check_keys(s));
    if (kinds[s->kind].has_step && (!rgm_json_int(&s->step, rgm_json_find(s->json, "step")) ||
                                    s->step < 0 || s->step > MOST_STEPS))
        return refuse(s->kind, "has no 'step' that is a whole number of 0 or more: how far the "
                               "trial is trained in all");
    if (kinds[s->kind].has_metrics)
        RGM_TRY(read_metrics(s));
    s->reason = rgm_json_text(rgm_json_find(s->json, "reason"));
    return s->kind == RGMI_SAYS_INVALID && s->reason == NULL ? refuse(s->kind, "has no 'reason'")
                                                             : RGM_OK;
}

rgm_status rgmi_says_read(rgmi_says *out, const char *line)
{
    rgm_status status;

    *out = (rgmi_says){0};
    status = rgm_json_parse_relaxed(&out->json, line, (int64_t)strlen(line), "message");
    if (status == RGM_ERR_FORMAT)
        status = RGM_FAIL(RGM_ERR_CONFIG, "%s; a message is a line of JSON, such as %s",
                          rgm_error_message(), kinds[RGMI_SAYS_REPORT].form);
    RGM_TRY(status);
    if (!rgm_json_is_object(out->json))
        return RGM_FAIL(RGM_ERR_CONFIG, "a message is an object of JSON, such as %s",
                        kinds[RGMI_SAYS_REPORT].form);
    return read_parts(out);
}

void rgmi_says_clear(rgmi_says *says)
{
    rgm_json_release(says->json);
    *says = (rgmi_says){0};
}
