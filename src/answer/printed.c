/*
 * Answers as JSON. A model with one output gives its value alone, one with several an object of
 * them by name; a question with several rows of an output a list of these.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer_internal.h"

/* The shortest decimal that reads back to the same float. */
static double shortest(double value)
{
    char text[40];

    for (int digits = 6; digits < 9; digits++) {
        double read;

        snprintf(text, sizeof text, "%.*g", digits, value);
        read = strtod(text, NULL);
        if ((float)read == (float)value)
            return read;
    }
    snprintf(text, sizeof text, "%.9g", value);
    return strtod(text, NULL);
}

static rgm_status print_number(rgm_text *out, const rgm_tensor *tensor, int64_t i)
{
    rgm_dtype dtype = rgm_tensor_dtype(tensor);
    double value = rgm_tensor_at(tensor, i);

    if (dtype == RGM_BOOL)
        return rgm_text_printf(out, "%s", value != 0 ? "true" : "false");
    if (dtype == RGM_I32 || dtype == RGM_I64)
        return rgm_text_printf(out, "%lld", (long long)rgm_tensor_at_int(tensor, i));
    return rgm_json_print_number(out,
                                 dtype == RGM_F64 || !isfinite(value) ? value : shortest(value));
}

/* Elements from *at on, in the shape of the axes from `axis` on. */
static rgm_status print_elements(rgm_text *out, const rgm_tensor *tensor, int64_t *at, int axis)
{
    if (axis >= rgm_tensor_rank(tensor))
        return print_number(out, tensor, (*at)++);
    RGM_TRY(rgm_text_printf(out, "["));
    for (int64_t i = 0; i < rgm_tensor_dim(tensor, axis); i++) {
        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : ""));
        RGM_TRY(print_elements(out, tensor, at, axis + 1));
    }
    return rgm_text_printf(out, "]");
}

/* In the place of an output: what the model wrote, and its alignment. */
enum { TEXT = -1, ALIGNMENT = -2 };

static rgm_status print_row(rgm_text *out, const rgm_answers *answers, int64_t output, int64_t r)
{
    int64_t each = 1, at;

    if (output < 0)
        return rgm_json_print_text(out,
                                   output == TEXT ? answers->texts[r] : answers->alignments[r]);
    for (int axis = 1; axis < rgm_tensor_rank(answers->outputs[output]); axis++)
        each *= rgm_tensor_dim(answers->outputs[output], axis);
    at = r * each;
    return print_elements(out, answers->outputs[output], &at, 1);
}

static rgm_status print_rows(rgm_text *out, const rgm_answers *answers, int64_t output, int64_t i)
{
    const int64_t *begins = answers->begins[output < 0 ? 0 : output];

    if (answers->is_single)
        return print_row(out, answers, output, begins[i]);
    RGM_TRY(rgm_text_printf(out, "["));
    for (int64_t r = begins[i]; r < begins[i + 1]; r++) {
        RGM_TRY(rgm_text_printf(out, "%s", r > begins[i] ? ", " : ""));
        RGM_TRY(print_row(out, answers, output, r));
    }
    return rgm_text_printf(out, "]");
}

/* An alignment was wished of a question, and so all its texts have one. */
static bool is_aligned(const rgm_answers *answers, int64_t i)
{
    const int64_t *begins = answers->begins[0];

    return answers->alignments != NULL && begins[i] < begins[i + 1] &&
           answers->alignments[begins[i]] != NULL;
}

rgm_status rgmi_answer_print(rgm_text *out, const rgm_answers *answers, const rgmi_version *version,
                             int64_t i)
{
    const rgm_export_output *about;
    int64_t count = rgm_predictor_outputs(&about, version->predictor);

    if (count == 1 && answers->texts == NULL)
        return print_rows(out, answers, 0, i);
    RGM_TRY(rgm_text_printf(out, "{"));
    for (int64_t o = answers->texts != NULL ? TEXT : 0; o < count; o++) {
        RGM_TRY(rgm_json_print_text(out, o == TEXT ? "text" : about[o].name));
        RGM_TRY(rgm_text_printf(out, ": "));
        RGM_TRY(print_rows(out, answers, o, i));
        RGM_TRY(rgm_text_printf(out, "%s", o + 1 < count ? ", " : ""));
    }
    if (is_aligned(answers, i)) {
        RGM_TRY(rgm_text_printf(out, ", \"alignment\": "));
        RGM_TRY(print_rows(out, answers, ALIGNMENT, i));
    }
    return rgm_text_printf(out, "}");
}
