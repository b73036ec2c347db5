/*
 * The server against sockets that behave badly: slow, many, large, malformed; slow lanes, unread
 * streams, and a stop in the middle of all of it.
 */
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server_internal.h"

#define FILE_SIZE 100000

static rgm_http *server;
static int server_port;
static atomic_int answered, streams_closed, stream_ready, release_slow;

/* ---- who answers ---------------------------------------------------------------------------- */

static int64_t read_stream(char *data, int64_t room, void *payload)
{
    (void)payload;
    if (atomic_exchange(&stream_ready, 0) == 0 || room < 16)
        return 0;
    memcpy(data, "data: x\n\n", 9);
    return 9;
}

static bool is_stream_ready(void *payload)
{
    (void)payload;
    return atomic_load(&stream_ready) != 0;
}

static void close_stream(void *payload)
{
    (void)payload;
    atomic_fetch_add(&streams_closed, 1);
}

static bool admit(rgm_response *out, const rgm_request *request, void *payload)
{
    (void)payload;
    if (strcmp(request->path, "/closed") != 0)
        return true;
    rgm_response_fail(out, 403, RGM_FAIL(RGM_ERR_ARG, "closed"), NULL);
    return false;
}

/* Requests that the test answers. */
enum { LATER = 8 };
static _Atomic(rgm_http_later *) later[LATER];
static atomic_int later_count;

static int64_t choose_lane(const rgm_request *request, void *payload)
{
    (void)payload;
    if (strcmp(request->path, "/later") == 0)
        return 0;
    return strcmp(request->path, "/slow") == 0 ? 1 : strcmp(request->path, "/lane") == 0 ? 0 : -1;
}

/* A file of FILE_SIZE bytes "r" and one more. */
static int a_file(void)
{
    static char bytes[FILE_SIZE + 1];
    int fd = memfd_create("a_file", MFD_CLOEXEC);

    memset(bytes, 'r', FILE_SIZE);
    CHECK(fd > 0 && write(fd, bytes, sizeof bytes) == sizeof bytes);
    return fd;
}

static void answer(rgm_response *out, const rgm_request *request, void *payload)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const char *name = rgm_request_header(request, "x-name");

    (void)payload;
    atomic_fetch_add(&answered, 1);
    out->status = 200;
    if (strcmp(request->path, "/later") == 0) {
        atomic_store(&later[atomic_fetch_add(&later_count, 1)], rgm_http_defer(request));
        CHECK_OK(rgm_text_printf(&out->body, "not sent"));
        return;
    }
    for (int i = 0; strcmp(request->path, "/slow") == 0 && i < 2000; i++)
        if (atomic_load(&release_slow) == 0)
            nanosleep(&pause, NULL);
    if (strcmp(request->path, "/stream") == 0) {
        out->stream = (rgm_http_stream){read_stream, is_stream_ready, close_stream, &answered};
    } else if (strcmp(request->path, "/file") == 0) {
        out->fd = a_file();
        out->fd_size = FILE_SIZE;
        out->type = "application/octet-stream";
    } else {
        CHECK_OK(rgm_text_printf(
            &out->body, "{\"method\": \"%s\", \"size\": %lld, \"name\": \"%s\"}", request->method,
            (long long)request->size, name != NULL ? name : "none"));
    }
}

static int start(const rgm_http_options *options)
{
    static const rgm_header headers[] = {{"X-All", "yes"}};
    char address[64];
    int fd;

    atomic_store(&answered, 0);
    atomic_store(&streams_closed, 0);
    atomic_store(&stream_ready, 0);
    atomic_store(&release_slow, 0);
    CHECK_OK(rgm_http_listen(&fd, "127.0.0.1:0"));
    CHECK_OK(rgm_http_address(address, &server_port, fd));
    CHECK_OK(rgm_http_start(&server, fd, options,
                            &(rgm_http_service){.admit = admit,
                                                .lane = choose_lane,
                                                .answer = answer,
                                                .headers = headers,
                                                .header_count = 1}));
    return 0;
}

