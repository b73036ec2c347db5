/*
 * The command's side of the terminal: results on stdout, everything else on stderr; while a run is
 * under way signals become a flag that the trainer asks for between steps, and a second one ends
 * the process at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

int verbosity;
static bool muted;
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = 1;
    if (number != SIGXCPU) /* which comes each second from then on, until the hard limit kills */
        signal(number, SIG_DFL);
}

/* Lines for people: names in them may be of a file from anywhere. */
static void put_visible(const char *text)
{
    rgm_text shown = {0};

    if (rgm_text_add_visible_lines(&shown, text) == RGM_OK)
        fputs(shown.data, stdout);
    else
        fputs("out of memory for a message", stdout);
    rgm_text_clear(&shown);
}

/* In one write, so that nothing of other processes comes between: ranks share a terminal. */
static void put_line(const char *begin, const char *text)
{
    rgm_text line = {0};

    if (rgm_text_printf(&line, "%s", begin) == RGM_OK &&
        rgm_text_add_visible_lines(&line, text) == RGM_OK && rgm_text_printf(&line, "\n") == RGM_OK)
        fputs(line.data, stderr);
    else
        fputs("regimen: out of memory for a message\n", stderr);
    rgm_text_clear(&line);
}

static void put_formatted(const char *begin, const char *format, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    put_line(begin, text != NULL ? text : "out of memory for a message");
    free(text);
}

/* Warnings for the person at the terminal; all of it with -v. The run folder's log.txt has
 * everything. */
static void show_message(int level, const char *message, void *payload)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char begin[32];

    (void)payload;
    if (muted || verbosity < 0 || level > (verbosity > 0 ? RGM_LOG_INFO : RGM_LOG_WARNING))
        return;
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr); /* the progress line is drawn again */
    snprintf(begin, sizeof begin, "regimen: %s: ", names[level]);
    put_line(begin, message);
}

void console_handle_signals(const int *numbers, int count, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < count; i++) {
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &action, NULL);
    }
}

void console_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGXCPU};

    console_handle_signals(numbers, sizeof numbers / sizeof *numbers, on_signal, SA_RESTART);
}

/*
 * A descriptor of 0 to 2 that is closed would be given to the next file that is opened, and what is
 * printed would end up in it: metrics.jsonl. In its place stands one that can be used the wrong way
 * only, so that reading or printing fails as it should.
 */
static bool occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

int console_close(int code)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout);

    if (!lost || code != EXIT_DONE) /* a failure was told already */
        return code;
    fprintf(stderr, "regimen: stdout: %s\n", strerror(errno != 0 ? errno : EIO));
    return EXIT_FAILED;
}

bool console_open(void)
{
    if (!occupy_standard_descriptors())
        return false;
    /* A closed pipe and a file size limit are errors of a write like others. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    (void)rgm_logger_add_sink(NULL, show_message, NULL); /* the first one: there is room */
    return true;
}

int report_to_ranks(rgm_status status)
{
    int place, count = rgm_comm_launched(&place);

    bool is_count = status == RGM_ERR_UNSUPPORTED && (count & (count - 1)) != 0;

    return is_count && place > 0 ? EXIT_DONE : report(status);
}

void console_mute(void)
{
    int nowhere = open("/dev/null", O_WRONLY);

    fflush(stdout);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }
    muted = true;
}

void console_sleep(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

bool console_is_stopped(void *payload)
{
    (void)payload;
    return stopped != 0;
}

static void to_stderr(const char *text, int64_t size, void *payload)
{
    (void)payload;
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, text, (size_t)size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        size -= written;
    }
}

rgm_progress *console_progress_in(const char *unit)
{
    rgm_progress_options options = rgm_progress_options_for(STDERR_FILENO);
    rgm_progress *progress = NULL;

    if (muted || verbosity < 0)
        return NULL;
    options.write = to_stderr;
    options.unit = unit;
    if (rgm_progress_create(&progress, &options) != RGM_OK)
        return NULL;
    return progress;
}

rgm_progress *console_progress(bool in_epochs)
{
    return console_progress_in(in_epochs ? "epoch" : "step");
}

int report(rgm_status status)
{
    if (status == RGM_OK)
        return EXIT_DONE;
    if (!muted)
        put_line("regimen: ", verbosity > 0 ? rgm_error_text() : rgm_error_message());
    return status == RGM_ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
}

void report_though_muted(const char *begin)
{
    put_line(begin, rgm_error_message());
}

int usage_error(const char *format, ...)
{
    char text[RGM_MESSAGE_ROOM];
    va_list args;

    va_start(args, format);
    if (muted) { /* kept for verb_run.c, which tells the other processes */
        vsnprintf(text, sizeof text, format, args);
        (void)RGM_FAIL(RGM_ERR_CONFIG, "%s", text);
    } else {
        put_formatted("regimen: ", format, args);
    }
    va_end(args);
    return EXIT_USAGE;
}

void say(const char *label, const char *format, ...)
{
    char begin[32];
    va_list args;

    if (muted || verbosity < 0)
        return;
    snprintf(begin, sizeof begin, "%-8s ", label);
    va_start(args, format);
    put_formatted(begin, format, args);
    va_end(args);
}

