/* Tokenizers: what each rule does, by hand, and what they refuse. */
#include <check.h>
#include <regimen/text.h>

static const char *tokenized(rgm_mt_tokenizer tokenizer, const char *line)
{
    static char copy[512];
    rgm_text out = {0};

    CHECK_OK(rgm_mt_tokenize(&out, tokenizer, (rgm_str){line, (int64_t)strlen(line)}));
    snprintf(copy, sizeof copy, "%s", out.data != NULL ? out.data : "");
    rgm_text_clear(&out);
    return copy;
}

#define CHECK_WORDS(want, tokenizer, line)                                                         \
    CHECK_TEXT(want, tokenized(RGM_MT_TOKENIZER_##tokenizer, line))

static void splits_ascii_punctuation_but_not_between_digits(void **state)
{
    (void)state;
    CHECK_WORDS("Hello , world !", 13A, "Hello, world!");
    CHECK_WORDS("1,000.5 is 3.5 .", 13A, "1,000.5 is 3.5.");
    CHECK_WORDS(". 5 and 5 . x", 13A, ".5 and 5.x");
    CHECK_WORDS("a ( b ) / c [ d ]", 13A, "a(b)/c[d]");
    CHECK_WORDS("don't well-known 3 - 4", 13A, "don't well-known 3-4");
    CHECK_WORDS("a . . b", 13A, "a..b");
    CHECK_WORDS("\xc3\xa9 . \xe2\x82\xac", 13A, "\xc3\xa9.\xe2\x82\xac");
    CHECK_WORDS("\xc2\xabx\xc2\xbb", 13A, "\xc2\xabx\xc2\xbb");
}

static void undoes_entities_in_their_order(void **state)
{
    (void)state;
    CHECK_WORDS("\" & < >", 13A, "&quot; &amp; &lt; &gt;");
    CHECK_WORDS("<", 13A, "&amp;lt;");
    CHECK_WORDS("& quot ;", 13A, "&amp;quot;");
    CHECK_WORDS("& amp ;", 13A, "&amp;amp;");
    CHECK_WORDS("& apos ; & am", 13A, "&apos; &am");
    CHECK_WORDS("ab & x", 13A, "a<skipped>b &a<skipped>mp; x");
    CHECK_WORDS("word a b", 13A, "wo-\nrd a\nb");
}

static void splits_unicode_punctuation_and_symbols(void **state)
{
    (void)state;
    CHECK_WORDS("\xc2\xab x \xc2\xbb , y", INTL, "\xc2\xabx\xc2\xbb, y");
    CHECK_WORDS("1,000 \xe2\x82\xac", INTL, "1,000\xe2\x82\xac");
    CHECK_WORDS("in 1999.", INTL, "in 1999.");   /* as mteval-v14: nothing behind the point */
    CHECK_WORDS("in 1999.", INTL, "in 1999.  "); /* nor when there is but white space       */
    CHECK_WORDS("don ' t", INTL, "don't");
    CHECK_WORDS("\xe4\xb8\xad \xe3\x80\x82 \xf0\x9f\x98\x80", INTL,
                "\xe4\xb8\xad\xe3\x80\x82\xf0\x9f\x98\x80");
    CHECK_WORDS("&amp;", NONE, "&amp;");
}

static void splits_characters_or_nothing(void **state)
{
    (void)state;
    CHECK_WORDS("a b \xe4\xb8\xad e \xcc\x81", CHAR,
                "ab \xe4\xb8\xad"
                "e\xcc\x81");
    CHECK_WORDS("a, b.", NONE,
                "\t a,\xc2\xa0"
                "b.\xe3\x80\x80 ");
    /* U+200B is no white space */
    CHECK_WORDS("a\xe2\x80\x8b"
                "b c d",
                NONE,
                "a\xe2\x80\x8b"
                "b\x1c"
                "c\xc2\x85"
                "d");
}

static void takes_empty_lines_and_zero_bytes(void **state)
{
    rgm_text out = {0};

    (void)state;
    for (int t = 0; rgm_mt_tokenizer_names[t] != NULL; t++) {
        CHECK_OK(rgm_mt_tokenize(&out, (rgm_mt_tokenizer)t, (rgm_str){NULL, 0}));
        CHECK_OK(rgm_mt_tokenize(&out, (rgm_mt_tokenizer)t, (rgm_str){" \t", 2}));
        CHECK_INT(0, out.size);
    }
    CHECK_OK(rgm_mt_tokenize(&out, RGM_MT_TOKENIZER_13A, (rgm_str){"a\0b.", 4}));
    CHECK_INT(5, out.size);
    CHECK(memcmp(out.data, "a\0b .", 5) == 0);
    rgm_text_clear(&out);
}

static void refuses_what_is_not_utf8(void **state)
{
    rgm_text out = {0};

    (void)state;
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_mt_tokenize(&out, RGM_MT_TOKENIZER_INTL, (rgm_str){"ab\xff", 3}));
    CHECK_MESSAGE("byte 3 (0xff) is not UTF-8");
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_mt_tokenize(&out, RGM_MT_TOKENIZER_13A, (rgm_str){"\xe4\xb8", 2}));
    rgm_text_clear(&out);
}

static rgm_status whole_life(void)
{
    rgm_text out = {0};
    rgm_status status = rgm_mt_tokenize(&out, RGM_MT_TOKENIZER_13A, (rgm_str){"a, b & c.", 9});

    rgm_text_clear(&out);
    return status;
}

static void gives_memory_back_when_there_is_none(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(whole_life(), (void)0);
}

TESTS(cmocka_unit_test(splits_ascii_punctuation_but_not_between_digits),
      cmocka_unit_test(undoes_entities_in_their_order),
      cmocka_unit_test(splits_unicode_punctuation_and_symbols),
      cmocka_unit_test(splits_characters_or_nothing),
      cmocka_unit_test(takes_empty_lines_and_zero_bytes),
      cmocka_unit_test(refuses_what_is_not_utf8),
      cmocka_unit_test(gives_memory_back_when_there_is_none))
