/*
 * Options back as text: the flow map that a file would have them in, of what differs from the
 * defaults.
 */
#include <inttypes.h>
#include <string.h>

#include <regimen/base.h>

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_texts(const rgm_texts *a, const rgm_texts *b)
{
    bool same = a->count == b->count;

    for (int64_t i = 0; same && i < a->count; i++)
        same = same_text(a->items[i], b->items[i]);
    return same;
}

static bool same_bytes(const void *a, int64_t a_count, const void *b, int64_t b_count, size_t size)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, (size_t)a_count * size) == 0);
}

/* Of kinds that are printed. */
static bool is_default(const rgm_field *field, const void *a, const void *b)
{
    const rgm_ints *x = a, *y = b;
    const rgm_floats *u = a, *v = b;

    switch (field->kind) {
    case RGM_FIELD_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case RGM_FIELD_FLOAT:
        return memcmp(a, b, sizeof(double)) == 0;
    case RGM_FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case RGM_FIELD_CHOICE:
        return *(const int *)a == *(const int *)b;
    case RGM_FIELD_TEXT:
        return same_text(*(const char *const *)a, *(const char *const *)b);
    case RGM_FIELD_INTS:
        return same_bytes(x->items, x->count, y->items, y->count, sizeof *x->items);
    case RGM_FIELD_FLOATS:
        return same_bytes(u->items, u->count, v->items, v->count, sizeof *u->items);
    case RGM_FIELD_TEXTS:
        return same_texts(a, b);
    default:
        return true;
    }
}

static rgm_status print_text(rgm_text *out, const char *text)
{
    return text != NULL ? rgm_json_print_text(out, text) : rgm_text_printf(out, "~");
}

/* "[1, 2]" */
static rgm_status print_list(rgm_text *out, const rgm_field *field, const void *member)
{
    const rgm_ints *ints = member;
    const rgm_floats *floats = member;
    const rgm_texts *texts = member;
    int64_t count = field->kind == RGM_FIELD_INTS     ? ints->count
                    : field->kind == RGM_FIELD_FLOATS ? floats->count
                                                      : texts->count;

    RGM_TRY(rgm_text_printf(out, "["));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : ""));
        if (field->kind == RGM_FIELD_INTS)
            RGM_TRY(rgm_text_printf(out, "%" PRId64, ints->items[i]));
        else if (field->kind == RGM_FIELD_FLOATS)
            RGM_TRY(rgm_text_printf(out, "%.17g", floats->items[i]));
        else
            RGM_TRY(print_text(out, texts->items[i]));
    }
    return rgm_text_printf(out, "]");
}

static rgm_status print_value(rgm_text *out, const rgm_field *field, const void *member)
{
    const char *choice;

    switch (field->kind) {
    case RGM_FIELD_INT:
        return rgm_text_printf(out, "%" PRId64, *(const int64_t *)member);
    case RGM_FIELD_FLOAT:
        return rgm_text_printf(out, "%.17g", *(const double *)member);
    case RGM_FIELD_BOOL:
        return rgm_text_printf(out, *(const bool *)member ? "true" : "false");
    case RGM_FIELD_TEXT:
        return print_text(out, *(const char *const *)member);
    case RGM_FIELD_CHOICE:
        choice = rgm_field_choice(field, *(const int *)member);
        return rgm_text_printf(out, "%s", choice != NULL ? choice : "~");
    default:
        return print_list(out, field, member);
    }
}

rgm_status rgm_options_print(rgm_text *out, const void *options, const void *defaults,
                             const rgm_field *fields)
{
    const char *between = "";

    RGM_TRY(rgm_text_printf(out, "{"));
    for (const rgm_field *f = fields; f->name != NULL; f++) {
        const void *member = (const char *)options + f->offset;
        const void *other = (const char *)defaults + f->offset;
        int64_t begin = out->size;

        if (f->kind > RGM_FIELD_TEXTS && f->kind != RGM_FIELD_GROUP)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "option '%s' is of a kind that is not printed",
                            f->name);
        if (f->kind != RGM_FIELD_GROUP && is_default(f, member, other))
            continue;
        RGM_TRY(rgm_text_printf(out, "%s%s: ", between, f->name));
        if (f->kind != RGM_FIELD_GROUP) {
            RGM_TRY(print_value(out, f, member));
        } else {
            int64_t inside = out->size;

            RGM_TRY(rgm_options_print(out, member, other, f->group));
            if (out->size == inside + 2) { /* {} */
                out->size = begin;
                out->data[begin] = '\0';
                continue;
            }
        }
        between = ", ";
    }
    return rgm_text_printf(out, "}");
}
