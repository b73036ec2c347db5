/* Reports of searches: which trials are told apart, where marks stand, what hostile data become. */
#include "report_check.h"

#include "draw_internal.h"

/* ---- searches ------------------------------------------------------------------------------ */

#define OVER "64 of 64 trials after 1 of 64 epochs"

/* Trials 1 to 4; the third is the best, the fourth has none. */
static void small_search(rgm_search_report *r)
{
    begin_search(r, true);
    CHECK_OK(rgm_strdup(&r->name, "small"));
    CHECK_OK(rgm_strdup(&r->best_file, "name: small\nrate: 0.1\n"));
    CHECK_OK(rgm_report_add_fact(r, "items", "30 train of <40>; 10 in no part"));
    add_trial(r, 1, 0.001, 10, 0, 0.4);
    add_trial(r, 2, 0.01, 20, 1, 0.2);
    add_trial(r, 3, 0.1, 30, 0, 0.1);
    add_trial(r, 4, 0.05, 15, 1, NAN);
    for (int64_t i = 0; i < 3; i++)
        CHECK_OK(rgm_report_add_interval(&r->trials[i], i % 2, 100.0 * (double)i,
                                         100.0 * (double)(i + 1)));
    for (int64_t i = 0; i < r->hyper_count; i++)
        r->hypers[i].importance = 0.5 / (double)(i + 1);
    CHECK_OK(rgm_strdup(&r->importance_over, OVER));
    r->seconds = 300;
}

/* ---- what was written ---------------------------------------------------------------------- */

static rgm_status (*const printers[])(rgm_text *, const rgm_search_report *) = {
    rgm_search_report_page, rgm_search_report_picture};
enum { PAGE, PICTURE };

static void written(rgm_text *out, const rgm_search_report *r, int kind)
{
    *out = (rgm_text){0};
    CHECK_OK(printers[kind](out, r));
}

static int64_t count_of(const char *text, const char *part)
{
    int64_t count = 0;

    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part))
        count++;
    return count;
}

/* Every element is ended, in order; attributes are in quotes; texts have no bare markup. */
static void check_markup(const char *text)
{
    char open[64][32];
    int depth = 0;

    for (const char *at = text; *at != '\0'; at++) {
        size_t name;

        if (*at == '&' && at[1] != '#' && strncmp(at, "&amp;", 5) != 0 &&
            strncmp(at, "&lt;", 4) != 0 && strncmp(at, "&gt;", 4) != 0 &&
            strncmp(at, "&quot;", 6) != 0)
            fail_msg("a bare & before: %.60s", at);
        if (*at == '>')
            fail_msg("a bare > before: %.60s", at);
        if (*at != '<')
            continue;
        name = strcspn(at + 1, " />\n");
        if (at[1] == '/') {
            at += 2;
            name = strcspn(at, ">");
            if (depth == 0 || strlen(open[depth - 1]) != name ||
                strncmp(open[depth - 1], at, name) != 0)
                fail_msg("</%.*s> ends <%s>", (int)name, at, depth > 0 ? open[depth - 1] : "");
            depth--;
            at += name;
            continue;
        }
        CHECK(depth < 64 && name < sizeof open[0]);
        snprintf(open[depth++], sizeof open[0], "%.*s", (int)name, at + 1);
        if (at[1] == '!' || strncmp(at, "<meta ", 6) == 0)
            depth--;
        for (at += 1 + name; *at != '>' && *at != '\0'; at++) {
            CHECK(*at != '<');
            if (*at == '"') {
                at += 1 + strcspn(at + 1, "\"<");
                CHECK(*at == '"');
            }
        }
        depth -= at[-1] == '/';
        if (strncmp(open[depth > 0 ? depth - 1 : 0], "style", 6) == 0 && depth > 0)
            at = strstr(at, "</style>") - 1; /* a raw text */
    }
    CHECK_INT(0, depth);
}

/* The number of `name="..."` in the element that has the text `title` in it. */
static double attribute_of(const char *text, const char *element, const char *title,
                           const char *name)
{
    const char *at = strstr(text, title), *found;
    char quoted[32], digits[32] = "";
    double number = NAN;

    CHECK(at != NULL);
    while (at > text && strncmp(at, element, strlen(element)) != 0)
        at--;
    snprintf(quoted, sizeof quoted, " %s=\"", name);
    found = strstr(at, quoted);
    CHECK(found != NULL);
    found += strlen(quoted);
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(found, "\""), found);
    CHECK(rgm_number_parse(&number, digits));
    return number;
}

