#include "text/stages.h"

#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

#define SEQUENCE(steps) "{\"type\": \"Sequence\", \"normalizers\": [" steps "]}"
#define ALONE(type) "{\"type\": \"" type "\"}"
#define REPLACE(pattern, content) \
    "{\"type\": \"Replace\", \"pattern\": " pattern ", \"content\": \"" content "\"}"
#define BERT(settings) "{\"type\": \"BertNormalizer\"" settings "}"
#define BERT_NOTHING                                                                     \
    BERT(", \"clean_text\": false, \"handle_chinese_chars\": false, \"strip_accents\": " \
         "false, \"lowercase\": false")

/* Expected characters, with their positions in the original text. */
static const struct {
    const char *normalizer;
    const char *text;
    const char *characters;
} cases[] = {
    {"null", "aé", "a:0-1 é:1-3"},
    {SEQUENCE(""), "a", "a:0-1"},
    {SEQUENCE(SEQUENCE(ALONE("Lowercase"))), "A", "a:0-1"},
    {ALONE("NFC"), "ae\xCC\x81z", "a:0-1 é:1-4 z:4-5"},
    {ALONE("NFC"), "é", "é:0-2"},
    {ALONE("NFC"), "\xE2\x84\xAB", "Å:0-3"}, /* the ångström sign */
    {ALONE("NFD"), "aé", "a:0-1 e:1-3 \xCC\x81:1-3"},
    {ALONE("NFKC"), "ﬁ²", "f:0-3 i:0-3 2:3-5"},
    {ALONE("NFKD"), "\xEF\xBC\xA1é", "A:0-3 e:3-5 \xCC\x81:3-5"},
    {ALONE("Lowercase"), "ABÇǅ", "a:0-1 b:1-2 ç:2-4 ǆ:4-6"},
    {ALONE("Lowercase"), "İ", "i:0-2 \xCC\x87:0-2"},
    {ALONE("StripAccents"), "e\xCC\x81é", "e:0-1 é:3-5"},
    {SEQUENCE(ALONE("NFD") ", " ALONE("StripAccents")), "éa", "e:0-2 a:2-3"},
    {SEQUENCE(ALONE("NFD") ", " ALONE("StripAccents") ", " ALONE("Lowercase")), "AÉ",
     "a:0-1 e:1-3"},
    {ALONE("Strip"), " \t a b\xE3\x80\x80", "a:3-4  :4-5 b:5-6"},
    {ALONE("Strip"), "   ", ""},
    {"{\"type\": \"Strip\", \"strip_left\": false}", " a ", " :0-1 a:1-2"},
    {"{\"type\": \"Strip\", \"strip_right\": false}", " a ", "a:1-2  :2-3"},
    {"{\"type\": \"Prepend\", \"prepend\": \"▁\"}", "ab", "▁:0-0 a:0-1 b:1-2"},
    {"{\"type\": \"Prepend\", \"prepend\": \"▁\"}", "", ""},
    {"{\"type\": \"Append\", \"append\": \"!?\"}", "ab", "a:0-1 b:1-2 !:2-2 ?:2-2"},
    {REPLACE("{\"String\": \" \"}", "▁"), " a  b", "▁:0-1 a:1-2 ▁:2-3 ▁:3-4 b:4-5"},
    {REPLACE("{\"String\": \"\"}", "x"), "ab", "a:0-1 b:1-2"},
    {REPLACE("{\"Regex\": \" {2,}\"}", " "), "a   b c", "a:0-1  :1-4 b:4-5  :5-6 c:6-7"},
    {REPLACE("{\"Regex\": \"b*\"}", ""), "abba", "a:0-1 a:3-4"},
    {REPLACE("{\"Regex\": \"(?=b)\"}", "x"), "abb", "a:0-1 x:1-1 b:1-2 x:2-2 b:2-3"},
    {SEQUENCE("{\"type\": \"Prepend\", \"prepend\": \" \"}, " REPLACE("{\"String\": \" \"}", "▁")),
     "a b", "▁:0-0 a:0-1 ▁:1-2 b:2-3"},
    {ALONE("ByteLevel"), "a é", "a:0-1 Ġ:1-2 Ã:2-3 ©:3-4"},
    {BERT(""), "Ünd\tA\xE2\x80\x8B", "u:0-2 n:2-3 d:3-4  :4-5 a:5-6"},
    {BERT(""), "a爱b", "a:0-1  :1-4 爱:1-4  :1-4 b:4-5"},
    {BERT(", \"strip_accents\": null, \"lowercase\": false"), "É", "É:0-2"},
    {BERT(", \"strip_accents\": true, \"lowercase\": false"), "É", "E:0-2"},
    {BERT(", \"strip_accents\": false"), "É", "é:0-2"},
    {BERT_NOTHING, "É\t爱", "É:0-2 \t:2-3 爱:3-6"},
    {BERT(", \"handle_chinese_chars\": false"), "A\xEF\xBF\xBD\x7F爱", "a:0-1 爱:5-8"},
    {"{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"\"}", "ﬁ", "ﬁ:0-3"},
    {"{\"type\": \"Precompiled\"}", "ﬁ", "ﬁ:0-3"},
};

