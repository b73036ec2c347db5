/*
 * A laid-out figure drawn with PLplot, into memory: what becomes a file is a picture that is whole.
 * PLplot is one for the process, ends it on an error of its own and crashes when memory is short;
 * that is why only the command uses it, and why it draws in a process of its own.
 */
#include <errno.h>
#include <math.h>
#include <plplot/plplot.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plot.h"

/* ---- PLplot's errors ----------------------------------------------------------------------- */

static char trouble[256]; /* the first that PLplot went on after */

static void note_trouble(const char *message)
{
    if (trouble[0] == '\0')
        snprintf(trouble, sizeof trouble, "%s", message);
}

static int answer_fd = -1; /* of the drawing process: where its answer goes */

/* The drawing process ends with its status, and then its message, as the answer. */
static void answer_failure(rgm_status status, const char *message)
{
    if (rgm_write_all(answer_fd, &status, sizeof status, "the picture") == RGM_OK)
        (void)rgm_write_all(answer_fd, message, (int64_t)strlen(message), "the picture");
    _exit(EXIT_FAILED);
}

static int give_up(const char *message)
{
    char text[sizeof trouble + 32];

    snprintf(text, sizeof text, "PLplot cannot draw: %.200s", message);
    answer_failure(RGM_ERR_IO, text);
    return 0;
}

/* Asked of PLplot first, because it asks the user when there is no such driver. */
static rgm_status check_driver(const char *driver)
{
    const char *menus[64], *names[64];
    const char **menu = menus, **name = names;
    int count = 64;

    memset(menus, 0, sizeof menus);
    memset(names, 0, sizeof names);
    plgDevs(&menu, &name, &count);
    for (int i = 0; i < count; i++)
        if (name[i] != NULL && strcmp(name[i], driver) == 0)
            return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "PLplot has no driver '%s' here; Debian has it in %s",
                    driver, strcmp(driver, "svg") == 0 ? "libplplot17" : "plplot-driver-cairo");
}

/* ---- marks --------------------------------------------------------------------------------- */

static void set_colors(void)
{
    plscmap0n(COLOR_HUES + 2 * HUES);
    plscol0(COLOR_PAPER, 255, 255, 255);
    plscol0(COLOR_INK, 38, 38, 38);
    plscol0(COLOR_GRID, 226, 226, 226);
    for (int i = 0; i < HUES; i++) {
        const unsigned char *c = plot_hues[i];

        plscol0(COLOR_HUES + 2 * i, c[0], c[1], c[2]);
        plscol0(COLOR_HUES + 2 * i + 1, (c[0] + 255) / 2, (c[1] + 255) / 2, (c[2] + 255) / 2);
    }
}

static void use_look(const plot_layout *l, plot_look look)
{
    plcol0(look.color);
    pllsty(look.style);
    plwidth(look.width * l->scale);
}

/* World coordinates are points of the page. */
static void use_page(const plot_layout *l)
{
    plvpor(0, 1, 0, 1);
    plwind(0, l->width, 0, l->height);
    use_look(l, (plot_look){COLOR_INK, 1, 0.8});
}

/* '#' is PLplot's escape and stands for itself when doubled. */
static rgm_status put_text(double x, double y, double just, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_text escaped = {0};

    for (; *text != '\0'; text++)
        RGM_GO(rgm_text_add(&escaped, *text == '#' ? "##" : text, *text == '#' ? 2 : 1));
    if (escaped.size > 0)
        plptex(x, y, 1, 0, just, escaped.data);
done:
    rgm_text_clear(&escaped);
    return status;
}

static rgm_status put_bold(double x, double y, const char *text)
{
    rgm_status status;

    plsfont(PL_FCI_SANS, PL_FCI_UPRIGHT, PL_FCI_BOLD);
    status = put_text(x, y, 0, text);
    plsfont(PL_FCI_SANS, PL_FCI_UPRIGHT, PL_FCI_MEDIUM);
    return status;
}

/* ---- curves -------------------------------------------------------------------------------- */

/** Curve points of the screen, gathered until there is a gap. */
typedef struct path {
    double *x, *y;
    int64_t count;
} path;

static void draw_dot(const plot_layout *l, const plot_axis *y, double at_x, double at_y)
{
    enum { CORNERS = 16 };
    double xs[CORNERS], ys[CORNERS], radius = 2.2;

    for (int i = 0; i < CORNERS; i++) {
        double angle = 2 * M_PI * i / CORNERS;

        xs[i] = at_x + cos(angle) * radius * (l->x.high - l->x.low) / l->panel_width;
        ys[i] = at_y + sin(angle) * radius * (y->high - y->low) / l->panel_height;
    }
    plfill(CORNERS, xs, ys);
}

