/* Pictures: learning curves as SVG and PNG, a graph; what is damaged, missing or too much. */
#include <regimen/draw.h>

#include "check.h"

static double values[600];

/* `count` points, the middle one no number. */
static rgm_curve a_curve(rgm_curve_point *points, int64_t count, const char *split)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = 1.0 / (double)(i + 1);
        points[i] = (rgm_curve_point){i, i == count / 2 ? NAN : values[i]};
    }
    return (rgm_curve){(char *)split, "loss", points, count, count};
}

/* Runs of a curve each, in one panel; figure_end() gives back what is not borrowed. */
static void figure_begin(rgm_figure *f, int64_t runs, const rgm_curve *curve, const char *name)
{
    rgm_panel *panel;

    *f = (rgm_figure){.run_count = runs};
    CHECK_OK(RGM_NEW(f->runs, runs));
    CHECK_OK(rgm_figure_add_panel(&panel, f, "loss"));
    for (int64_t r = 0; r < runs; r++) {
        CHECK_OK(rgm_strdup(&f->runs[r].name, name));
        CHECK_OK(RGM_RESERVE(panel->curves, panel->capacity, panel->count + 1));
        panel->curves[panel->count++] = (rgm_drawn_curve){curve, r};
    }
}

static void a_picture_has_every_run_and_escapes_its_name(void **state)
{
    rgm_curve_point points[20];
    rgm_curve curve = a_curve(points, 20, "valid");
    rgm_figure f;
    rgm_text text = {0};

    (void)state;
    figure_begin(&f, 9, &curve, "a<b&\"c");
    CHECK_OK(rgm_figure_svg(&text, &f));
    CHECK(strstr(text.data, "a&lt;b&amp;&quot;c") != NULL);
    CHECK(strstr(text.data, "a<b") == NULL && strstr(text.data, "nan") == NULL);
    CHECK(strstr(text.data, "class=\"w t5\"") != NULL);
    CHECK(strstr(text.data, "class=\"w t2 dash1\"") != NULL); /* the ninth: hues begin anew */
    rgm_text_clear(&text);
    rgm_figure_clear(&f);
}

static void a_curve_is_in_a_panel_once(void **state)
{
    rgm_curve_point points[3];
    rgm_curve curve = a_curve(points, 3, "valid");
    rgm_figure f = {0};
    rgm_panel *panel, *again;

    (void)state;
    CHECK_OK(rgm_figure_add_panel(&panel, &f, "loss"));
    CHECK_OK(rgm_panel_add_curve(panel, 0, &curve));
    CHECK_OK(rgm_panel_add_curve(panel, 0, &curve));
    CHECK_INT(1, panel->count);
    CHECK_OK(rgm_figure_add_panel(&again, &f, "loss"));
    CHECK(again == panel && f.panel_count == 1);
    rgm_figure_clear(&f);
}

static uint32_t u32_at(const char *data)
{
    const unsigned char *at = (const unsigned char *)data;

    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Lines that are whole, dashed, of one point, of no length and of more points than pixels. */
static void a_png_has_the_size_that_is_asked_for(void **state)
{
    rgm_curve_point points[600], one = {0, 1}, same[] = {{0, 1}, {0, 1}, {0, 1}};
    rgm_curve curve = a_curve(points, 600, "valid"), dot = {"train", "loss", &one, 1, 1},
              still = {"test", "loss", same, 3, 3};
    rgm_figure f;
    rgm_text png = {0};

    (void)state;
    figure_begin(&f, 20, &curve, "r\xc3\xa9seau \xff");
    CHECK_OK(rgm_panel_add_curve(f.panels, 0, &dot));
    CHECK_OK(rgm_panel_add_curve(f.panels, 7, &still));
    f.width = 1400;
    f.height = 2000;
    CHECK_OK(rgm_figure_png(&png, &f));
    CHECK(png.size > 1000 && memcmp(png.data, "\x89PNG\r\n\x1a\n", 8) == 0);
    CHECK(memcmp(png.data + png.size - 8, "IEND", 4) == 0);
    CHECK_INT(1400, u32_at(png.data + 16));
    CHECK_INT(2000, u32_at(png.data + 20));
    rgm_text_clear(&png);
    rgm_figure_clear(&f);
}

static void what_cannot_be_drawn_is_said(void **state)
{
    rgm_curve_point point = {0, NAN};
    rgm_curve curve = {"valid", "loss", &point, 1, 1};
    rgm_figure f;
    rgm_text text = {0};

    (void)state;
    figure_begin(&f, 1, &curve, "run");
    CHECK_STATUS(RGM_ERR_DATA, rgm_figure_svg(&text, &f));
    CHECK(strstr(rgm_error_message(), "loss has no finite value") != NULL);
    point.value = 1;
    f.width = f.height = 40;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_figure_svg(&text, &f));
    CHECK(strstr(rgm_error_message(), "too small for 1 panels") != NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_draw_graph(&text, NULL, 0, NULL, 0, ""));
    CHECK(text.data == NULL);
    rgm_figure_clear(&f);
}

static const rgm_drawn_node nodes[] = {
    {"paper", "1", true}, {"paper", "<2>", false}, {"author", "3", false}};
static const rgm_drawn_edge edges[] = {{"cites", 0, 1, 0.5}, {"writes", 2, 0, -0.25}};

static void a_graph_has_its_nodes_and_edges(void **state)
{
    rgm_text text = {0}, again = {0};

    (void)state;
    CHECK_OK(rgm_draw_graph(&text, nodes, 3, edges, 2, "what it is"));
    CHECK_OK(rgm_draw_graph(&again, nodes, 3, edges, 2, "what it is"));
    CHECK_TEXT(text.data, again.data);
    CHECK(strstr(text.data, "<title>cites: 1 to &lt;2&gt;, 0.5000</title>") != NULL);
    CHECK(strstr(text.data, "stroke-dasharray=\"5 3\"") != NULL);
    CHECK(strstr(text.data, "what it is</text>") != NULL);
    rgm_text_clear(&text);
    rgm_text_clear(&again);
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_curve_point points[20];
    rgm_curve curve = a_curve(points, 20, "valid");
    rgm_figure f;
    rgm_text text = {0};

    (void)state;
    figure_begin(&f, 2, &curve, "run");
    CHECK_EVERY_OOM(rgm_figure_svg(&text, &f), rgm_text_clear(&text));
    CHECK_EVERY_OOM(rgm_figure_png(&text, &f), rgm_text_clear(&text));
    CHECK_EVERY_OOM(rgm_draw_graph(&text, nodes, 3, edges, 2, "it"), rgm_text_clear(&text));
    rgm_figure_clear(&f);
}

TESTS(cmocka_unit_test(a_picture_has_every_run_and_escapes_its_name),
      cmocka_unit_test(a_curve_is_in_a_panel_once),
      cmocka_unit_test(a_png_has_the_size_that_is_asked_for),
      cmocka_unit_test(what_cannot_be_drawn_is_said),
      cmocka_unit_test(a_graph_has_its_nodes_and_edges),
      cmocka_unit_test(memory_that_runs_out_is_told))
