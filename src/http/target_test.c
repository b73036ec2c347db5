/*
 * Paths and queries as strangers send them, from a table.
 */
#include <check.h>
#include <regimen/http.h>
#include <regimen/http_client.h>
#include <unistd.h>

static void queries_are_taken_apart(void **state)
{
    static const struct {
        const char *sent, *key, *value; /* value NULL: refused */
    } cases[] = {
        {"/a?b=c", "b", "c"},           {"/a?b=", "b", ""},         {"/a?b=c+d%20e", "b", "c d e"},
        {"/a?b=%41%7a%7A", "b", "Azz"}, {"/a?b=%2541", "b", "%41"}, /* once, not twice */
        {"/a?%62=c", "b", "c"},         {"/a?b=c&b=d", "b", "c"},   {"/a?x=1&&b=c", NULL, NULL},
        {"/a?x=1&", "x", "1"},          {"/a?b=c=d", "b", "c=d"},   {"/a?b=c?d", "b", "c?d"},
        {"/a?b=%ff", "b", "\xff"},      {"/a?b", NULL, NULL},       {"/a?b=%00", NULL, NULL},
        {"/a?b=%0", NULL, NULL},        {"/a?b=%", NULL, NULL},     {"/a?b=%gg", NULL, NULL},
        {"/a?b=%4", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_target target;
        rgm_status status = rgm_target_read(&target, cases[i].sent);

        CHECK_INT(cases[i].value != NULL ? RGM_OK : RGM_ERR_ARG, status);
        CHECK_TEXT("/a", target.path);
        if (cases[i].value != NULL)
            CHECK_TEXT(cases[i].value, rgm_target_value(&target, cases[i].key, "none"));
        else
            CHECK_INT(0, target.query_count);
        rgm_target_clear(&target);
    }
}

static void a_query_has_room_for_64_values(void **state)
{
    rgm_target target;
    char sent[512] = "/a?";
    int64_t number;

    (void)state;
    for (int i = 0; i < 64; i++)
        snprintf(sent + strlen(sent), sizeof sent - strlen(sent), "%sk=%d", i > 0 ? "&" : "", i);
    CHECK_OK(rgm_target_read(&target, sent));
    CHECK_TEXT("63", rgm_target_value_at(&target, "k", 63));
    CHECK(rgm_target_value_at(&target, "k", 64) == NULL);
    CHECK_OK(rgm_target_int(&number, &target, "k", 7, 0, 10));
    CHECK_INT(0, number);
    CHECK_OK(rgm_target_int(&number, &target, "m", 7, 0, 10));
    CHECK_INT(7, number);
    CHECK_INT(RGM_ERR_ARG, rgm_target_int(&number, &target, "k", 7, 1, 10));
    rgm_target_clear(&target);
    snprintf(sent + strlen(sent), sizeof sent - strlen(sent), "&k=64");
    CHECK_INT(RGM_ERR_ARG, rgm_target_read(&target, sent));
    rgm_target_clear(&target);
}

static void only_what_is_in_braces_is_data(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool fits;
    } cases[] = {
        {"/", "/", true},
        {"/", "//", false},
        {"/a", "/a/", false},
        {"/a", "/%61", false},
        {"/r/{id}", "/r/1", true},
        {"/r/{id}", "/r/999999999999999", true},
        {"/r/{id}", "/r/1000000000000000", false},
        {"/r/{id}", "/r/0", false},
        {"/r/{id}", "/r/01", false},
        {"/r/{id}", "/r/-1", false},
        {"/r/{id}", "/r/", false},
        {"/r/{id}", "/r/1%00", false},
        {"/e/{id}/{id}", "/e/1/2", true},
        {"/e/{id}/{id}", "/e/1", false},
        {"/h/{hex}", "/h/0123456789abcdef", true},
        {"/h/{hex}", "/h/0123456789ABCDEF", false},
        {"/h/{hex}", "/h/0123456789abcde", false},
        {"/h/{hex}", "/h/0123456789abcdef0", false},
        {"/h/{hex}/logs", "/h/0123456789abcdef/logs", true},
        {"/h/{hex}/logs", "/h/0123456789abcdef/../logs", false},
        {"/s/{name}", "/s/d3.min.js", true},
        {"/s/{name}", "/s/..", false},
        {"/s/{name}", "/s/.hidden", false},
        {"/s/{name}", "/s/a%2fb", false},
        {"/s/{name}", "/s/a/b", false},
        {"/s/{name}", "/s/a\\b", false},
        {"/s/{name}", "/s/", false},
        {"/m/{name}:predict", "/m/de_en.2:predict", true},
        {"/m/{name}:predict", "/m/de_en", false},
        {"/m/{name}:predict", "/m/:predict", false},
        {"/m/{name}:predict", "/m/a:b:predict", false},
        {"/m/{name}", "/m/a:predict", false},
        {"/u/{uuid}", "/u/00000000-0000-0000-0000-00000000000a", true},
        {"/u/{uuid}", "/u/00000000-0000-0000-0000-00000000000g", false},
        {"/m/{id}/{rest}", "/m/3/experiments/1", true},
        {"/m/{id}/{rest}", "/m/3", false},
    };
    rgm_path_values values;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rgm_path_fits(&values, cases[i].pattern, cases[i].path) != cases[i].fits)
            fail_msg("%s of %s", cases[i].pattern, cases[i].path);
    CHECK(rgm_path_fits(&values, "/m/{id}/{rest}", "/m/3/../x"));
    CHECK_INT(3, values.ids[0]);
    CHECK_TEXT("../x", values.rest); /* its user has a table of its own */
    CHECK(rgm_path_fits(&values, "/e/{id}/{id}", "/e/12/34"));
    CHECK(values.ids[0] == 12 && values.ids[1] == 34);
}

