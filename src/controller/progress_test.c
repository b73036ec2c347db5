/*
 * The progress line, drawn into memory, with a clock that the test controls.
 */
#include <check.h>

#include <regimen/controller_run.h>

#include <stdlib.h>
#include <fcntl.h>
#include <unistd.h>

static double fake_time;
static double fake_clock(void)
{
    return fake_time;
}

static void keep(const char *text, int64_t size, void *payload)
{
    CHECK_OK(rgm_text_add(payload, text, size));
}

static rgm_progress *start(rgm_text *out, bool live, int columns)
{
    rgm_progress_options options = {.write = keep,
                                    .payload = out,
                                    .live = live,
                                    .columns = columns,
                                    .interval = -1,
                                    .unit = "epoch",
                                    .clock = fake_clock};
    rgm_progress *progress = NULL;

    fake_time = 1000;
    out->size = 0;
    CHECK_OK(rgm_text_add(out, "", 0));
    CHECK_OK(rgm_progress_create(&progress, &options));
    return progress;
}

static void update(rgm_progress *progress, double time, int64_t done, int64_t total)
{
    rgm_progress_state state = {.done = done,
                                .total = total,
                                .loss = 0.41234,
                                .metric = "valid accuracy",
                                .value = 0.75,
                                .checkpoint = 40000};

    fake_time = 1000 + time;
    rgm_progress_update(progress, &state);
}

static void the_rate_is_told_in_items_where_they_have_a_name(void **state)
{
    rgm_text out = {0};
    rgm_progress *progress = start(&out, false, 0);
    rgm_progress_state s = {.total = 150, .loss = NAN, .checkpoint = -1, .items = "target tokens"};

    (void)state;
    for (int i = 0; i <= 110;
         i++) { /* two steps a second of 1,500 tokens, as soon as a mean is known */
        s.done = i / 5;
        s.items_a_unit = i < 105 ? 0 : 1500;
        fake_time = 1000 + i * 0.1;
        rgm_progress_update(progress, &s);
    }
    CHECK(strstr(out.data, "epoch    20/150  2 epochs/s  ETA 1m05s") == out.data);
    rgm_progress_finish(progress);
    CHECK(strstr(out.data, "epoch    22/150  3,000 target tokens/s  ETA 1m04s") != NULL);
    rgm_progress_release(progress);
    rgm_text_clear(&out);
}