/* More points than can be told apart: of each point's width the lowest and the highest stay. */
static void thin(path *p, int64_t room)
{
    int64_t size = p->count / room, kept = 0;

    if (size < 4)
        return;
    for (int64_t from = 0; from < p->count; from += size) {
        int64_t to = from + size < p->count ? from + size : p->count, low = from, high = from;

        for (int64_t i = from; i < to; i++) {
            low = p->y[i] < p->y[low] ? i : low;
            high = p->y[i] > p->y[high] ? i : high;
        }
        for (int pass = 0; pass < 2; pass++) {
            int64_t i = (pass == 0) == (low < high) ? low : high;

            p->x[kept] = p->x[i];
            p->y[kept++] = p->y[i];
        }
    }
    p->count = kept;
}

static void end_path(path *p, const plot_layout *l, const plot_axis *y)
{
    if (p->count == 1)
        draw_dot(l, y, p->x[0], p->y[0]);
    thin(p, (int64_t)l->panel_width);
    if (p->count > 1)
        plline((PLINT)p->count, p->x, p->y);
    p->count = 0;
}

static rgm_status draw_curve(const plot_layout *l, const plot_axis *y, const rgm_curve *c)
{
    rgm_status status = RGM_OK;
    path p = {0};

    RGM_GO(RGM_NEW(p.x, c->count));
    RGM_GO(RGM_NEW(p.y, c->count));
    for (int64_t i = 0; i < c->count; i++) {
        if (!is_drawn(l->figure, c->points[i].value)) {
            end_path(&p, l, y);
            continue;
        }
        p.x[p.count] = (double)c->points[i].step;
        p.y[p.count++] = y->log ? log10(c->points[i].value) : c->points[i].value;
    }
    end_path(&p, l, y);
done:
    rgm_free(p.x);
    rgm_free(p.y);
    return status;
}

/* ---- panels and legend --------------------------------------------------------------------- */

static double along(const plot_axis *axis, double at, double length)
{
    return (at - axis->low) / (axis->high - axis->low) * length;
}

/* Grid, axes, labels and title, in points of the page. */
static rgm_status draw_frame(const plot_layout *l, int64_t p, double left, double low)
{
    const plot_axis *x = &l->x, *y = &l->y[p];
    double width = l->panel_width, height = l->panel_height;

    use_page(l);
    use_look(l, (plot_look){COLOR_GRID, 1, 0.6});
    for (int i = 0; i < x->count; i++)
        pljoin(left + along(x, x->ticks[i], width), low, left + along(x, x->ticks[i], width),
               low + height);
    for (int i = 0; i < y->count; i++)
        pljoin(left, low + along(y, y->ticks[i], height), left + width,
               low + along(y, y->ticks[i], height));
    use_look(l, (plot_look){COLOR_INK, 1, 0.8});
    pljoin(left, low, left + width, low);
    pljoin(left, low, left, low + height);
    for (int i = 0; i < x->count; i++) {
        double at = left + along(x, x->ticks[i], width);

        pljoin(at, low, at, low - 3);
        RGM_TRY(put_text(at, low - 11, 0.5, x->labels[i]));
    }
    for (int i = 0; i < y->count; i++) {
        double at = low + along(y, y->ticks[i], height);

        pljoin(left, at, left - 3, at);
        RGM_TRY(put_text(left - 6, at, 1, y->labels[i]));
    }
    RGM_TRY(put_text(left + width / 2, low - 26, 0.5, "step"));
    return put_bold(left, low + height + 11, l->figure->panels[p].title);
}

/* What is pale first, so that it lies behind. */
static rgm_status draw_panel(const plot_layout *l, int64_t p)
{
    const plot_panel *panel = &l->figure->panels[p];
    double left, low;

    panel_place(&left, &low, l, p);
    RGM_TRY(draw_frame(l, p, left, low));
    plvpor(left / l->width, (left + l->panel_width) / l->width, low / l->height,
           (low + l->panel_height) / l->height);
    plwind(l->x.low, l->x.high, l->y[p].low, l->y[p].high);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < panel->count; i++) {
            const plot_panel_curve *c = &panel->curves[i];

            if ((strcmp(c->curve->split, "train") == 0) != (pass == 0))
                continue;
            use_look(l, look_of(l, c->run, c->curve->split));
            RGM_TRY(draw_curve(l, &l->y[p], c->curve));
        }
    return RGM_OK;
}

static rgm_status draw_legend(const plot_layout *l)
{
    for (int64_t i = 0; i < l->item_count; i++) {
        const plot_legend_item *item = &l->items[i];
        double x, y;

        legend_place(&x, &y, l, i);
        use_page(l);
        if (item->is_title) {
            RGM_TRY(put_bold(x, y, item->text));
            continue;
        }
        use_look(l, item->look);
        pljoin(x, y, x + 22, y);
        use_page(l);
        RGM_TRY(put_text(x + 28, y, 0, item->text));
    }
    return RGM_OK;
}