static void secrets_are_compared_whole(void **state)
{
    char one[33], other[33];

    (void)state;
    CHECK_OK(rgm_random_hex(one));
    CHECK_OK(rgm_random_hex(other));
    CHECK_INT(32, strspn(one, "0123456789abcdef"));
    CHECK(strcmp(one, other) != 0);
    CHECK(rgm_same_secret(one, one));
    CHECK(!rgm_same_secret(one, other));
    CHECK(!rgm_same_secret("", one) && !rgm_same_secret(one, ""));
    CHECK(!rgm_same_secret(NULL, one) && !rgm_same_secret(one, NULL));
    snprintf(other, sizeof other, "%.31s", one);
    CHECK(!rgm_same_secret(other, one) && !rgm_same_secret(one, other));
}

static void addresses_are_numbers_with_a_port(void **state)
{
    static const char *const bad[] = {"6006",
                                      ":6006",
                                      "localhost:6006",
                                      "127.0.0.1",
                                      "127.0.0.1:x",
                                      "127.0.0.1:99999999",
                                      "127.0.0.1:65536",
                                      "[::1:6006",
                                      ""};
    char address[64];
    int fd, other, port;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(RGM_ERR_ARG, rgm_http_listen(&fd, bad[i]));
    CHECK_OK(rgm_http_listen(&fd, "127.0.0.1:0"));
    CHECK_OK(rgm_http_address(address, &port, fd));
    CHECK(port > 0 && rgm_http_is_loopback(address));
    CHECK_INT(RGM_ERR_BUSY, rgm_http_listen(&other, address));
    CHECK(strstr(rgm_error_message(), "--listen") != NULL);
    CHECK(!rgm_http_is_loopback("0.0.0.0:1") && !rgm_http_is_loopback("[::]:1"));
    close(fd);
}

/* Nothing before the slashes that end it, or nothing at all. */
static void an_address_of_slashes_is_none(void **state)
{
    static const char *const urls[] = {"", "/", "///"};
    rgm_http_client *client;
    rgm_response answer = {0};
    bool served;

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        CHECK_OK(rgm_http_client_open_url(&client, urls[i], NULL));
        CHECK(rgm_http_client_ask(&answer, &served, client, "GET", "/", NULL) != RGM_OK);
        rgm_response_clear(&answer);
        rgm_http_client_close(client);
    }
}

TESTS(cmocka_unit_test(queries_are_taken_apart), cmocka_unit_test(a_query_has_room_for_64_values),
      cmocka_unit_test(only_what_is_in_braces_is_data),
      cmocka_unit_test(secrets_are_compared_whole),
      cmocka_unit_test(addresses_are_numbers_with_a_port),
      cmocka_unit_test(an_address_of_slashes_is_none))