static void a_file_gets_a_plain_line_each_ten_seconds(void **state)
{
    rgm_text out = {0};
    rgm_progress *progress = start(&out, false, 0);
    int lines = 0;

    (void)state;
    for (int i = 0; i <= 1000; i++) /* 2000 epochs a second for 35 seconds */
        update(progress, i * 0.035, 40000 + i * 70, 150000);
    for (int64_t i = 0; i < out.size; i++) {
        CHECK((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
        lines += out.data[i] == '\n';
    }
    CHECK_INT(3, lines);
    CHECK(strncmp(out.data,
                  "epoch    60,020/150,000  loss 0.4123  valid accuracy 0.75  2,000 "
                  "epochs/s  ETA 45s  ",
                  84) == 0);
    CHECK(strstr(out.data, " MB  ckpt 40,000\n") != NULL);
    CHECK_CLOSE(rgm_progress_rate(progress), 2000, 1e-6, 0);
    out.size = 0;
    rgm_progress_finish(progress);
    CHECK(strncmp(out.data, "epoch    110,000/150,000", 24) == 0);
    out.size = 0;
    out.data[0] = 0;
    rgm_progress_finish(progress);
    rgm_progress_release(progress);
    CHECK_TEXT("", out.data);
    rgm_text_clear(&out);
}

/* Parts leave, the least important first; none is cut. */
static void a_narrow_terminal_gets_fewer_parts(void **state)
{
    static const struct {
        int columns;
        const char *line;
    } cases[] = {{80, "\repoch    20/90  loss 0.4123  valid accuracy 0.75  2 epochs/s  ETA 35s"},
                 {70, "\repoch    20/90  loss 0.4123  valid accuracy 0.75  2 epochs/s  ETA 35s"},
                 {69, "\repoch    20/90  loss 0.4123  valid accuracy 0.75  ETA 35s"},
                 {50, "\repoch    20/90  loss 0.4123  ETA 35s"},
                 {30, "\repoch    20/90  ETA 35s"},
                 {10, "\repoch"}};
    rgm_text out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_progress *progress = start(&out, true, cases[i].columns);

        for (int k = 0; k <= 20; k++) {
            out.size = 0;
            update(progress, 0.5 * k, k, 90);
        }
        out.data[out.size] = '\0';
        while (out.size > 0 && out.data[out.size - 1] == ' ') /* over the rest of the old line */
            out.data[--out.size] = '\0';
        CHECK_INT(0, strncmp(cases[i].line, out.data, strlen(out.data)));
        CHECK(strlen(out.data) + 3 > strlen(cases[i].line));
        rgm_progress_release(progress);
    }
    rgm_text_clear(&out);
}

static void a_terminal_gets_one_line_redrawn_in_place(void **state)
{
    char note[80];
    rgm_text out = {0};
    rgm_progress *progress = start(&out, true, 40);

    (void)state;
    update(progress, 0.05, 1, 9);
    CHECK_INT(0, out.size);
    update(progress, 0.2, 2, 9);
    CHECK_INT('\r', out.data[0]);
    CHECK_TEXT("\repoch    2/9  loss 0.4123  ETA 1s", out.data); /* what fits into 39, whole */
    CHECK(strchr(out.data, '\n') == NULL);
    out.size = 0;
    rgm_progress_note(progress, "saved %s", "a\rb");
    snprintf(note, sizeof note, "\r%33s\rsaved a\\x0db\n\repoch ", "");
    CHECK(strncmp(out.data, note, strlen(note)) == 0);
    out.size = 0;
    rgm_progress_finish(progress);
    CHECK_INT('\n', out.data[out.size - 1]);
    out.size = 0;
    update(progress, 1, 3, 9);
    CHECK_INT('\r', out.data[0]);
    rgm_progress_release(progress);
    CHECK_INT('\n', out.data[out.size - 1]);
    rgm_text_clear(&out);
}

static void a_shorter_line_blanks_what_stood_there(void **state)
{
    rgm_text out = {0};
    rgm_progress *progress = start(&out, true, 200);
    rgm_progress_state bare = {.done = 3, .loss = NAN, .checkpoint = -1};
    int64_t first;

    (void)state;
    update(progress, 0.2, 2, 9);
    first = out.size;
    out.size = 0;
    fake_time += 1;
    rgm_progress_update(progress, &bare);
    CHECK_INT(first, out.size);
    CHECK(strstr(out.data, "loss") == NULL);
    CHECK_INT(' ', out.data[out.size - 1]);
    rgm_progress_release(progress);
    rgm_text_clear(&out);
}

static void a_slow_run_shows_seconds_a_step_and_a_long_eta(void **state)
{
    rgm_text out = {0};
    rgm_progress *progress = start(&out, false, 0);

    (void)state;
    update(progress, 0, 0, 10000);
    update(progress, 20, 1, 10000);
    CHECK(strstr(out.data, "  20 s/epoch  ETA 2d07h  ") != NULL);
    rgm_progress_release(progress);
    rgm_text_clear(&out);
}

static void names_cannot_carry_escape_sequences(void **state)
{
    rgm_text out = {0};
    rgm_progress *progress = start(&out, true, 200);
    rgm_progress_state s = {.metric = "\033]0;x\007", .value = 1, .loss = NAN, .checkpoint = -1};

    (void)state;
    fake_time += 1;
    rgm_progress_update(progress, &s);
    CHECK(strchr(out.data, '\033') == NULL);
    CHECK(strstr(out.data, "\\x1b]0;x\\x07 1") != NULL);
    rgm_progress_release(progress);
    rgm_text_clear(&out);
}

static void a_dumb_terminal_or_a_file_is_not_live(void **state)
{
    int fds[2];

    (void)state;
    setenv("COLUMNS", "132", 1);
    CHECK_INT(0, pipe(fds));
    CHECK(!rgm_progress_options_for(fds[1]).live);
    close(fds[0]);
    close(fds[1]);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0)
        SKIP("this machine gives no pseudo-terminal");
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    rgm_progress_options options = rgm_progress_options_for(terminal);
    if (!isatty(terminal))
        SKIP("the pseudo-terminal is no terminal here");
    CHECK(options.live && options.color);
    CHECK_INT(132, options.columns);
    setenv("NO_COLOR", "1", 1);
    CHECK(!rgm_progress_options_for(terminal).color);
    setenv("TERM", "dumb", 1);
    CHECK(!rgm_progress_options_for(terminal).live);
    close(terminal);
}

static void creating_survives_every_failing_allocation(void **state)
{
    rgm_progress_options options = {.write = NULL};
    rgm_progress *progress = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_progress_create(&progress, &options), rgm_progress_release(progress));
}

TESTS(cmocka_unit_test(the_rate_is_told_in_items_where_they_have_a_name),
      cmocka_unit_test(a_file_gets_a_plain_line_each_ten_seconds),
      cmocka_unit_test(a_narrow_terminal_gets_fewer_parts),
      cmocka_unit_test(a_terminal_gets_one_line_redrawn_in_place),
      cmocka_unit_test(a_shorter_line_blanks_what_stood_there),
      cmocka_unit_test(a_slow_run_shows_seconds_a_step_and_a_long_eta),
      cmocka_unit_test(names_cannot_carry_escape_sequences),
      cmocka_unit_test(a_dumb_terminal_or_a_file_is_not_live),
      cmocka_unit_test(creating_survives_every_failing_allocation))