static rgm_status draw_page(const plot_layout *l)
{
    pladv(0);
    /* PLplot's height of a letter is a 1.34th of its font's size in points. The svg driver cuts
       that to a whole number, which the hundredth keeps from being one less. */
    plschr((FONT + 0.01) * l->scale * 25.4 / 72 / 1.34, 1);
    plsfont(PL_FCI_SANS, PL_FCI_UPRIGHT, PL_FCI_MEDIUM);
    RGM_TRY(draw_legend(l));
    for (int64_t p = 0; p < l->figure->panel_count; p++)
        RGM_TRY(draw_panel(l, p));
    return RGM_OK;
}

/* ---- picture ------------------------------------------------------------------------------- */

static rgm_status draw_stream(const plot_layout *l, FILE *stream, const char *driver)
{
    rgm_status status;

    plsdev(driver);
    plsetopt("drvopt", "text_clipping=0");
    plspage(72, 72, (PLINT)lround(l->width * l->scale), (PLINT)lround(l->height * l->scale), 0, 0);
    set_colors();
    plsfile(stream);
    plinit();
    status = draw_page(l);
    plend(); /* closes the stream */
    if (status == RGM_OK && trouble[0] != '\0')
        return RGM_FAIL(RGM_ERR_IO, "PLplot cannot draw: %s", trouble);
    return status;
}

/* The picture's bytes; free(*data). */
static rgm_status draw_figure(char **data, size_t *size, const plot_layout *l)
{
    const char *driver = l->figure->png ? "pngcairo" : "svg";
    FILE *stream;

    *data = NULL;
    *size = 0;
    plsexit(give_up);
    plsabort(note_trouble);
    RGM_TRY(check_driver(driver));
    stream = open_memstream(data, size);
    if (stream == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the picture");
    RGM_TRY(draw_stream(l, stream, driver));
    return *size > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the picture");
}

/* ---- the drawing process ------------------------------------------------------------------- */

static void draw_and_end(int fd, const plot_layout *l)
{
    char *data;
    size_t size;
    rgm_status status;

    answer_fd = fd;
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0}); /* its crash is told, not kept */
    status = draw_figure(&data, &size, l);
    if (status != RGM_OK)
        answer_failure(status, rgm_error_message());
    status = rgm_write_all(fd, data, (int64_t)size, "the picture");
    _exit(status == RGM_OK ? EXIT_DONE : EXIT_FAILED);
}

static rgm_status read_answer(rgm_text *answer, int fd)
{
    for (;;) {
        ssize_t n;

        RGM_TRY(RGM_RESERVE(answer->data, answer->capacity, answer->size + 65536));
        n = read(fd, answer->data + answer->size, (size_t)(answer->capacity - answer->size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", "the picture");
        if (n == 0)
            return RGM_OK;
        answer->size += n;
    }
}

/* How the drawing process ended; its answer is the picture, or a status and a message. */
static rgm_status judge(const rgm_text *answer, int ended)
{
    rgm_status status;

    if (WIFSIGNALED(ended))
        return RGM_FAIL(RGM_ERR_NOMEM,
                        "PLplot was ended by signal %d (%s) as it drew, which happens to it when "
                        "memory is short",
                        WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    if (WEXITSTATUS(ended) == EXIT_DONE && answer->size > 0)
        return RGM_OK;
    if (answer->size <= (int64_t)sizeof status)
        return RGM_FAIL(RGM_ERR_IO, "PLplot ended without a picture (status %d)",
                        WEXITSTATUS(ended));
    memcpy(&status, answer->data, sizeof status);
    return RGM_FAIL(status < 0 ? status : RGM_ERR_IO, "%.*s",
                    (int)(answer->size - (int64_t)sizeof status), answer->data + sizeof status);
}

static rgm_status draw_apart(rgm_text *picture, const plot_layout *l)
{
    int ends[2], ended = 0;
    pid_t child;
    rgm_status status;

    if (pipe(ends) != 0)
        return RGM_FAIL_SYSTEM("make", "a pipe for the picture");
    child = fork();
    if (child == 0) {
        close(ends[0]);
        draw_and_end(ends[1], l);
    }
    close(ends[1]);
    status = child < 0 ? RGM_FAIL_SYSTEM("begin", "a process that draws")
                       : read_answer(picture, ends[0]);
    close(ends[0]);
    while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR)
        continue;
    RGM_TRY(status);
    return judge(picture, ended);
}

rgm_status figure_draw(rgm_text *picture, const plot_figure *figure)
{
    rgm_status status = RGM_OK;
    plot_layout l = {0};

    *picture = (rgm_text){0};
    RGM_GO(layout_set(&l, figure));
    RGM_GO(draw_apart(picture, &l));
done:
    if (status != RGM_OK)
        rgm_text_clear(picture);
    layout_clear(&l);
    return status;
}
