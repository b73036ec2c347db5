/*
 * A tokenizer that merges pairs, as Hugging Face's tokenizer.json describes it: what its files
 * share. tokenizer.c puts it behind the same functions as SentencePiece.
 */
#ifndef RGMI_BPE_INTERNAL_H
#define RGMI_BPE_INTERNAL_H

#include <regimen/text.h>

/* ---- the tables ---- */

/** The text of an id; size 0: no token has the id. */
typedef struct rgmi_bpe_token {
    int64_t at;
    int32_t size;
    bool special; /* has no text when ids are decoded */
} rgmi_bpe_token;

/** What a merge makes of the pair `left << 32 | right`. */
typedef struct rgmi_bpe_merge {
    uint64_t pair;
    int32_t rank, id; /* id -1: an empty slot */
} rgmi_bpe_merge;

/** A token that is looked for in the text before anything else is done with it. */
typedef struct rgmi_bpe_added {
    rgm_str text; /* normalized, if `normalized` */
    int32_t id;
    bool normalized, left, right; /* takes the white space before it, behind it */
} rgmi_bpe_added;

/** How text falls into words that are merged apart from each other. */
typedef enum rgmi_bpe_words {
    RGMI_WORDS_WHOLE,  /* all of it is one word                                     */
    RGMI_WORDS_GPT2,   /* by the three patterns that bpe_words.c has                */
    RGMI_WORDS_LLAMA3, /* numbers of at most three digits                           */
    RGMI_WORDS_QWEN2,  /* each digit by itself                                      */
    RGMI_WORDS_MARKED  /* a word begins at each U+2581                              */
} rgmi_bpe_words;

/** A step of normalizing, or of decoding. */
typedef struct rgmi_bpe_step {
    enum {
        RGMI_STEP_PREPEND,    /* `to` before a text that is not empty                */
        RGMI_STEP_REPLACE,    /* each `from` by `to`                                 */
        RGMI_STEP_FORM,       /* a Unicode normal form, by name in `from`            */
        RGMI_STEP_BYTE_LEVEL, /* characters that stand for bytes                     */
        RGMI_STEP_MARKS,      /* U+2581 to spaces, none in front of the text         */
        RGMI_STEP_MARKS_ALL,  /* U+2581 to spaces                                    */
        RGMI_STEP_FALLBACK,   /* <0x0A>                                              */
        RGMI_STEP_FUSE,       /* the texts become one                                */
        RGMI_STEP_STRIP       /* at most `start` of `from` in front, `stop` at the end */
    } kind;
    rgm_str from, to;
    int64_t start, stop;
} rgmi_bpe_step;

enum { RGMI_BPE_STEPS = 16 };
/** When U+2581 comes before a text that does not begin with it. */
typedef enum rgmi_bpe_prefix {
    RGMI_PREFIX_NEVER,
    RGMI_PREFIX_FIRST,
    RGMI_PREFIX_ALWAYS
} rgmi_bpe_prefix;

typedef struct rgmi_bpe {
    rgm_arena *texts; /* of steps and added tokens */
    char *bytes;      /* the texts of all tokens, a 0 behind each */
    int64_t byte_count, byte_capacity;
    rgmi_bpe_token *tokens; /* [count] by id */
    int64_t count;
    int32_t *slots; /* ids by text, -1: free; slot_count is a power of two, 0: no table yet */
    int64_t slot_count;
    rgmi_bpe_merge *merges; /* by pair, open-addressed */
    int64_t merge_slots, merge_count;
    rgmi_bpe_added *added; /* [added_count] longest first */
    int64_t added_count;
    bool begins[256];      /* an added token begins with that byte            */
    int32_t byte_ids[256]; /* byte-level: of each byte; byte_fallback: of <0x..>; -1: none */
    int32_t pad_id, unk_id, bos_id, eos_id;
    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    bool space_before; /* byte-level: a space before text that begins with none */
    bool marks;        /* spaces become U+2581                                  */
    rgmi_bpe_prefix prefix;
    rgmi_bpe_words words;
    rgmi_bpe_step normalizer[RGMI_BPE_STEPS], decoder[RGMI_BPE_STEPS];
    int64_t normalizer_count, decoder_count;
} rgmi_bpe;

/** bpe_load.c. RGM_ERR_FORMAT: damaged; RGM_ERR_UNSUPPORTED: a part that is not known here, by
 * name. */
rgm_status rgmi_bpe_open(rgmi_bpe **out, const char *json, int64_t size, const char *name);
void rgmi_bpe_close(rgmi_bpe *bpe);

/** bpe_table.c. The id of a text, -1: none has it. */
int32_t rgmi_bpe_find(const rgmi_bpe *bpe, const char *text, int64_t size);
/** Make the table of texts, and room for merges. */
rgm_status rgmi_bpe_index(rgmi_bpe *bpe, int64_t merges);
/** A later merge of the same pair takes the place of an earlier one. */
void rgmi_bpe_put_merge(rgmi_bpe *bpe, int32_t left, int32_t right, int32_t rank, int32_t id);
/** NULL: the pair does not merge. */
const rgmi_bpe_merge *rgmi_bpe_get_merge(const rgmi_bpe *bpe, int32_t left, int32_t right);
/** The character that stands for a byte, as UTF-8; and the byte of a code point, -1: none. */
int rgmi_byte_character(char out[2], uint8_t byte);
int rgmi_character_byte(uint32_t code);

/** bpe_words.c. How many of the bytes text[0, size), size > 0, are the first word. */
int64_t rgmi_bpe_word(rgmi_bpe_words words, const char *text, int64_t size);
bool rgmi_is_white_space(uint32_t code);
/** The code point at text[at], which is UTF-8 before `size`, and its number of bytes. */
int rgmi_code_at(uint32_t *code, const char *text, int64_t at, int64_t size);

/** bpe_merge.c. Append the ids of a word. dropout > 0 leaves out merges by draws of rng, from
 * number *draw on. */
typedef struct rgmi_bpe_draws {
    double dropout;
    rgm_rng rng;
    uint64_t next;
} rgmi_bpe_draws;
/** What merging a word needs, kept from word to word; `{0}` at first. */
typedef struct rgmi_bpe_work rgmi_bpe_work;
rgm_status rgmi_bpe_work_create(rgmi_bpe_work **out);
void rgmi_bpe_work_release(rgmi_bpe_work *work);
rgm_status rgmi_bpe_merge_word(rgm_ids *ids, rgmi_bpe_work *work, const rgmi_bpe *bpe,
                               const char *word, int64_t size, rgmi_bpe_draws *draws);

/** bpe_code.c. Apply the steps of the normalizer to text in place. */
rgm_status rgmi_bpe_normalize(rgm_text *text, const rgmi_bpe *bpe);
/** Append ids; draws NULL: the usual ones. RGM_ERR_FORMAT: not UTF-8. RGM_ERR_DATA: a character
 * without a token. */
rgm_status rgmi_bpe_encode(rgm_ids *ids, const rgmi_bpe *bpe, const char *text, int64_t size,
                           rgmi_bpe_draws *draws);
/** Append the text; ids are in range. */
rgm_status rgmi_bpe_decode(rgm_text *text, const rgmi_bpe *bpe, const int32_t *ids, int64_t count);

#endif
