/*
 * The gate by table: who is let in, by host, origin, site, secret, method; and what becomes of the
 * token in an address.
 */
#include <check.h>

#include <sys/stat.h>
#include <unistd.h>

#include "gate.h"

static rgmi_gate local, remote, any, reader;

static int setup(void **state)
{
    (void)state;
    CHECK_OK(rgmi_gate_open(&local, "127.0.0.1:6006", 6006, NULL));
    CHECK_OK(rgmi_gate_open(&remote, "192.0.2.7:80", 80, NULL));
    CHECK_OK(rgmi_gate_open(&any, "0.0.0.0:6006", 6006, NULL));
    CHECK_OK(rgmi_gate_open(&reader, "[::1]:6006", 6006, NULL));
    reader.read_only = true;
    return 0;
}

/* B, C: "Authorization: Bearer" and the cookie with the right secret; b, c: with a wrong one. */
static int ask(rgm_response *out, const rgmi_gate *gate, const char *method, const char *path,
               const char *host, const char *secrets, const char *origin, const char *site)
{
    bool is_page = strncmp(path, "/api", 4) != 0 && strncmp(path, "/static", 7) != 0;
    char bearer[64], cookie[160];
    rgm_header headers[8];
    int64_t count = 0;

    memset(out, 0, sizeof *out);
    if (host != NULL)
        headers[count++] = (rgm_header){"host", host};
    if (strpbrk(secrets, "Bb") != NULL) {
        snprintf(bearer, sizeof bearer, "Bearer %s",
                 strchr(secrets, 'B') != NULL ? gate->secrets.token : gate->secrets.session);
        headers[count++] = (rgm_header){"authorization", bearer};
    }
    if (strpbrk(secrets, "Cc") != NULL) {
        snprintf(cookie, sizeof cookie, "a=b; %s=%s; other=c", gate->cookie,
                 strchr(secrets, 'C') != NULL ? gate->secrets.session : gate->secrets.token);
        headers[count++] = (rgm_header){"Cookie", cookie};
    }
    if (origin != NULL)
        headers[count++] = (rgm_header){"Origin", origin};
    if (site != NULL)
        headers[count++] = (rgm_header){"Sec-Fetch-Site", site};
    return rgmi_gate_admit(
               out, gate,
               &(rgm_request){
                   .method = method, .path = path, .headers = headers, .header_count = count},
               is_page)
               ? 200
               : out->status;
}

typedef struct gate_case {
    const rgmi_gate *gate;
    int status;
    const char *method, *path, *host, *secrets, *origin, *site;
} gate_case;

static void check_cases(const gate_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gate_case *c = &cases[i];
        rgm_response out;
        int status =
            ask(&out, c->gate, c->method, c->path, c->host, c->secrets, c->origin, c->site);

        if (status != c->status)
            fail_msg("case %zu: %d, not %d: %s %s, host %s, %s, origin %s, site %s", i, status,
                     c->status, c->method, c->path, c->host, c->secrets, c->origin, c->site);
        if (status == 200)
            CHECK(out.status == 0 && out.body.size == 0);
        rgm_response_clear(&out);
    }
}

#define OURS "127.0.0.1:6006"
#define API  "/api/v1/page"

