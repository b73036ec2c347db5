/*
 * Programs run to their end: words arrive as they are, outputs are bounded, what hangs is killed,
 * nothing is left behind.
 */
#include "check.h"
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static rgm_status run(rgmi_outcome *out, const char *const *argv, int64_t max_size, double seconds)
{
    return rgmi_command_run(
        out, &(rgmi_command){.argv = argv, .max_size = max_size, .seconds = seconds});
}

/* No child is left, running or dead. */
static void check_nothing_runs(void)
{
    CHECK_INT(-1, waitpid(-1, NULL, WNOHANG));
}

static void words_arrive_as_they_are(void **state)
{
    rgmi_outcome out;

    (void)state;
    CHECK_OK(run(&out, WORDS("printf", "<%s>\n", "a b", "$(touch x)", "'\";|&", "two\nlines", ""),
                 1000, 10));
    CHECK_TEXT("<a b>\n<$(touch x)>\n<'\";|&>\n<two\nlines>\n<>\n", out.out.data);
    CHECK_TEXT("", out.error.data);
    CHECK_INT(0, out.exit_status);
    rgmi_outcome_clear(&out);
    CHECK_OK(run(&out, WORDS("sh", "-c", "echo out; echo err >&2; cat; exit 7"), 1000, 10));
    CHECK_TEXT("out\n", out.out.data);
    CHECK_TEXT("err\n", out.error.data);
    CHECK_INT(7, out.exit_status);
    rgmi_outcome_clear(&out);
    CHECK_OK(run(&out, WORDS("true"), 0, 10));
    CHECK_TEXT("", out.out.data);
    rgmi_outcome_clear(&out);
    CHECK_OK(run(&out, WORDS("sh", "-c", "kill -9 $$"), 1000, 10));
    CHECK_INT(128 + 9, out.exit_status);
    rgmi_outcome_clear(&out);
    check_nothing_runs();
}

static void its_environment_is_given(void **state)
{
    const char *const environment[] = {"A=1 2", "PATH=/usr/bin:/bin", NULL};
    rgmi_outcome out;

    (void)state;
    CHECK_OK(rgmi_command_run(&out, &(rgmi_command){.argv = WORDS("sh", "-c", "echo \"$A-$HOME\""),
                                                    .environment = environment,
                                                    .max_size = 100,
                                                    .seconds = 10}));
    CHECK_TEXT("1 2-\n", out.out.data);
    rgmi_outcome_clear(&out);
}

static void what_is_too_much_or_too_late_is_ended(void **state)
{
    rgmi_outcome out;
    double start = rgm_now();

    (void)state;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, run(&out, WORDS("regimen-has-no-such-program"), 100, 10));
    CHECK_MESSAGE("there is no program 'regimen-has-no-such-program' on the PATH");
    CHECK_STATUS(RGM_ERR_IO, run(&out, WORDS("yes"), 100000, 10));
    CHECK_MESSAGE("yes printed more than 100000 bytes");
    CHECK(out.out.data == NULL);
    CHECK_STATUS(RGM_ERR_IO, run(&out, WORDS("sleep", "100"), 100, 0.2));
    CHECK_MESSAGE("sleep has not answered within 0.2 s");
    CHECK_STATUS(RGM_ERR_IO,
                 run(&out, WORDS("sh", "-c", "exec sleep 100 >/dev/null 2>&1"), 100, 0.2));
    CHECK_MESSAGE("has not answered");
    CHECK(rgm_now() - start < 9);
    CHECK_OK(run(&out, WORDS("sh", "-c", "yes word | head -c 300000 >&2"), 100, 10));
    CHECK_INT(4096, out.error.size); /* the first of it */
    rgmi_outcome_clear(&out);
    CHECK_OK(run(&out, WORDS("head", "-c", "300000", "/dev/zero"), 300000, 10));
    CHECK_INT(300000, out.out.size);
    rgmi_outcome_clear(&out);
    check_nothing_runs();
}

/* Neither our descriptors nor our signals. */
static void it_starts_clean(void **state)
{
    int fd = open("/dev/null", O_RDONLY); /* not closed on exec */
    sigset_t all, before;
    rgmi_outcome out;
    unsigned long long blocked = 1, ignored = 1;

    (void)state;
    CHECK(fd > 2);
    sigfillset(&all);
    CHECK_INT(0, sigprocmask(SIG_BLOCK, &all, &before));
    CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
    CHECK_OK(run(&out, WORDS("grep", "^Sig[BI]", "/proc/self/status"), 1000, 10));
    CHECK(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    CHECK_INT(0, sigprocmask(SIG_SETMASK, &before, NULL));
    CHECK_INT(2, sscanf(out.out.data, "SigBlk: %llx\nSigIgn: %llx", &blocked, &ignored));
    rgmi_outcome_clear(&out);
    CHECK_INT(0, blocked);
    CHECK_INT(0, ignored & 0x7fffffff); /* 32 and 33 are the C library's */
    CHECK_OK(run(&out, WORDS("ls", "/proc/self/fd"), 1000, 10));
    CHECK_TEXT("0\n1\n2\n3\n", out.out.data); /* the last is the folder, which ls reads */
    rgmi_outcome_clear(&out);
    close(fd);
}

static void without_memory_nothing_runs(void **state)
{
    rgmi_outcome out;

    (void)state;
    CHECK_EVERY_OOM(run(&out, WORDS("echo", "word"), 1000, 10), rgmi_outcome_clear(&out));
    check_nothing_runs();
}

TESTS(cmocka_unit_test(words_arrive_as_they_are), cmocka_unit_test(its_environment_is_given),
      cmocka_unit_test(what_is_too_much_or_too_late_is_ended), cmocka_unit_test(it_starts_clean),
      cmocka_unit_test(without_memory_nothing_runs))