/* ---- which trials -------------------------------------------------------------------------- */

static void the_best_are_first_and_ties_go_to_the_older_trial(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;

    (void)state;
    for (int smaller = 0; smaller < 2; smaller++) {
        double sign = smaller ? 1 : -1;

        begin_search(&r, smaller);
        add_trial(&r, 5, 0.1, 1, 0, sign * 3);
        add_trial(&r, 4, 0.1, 1, 0, NAN);
        add_trial(&r, 3, 0.1, 1, 0, sign * 2);
        add_trial(&r, 2, 0.1, 1, 0, sign * INFINITY);
        add_trial(&r, 1, 0.1, 1, 0, sign * 3);
        CHECK_OK(rgmi_view_open(&v, &r));
        CHECK_INT(3, v.measured);
        CHECK_INT(2, v.ranked[0]);
        CHECK_INT(4, v.ranked[1]); /* trial 1 */
        CHECK_INT(0, v.ranked[2]); /* trial 5 */
        CHECK_INT(-1, v.rank[1]);
        CHECK_INT(-1, v.tone[3]);
        CHECK_INT(TONES - 1, v.tone[2]);
        CHECK_INT(v.tone[0], v.tone[4]); /* of equal metrics */
        CHECK_INT(0, v.varied_count);
        CHECK_CLOSE(v.bounds[TONES], sign * 2, 0, 0);
        CHECK_CLOSE(v.bounds[0], sign * 3, 0, 0);
        rgmi_view_close(&v);
        rgm_search_report_clear(&r);
    }
}