static void only_our_host_is_answered(void **state)
{
    static const gate_case cases[] = {
        {&local, 200, "GET", API, OURS, "C", NULL, NULL},
        {&local, 200, "GET", API, "localhost:6006", "C", NULL, NULL},
        {&local, 200, "GET", API, "LOCALHOST:6006", "C", NULL, NULL},
        {&local, 200, "GET", API, "[::1]:6006", "C", NULL, NULL},
        {&local, 421, "GET", API, NULL, "BC", NULL, NULL},
        {&local, 421, "GET", API, "", "BC", NULL, NULL},
        {&local, 421, "GET", API, ":6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "127.0.0.1", "BC", NULL, NULL},
        {&local, 421, "GET", API, "127.0.0.1:80", "BC", NULL, NULL},
        {&local, 421, "GET", API, "127.0.0.1:60066", "BC", NULL, NULL},
        {&local, 421, "GET", API, "127.0.0.2:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "evil.example:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "localhost.evil.example:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "evil.example#localhost:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "localhost:6006:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "user@localhost:6006", "BC", NULL, NULL},
        {&local, 421, "GET", API, "192.0.2.7:6006", "BC", NULL, NULL},
        {&local, 421, "GET", "/", "evil.example:6006", "BC", NULL, NULL},
        {&local, 421, "GET", "/static/page.js", "evil.example:6006", "BC", NULL, NULL},
        {&remote, 200, "GET", API, "192.0.2.7", "C", NULL, NULL},
        {&remote, 200, "GET", API, "192.0.2.7:80", "C", NULL, NULL},
        {&remote, 421, "GET", API, "localhost", "C", NULL, NULL},
        {&remote, 421, "GET", API, "192.0.2.8", "C", NULL, NULL},
        {&any, 200, "GET", API, "192.0.2.8:6006", "C", NULL, NULL},
        {&any, 200, "GET", API, "[2001:db8::1]:6006", "C", NULL, NULL},
        {&any, 200, "GET", API, "localhost:6006", "C", NULL, NULL},
        {&any, 421, "GET", API, "evil.example:6006", "C", NULL, NULL},
        {&any, 421, "GET", API, "192.0.2.8.evil.example:6006", "C", NULL, NULL},
        {&any, 421, "GET", API, "[evil]:6006", "C", NULL, NULL},
    };

    (void)state;
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void the_secret_is_needed_everywhere(void **state)
{
    static const gate_case cases[] = {
        {&local, 401, "GET", API, OURS, "", NULL, NULL},
        {&local, 401, "GET", API, OURS, "b", NULL, NULL},
        {&local, 401, "GET", API, OURS, "c", NULL, NULL},
        {&local, 401, "GET", "/", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/", OURS, "bc", NULL, NULL},
        {&local, 401, "HEAD", "/", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/static/page.js", OURS, "", NULL, NULL},
        {&local, 200, "GET", "/static/style.css", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/static/style.css?x", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/runs/0123456789abcdef", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/?token=", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/?token=0123456789abcdef0123456789abcdef", OURS, "", NULL, NULL},
        {&local, 401, "GET", "/?token=%zz", OURS, "", NULL, NULL},
        {&local, 401, "POST", API, OURS, "", "http://" OURS, NULL},
        {&local, 200, "GET", API, OURS, "B", NULL, NULL},
        {&local, 200, "GET", "/", OURS, "C", NULL, "cross-site"}, /* a link from elsewhere */
        {&local, 200, "GET", "/static/page.js", OURS, "C", NULL, "same-origin"},
        {&local, 200, "GET", "/", OURS, "C", NULL, "none"},
    };

    (void)state;
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void other_pages_get_and_change_nothing(void **state)
{
    static const gate_case cases[] = {
        {&local, 200, "POST", API, OURS, "C", "http://" OURS, "same-origin"},
        {&local, 200, "POST", API, "localhost:6006", "C", "http://localhost:6006", NULL},
        {&local, 200, "DELETE", API, OURS, "B", NULL, NULL}, /* a script */
        {&local, 403, "POST", API, OURS, "C", NULL, NULL},
        {&local, 403, "POST", API, OURS, "C", "null", NULL},
        {&local, 403, "POST", API, OURS, "C", "", NULL},
        {&local, 403, "POST", API, OURS, "C", "http://evil.example", NULL},
        {&local, 403, "POST", API, OURS, "C", "http://127.0.0.1:8000", NULL},
        {&local, 403, "POST", API, OURS, "C", "https://" OURS, NULL},
        {&local, 403, "POST", API, OURS, "C", "http://localhost:6006", NULL},
        {&local, 403, "POST", API, OURS, "C", "http://" OURS "/", NULL},
        {&local, 403, "POST", API, OURS, "C", "http://" OURS ".evil.example", NULL},
        {&local, 403, "POST", API, OURS, "C", "http://" OURS, "same-site"},
        {&local, 403, "POST", API, OURS, "C", "http://" OURS, "cross-site"},
        {&local, 403, "POST", API, OURS, "C", "http://" OURS, "none"},
        {&local, 403, "POST", API, OURS, "BC", "http://evil.example", NULL},
        {&local, 403, "PATCH", API, OURS, "C", "http://evil.example", NULL},
        {&local, 403, "OPTIONS", API, OURS, "C", "http://evil.example", NULL},
        {&local, 403, "POST", "/", OURS, "C", "http://evil.example", NULL},
        {&local, 403, "GET", API, OURS, "C", "http://evil.example", NULL},
        {&local, 403, "GET", API, OURS, "C", NULL, "cross-site"},
        {&local, 403, "GET", API, OURS, "C", NULL, "same-site"},
        {&local, 403, "GET", "/static/page.js", OURS, "C", NULL, "cross-site"},
        {&local, 200, "GET", API, OURS, "C", NULL, "same-origin"},
        {&local, 200, "GET", API, OURS, "C", NULL, "none"},
        {&reader, 200, "GET", API, "[::1]:6006", "C", NULL, NULL},
        {&reader, 403, "POST", API, "[::1]:6006", "C", "http://[::1]:6006", NULL},
        {&reader, 403, "DELETE", API, "[::1]:6006", "B", NULL, NULL},
    };

    (void)state;
    check_cases(cases, sizeof cases / sizeof *cases);
}

static const char *header_of(const rgm_response *out, const char *name)
{
    for (int64_t i = 0; i < out->header_count; i++)
        if (strcmp(out->headers[i].name, name) == 0)
            return out->headers[i].value;
    return "";
}

static void a_token_in_the_address_becomes_a_cookie(void **state)
{
    char path[256], cookie[160];
    rgm_response out;

    (void)state;
    CHECK(strcmp(local.secrets.token, local.secrets.session) != 0 &&
          strlen(local.secrets.token) == 32);
    snprintf(path, sizeof path, "/runs/0123456789abcdef?tab=a%%20b&token=%s&x=%%0d%%0aSet",
             local.secrets.token);
    CHECK_INT(303, ask(&out, &local, "GET", path, OURS, "", NULL, "none"));
    CHECK_TEXT("/runs/0123456789abcdef?%74%61%62=%61%20%62&%78=%0D%0A%53%65%74",
               header_of(&out, "Location"));
    snprintf(cookie, sizeof cookie, "regimen_6006=%s; HttpOnly; SameSite=Strict; Path=/",
             local.secrets.session);
    CHECK_TEXT(cookie, header_of(&out, "Set-Cookie"));
    rgm_response_clear(&out);
    snprintf(path, sizeof path, "/?token=%s", local.secrets.token);
    CHECK_INT(303, ask(&out, &local, "GET", path, OURS, "", NULL, NULL));
    CHECK_TEXT("/", header_of(&out, "Location"));
    rgm_response_clear(&out);
    /* Only where a page is, only by GET, and not that of the cookie. */
    snprintf(path, sizeof path, "/api/v1/page?token=%s", local.secrets.token);
    CHECK_INT(401, ask(&out, &local, "GET", path, OURS, "", NULL, NULL));
    rgm_response_clear(&out);
    snprintf(path, sizeof path, "/?token=%s", local.secrets.token);
    CHECK_INT(401, ask(&out, &local, "POST", path, OURS, "", "http://" OURS, NULL));
    rgm_response_clear(&out);
    snprintf(path, sizeof path, "/?token=%s", local.secrets.session);
    CHECK_INT(401, ask(&out, &local, "GET", path, OURS, "", NULL, NULL));
    rgm_response_clear(&out);
}

/* The form's fields come in the place of the query. */
static void the_page_that_asks_for_the_token_keeps_the_query(void **state)
{
    rgm_response out;

    (void)state;
    CHECK_INT(401, ask(&out, &local, "GET", "/runs/0123456789abcdef?tab=a%22%3E%3Cb&x=1&token=no",
                       OURS, "", NULL, "none"));
    CHECK(strstr(out.body.data, "<input type=\"hidden\" name=\"tab\" "
                                "value=\"a&#34;&#62;&#60;b\"><input type=\"hidden\" name=\"x\" "
                                "value=\"1\"><label for=\"token\">") != NULL);
    CHECK(strstr(out.body.data, "name=\"token\" value") == NULL);
    CHECK(strstr(out.body.data, "This is not this server's token") != NULL);
    rgm_response_clear(&out);
}

static void a_cookie_is_compared_whole(void **state)
{
    char cookie[200];
    rgm_header headers[] = {{"Host", OURS}, {"Cookie", cookie}};
    static const char *const forms[] = {"%s=%.31s", "%s=%sx",    "x%s=%s",
                                        "%s%s",     "%s=\"%s\"", "%s= %s"};
    rgm_response out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        rgm_text text = {0};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        CHECK_OK(rgm_text_printf(&text, forms[i], local.cookie, local.secrets.session));
#pragma GCC diagnostic pop
        snprintf(cookie, sizeof cookie, "%s", text.data);
        rgm_text_clear(&text);
        CHECK(!rgmi_gate_admit(
            &out, &local,
            &(rgm_request){.method = "GET", .path = API, .headers = headers, .header_count = 2},
            false));
        CHECK_INT(401, out.status);
        rgm_response_clear(&out);
    }
}

static const char *in_folder(const char *folder, const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- secrets over restarts ------------------------------------------------------------------ */

static void expect_file(const char *path, const rgm_web_secrets *secrets)
{
    char *data, expected[80];
    int64_t size;
    struct stat info;

    snprintf(expected, sizeof expected, "%s\n%s\n", secrets->token, secrets->session);
    CHECK_OK(rgm_file_load(&data, &size, path, 1000));
    CHECK_TEXT(expected, data);
    rgm_free(data);
    CHECK_INT(0, lstat(path, &info));
    CHECK_INT(S_IFREG | 0600, info.st_mode);
}

static void secrets_stay_as_long_as_nobody_else_could_know_them(void **state)
{
    const char *folder = check_folder();
    char path[200], other[200];
    rgm_web_secrets first, next;
    rgmi_gate gate;

    (void)state;
    snprintf(path, sizeof path, "%s/state/regimen/serve", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    CHECK_OK(rgm_web_secrets_load(&first, path, false));
    CHECK(strlen(first.token) == 32 && strcmp(first.token, first.session) != 0);
    expect_file(path, &first);
    CHECK_OK(rgm_web_secrets_load(&next, path, false));
    CHECK(memcmp(&first, &next, sizeof first) == 0);
    CHECK_OK(rgmi_gate_open(&gate, "127.0.0.1:6006", 6006, &next));
    CHECK_TEXT(first.token, gate.secrets.token);
    CHECK_OK(rgm_web_secrets_load(&next, path, true)); /* as asked for */
    CHECK(strcmp(first.token, next.token) != 0 && strcmp(first.session, next.session) != 0);
    for (int i = 0; i < 4; i++) {
        first = next;
        if (i == 0)
            CHECK_INT(0, chmod(path, 0640));
        else if (i == 1)
            CHECK_INT(0, truncate(path, 0));
        else if (i == 2)
            CHECK_INT(0, rename(path, other) | symlink(other, path));
        else
            CHECK_INT(0, link(path, in_folder(folder, "second")));
        CHECK_OK(rgm_web_secrets_load(&next, path, false));
        CHECK(strcmp(first.token, next.token) != 0);
        expect_file(path, &next);
        if (i == 2)
            expect_file(other, &first); /* not written through the link */
    }
    CHECK_OK(rgm_file_save(in_folder(folder, "plain"), "x", 1));
    snprintf(path, sizeof path, "%s/plain/serve", folder);
    CHECK_STATUS(RGM_ERR_IO, rgm_web_secrets_load(&next, path, false));
    CHECK_INT(32, strlen(next.token)); /* good for this start */
    CHECK_OK(rgm_folder_remove(folder));
}

/* A file that the user names: a token alone is enough, and nothing is written over. */
static void a_named_file_is_read_and_never_replaced(void **state)
{
    static const char *const bad[] = {"", "short\n", "0123456789abcdef0123456789abcdeX\n"};
    const char *folder = check_folder();
    rgm_web_secrets first, next;
    char path[200], other[200];

    (void)state;
    snprintf(path, sizeof path, "%s/token", folder);
    snprintf(other, sizeof other, "%s/link", folder);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_web_secrets_read(&first, path));
    CHECK_OK(rgm_file_save(path, "0123456789abcdef0123456789abcdef", 32));
    CHECK_INT(0, chmod(path, 0600));
    CHECK_OK(rgm_web_secrets_read(&first, path));
    CHECK_TEXT("0123456789abcdef0123456789abcdef", first.token);
    CHECK_INT(32, strspn(first.session, "0123456789abcdef"));
    CHECK(strcmp(first.token, first.session) != 0);
    CHECK_OK(rgm_web_secrets_read(&next, path));
    CHECK_TEXT(first.session, next.session);
    CHECK_INT(0, symlink(path, other));
    CHECK_STATUS(RGM_ERR_ARG, rgm_web_secrets_read(&next, other));
    CHECK_INT(0, chmod(path, 0644));
    CHECK_STATUS(RGM_ERR_ARG, rgm_web_secrets_read(&next, path));
    CHECK_MESSAGE("chmod 600");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_OK(rgm_file_save(path, bad[i], (int64_t)strlen(bad[i])));
        CHECK_INT(0, chmod(path, 0600));
        CHECK_STATUS(RGM_ERR_ARG, rgm_web_secrets_read(&next, path));
        CHECK_MESSAGE("32 hexadecimal digits");
    }
    CHECK_OK(rgm_web_secrets_load(&first, path, true)); /* what was drawn here is read, too */
    CHECK_OK(rgm_web_secrets_read(&next, path));
    CHECK_TEXT(first.token, next.token);
    CHECK_TEXT(first.session, next.session);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A token of another kind: the first line, of a token's length at most. */
static void any_token_is_read_from_a_private_file(void **state)
{
    const char *folder = check_folder();
    char path[200], token[RGM_WEB_TOKEN], text[80];

    (void)state;
    snprintf(path, sizeof path, "%s/token", folder);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_web_token_read(token, path));
    for (int size = 62; size <= 66; size++)
        for (int line = 0; line < 2; line++) {
            memset(text, 'x', sizeof text);
            text[size] = '\n';
            CHECK_OK(rgm_file_save(path, text, line ? (int64_t)sizeof text : size));
            CHECK_INT(0, chmod(path, 0600));
            if (size < RGM_WEB_TOKEN) {
                CHECK_OK(rgm_web_token_read(token, path));
                CHECK_INT(size, strlen(token));
            } else {
                CHECK_STATUS(RGM_ERR_ARG, rgm_web_token_read(token, path));
                CHECK_MESSAGE("longer than a token's 64 characters");
                CHECK_TEXT("", token);
            }
        }
    CHECK_INT(0, chmod(path, 0640));
    CHECK_STATUS(RGM_ERR_ARG, rgm_web_token_read(token, path));
    CHECK_MESSAGE("chmod 600");
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_named_file_is_read_and_never_replaced),
      cmocka_unit_test(any_token_is_read_from_a_private_file),
      cmocka_unit_test(secrets_stay_as_long_as_nobody_else_could_know_them),
      cmocka_unit_test_setup_teardown(only_our_host_is_answered, setup, NULL),
      cmocka_unit_test_setup_teardown(the_secret_is_needed_everywhere, setup, NULL),
      cmocka_unit_test_setup_teardown(other_pages_get_and_change_nothing, setup, NULL),
      cmocka_unit_test_setup_teardown(a_token_in_the_address_becomes_a_cookie, setup, NULL),
      cmocka_unit_test_setup_teardown(the_page_that_asks_for_the_token_keeps_the_query, setup,
                                      NULL),
      cmocka_unit_test_setup_teardown(a_cookie_is_compared_whole, setup, NULL))