TEST_LOOP(a_step_changes_characters_and_keeps_their_positions, COUNT(cases))
{
    pipeline_rig_expect_normal(cases[_i].normalizer, cases[_i].text, cases[_i].characters);
}

/* --- Precompiled ------------------------------------------------------------------------------ */

/* A trie with one entry, "A", which is replaced by "bc", in base64. The children of the root begin
 * at 256, those of "A" at 512, where the value is. */
enum { UNITS = 513, TEXTS = 4 };

static void write_unit(unsigned char *at, uint32_t unit)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(unit >> (8 * i));
}

static void write_charsmap(struct buf *json, uint32_t place)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static unsigned char bytes[4 + 4 * UNITS + TEXTS];
    size_t size = sizeof bytes;
    uint32_t child = 256 ^ 'A';
    memset(bytes, 0, size);
    write_unit(bytes, 4 * UNITS);
    write_unit(bytes + 4, 256u << 10);
    write_unit(bytes + 4 + 4 * child, (child ^ 512u) << 10 | 1u << 8 | 'A');
    write_unit(bytes + 4 + 4 * 512, 1u << 31 | place);
    memcpy(bytes + 4 + 4 * UNITS, "bc", 3);
    buf_text(json, "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"");
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        three |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= i + 2 < size ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            buf_char(json, i + k > size ? '=' : digits[three >> (18 - 6 * k) & 63]);
    }
    buf_text(json, "\"}");
}

TEST(a_precompiled_map_replaces_characters)
{
    static const struct {
        uint32_t place;
        const char *text, *characters;
    } maps[] = {
        {0, "xAA\xCC\x81", "x:0-1 b:1-2 c:1-2 b:2-5 c:2-5"},
        {1, "xAA\xCC\x81", "x:0-1 c:1-2 c:2-5"},
        {0, "xAAAA\xCC\x81", "x:0-1 b:1-2 c:1-2 b:2-3 c:2-3 b:3-4 c:3-4 b:4-7 c:4-7"},
        {2, "xAA\xCC\x81", "x:0-1"},
        {2, "AAxAy", "x:0-3 y:4-5"}, /* begins at 0 although AA is deleted */
        {99, "xAA\xCC\x81", "x:0-1 A:1-2 A:2-3 \xCC\x81:3-5"}, /* an invalid value is skipped */
    };
    for (size_t i = 0; i < COUNT(maps); i++) {
        struct buf json = {0};
        write_charsmap(&json, maps[i].place);
        pipeline_rig_expect_normal(json.bytes, maps[i].text, maps[i].characters);
        buf_release(&json);
    }
}

/* One entry, "AB"; the children of "A" begin at 512, the value is at 768. */
TEST(maps_of_sentencepiece_apply_to_ascii)
{
    static unsigned char map[4 + 4 * 769 + 3];
    static const struct added_token item = {.bytes = "xAB", .size = 3, .normalized = true};
    const struct aligned_text given = {.bytes = "zABAxABxA", .size = 9};
    struct added_tokens kept;
    struct sentencepiece_rules rules = {
        .kept = &kept, .charsmap = map, .charsmap_size = sizeof map};
    struct stage *steps = NULL;
    struct text_rewriter rewriters[2] = {0};
    struct aligned_text normal;
    struct arena arena = {0};
    write_unit(map, 4 * 769);
    write_unit(map + 4, 256u << 10);
    write_unit(map + 4 + 4 * (256 ^ 'A'), (256 ^ 'A' ^ 512u) << 10 | 'A');
    write_unit(map + 4 + 4 * (512 ^ 'B'), (512 ^ 'B' ^ 768u) << 10 | 1u << 8 | 'B');
    write_unit(map + 4 + 4 * 768, 1u << 31);
    memcpy(map + 4 + 4 * 769, "c", 2);
    ck_assert_int_eq(added_tokens_init(&kept, &item, 1, &arena, NULL), 0);
    ck_assert_int_eq(normalizers_sentencepiece(&steps, &rules, &arena, NULL), 0);
    ck_assert_int_eq(normalize(steps, &normal, &given, rewriters, NULL, NULL), 0);
    ck_assert_int_eq(normal.size, 8);
    ck_assert_mem_eq(normal.bytes, "zcAxABxA", 8);
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    stages_release(steps);
    arena_release(&arena);
}

TEST(a_failed_allocation_is_an_error)
{
    struct buf json = {0};
    buf_text(&json, "{\"model\": {\"type\": \"BPE\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0}, "
                    "\"merges\": []}, \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
    buf_text(&json, ALONE("NFKD") ", " BERT("") ", " REPLACE("{\"Regex\": \"b+\"}", "a") ", ");
    buf_text(&json, "{\"type\": \"Prepend\", \"prepend\": \"a\"}, ");
    write_charsmap(&json, 0);
    buf_text(&json, "]}}");
    pipeline_rig_starve(json.bytes, "Ab", "0:0-0 0:0-1 0:1-2");
    buf_release(&json);
}
