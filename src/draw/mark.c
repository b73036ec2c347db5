/*
 * Marks: the one place that writes texts of the data into markup, and numbers as people read them.
 * Lines, dots and texts of figures are painted by the same calls where a picture is pixels.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"

#define MOST_LETTERS 200 /* of a text in markup */

/* ---- markup -------------------------------------------------------------------------------- */

static void add(rgmi_drawing *d, const char *text, size_t size)
{
    if (d->status == RGM_OK && size > 0)
        d->status = rgm_text_add(&d->out, text, (int64_t)size);
}

int64_t rgmi_letters_of(const char *text)
{
    int64_t count = 0;

    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

/* One byte of what was made visible, or the three of a code point that XML cannot have: what means
 * something to HTML or XML becomes its name. Where the last of them is. */
static const char *add_byte(rgmi_drawing *d, const char *at)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = strchr(special, *at);

    if (found != NULL) {
        add(d, names[found - special], strlen(names[found - special]));
    } else if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0) {
        add(d, "\xef\xbf\xbd", 3);
        return at + 2;
    } else {
        add(d, at, 1);
    }
    return at;
}

/* Of more than `most` letters the middle is left out, for ends of names tell them apart. */
static rgm_status add_short(rgm_text *out, const char *text, int64_t most)
{
    int64_t letters = rgmi_letters_of(text), head = (most - 1) / 2, at = -1;
    int64_t tail = letters - (most - 1 - head);

    for (; *text != '\0'; text++) {
        bool is_first = (*text & 0xc0) != 0x80;

        at += is_first;
        if (at == head && is_first)
            RGM_TRY(rgm_text_add(out, "\xe2\x80\xa6", 3));
        if (at < head || at >= tail)
            RGM_TRY(rgm_text_add(out, text, 1));
    }
    return RGM_OK;
}

/* A text of the data as it is shown; most 0: all of it. */
static rgm_status show(rgm_text *out, const char *text, bool lines, int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_text visible = {0};

    RGM_GO(lines ? rgm_text_add_visible_lines(&visible, text)
                 : rgm_text_add_visible(&visible, text));
    if (most > 0 && rgmi_letters_of(visible.data) > most)
        RGM_GO(add_short(out, visible.data, most));
    else
        RGM_GO(rgm_text_add(out, visible.data, visible.size));
done:
    rgm_text_clear(&visible);
    return status;
}

static void add_data(rgmi_drawing *d, const char *text, bool lines, int64_t most)
{
    rgm_text shown = {0};

    if (d->status == RGM_OK && text != NULL && text[0] != '\0')
        d->status = show(&shown, text, lines, most);
    for (const char *at = shown.data; at != NULL && *at != '\0'; at++)
        at = add_byte(d, at);
    rgm_text_clear(&shown);
}

void rgmi_mark_lines(rgmi_drawing *d, const char *text)
{
    add_data(d, text, true, 0);
}

void rgmi_mark_short(rgmi_drawing *d, const char *text, int64_t most)
{
    add_data(d, text, false, most);
}

void rgmi_mark_percent(rgmi_drawing *d, const char *text)
{
    for (; *text != '\0'; text++) {
        char coded[4];

        if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
            (*text >= '0' && *text <= '9')) {
            add(d, text, 1);
            continue;
        }
        snprintf(coded, sizeof coded, "%%%02X", (unsigned char)*text);
        add(d, coded, 3);
    }
}

/* A number of a mark; one that is not finite is a mistake of the caller's. */
static void add_number(rgmi_drawing *d, int digits, double number)
{
    char text[400];

    if (d->status == RGM_OK && !isfinite(number))
        d->status = RGM_FAIL(RGM_ERR_ARG, "a mark of the report stands nowhere");
    if (fabs(number) < 0.5 * pow(10, -digits))
        number = 0; /* no -0.0 */
    snprintf(text, sizeof text, "%.*f", digits, number);
    add(d, text, strlen(text));
}

/* One conversion, behind its '%'; where it ends. */
static const char *add_one(rgmi_drawing *d, const char *at, va_list *args)
{
    char text[32];

    if (at[0] == 's') {
        add_data(d, va_arg(*args, const char *), false, MOST_LETTERS);
        return at + 1;
    }
    if (at[0] == '.') {
        add_number(d, at[1] - '0', va_arg(*args, double));
        return at + 3;
    }
    if (at[0] == 'l') {
        snprintf(text, sizeof text, "%lld", va_arg(*args, long long));
        add(d, text, strlen(text));
        return at + 3;
    }
    if (at[0] == 'd') {
        snprintf(text, sizeof text, "%d", va_arg(*args, int));
        add(d, text, strlen(text));
        return at + 1;
    }
    add(d, "%", 1);
    return at + 1;
}

void rgmi_mark(rgmi_drawing *d, const char *format, ...)
{
    va_list args;

    if (d->pixels != NULL)
        return;
    va_start(args, format);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");

        add(d, format, plain);
        format += plain;
        if (*format == '%')
            format = add_one(d, format + 1, &args);
    }
    va_end(args);
}

/* ---- numbers as texts ---------------------------------------------------------------------- */

rgmi_short_text rgmi_count_text(int64_t number)
{
    rgmi_short_text s;
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%lld", (long long)number), to = 0;

    for (int i = 0; i < count; i++) {
        s.text[to++] = digits[i];
        if (digits[i] != '-' && i + 1 < count && (count - i - 1) % 3 == 0)
            s.text[to++] = ',';
    }
    s.text[to] = '\0';
    return s;
}

