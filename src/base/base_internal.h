/*
 * What the files of base share among themselves.
 */
#ifndef RGM_BASE_INTERNAL_H
#define RGM_BASE_INTERNAL_H

#include <regimen/base.h>

#include <locale.h>
#include <pthread.h>

#define RGMI_YAML_MAX_DEPTH 64
#define RGMI_YAML_MAX_SIZE  (1 << 20)
#define RGMI_YAML_MAX_NODES 100000

/** vsnprintf() with a decimal point whatever the program's locale is. */
int rgmi_vformat(char *buffer, size_t size, const char *format, va_list args);
/** The C locale, made once; (locale_t)0 when the system could not. */
locale_t rgmi_c_locale(void);

/** rgm_crc32c() without the instruction, for the test that compares both. */
uint32_t rgmi_crc32c_table(uint32_t crc, const void *data, size_t size);

/** The first or second standard normal number of four random words (Box & Muller 1958). */
double rgmi_normal(const uint32_t words[4], bool second);

struct rgm_yaml {
    rgm_arena *arena;
    rgm_yaml_node *root;
    int64_t nodes; /* made so far in the arena */
};

/** A zeroed node in the document's arena; refuses the RGMI_YAML_MAX_NODES + 1st. */
rgm_status rgmi_yaml_node(rgm_yaml_node **out, rgm_yaml *yaml, rgm_yaml_kind kind,
                          const char *origin, int line, int column);
/** Append to a list or map whose items array holds the next power of two of its count. */
rgm_status rgmi_yaml_append(rgm_yaml *yaml, rgm_yaml_node *parent, rgm_yaml_node *child);
/** A plain scalar that a block-style printer may write without quotes and read back the same. */
bool rgmi_yaml_is_plain(const char *text);
/** rgm_yaml_parse(), but an empty document has the root `empty`. */
rgm_status rgmi_yaml_parse(rgm_yaml **out, const char *text, int64_t size, const char *name,
                           rgm_yaml_kind empty);

/** A SHA-256 under way. */
typedef struct rgmi_sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
} rgmi_sha256;
void rgmi_sha256_begin(rgmi_sha256 *hash);
void rgmi_sha256_add(rgmi_sha256 *hash, const void *data, size_t size);
/** The hash of all that was added, as text. Begin again before more is added. */
void rgmi_sha256_end(char out[RGM_SHA256_ROOM], rgmi_sha256 *hash);

/** The folder part of a path: "." for a bare name, "/" for a file in the root; rgm_free() it. */
rgm_status rgmi_parent_of(char **out, const char *path);
/** A control or direction character, which steers a terminal in place of being shown. */
bool rgmi_is_hidden(uint32_t code);

#endif