static void the_front_is_what_no_other_beats(void **state)
{
    static const double metrics[][2] = {{3, 3}, {1, 1}, {2, 2},   {2, 2},        {2, 1},
                                        {3, 2}, {0, 0}, {4, NAN}, {INFINITY, 9}, {1, 0.5}};
    rgm_search_report r;
    rgmi_report_view v;

    (void)state;
    begin_search(&r, true); /* the first smaller, the second larger is better */
    CHECK_OK(rgm_strdup(&r.objectives[1].name, "accuracy"));
    r.objective_count = 2;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        rgm_report_trial *trial = add_trial(&r, (int64_t)i, 0.1, 1, 0, metrics[i][0]);

        trial->latest[1] = metrics[i][1];
    }
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_INT(5, v.front_count); /* (0, 0), (1, 1), (2, 2) twice, (3, 3), by the first */
    CHECK_INT(6, v.front[0]);
    CHECK_INT(1, v.front[1]);
    CHECK_INT(2, v.front[2]);
    CHECK_INT(3, v.front[3]);
    CHECK_INT(0, v.front[4]);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void a_sample_has_the_best_half_and_goes_evenly_to_the_worst(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    int64_t every;

    (void)state;
    begin_search(&r, true);
    for (int64_t i = 0; i < 1000; i++)
        add_trial(&r, i, 0.1, (double)i, 0, (double)(i * 7919 % 1000));
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_INT(1000, rgmi_view_sample(&every, &v, 1000));
    CHECK_INT(1, every);
    CHECK_INT(100, rgmi_view_sample(&every, &v, 100)); /* 50 of 50, and of 950 one in 19 */
    CHECK_INT(19, every);
    CHECK_INT(50 + 49 * 19, v.sample[0]); /* the worst come first, and are drawn below */
    for (int64_t i = 1; i < 100; i++)
        CHECK(v.sample[i] < v.sample[i - 1]);
    CHECK_INT(49, v.sample[100 - 50]);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void one_trial_that_diverged_does_not_press_the_others(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;

    (void)state;
    begin_search(&r, true);
    for (int64_t i = 0; i < 40; i++)
        add_trial(&r, i, 0.1, (double)i, 0, i == 17 ? 1e6 : 1 + 0.01 * (double)i);
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_INT(1, v.far_off);
    CHECK(v.metric.high < 1.5 && v.metric.low > 0.9);
    rgmi_view_close(&v);
    for (int64_t i = 0; i < 40; i++)
        r.trials[i].best[0] = i == 17 ? 1e30 : pow(10, -0.1 * (double)i);
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_INT(1, v.far_off);
    CHECK(v.metric.log && v.metric.high < 2 && v.metric.low < 1e-3);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

/* ---- where marks stand --------------------------------------------------------------------- */

/* A tick and a dot of one value are found on one line, whatever the room around them. */
static void a_dot_stands_where_the_tick_of_its_value_does(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;

    (void)state;
    small_search(&r);
    CHECK_OK(rgmi_view_open(&v, &r));
    for (int64_t hyper = 0; hyper < 3; hyper++) {
        static const char *const labels[] = {">0.01</text>", ">20</text>", ">b</text>"};
        rgmi_drawing d = {0};
        double x, y;

        rgmi_draw_slice(&d, &v, hyper, 340, 250);
        CHECK_OK(d.status);
        x = attribute_of(d.out.data, "<circle", "<title>Trial 2:", "cx");
        y = attribute_of(d.out.data, "<circle", "<title>Trial 2:", "cy");
        CHECK_CLOSE(attribute_of(d.out.data, "<text", labels[hyper], "x"), x, 0,
                    hyper < 2 ? 0.11 : 60);
        CHECK_CLOSE(attribute_of(d.out.data, "<text", ">0.2</text>", "y") - 4, y, 0, 0.11);
        CHECK(attribute_of(d.out.data, "<circle", "<title>Trial 3:", "cy") > y + 10);
        CHECK_INT(3, count_of(d.out.data, "<circle")); /* the fourth has no metric */
        rgm_text_clear(&d.out);
    }
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void curves_have_a_point_for_each_validation_and_gaps_for_nan(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    rgmi_drawing d = {0};

    (void)state;
    small_search(&r);
    CHECK_OK(rgm_report_add_point(&r.trials[0], 30, NAN));
    CHECK_OK(rgm_report_add_point(&r.trials[0], 40, 0.3));
    CHECK_OK(rgmi_view_open(&v, &r));
    rgmi_draw_curves(&d, &v, 800, 300);
    CHECK_OK(d.status);
    CHECK_INT(3, count_of(d.out.data, "<polyline"));
    CHECK_INT(6, count_of(strstr(d.out.data, "<polyline"), ","));
    CHECK_INT(3, count_of(d.out.data, "<circle")); /* ends of two, and the point behind the gap */
    CHECK(attribute_of(d.out.data, "<circle", "</g>\n<g class=\"w t1\"", "cx") >
          attribute_of(d.out.data, "<text", ">30</text>", "x"));
    rgm_text_clear(&d.out);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void a_long_curve_keeps_its_lowest_and_highest_points(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    rgmi_drawing d = {0};
    rgm_report_trial *trial;
    char low[32], high[32];
    rgmi_value_range x = {0, 100000, false, 1}, y;
    double ends[] = {-5, 9};
    rgmi_plane p;

    (void)state;
    begin_search(&r, true);
    trial = add_trial(&r, 1, 0.1, 1, 0, -5);
    trial->point_count = 0;
    for (int i = 0; i <= 100000; i++)
        CHECK_OK(rgm_report_add_point(trial, i, i == 70001 ? -5 : i == 33333 ? 9 : sin(i)));
    CHECK_OK(rgmi_view_open(&v, &r));
    rgmi_draw_curves(&d, &v, 800, 300);
    CHECK_OK(d.status);
    CHECK(count_of(d.out.data, ",") <= MOST_POINTS + 2);
    y = rgmi_range_of(ends, 2, false, 0.05);
    p = rgmi_plane_of(800 - 150, 300, x, y);
    snprintf(low, sizeof low, "%.1f,%.1f ", rgmi_plane_x(&p, 70001), rgmi_plane_y(&p, -5));
    snprintf(high, sizeof high, "%.1f,%.1f ", rgmi_plane_x(&p, 33333), rgmi_plane_y(&p, 9));
    CHECK(strstr(d.out.data, low) != NULL);
    CHECK(strstr(d.out.data, high) != NULL);
    rgm_text_clear(&d.out);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void lines_of_parallel_coordinates_go_through_every_axis(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    rgmi_drawing d = {0};

    (void)state;
    small_search(&r);
    r.trials[1].values[1] = (rgm_report_value){false, 20, 0};
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_INT(3, v.varied_count);
    rgmi_draw_parallel(&d, &v, 3, 900, 300);
    CHECK_OK(d.status);
    CHECK_INT(3, count_of(d.out.data, "<polyline"));
    CHECK_INT(3 * 4, count_of(d.out.data, ","));
    CHECK_INT(1, count_of(d.out.data, ">not set</text>"));
    CHECK_INT(1, count_of(d.out.data, ",290.0 "));
    CHECK_INT(1, count_of(d.out.data, "<g class=\"best b\"><title>Trial 3:"));
    rgm_text_clear(&d.out);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void bars_of_the_timeline_are_as_long_as_slots_were_held(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    rgmi_drawing d = {0};
    double width;

    (void)state;
    small_search(&r);
    CHECK_OK(rgm_report_add_interval(&r.trials[1], 1, 250, NAN)); /* holds it still: to 300 */
    CHECK_OK(rgmi_view_open(&v, &r));
    CHECK_CLOSE(rgmi_report_busy(&r), 350.0 / 600, 1e-12, 0);
    rgmi_draw_timeline(&d, &v, 800);
    CHECK_OK(d.status);
    CHECK_INT(4, count_of(d.out.data, "<rect class=\"d c"));
    CHECK_INT(1, count_of(d.out.data, "minutes since the search began"));
    width = attribute_of(d.out.data, "<text", ">4.0</text>", "x") -
            attribute_of(d.out.data, "<text", ">2.0</text>", "x");
    CHECK_CLOSE(attribute_of(d.out.data, "<rect", "<title>Trial 1:", "width"),
                width * 100 / 120 - 0.6, 0, 0.11);
    CHECK_CLOSE(attribute_of(d.out.data, "<rect", "<title>Trial 3:", "x"),
                attribute_of(d.out.data, "<rect", "<title>Trial 1:", "x") + width * 200 / 120, 0,
                0.21);
    rgm_text_clear(&d.out);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

/* ---- files --------------------------------------------------------------------------------- */

static void the_same_search_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_search_report r, again;
        rgm_text one, other;

        small_search(&r);
        small_search(&again);
        written(&one, &r, i);
        written(&other, &again, i);
        CHECK_TEXT(one.data, other.data);
        rgm_text_clear(&one);
        rgm_text_clear(&other);
        rgm_search_report_clear(&r);
        rgm_search_report_clear(&again);
    }
}

static void a_page_has_every_part(void **state)
{
    static const char *const parts[] = {
        "id=\"best\"",   "id=\"curves\"",      "id=\"importance\"", "id=\"parallel\"",
        "id=\"slices\"", "id=\"timeline\"",    "id=\"trials\"",     "name: small\nrate: 0.1\n",
        "50.0 %",        "name%3A%20small%0A", "<td>0.1</td>",      "1 without a finite metric",
        (", over " OVER)};
    rgm_search_report r;
    rgm_text text;

    (void)state;
    small_search(&r);
    written(&text, &r, PAGE);
    check_markup(text.data);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(text.data, parts[i]) == NULL)
            fail_msg("the page has no %s", parts[i]);
    CHECK_INT(9, count_of(text.data, "<tr>")); /* two heads, three values, a fact, three trials */
    CHECK(strstr(text.data,
                 ">items</th><td class=\"text\">30 train of &lt;40&gt;; 10 in no part</td>") !=
          NULL);
    CHECK_INT(1, count_of(text.data, "<tr class=\"first\">"));
    CHECK(strstr(text.data, "http://") == NULL && strstr(text.data, "https://") == NULL);
    CHECK(strstr(text.data, "<script") == NULL);
    rgm_text_clear(&text);
    written(&text, &r, PICTURE);
    CHECK(strstr(text.data, OVER) != NULL);
    rgm_text_clear(&text);
    rgm_search_report_clear(&r);
}

#define HOSTILE                                                                                    \
    "</title></style></pre><script>alert(1)</script>\" onload='x' &amp; ]]> "                      \
    "\xff\x1b[2J\n\xe2\x80\xae"

static void hostile_texts_stay_texts(void **state)
{
    rgm_search_report r;
    rgm_report_hyper *hyper;
    int64_t choice;

    (void)state;
    begin_search(&r, true);
    CHECK_OK(rgm_strdup(&r.name, HOSTILE));
    CHECK_OK(rgm_strdup(&r.state, HOSTILE));
    CHECK_OK(rgm_strdup(&r.searcher, HOSTILE));
    CHECK_OK(rgm_strdup(&r.unit, HOSTILE));
    CHECK_OK(rgm_strdup(&r.best_file, HOSTILE));
    CHECK_OK(rgm_report_add_fact(&r, HOSTILE, HOSTILE));
    CHECK_OK(rgm_strdup(&r.importance_note, HOSTILE));
    CHECK_OK(rgm_strdup(&r.importance_over, HOSTILE));
    CHECK_OK(rgm_strdup(&r.objectives[1].name, HOSTILE));
    r.objective_count = 2;
    CHECK_OK(rgm_report_add_hyper(&hyper, &r, HOSTILE, RGM_REPORT_CHOICE));
    CHECK_OK(rgm_report_add_choice(&choice, hyper, HOSTILE));
    CHECK_OK(rgm_report_add_choice(&choice, hyper, HOSTILE HOSTILE));
    for (int64_t i = 0; i < 3; i++) {
        rgm_report_trial *trial = add_trial(&r, i, 0.1, (double)i, 0, (double)i);

        rgm_free(trial->state);
        CHECK_OK(rgm_strdup(&trial->state, HOSTILE));
        trial->latest[1] = trial->best[1] = (double)i;
        trial->values[3] = (rgm_report_value){true, 0, i % 2};
    }
    for (int i = 0; i < 2; i++) {
        rgm_text text;

        written(&text, &r, i);
        check_markup(text.data);
        CHECK(strstr(text.data, "<script") == NULL);
        CHECK(strstr(text.data, "\" onload") == NULL);
        CHECK(strchr(text.data, '\x1b') == NULL && strstr(text.data, "\xe2\x80\xae") == NULL);
        CHECK_INT(-1, rgm_utf8_check(text.data, text.size));
        CHECK(strstr(text.data, "&lt;script&gt;") != NULL);
        rgm_text_clear(&text);
    }
    rgm_search_report_clear(&r);
}

static void long_names_lose_their_middle(void **state)
{
    rgmi_drawing d = {0};

    (void)state;
    rgmi_draw_text(&d, 0, 0, "start", "", 77, "first.abc<\xc3\xa4\xc3\xb6>xyz.last");
    rgmi_draw_text(&d, 0, 0, "start", "", 77, "10 letters");
    CHECK_OK(d.status);
    CHECK(strstr(d.out.data, ">firs\xe2\x80\xa6.last<") != NULL);
    CHECK(strstr(d.out.data, ">10 letters<") != NULL);
    d.out.size = 0;
    rgmi_draw_text(&d, 0, 0, "start", "", 14, "<\xc3\xa4>");
    CHECK(strstr(d.out.data, ">&lt;\xc3\xa4&gt;<") != NULL);
    rgm_text_clear(&d.out);
}

static void check_all(const rgm_search_report *r, const char *said)
{
    for (int i = 0; i < 2; i++) {
        rgm_text text;

        written(&text, r, i);
        CHECK(text.size > 0);
        check_markup(text.data);
        CHECK(strstr(text.data, "nan") == NULL);
        CHECK(strstr(text.data, "inf") == NULL);
        CHECK(said == NULL || strstr(text.data, said) != NULL);
        rgm_text_clear(&text);
    }
}

static void searches_without_a_metric_say_so(void **state)
{
    rgm_search_report r = {.seconds = NAN};

    (void)state;
    check_all(&r, "There is no trial yet.");
    begin_search(&r, true);
    check_all(&r, "There is no trial yet.");
    add_trial(&r, 1, 0.1, 10, 0, NAN);
    add_trial(&r, 2, 0.2, 20, 1, NAN);
    CHECK_OK(rgm_report_add_interval(&r.trials[0], 0, 0, 10));
    check_all(&r, "No trial has a finite metric.");
    rgm_search_report_clear(&r);
}

static void the_largest_numbers_stand_apart(void **state)
{
    rgm_search_report r;
    rgmi_report_view v;
    rgmi_drawing d = {0};

    (void)state;
    begin_search(&r, true);
    add_trial(&r, 1, 0.1, 10, 0, -1e308);
    add_trial(&r, 2, 0.1, 20, 0, 0);
    add_trial(&r, 3, 0.1, 30, 0, 1e308);
    CHECK_OK(rgmi_view_open(&v, &r));
    rgmi_draw_slice(&d, &v, 1, 340, 250);
    CHECK_OK(d.status);
    CHECK_CLOSE(attribute_of(d.out.data, "<circle", "<title>Trial 1:", "cy") +
                    attribute_of(d.out.data, "<circle", "<title>Trial 3:", "cy"),
                2 * attribute_of(d.out.data, "<circle", "<title>Trial 2:", "cy"), 0, 0.21);
    CHECK(attribute_of(d.out.data, "<circle", "<title>Trial 1:", "cy") > 150);
    d.out.size = 0;
    rgmi_mark(&d, "%.1f %.0f %d %lld %%", -0.01, -2.5, -3, -4ll);
    CHECK_TEXT("0.0 -2 -3 -4 %", d.out.data);
    rgm_text_clear(&d.out);
    rgmi_view_close(&v);
    rgm_search_report_clear(&r);
}

static void odd_numbers_are_drawn_or_left_out(void **state)
{
    static const double odd[] = {0, -0.0, 1e308, -1e308, 5e-324, INFINITY, -INFINITY, NAN, 1};
    enum { ODD = sizeof odd / sizeof *odd };
    rgm_search_report r;

    (void)state;
    begin_search(&r, true);
    add_trial(&r, 1, 0.1, 10, 0, 0.5);
    check_all(&r, "Trial 1");
    for (int i = 0; i < ODD * ODD; i++) {
        rgm_report_trial *trial = add_trial(&r, 2 + i, odd[i % ODD], odd[i / ODD], 0, odd[i % ODD]);

        CHECK_OK(rgm_report_add_point(trial, odd[i / ODD], odd[i % ODD]));
        CHECK_OK(rgm_report_add_interval(trial, i % 3 - 1, odd[i % ODD], odd[i / ODD]));
        trial->seconds = odd[i % ODD];
        if (i % 10 == 0)
            check_all(&r, NULL);
    }
    check_all(&r, NULL);
    rgm_search_report_clear(&r);
}

static void ten_thousand_trials_make_files_of_bounded_size(void **state)
{
    rgm_search_report r;
    rgm_text text;

    (void)state;
    begin_search(&r, true);
    for (int64_t i = 0; i < 10000; i++) {
        rgm_report_trial *trial = add_trial(&r, i + 1, pow(10, -4 + 3e-4 * (double)i),
                                            (double)(i % 99), i % 2, 0.1 + fabs(sin((double)i)));

        CHECK_OK(rgm_report_add_interval(trial, i % 4, (double)(i / 4), (double)(i / 4 + 1)));
    }
    r.seconds = 2500;
    written(&text, &r, PAGE);
    check_markup(text.data);
    CHECK(text.size < 2 << 20);
    CHECK_INT(MOST_ROWS, count_of(text.data, "<th scope=\"row\">"));
    CHECK(strstr(text.data, "1000 of 10,000 trials, a report in CSV has all") != NULL);
    CHECK(strstr(text.data,
                 "of 10,000 trials are drawn: the best 200 and of the others one in 49") != NULL);
    CHECK(count_of(text.data, "<circle") <= 3 * MOST_DOTS + MOST_TOP);
    CHECK(count_of(text.data, "<rect") <= MOST_BARS + 100);
    rgm_text_clear(&text);
    written(&text, &r, PICTURE);
    check_markup(text.data);
    CHECK(text.size < 2 << 20);
    rgm_text_clear(&text);
    rgm_search_report_clear(&r);
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
    rgm_search_report r;
    rgm_text text = {0};

    (void)state;
    small_search(&r);
    for (int i = 0; i < 2; i++)
        CHECK_EVERY_OOM(printers[i](&text, &r), rgm_text_clear(&text));
    rgm_search_report_clear(&r);
}

TESTS(cmocka_unit_test(the_best_are_first_and_ties_go_to_the_older_trial),
      cmocka_unit_test(the_front_is_what_no_other_beats),
      cmocka_unit_test(a_sample_has_the_best_half_and_goes_evenly_to_the_worst),
      cmocka_unit_test(one_trial_that_diverged_does_not_press_the_others),
      cmocka_unit_test(a_dot_stands_where_the_tick_of_its_value_does),
      cmocka_unit_test(curves_have_a_point_for_each_validation_and_gaps_for_nan),
      cmocka_unit_test(a_long_curve_keeps_its_lowest_and_highest_points),
      cmocka_unit_test(lines_of_parallel_coordinates_go_through_every_axis),
      cmocka_unit_test(bars_of_the_timeline_are_as_long_as_slots_were_held),
      cmocka_unit_test(the_same_search_gives_the_same_bytes),
      cmocka_unit_test(a_page_has_every_part), cmocka_unit_test(hostile_texts_stay_texts),
      cmocka_unit_test(long_names_lose_their_middle),
      cmocka_unit_test(searches_without_a_metric_say_so),
      cmocka_unit_test(the_largest_numbers_stand_apart),
      cmocka_unit_test(odd_numbers_are_drawn_or_left_out),
      cmocka_unit_test(ten_thousand_trials_make_files_of_bounded_size),
      cmocka_unit_test(memory_that_runs_out_leaves_nothing))