rgmi_short_text rgmi_number_text(int digits, double number)
{
    rgmi_short_text s = {"-"};

    if (fabs(number) >= 1e4 && fabs(number) < 1e12)
        return rgmi_count_text(llround(number));
    if (isfinite(number))
        snprintf(s.text, sizeof s.text, "%.*g", digits, number);
    return s;
}

rgmi_short_text rgmi_duration_text(double seconds)
{
    rgmi_short_text s = {"-"};
    long long whole;

    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12)
        return s;
    whole = llround(seconds);
    if (seconds < 10)
        snprintf(s.text, sizeof s.text, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(s.text, sizeof s.text, "%lld s", whole);
    else if (whole < 3600)
        snprintf(s.text, sizeof s.text, "%lld min %02lld s", whole / 60, whole % 60);
    else if (whole < 48 * 3600)
        snprintf(s.text, sizeof s.text, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    else
        snprintf(s.text, sizeof s.text, "%lld d %02lld h", whole / 86400, whole / 3600 % 24);
    return s;
}

/* ---- marks for both ------------------------------------------------------------------------ */

void rgmi_begin_at(rgmi_drawing *d, double x, double y)
{
    d->left = x;
    d->top = y;
    rgmi_mark(d, "<g transform=\"translate(%.1f %.1f)\">\n", x, y);
}

void rgmi_begin_look(rgmi_drawing *d, rgmi_look look)
{
    d->look = look;
    rgmi_mark(d, "<g class=\"%s t%d", look.pale ? "pale" : "w", look.hue);
    if (look.dash > 0)
        rgmi_mark(d, " dash%d", look.dash);
    rgmi_mark(d, "\">");
}

void rgmi_end_at(rgmi_drawing *d)
{
    d->left = d->top = 0;
    rgmi_mark(d, "</g>\n");
}

/* What pixels say after the first failure is not asked. */
static void painted(rgmi_drawing *d, rgm_status status)
{
    if (d->status == RGM_OK)
        d->status = status;
}

static void paint_line(rgmi_drawing *d, const char *kind, double x, double y, double x2, double y2)
{
    if (d->status == RGM_OK)
        painted(d, rgmi_pixels_line(d->pixels, kind, d->look,
                                    (double[]){d->left + x, d->top + y, d->left + x2, d->top + y2},
                                    2));
}

void rgmi_across(rgmi_drawing *d, const char *kind, double x, double y, double x2)
{
    if (d->pixels != NULL)
        paint_line(d, kind, x, y, x2, y);
    rgmi_mark(d, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", kind, x, y, x2);
}

void rgmi_upright(rgmi_drawing *d, const char *kind, double x, double y, double y2)
{
    if (d->pixels != NULL)
        paint_line(d, kind, x, y, x, y2);
    rgmi_mark(d, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>", kind, x, y, y2);
}

static rgm_status paint_points(rgmi_drawing *d, const double *points, int64_t count)
{
    double *moved;
    rgm_status status;

    RGM_TRY(RGM_NEW(moved, 2 * count));
    for (int64_t i = 0; i < 2 * count; i++)
        moved[i] = points[i] + (i % 2 == 0 ? d->left : d->top);
    status = rgmi_pixels_line(d->pixels, "l", d->look, moved, count);
    rgm_free(moved);
    return status;
}

void rgmi_polyline(rgmi_drawing *d, const double *points, int64_t count)
{
    if (d->pixels != NULL && d->status == RGM_OK)
        painted(d, paint_points(d, points, count));
    rgmi_mark(d, "<polyline class=\"l\" points=\"");
    for (int64_t i = 0; i < count; i++)
        rgmi_mark(d, "%.1f,%.1f ", points[2 * i], points[2 * i + 1]);
    rgmi_mark(d, "\"/>");
}

void rgmi_dot(rgmi_drawing *d, double x, double y, double radius)
{
    if (d->pixels != NULL && d->status == RGM_OK)
        painted(d, rgmi_pixels_dot(d->pixels, d->look, d->left + x, d->top + y, radius));
    rgmi_mark(d, "<circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, radius);
}

/* ---- texts --------------------------------------------------------------------------------- */

static rgm_status paint_text(rgmi_drawing *d, double x, double y, const char *classes,
                             const char *text, int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_text shown = {0};

    RGM_GO(show(&shown, text, false, most));
    if (shown.size > 0)
        RGM_GO(rgmi_pixels_text(d->pixels, d->left + x, d->top + y, classes, shown.data));
done:
    rgm_text_clear(&shown);
    return status;
}

static void put_text(rgmi_drawing *d, double x, double y, const char *classes, const char *text,
                     int64_t most)
{
    if (d->pixels != NULL && d->status == RGM_OK && text[0] != '\0')
        painted(d, paint_text(d, x, y, classes, text, most));
    if (d->pixels != NULL)
        return;
    rgmi_mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, classes);
    add_data(d, text, false, most);
    rgmi_mark(d, "</text>");
}

void rgmi_label(rgmi_drawing *d, double x, double y, const char *classes, const char *text)
{
    put_text(d, x, y, classes, text, MOST_LETTERS);
}

void rgmi_draw_text(rgmi_drawing *d, double x, double y, const char *anchor, const char *kind,
                    double room, const char *text)
{
    char classes[32];

    snprintf(classes, sizeof classes, "%s %s",
             strcmp(anchor, "middle") == 0 ? "m"
             : strcmp(anchor, "end") == 0  ? "e"
                                           : "",
             kind);
    put_text(d, x, y, classes, text,
             (int64_t)fmax(3, room / (kind[0] == 'h' ? RGMI_BOLD : RGMI_LETTER) - 1));
    rgmi_mark(d, "\n");
}