/* ---- who asks ------------------------------------------------------------------------------- */

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK_INT(0, connect(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static void put(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Read until `wanted` arrives, the connection ends, or `seconds` are over; static. */
static const char *get(int fd, const char *wanted, double seconds)
{
    static char text[1 << 18];
    double until = rgm_now() + seconds;
    int64_t size = 0;

    text[0] = 0;
    while (size < (int64_t)sizeof text - 1 && (wanted[0] == 0 || strstr(text, wanted) == NULL)) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        double left = until - rgm_now();
        ssize_t count;

        if (left <= 0 || poll(&wait, 1, (int)(left * 1000) + 1) <= 0)
            break;
        count = recv(fd, text + size, sizeof text - 1 - (size_t)size, 0);
        if (count <= 0)
            break;
        size += count;
        text[size] = 0;
    }
    return text;
}

/* The status of the answer to a request sent alone; 0: there is none. */
static int status_of(const char *sent)
{
    int fd = dial(), status = 0;
    const char *text;

    put(fd, sent);
    text = get(fd, "\r\n\r\n", 5);
    if (strncmp(text, "HTTP/1.1 ", 9) == 0)
        status = (int)strtol(text + 9, NULL, 10);
    close(fd);
    return status;
}

#define HOST "Host: a\r\n"
static const char plain[] = "GET / HTTP/1.1\r\n" HOST "\r\n";

/* ---- tests ---------------------------------------------------------------------------------- */

static void answers_have_their_headers_and_connections_stay(void **state)
{
    int fd;

    (void)state;
    start(NULL);
    fd = dial();
    put(fd, "GET /a HTTP/1.1\r\n" HOST "X-Name: n\r\n\r\n");
    const char *text = get(fd, "\"n\"}", 5);
    CHECK(strstr(text, "HTTP/1.1 200") == text);
    CHECK(strstr(text, "X-All: yes\r\n") && strstr(text, "X-Content-Type-Options: nosniff\r\n"));
    CHECK(strstr(text, "Cache-Control: no-store\r\n"));
    CHECK(strstr(text, "Content-Type: application/json\r\n"));
    put(fd, "POST /b HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
    CHECK(strstr(get(fd, "}", 5), "\"size\": 3") != NULL);
    put(fd, "POST /b HTTP/1.1\r\n" HOST
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    CHECK(strstr(get(fd, "}", 5), "\"size\": 5") != NULL);
    put(fd, "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" HOST "X-Name: last\r\n\r\n");
    CHECK(strstr(get(fd, "last", 5), "last") != NULL); /* one behind the other */
    put(fd, "HEAD /a HTTP/1.1\r\n" HOST "\r\n");
    text = get(fd, "\r\n\r\n", 5);
    CHECK(strstr(text, "200 OK") != NULL && strstr(text, "method") == NULL);
    put(fd, "GET /lane HTTP/1.1\r\n" HOST "X-Name: lane\r\n\r\n");
    CHECK(strstr(get(fd, "lane\"}", 5), "200 OK") != NULL); /* without lanes: at once */
    CHECK_INT(7, atomic_load(&answered));
    close(fd);
    rgm_http_stop(server);
}

static void answer_later(int i)
{
    rgm_response response = {.status = 201};

    while (atomic_load(&later[i]) == NULL)
        sched_yield();
    CHECK_OK(rgm_text_printf(&response.body, "\"number %d\"", i));
    rgm_http_answer(atomic_load(&later[i]), &response);
    CHECK(response.body.data == NULL);
}

static void *answer_the_last(void *payload)
{
    (void)payload;
    answer_later(LATER - 1);
    return NULL;
}

/* The one thread of the lane is free for all of them; the end waits for the last. */
static void requests_are_answered_later_in_any_order(void **state)
{
    const int one = 1;
    pthread_t thread;
    int fds[LATER];

    (void)state;
    atomic_store(&later_count, 0);
    for (int i = 0; i < LATER; i++)
        atomic_store(&later[i], NULL);
    start(&(rgm_http_options){.lanes = &one, .lane_count = 1});
    for (int i = 0; i < LATER; i++) {
        fds[i] = dial();
        put(fds[i], "POST /later HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
        while (atomic_load(&later_count) <= i)
            sched_yield();
    }
    for (int i = LATER - 2; i >= 0; i--) {
        char want[32];

        answer_later(i);
        snprintf(want, sizeof want, "number %d", i);
        CHECK(strstr(get(fds[i], want, 60), "201 Created") != NULL);
    }
    CHECK_INT(0, pthread_create(&thread, NULL, answer_the_last, NULL));
    rgm_http_stop(server);
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK(strstr(get(fds[LATER - 1], "number 7", 60), "number 7") != NULL);
    for (int i = 0; i < LATER; i++)
        close(fds[i]);
    CHECK(rgm_http_defer(&(rgm_request){.method = "GET", .path = "/later"}) == NULL);
}

static void a_file_is_sent_by_its_descriptor(void **state)
{
    static char data[2 * FILE_SIZE];
    int fd, size = 0;
    ssize_t count;

    (void)state;
    start(NULL);
    fd = dial();
    put(fd, "GET /file HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    while ((count = recv(fd, data + size, sizeof data - 1 - (size_t)size, 0)) > 0)
        size += (int)count;
    data[size] = '\0';
    const char *body = strstr(data, "\r\n\r\n");
    CHECK(body != NULL && strspn(body + 4, "r") == FILE_SIZE && body[4 + FILE_SIZE] == '\0');
    close(fd);
    rgm_http_stop(server);
}

static void what_can_be_understood_in_two_ways_is_refused(void **state)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\n\r\n", /* no host */
        "GET / HTTP/1.1\r\n" HOST HOST "\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\n" HOST
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 1x\r\n\r\nab",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc",
        "GET / HTTP/1.1\r\n" HOST "Authorization: a\r\nAuthorization: b\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Cookie: a\r\nCookie: b\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\n" HOST "\r\n",
        "GET * HTTP/1.1\r\n" HOST "\r\n",
        "nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n" HOST "\r\n",
    };

    (void)state;
    start(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = status_of(bad[i]);

        if (status != 0 && (status < 400 || status == 404))
            fail_msg("%d to: %s", status, bad[i]);
    }
    CHECK_INT(0, atomic_load(&answered));
    CHECK_INT(403, status_of("POST /closed HTTP/1.1\r\n" HOST
                             "Content-Length: 1000000\r\n\r\n")); /* before its body */
    CHECK_INT(0, atomic_load(&answered));
    CHECK_INT(200, status_of(plain));
    rgm_http_stop(server);
}

static void bodies_and_headers_are_bounded(void **state)
{
    rgm_text text = {0};

    (void)state;
    start(&(rgm_http_options){.body_bytes = 1000, .header_bytes = 8192});
    CHECK_OK(
        rgm_text_printf(&text, "POST / HTTP/1.1\r\n" HOST "Content-Length: 2000\r\n\r\n%2000d", 1));
    CHECK_INT(413, status_of(text.data));
    text.size = 0;
    CHECK_OK(rgm_text_printf(&text, "GET / HTTP/1.1\r\n" HOST "X: %20000d\r\n\r\n", 1));
    CHECK(status_of(text.data) != 200);
    text.size = 0;
    CHECK_OK(rgm_text_printf(&text, "GET / HTTP/1.1\r\n" HOST));
    for (int i = 0; i < 70; i++)
        CHECK_OK(rgm_text_printf(&text, "X%d: a\r\n", i));
    CHECK_OK(rgm_text_printf(&text, "\r\n"));
    CHECK_INT(400, status_of(text.data));
    CHECK_INT(0, atomic_load(&answered));
    rgm_text_clear(&text);
    rgm_http_stop(server);
}

/* What does not fit beside other bodies fits when these are answered. */
static void a_body_that_finds_no_room_is_for_later(void **state)
{
    rgm_text all_but_one = {0}, other = {0};
    int status = 200, first;

    (void)state;
    start(&(rgm_http_options){.body_bytes = 1000, .all_body_bytes = 1000});
    CHECK_OK(rgm_text_printf(&all_but_one,
                             "POST / HTTP/1.1\r\n" HOST "Content-Length: 900\r\n\r\n%899d", 1));
    CHECK_OK(
        rgm_text_printf(&other, "POST / HTTP/1.1\r\n" HOST "Content-Length: 500\r\n\r\n%500d", 1));
    first = dial();
    put(first, all_but_one.data);
    while (status == 200) /* until those bytes have been read */
        status = status_of(other.data);
    CHECK_INT(503, status);
    put(first, "x");
    CHECK(strstr(get(first, "\r\n\r\n", 60), "200 OK") != NULL);
    close(first);
    CHECK_INT(200, status_of(other.data));
    rgm_text_clear(&all_but_one);
    rgm_text_clear(&other);
    rgm_http_stop(server);
}

/* A byte now and then does not keep a connection open. */
static void who_is_slow_is_cut(void **state)
{
    static const char *const begun[] = {
        "", "GET / HT",
        "GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\nab"};
    double start_time = rgm_now();
    int fds[4];

    (void)state;
    start(&(rgm_http_options){.request_seconds = 1, .idle_seconds = 2});
    for (int i = 0; i < 4; i++) {
        fds[i] = dial();
        put(fds[i], begun[i]);
    }
    for (int i = 0; i < 4; i++) {
        char byte;

        for (;;) {
            struct pollfd wait = {.fd = fds[i], .events = POLLIN};

            if (poll(&wait, 1, 100) > 0 && recv(fds[i], &byte, 1, 0) <= 0)
                break;
            put(fds[i], "x");
            CHECK(rgm_now() - start_time < 10);
        }
        close(fds[i]);
    }
    CHECK(rgm_now() - start_time < 5);
    CHECK_INT(0, atomic_load(&answered));
    CHECK_INT(200, status_of(plain));
    rgm_http_stop(server);
}

static void there_is_room_for_one_more(void **state)
{
    int64_t connections;
    int fds[100];

    (void)state;
    start(&(rgm_http_options){.connections = 20});
    for (int i = 0; i < 100; i++) {
        fds[i] = dial();
        put(fds[i], "GET / ");
    }
    double before = rgm_now();
    CHECK_INT(200, status_of(plain));
    CHECK(rgm_now() - before < 1);
    rgmi_http_count(&connections, NULL, server);
    CHECK(connections <= 20);
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    CHECK_INT(200, status_of(plain));
    rgm_http_stop(server);
}

static void a_lane_that_waits_holds_up_nobody_else(void **state)
{
    int slow[3];

    (void)state;
    start(&(rgm_http_options){.lanes = (const int[]){1, 1}, .lane_count = 2});
    for (int i = 0; i < 3; i++) {
        slow[i] = dial();
        put(slow[i], "GET /slow HTTP/1.1\r\n" HOST "\r\n");
    }
    double before = rgm_now();
    for (int i = 0; i < 20; i++) {
        CHECK_INT(200, status_of(plain));
        CHECK_INT(200, status_of("GET /lane HTTP/1.1\r\n" HOST "\r\n"));
    }
    CHECK(rgm_now() - before < 1);
    atomic_store(&release_slow, 1);
    for (int i = 0; i < 3; i++) {
        CHECK(strstr(get(slow[i], "}", 5), "200 OK") != NULL);
        close(slow[i]);
    }
    CHECK_INT(43, atomic_load(&answered));
    rgm_http_stop(server);
}

static void streams_are_woken_and_bounded(void **state)
{
    static const char sent[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n";
    const struct timespec pause = {.tv_nsec = 10000000};
    int one, other;
    int64_t count = 1;

    (void)state;
    start(&(rgm_http_options){.streams = 1});
    one = dial();
    put(one, sent);
    CHECK(strstr(get(one, "\r\n\r\n", 5), "text/event-stream") != NULL);
    CHECK_INT(503, status_of(sent));
    atomic_store(&stream_ready, 1);
    rgm_http_wake(server);
    CHECK(strstr(get(one, "data: x", 5), "data: x") != NULL);
    close(one);
    for (int i = 0; i < 500 && count > 0; i++) { /* noticed only when there is something to send */
        atomic_store(&stream_ready, 1);
        rgm_http_wake(server);
        nanosleep(&pause, NULL);
        rgmi_http_count(NULL, &count, server);
    }
    CHECK_INT(0, count);
    other = dial();
    put(other, sent);
    CHECK(strstr(get(other, "\r\n\r\n", 5), "200 OK") != NULL);
    close(other);
    rgm_http_stop(server);
    CHECK_INT(3, atomic_load(&streams_closed));
}

static void *let_go(void *payload)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    (void)payload;
    nanosleep(&pause, NULL);
    atomic_store(&release_slow, 1);
    return NULL;
}

static void a_stop_answers_or_closes_everything(void **state)
{
    int stream, slow[5], idle, half;
    pthread_t thread;

    (void)state;
    start(&(rgm_http_options){.lanes = (const int[]){1, 2}, .lane_count = 2});
    stream = dial();
    put(stream, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    CHECK(strstr(get(stream, "\r\n\r\n", 5), "200 OK") != NULL);
    for (int i = 0; i < 5; i++) {
        slow[i] = dial();
        put(slow[i], "GET /slow HTTP/1.1\r\n" HOST "\r\n");
    }
    idle = dial();
    half = dial();
    put(half, "POST / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nab");
    while (atomic_load(&answered) < 3) /* the stream, and two that are being answered */
        sched_yield();
    CHECK_INT(0, pthread_create(&thread, NULL, let_go, NULL));
    double before = rgm_now();
    rgm_http_stop(server);
    CHECK(rgm_now() - before < 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 5; i++) {
        const char *text = get(slow[i], "", 5);

        CHECK(text[0] == 0 || strstr(text, "200 OK") != NULL || strstr(text, " 503 ") != NULL);
        close(slow[i]);
    }
    CHECK_INT(1, atomic_load(&streams_closed));
    close(stream);
    close(idle);
    close(half);
}

static void many_starts_and_stops(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        start(&(rgm_http_options){.lanes = (const int[]){2}, .lane_count = 1});
        CHECK_INT(200, status_of("GET /lane HTTP/1.1\r\n" HOST "\r\n"));
        rgm_http_stop(server);
    }
}

TESTS(cmocka_unit_test(answers_have_their_headers_and_connections_stay),
      cmocka_unit_test(requests_are_answered_later_in_any_order),
      cmocka_unit_test(a_file_is_sent_by_its_descriptor),
      cmocka_unit_test(what_can_be_understood_in_two_ways_is_refused),
      cmocka_unit_test(a_body_that_finds_no_room_is_for_later),
      cmocka_unit_test(bodies_and_headers_are_bounded), cmocka_unit_test(who_is_slow_is_cut),
      cmocka_unit_test(there_is_room_for_one_more),
      cmocka_unit_test(a_lane_that_waits_holds_up_nobody_else),
      cmocka_unit_test(streams_are_woken_and_bounded),
      cmocka_unit_test(a_stop_answers_or_closes_everything),
      cmocka_unit_test(many_starts_and_stops))