const char *grouped(int64_t number)
{
    static char ring[8][32];
    static int next;
    char digits[32], *out = ring[next++ % 8];
    int size = snprintf(digits, sizeof digits, "%lld", (long long)number), at = 0;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *bytes_text(int64_t bytes)
{
    static char text[32];

    if (bytes >= 10LL << 30)
        snprintf(text, sizeof text, "%.1f GB", (double)bytes / (1 << 30));
    else
        snprintf(text, sizeof text, "%.0f MB", (double)bytes / (1 << 20) + 0.5);
    return text;
}

rgm_status unknown_metric(const char *option, const char *name, const rgm_map *names)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_map_count(names);
    const char **keys = NULL;
    rgm_text list = {0};

    RGM_GO(RGM_NEW(keys, count));
    for (int64_t i = 0; i < count; i++) {
        keys[i] = rgm_map_key(names, i);
        RGM_GO(rgm_text_printf(&list, "%s%s", i > 0 ? ", " : "", keys[i]));
    }
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s: no run has '%s'%s; there are %s", option, name,
                      rgm_did_you_mean(name, keys, count, NULL, NULL).text,
                      count > 0 ? list.data : "none");
done:
    rgm_free(keys);
    rgm_text_clear(&list);
    return status;
}

void time_text(char text[32], int64_t seconds)
{
    time_t time = (time_t)seconds;
    struct tm when;

    text[0] = '\0';
    if (seconds >= 0 && gmtime_r(&time, &when) != NULL)
        strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &when);
}

rgm_status printable(char **out, const char *text)
{
    rgm_text shown = {0};
    rgm_status status = rgm_text_add_visible(&shown, text);

    *out = status == RGM_OK ? shown.data : NULL;
    if (status != RGM_OK)
        rgm_text_clear(&shown);
    return status;
}

void print_metrics(const char *title, int width, const rgm_logs *values)
{
    int size = (int)strnlen(title, (size_t)width);

    put_visible(title);
    printf("%*s", width - size, "");
    for (int64_t i = 0; i < values->count; i++) {
        putchar(' ');
        put_visible(values->items[i].name);
        printf(" %.4f", values->items[i].value);
    }
}

int print_text(const char *text)
{
    put_visible(text);
    return print_exact("");
}

void print_line(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    puts(text);
}

int print_exact(const char *text)
{
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0 ||
        ferror(stdout)) { /* or what was printed before */
        /* of an earlier write nobody knows why it failed */
        fprintf(stderr, "regimen: stdout: %s\n", strerror(errno != 0 ? errno : EIO));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* As many digits as it takes to read the same number again, and no more. */
static rgm_status dump(rgm_text *out, const json_t *json, int depth)
{
    const char *begin = json_is_object(json) ? "{" : "[", *end = json_is_object(json) ? "}" : "]";
    const char *key = NULL;
    size_t count = json_is_object(json) ? json_object_size(json) : json_array_size(json);
    void *entry = json_object_iter((json_t *)json);

    if (json_is_real(json))
        return rgm_json_print_number(out, json_real_value(json));
    if (json_is_string(json))
        return rgm_json_print_text(out, json_string_value(json));
    if (json_is_integer(json))
        return rgm_text_printf(out, "%lld", (long long)json_integer_value(json));
    if (!json_is_object(json) && !json_is_array(json))
        return rgm_text_printf(out, "%s",
                               json_is_null(json)   ? "null"
                               : json_is_true(json) ? "true"
                                                    : "false");
    RGM_TRY(rgm_text_printf(out, "%s", begin));
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(json, i);

        RGM_TRY(rgm_text_printf(out, "%s\n%*s", i > 0 ? "," : "", 2 * (depth + 1), ""));
        if (json_is_object(json)) {
            key = json_object_iter_key(entry);
            value = json_object_iter_value(entry);
            entry = json_object_iter_next((json_t *)json, entry);
            RGM_TRY(rgm_json_print_text(out, key));
            RGM_TRY(rgm_text_printf(out, ": "));
        }
        RGM_TRY(dump(out, value, depth + 1));
    }
    return count > 0 ? rgm_text_printf(out, "\n%*s%s", 2 * depth, "", end)
                     : rgm_text_printf(out, "%s", end);
}

int print_json(json_t *json)
{
    int code = EXIT_FAILED;
    rgm_text text = {0};

    if (json != NULL && dump(&text, json, 0) == RGM_OK && print_exact(text.data) == EXIT_DONE)
        code = print_exact("\n");
    else
        fprintf(stderr, "regimen: the result could not be written to stdout\n");
    rgm_text_clear(&text);
    json_decref(json);
    return code;
}

rgm_status confirm(bool *agreed, bool yes, const char *question)
{
    char answer[8] = "";

    *agreed = yes;
    if (yes)
        return RGM_OK;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "nothing is removed: there is no terminal to ask at; add -y to remove "
                        "without asking");
    fprintf(stderr, "%s [y/N] ", question);
    *agreed = fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
    return RGM_OK;
}
