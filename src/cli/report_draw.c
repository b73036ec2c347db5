/*
 * Marks of a report: the one place that writes texts of the data into markup, numbers as people
 * read them, and planes with axes, as SVG.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define LETTER       7.0 /* mean advance of a letter of 12 points */
#define BOLD         8.4
#define MOST_LETTERS 200 /* of a text in markup                   */

/* ---- markup -------------------------------------------------------------------------------- */

static void add(drawing *d, const char *text, size_t size)
{
    if (d->status == RGM_OK && size > 0)
        d->status = rgm_text_add(&d->out, text, (int64_t)size);
}

static int64_t letters_of(const char *text)
{
    int64_t count = 0;

    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

/* One byte of what was made visible, or the three of a code point that XML cannot have: what means
 * something to HTML or XML becomes its name. Where the last of them is. */
static const char *add_byte(drawing *d, const char *at)
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

/* Of more than `most` letters the middle is left out, for ends of names tell them apart; 0: all. */
static void add_escaped(drawing *d, const char *text, int64_t most)
{
    int64_t letters = letters_of(text), at = -1, head = letters, tail = letters;

    if (most > 0 && letters > most) {
        head = (most - 1) / 2;
        tail = letters - (most - 1 - head);
    }
    for (; *text != '\0'; text++) {
        bool is_first = (*text & 0xc0) != 0x80;

        at += is_first;
        if (at == head && is_first)
            add(d, "\xe2\x80\xa6", 3);
        if (at < head || at >= tail)
            text = add_byte(d, text);
    }
}

static void add_data(drawing *d, const char *text, bool lines, int64_t most)
{
    rgm_text shown = {0};

    if (d->status == RGM_OK && text != NULL && text[0] != '\0')
        d->status =
            lines ? rgm_text_add_visible_lines(&shown, text) : rgm_text_add_visible(&shown, text);
    if (shown.data != NULL)
        add_escaped(d, shown.data, most);
    rgm_text_clear(&shown);
}

void mark_lines(drawing *d, const char *text)
{
    add_data(d, text, true, 0);
}

void mark_percent(drawing *d, const char *text)
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
static void add_number(drawing *d, int digits, double number)
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
static const char *add_one(drawing *d, const char *at, va_list *args)
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

void mark(drawing *d, const char *format, ...)
{
    va_list args;

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

static short_text number_text_of(int digits, double number)
{
    short_text s = {"-"};

    if (fabs(number) >= 1e4 && fabs(number) < 1e12)
        snprintf(s.text, sizeof s.text, "%s", grouped(llround(number)));
    else if (isfinite(number))
        snprintf(s.text, sizeof s.text, "%.*g", digits, number);
    return s;
}

short_text number_text(double number)
{
    return number_text_of(4, number);
}

short_text duration_text(double seconds)
{
    short_text s = {"-"};
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

const char *value_shown(value_text *room, const report_hyper *hyper, const report_value *value)
{
    if (!value->is_set)
        return "not set";
    if (hyper->scale == REPORT_CHOICE)
        return hyper->choices[value->choice];
    if (hyper->whole && fabs(value->number) < 1e15)
        snprintf(room->number.text, sizeof room->number.text, "%.15g", value->number);
    else
        room->number = number_text(value->number);
    return room->number.text;
}

/* ---- axes ---------------------------------------------------------------------------------- */

void axis_of(plot_axis *axis, value_range range, double length, double room)
{
    double low = range.log ? log10(range.low) : range.low;
    double high = range.log ? log10(range.high) : range.high;

    axis_set(axis, low, high, range.log, (int)fmax(2, length / room), range.least);
}

double axis_share(const plot_axis *axis, double number)
{
    if (!isfinite(number) || (axis->log && number < 1e-300))
        return NAN;
    number = axis->log ? log10(number) : fmax(-1e300, fmin(1e300, number));
    return fmax(-0.5, fmin(1.5, (number - axis->low) / (axis->high - axis->low)));
}

plane plane_of(double width, double height, value_range x, value_range y)
{
    plane p = {.left = 0, .top = 26, .height = height - 26 - 44};
    size_t longest = 1;

    axis_of(&p.y, y, p.height, y.log ? 24 : 34);
    for (int i = 0; i < p.y.count; i++)
        longest = strlen(p.y.labels[i]) > longest ? strlen(p.y.labels[i]) : longest;
    p.left = 14 + (double)longest * LETTER;
    p.width = width - p.left - 16;
    axis_of(&p.x, x, p.width, x.log ? 42 : 62);
    return p;
}

double plane_x(const plane *p, double number)
{
    return p->left + p->width * axis_share(&p->x, number);
}

double plane_y(const plane *p, double number)
{
    return p->top + p->height * (1 - axis_share(&p->y, number));
}

static double tick_at(const plot_axis *axis, int i)
{
    return (axis->ticks[i] - axis->low) / (axis->high - axis->low);
}

void draw_plane(drawing *d, const plane *p, const char *x_name, const char *y_name, bool x_ticks)
{
    double right = p->left + p->width, low = p->top + p->height;

    for (int i = 0; i < p->y.count; i++) {
        double y = low - p->height * tick_at(&p->y, i);

        mark(d, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", p->left, y, right);
        mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"e\">%s</text>", p->left - 6, y + 4,
             p->y.labels[i]);
    }
    for (int i = 0; i < p->x.count && x_ticks; i++) {
        double x = p->left + p->width * tick_at(&p->x, i);

        mark(d, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, p->top, low);
        mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"m\">%s</text>", x, low + 16, p->x.labels[i]);
    }
    mark(d, "<path class=\"a\" d=\"M%.1f %.1fH%.1f\"/>\n", p->left, low, right);
    draw_text(d, 0, 12, "start", "h", right, y_name);
    draw_text(d, p->left + p->width / 2, low + 34, "middle", "", p->width + p->left, x_name);
}

void draw_clip(drawing *d, const plane *p)
{
    d->ids++;
    mark(d,
         "<clipPath id=\"clip%lld\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
         "</clipPath><g clip-path=\"url(#clip%lld)\">\n",
         (long long)d->ids, p->left - 5, p->top - 5, p->width + 10, p->height + 10,
         (long long)d->ids);
}

double choice_share(const report_hyper *hyper, int64_t choice)
{
    return ((double)choice + 0.5) / (double)hyper->choice_count;
}

void draw_choices(drawing *d, const plane *p, const report_hyper *hyper)
{
    int64_t every = (int64_t)ceil((double)hyper->choice_count * 70 / p->width);

    for (int64_t i = 0; i < hyper->choice_count; i += every) {
        double x = p->left + p->width * choice_share(hyper, i), low = p->top + p->height;

        mark(d, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, p->top, low);
        draw_text(d, x, low + 16, "middle", "",
                  p->width / (double)hyper->choice_count * (double)every, hyper->choices[i]);
    }
}

/* ---- texts --------------------------------------------------------------------------------- */

void draw_text(drawing *d, double x, double y, const char *anchor, const char *kind, double room,
               const char *text)
{
    const char *classes = strcmp(anchor, "middle") == 0 ? "m"
                          : strcmp(anchor, "end") == 0  ? "e"
                                                        : "";

    mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s %s\">", x, y, classes, kind);
    add_data(d, text, false, (int64_t)fmax(3, room / (kind[0] == 'h' ? BOLD : LETTER) - 1));
    mark(d, "</text>\n");
}

void draw_title(drawing *d, const report_view *v, int64_t i)
{
    const search_report *r = v->report;
    const report_trial *trial = &r->trials[i];
    int64_t shown = v->varied_count < 4 ? v->varied_count : 4;

    mark(d, "<title>Trial %lld: %s %s", (long long)trial->number,
         r->objective_count > 0 ? r->objectives[0].name : "", number_text(trial->best[0]).text);
    for (int64_t k = 0; k < shown; k++) {
        const report_hyper *hyper = &r->hypers[v->varied[k]];
        value_text room;

        mark(d, "; %s ", hyper->name);
        add_data(d, value_shown(&room, hyper, &trial->values[v->varied[k]]), false, 40);
    }
    mark(d, "</title>");
}

void draw_tones(drawing *d, const report_view *v)
{
    mark(d,
         "<text x=\"20\" y=\"11\">worst</text><text x=\"%.1f\" y=\"11\" class=\"e\">best</text>\n",
         20 + TONES * 52.0);
    for (int i = 0; i < TONES; i++)
        mark(d, "<rect class=\"d c%d\" x=\"%.1f\" y=\"16\" width=\"51\" height=\"10\"/>", i,
             20 + i * 52.0);
    for (int i = 0; i <= TONES; i++)
        mark(d, "<text class=\"m\" x=\"%.1f\" y=\"41\">%s</text>", 20 + i * 52.0,
             number_text_of(3, v->bounds[i]).text);
}
