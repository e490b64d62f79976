/* sentencepiece_classes.c: files of SentencePiece that a class of transformers reads with other
 * ids, special tokens and stages: a row for each class. A tokenizer.json with the same contents is
 * written in memory and read. */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "base/num.h"
#include "format/json_writer.h"
#include "text/builder.h"
#include "text/label.h"
#include "text/sentencepiece.h"

/* --- the classes ------------------------------------------------------------------------------ */

enum class_flag {
    CLASS_MAPS = 1,    /* characters are mapped by the file's map of characters */
    CLASS_JOINS = 2,   /* adjacent blanks become one blank; else texts are split at white space */
    CLASS_ALBERT = 4,  /* quotes, accents and capitals are normalized as tokenizer_config.json
                        * says */
    CLASS_STRIPS = 8,  /* blanks before <mask> belong to it */
    CLASS_EXTRAS = 16, /* the words <extra_id_N> follow the pieces, in descending order */
    CLASS_UNUSED = 32, /* the words <unk_N> precede the pieces */
    CLASS_BPE = 64,    /* the file has a model of type BPE; else Unigram */
};

#define LANGUAGES                                                                                \
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT " \
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN "
#define MORE_LANGUAGES                                                                           \
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF " \
    "pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI "
#define NLLB_LANGUAGES                                                                  \
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi " \
    "apc_Arab arb_Arab ars_Arab ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn " \
    "azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn ben_Beng bho_Deva " \
    "bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn " \
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt " \
    "ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn " \
    "fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn " \
    "guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn " \
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn " \
    "kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn " \
    "kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn " \
    "lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn " \
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn " \
    "mkd_Cyrl plt_Latn mlt_Latn mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr " \
    "nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn nya_Latn oci_Latn gaz_Latn " \
    "ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn " \
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh " \
    "slk_Latn slv_Latn smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn " \
    "srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn tam_Taml tat_Cyrl " \
    "tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn " \
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn " \
    "urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn " \
    "yue_Hant zho_Hans zho_Hant zul_Latn "
#define ROBERTA                                                  \
    {                                                            \
        "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" \
    }
#define FIRST "<s> <pad> </s> <unk> "

/* `before`, `after`: the words before and after the pieces; the first `skipped` pieces are left
 * out. `single`, `pair`: the tokens around a text $A and a pair $A $B; a token or text before `:1`
 * has segment 1; @en_XX stands for src_lang or, without src_lang, for en_XX. */
static const struct sentencepiece_class {
    const char *name, *models; /* `name`: the class without `Fast`; `models`: values of
                                * model_type, separated by spaces, that select this row if
                                * the folder names no class; NULL: none */
    const char *usual[NAMED_TOKENS];
    const char *before, *after;
    uint32_t skipped, unknown;
    unsigned flags;
    const char *single, *pair;
} classes[] = {
    {"T5Tokenizer",
     " t5 mt5 umt5 ",
     {"", "</s>", "<unk>", "", "<pad>", "", ""},
     "",
     "",
     0,
     2,
     CLASS_MAPS | CLASS_EXTRAS,
     "$A </s>",
     "$A </s> $B </s>"},
    {"AlbertTokenizer",
     " albert ",
     {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     "",
     "",
     0,
     1,
     CLASS_MAPS | CLASS_ALBERT,
     "[CLS] $A [SEP]",
     "[CLS] $A [SEP] $B:1 [SEP]:1"},
    {"XLMRobertaTokenizer", " xlm-roberta ", ROBERTA, FIRST, "<mask> ", 3, 3, CLASS_MAPS,
     "<s> $A </s>", "<s> $A </s> </s> $B </s>"},
    {"CamembertTokenizer", " camembert ", ROBERTA,
     "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED ", "<mask> ", 1, 3, CLASS_MAPS | CLASS_STRIPS,
     "<s> $A </s>", "<s> $A </s> </s> $B </s>"},
    {"MBartTokenizer", " mbart ", ROBERTA, FIRST, LANGUAGES "<mask> ", 3, 3, CLASS_STRIPS,
     "$A </s> @en_XX", "$A $B </s> @en_XX"},
    {"MBart50Tokenizer", " ", ROBERTA, FIRST, LANGUAGES MORE_LANGUAGES "<mask> ", 3, 3,
     CLASS_MAPS | CLASS_JOINS | CLASS_STRIPS, "@en_XX $A </s>", "@en_XX $A $B </s>"},
    {"NllbTokenizer", " ", ROBERTA, FIRST, NLLB_LANGUAGES "<mask> ", 3, 3,
     CLASS_MAPS | CLASS_JOINS | CLASS_STRIPS | CLASS_BPE, "@eng_Latn $A </s>",
     "@eng_Latn $A $B </s>"},
    {"XGLMTokenizer",
     " xglm ",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", ""},
     FIRST,
     "<madeupword0> <madeupword1> <madeupword2> <madeupword3> <madeupword4> <madeupword5> "
     "<madeupword6> ",
     3,
     3,
     CLASS_MAPS | CLASS_JOINS,
     "</s> $A",
     "</s> $A </s> </s> $B"},
    {"PegasusTokenizer",
     " pegasus ",
     {"", "</s>", "<unk>", "", "<pad>", "", "<mask_2>"},
     "<pad> </s> <mask_1> <mask_2> ",
     "",
     2,
     105,
     CLASS_MAPS | CLASS_JOINS | CLASS_UNUSED,
     "$A </s>",
     "$A $B </s>"},
};

enum { CLASSES = sizeof classes / sizeof *classes };

/* --- words ------------------------------------------------------------------------------------ */

/* The vocabulary that is being made: words by id. */
struct class_words {
    struct sentencepiece_piece *items;
    size_t count, first, end; /* the items `first` to `end` - 1 are pieces of the file */
};

static void add_word(struct class_words *words, const char *bytes, size_t size)
{
    static const char unused[] = "NOTUSED";
    bool special = size < sizeof unused ||
                   memcmp(bytes + size - sizeof unused + 1, unused, sizeof unused - 1) != 0;
    bool least = strncmp(bytes, "<unk_", 5) == 0 || (!special && strncmp(bytes, "<unk>", 5) == 0);
    words->items[words->count++] = (struct sentencepiece_piece){
        {bytes, size}, least ? -100.0F : 0, special ? PIECE_CONTROL : PIECE_NORMAL};
}

static void add_list(struct class_words *words, const char *list)
{
    for (size_t size; *list; list += size + 1) {
        size = strcspn(list, " ");
        add_word(words, list, size);
    }
}

/* Add words numbered from `first` to `last`: <extra_id_99> … <extra_id_0>, or <unk_2> …
 * <unk_102>. */
static int add_numbered(struct class_words *words, const char *form, long first, long last,
                        struct arena *arena, struct err *err)
{
    for (long i = first, step = first < last ? 1 : -1; i != last + step; i += step) {
        const char *name = arena_format(arena, err, form, i);
        if (!name)
            return -1;
        add_word(words, name, strlen(name));
    }
    return 0;
}

static int list_words(struct class_words *words, const struct sentencepiece_class *class,
                      const struct tokenizer *tokenizer, const struct sentencepiece *model,
                      struct arena *arena, struct err *err)
{
    enum { LAST_UNUSED = 102, OTHERS_MOST = 256 };
    long extras = (long)tokenizer->config.extra_ids;
    *words = (struct class_words){
        arena_alloc(arena, model->count + EXTRA_IDS_MOST + OTHERS_MOST, sizeof *words->items, err)};
    if (!words->items)
        return -1;
    add_list(words, class->before);
    if (class->flags & CLASS_UNUSED && add_numbered(words, "<unk_%ld>", 2, LAST_UNUSED, arena, err))
        return -1;
    words->first = words->count;
    for (size_t i = class->skipped; i < model->count; i++)
        words->items[words->count++] = model->pieces[i];
    words->end = words->count;
    if (class->flags & CLASS_EXTRAS && extras > 0 &&
        add_numbered(words, "<extra_id_%ld>", extras - 1, 0, arena, err))
        return -1;
    add_list(words, class->after);
    return 0;
}

static int find_word(uint32_t *id, const struct class_words *words, const char *bytes, size_t size,
                     struct err *err)
{
    for (*id = 0; *id < words->count; ++*id)
        if (words->items[*id].word.size == size &&
            memcmp(words->items[*id].word.bytes, bytes, size) == 0)
            return 0;
    return err_set(err, "expected the special token '%s', found none", label_excerpt(bytes, size));
}

/* --- a tokenizer.json ------------------------------------------------------------------------- */

static void put_base64(struct buf *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += 3) {
        size_t left = num_min(size - i, 3);
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_char(out, k > left ? '=' : base64_digits[three >> (18 - 6 * k) & 63]);
    }
}

static void put_normalizer(struct buf *out, const struct sentencepiece_class *class,
                           const struct tokenizer_config *config,
                           const struct sentencepiece_rules *rules)
{
    const char *comma = "";
    buf_text(out, "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
    if (class->flags & CLASS_ALBERT) {
        buf_format(out,
                   "{\"type\": \"Replace\", \"pattern\": {\"String\": \"``\"}, \"content\": "
                   "\"\\\"\"}, {\"type\": \"Replace\", \"pattern\": {\"String\": \"''\"}, "
                   "\"content\": \"\\\"\"}%s%s",
                   config->keeps_accents == ANSWER_YES
                       ? ""
                       : ", {\"type\": \"NFKD\"}, {\"type\": \"StripAccents\"}",
                   config->lowers == ANSWER_NO ? "" : ", {\"type\": \"Lowercase\"}");
        comma = ", ";
    }
    if (class->flags & CLASS_MAPS && rules->charsmap_size) {
        buf_format(out, "%s{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"", comma);
        put_base64(out, rules->charsmap, rules->charsmap_size);
        buf_text(out, "\"}");
        comma = ", ";
    } else if (class->flags & CLASS_UNUSED) { /* the class is Pegasus */
        buf_text(out, "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\\n\"}, \"content\": "
                      "\" \"}");
        comma = ", ";
    }
    if (class->flags & CLASS_JOINS)
        buf_format(out,
                   "%s{\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": "
                   "\" \"}",
                   comma);
    buf_text(out, "]}");
}

/* Write a template, such as "<s> $A </s>", and add the ids of its tokens to `ids`. */
static int put_template(struct buf *out, struct buf *ids, const char *text, const char *language,
                        const struct class_words *words, struct err *err)
{
    for (size_t size; *text; text += size + (text[size] == ' ')) {
        size = strcspn(text, " ");
        size_t name_size = strcspn(text, " :");
        const char *name = text;
        uint32_t id = 0;
        int segment = size > name_size;
        if (*name == '$') {
            buf_format(out, "{\"Sequence\": {\"id\": \"%c\", \"type_id\": %d}}", name[1], segment);
        } else {
            if (*text == '@') {
                name = language ? language : text + 1;
                name_size = language ? strlen(language) : size - 1;
            }
            if (find_word(&id, words, name, name_size, err))
                return -1;
            buf_text(out, "{\"SpecialToken\": {\"id\": ");
            json_append_text(out, name, name_size);
            buf_format(out, ", \"type_id\": %d}}", segment);
            buf_text(ids, ids->size ? ", " : "");
            json_append_text(ids, name, name_size);
            buf_text(ids, ": {\"id\": ");
            json_append_text(ids, name, name_size);
            buf_format(ids, ", \"ids\": [%u], \"tokens\": [", id);
            json_append_text(ids, name, name_size);
            buf_text(ids, "]}");
        }
        buf_text(out, text[size] ? ", " : "");
    }
    return 0;
}

static int put_templates(struct buf *out, const struct sentencepiece_class *class,
                         const struct tokenizer_config *config, const struct class_words *words,
                         struct err *err)
{
    static const char *const ends[] = {"$A </s> @eng_Latn", "$A $B </s> @eng_Latn"};
    const char *const both[] = {class->single, class->pair}, *language = config->languages[0];
    bool ended = class->flags & CLASS_BPE && config->language_ends == ANSWER_YES;
    const char *const *templates = ended ? ends : both;
    struct buf ids = {0}, pair_ids = {0};
    buf_text(out, "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [");
    int failed = put_template(out, &ids, templates[0], language, words, err);
    buf_text(out, "], \"pair\": [");
    failed = failed || put_template(out, &pair_ids, templates[1], language, words, err);
    buf_format(out, "], \"special_tokens\": {%s}}", ids.bytes ? ids.bytes : "");
    failed = failed || buf_check(&ids, err) || buf_check(&pair_ids, err);
    buf_release(&ids);
    buf_release(&pair_ids);
    return err_if(failed);
}

/* Write the special tokens, control symbols and user-defined pieces as `added_tokens`. */
static int put_added(struct buf *out, const struct sentencepiece_class *class,
                     const struct tokenizer *tokenizer, const struct class_words *words,
                     struct err *err)
{
    static const char *const flags[] = {"false", "true"};
    const char *comma = "";
    const char *mask = class->usual[NAMED_MASK];
    bool strips = class->flags & CLASS_STRIPS || tokenizer->config.named[NAMED_MASK].left_strip;
    uint32_t named[NAMED_TOKENS] = {0};
    for (size_t i = 0; i < NAMED_TOKENS; i++)
        if (*class->usual[i] &&
            find_word(&named[i], words, class->usual[i], strlen(class->usual[i]), err))
            return -1;
    buf_text(out, "\"added_tokens\": [");
    for (uint32_t id = 0; id < words->count; id++) {
        const struct sentencepiece_piece *piece = &words->items[id];
        bool special = piece->kind == PIECE_CONTROL, is_mask = *mask && id == named[NAMED_MASK];
        for (size_t i = 0; i < NAMED_TOKENS; i++)
            special |= *class->usual[i] && named[i] == id;
        if (!special && piece->kind != PIECE_USER_DEFINED)
            continue;
        buf_format(out, "%s{\"id\": %u, \"content\": ", comma, id);
        json_append_text(out, piece->word.bytes, piece->word.size);
        buf_format(out,
                   ", \"special\": %s, \"normalized\": false, \"lstrip\": %s, \"rstrip\": false, "
                   "\"single_word\": false}",
                   flags[special], flags[is_mask && strips]);
        comma = ", ";
    }
    buf_text(out, "]");
    return 0;
}

static int put_json(struct buf *out, const struct sentencepiece_class *class,
                    const struct tokenizer *tokenizer, const struct sentencepiece *model,
                    const struct class_words *words, struct err *err)
{
    static const char metaspace[] = "{\"type\": \"Metaspace\", \"replacement\": \"▁\", "
                                    "\"prepend_scheme\": \"always\", \"split\": true}";
    bool splits = !(class->flags & CLASS_JOINS), bpe = class->flags & CLASS_BPE;
    buf_text(out, "{");
    if (put_added(out, class, tokenizer, words, err))
        return -1;
    buf_text(out, ", ");
    put_normalizer(out, class, &tokenizer->config, &model->rules);
    buf_format(out, ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [%s%s]}, ",
               splits ? "{\"type\": \"WhitespaceSplit\"}, " : "", metaspace);
    if (put_templates(out, class, &tokenizer->config, words, err))
        return -1;
    buf_format(out, ", \"decoder\": %s, \"model\": {\"type\": \"%s\", \"vocab\": %c", metaspace,
               bpe ? "BPE\", \"merges\": [], \"unk_token\": \"<unk>" : "Unigram", bpe ? '{' : '[');
    for (size_t id = 0; id < words->count; id++) {
        buf_text(out, id ? ", " : "");
        buf_text(out, bpe ? "" : "[");
        json_append_text(out, words->items[id].word.bytes, words->items[id].word.size);
        if (bpe)
            buf_format(out, ": %zu", id);
        else
            buf_format(out, ", %.17g]", (double)words->items[id].score);
    }
    if (bpe)
        buf_text(out, "}}}");
    else
        buf_format(out, "], \"unk_id\": %u}}", class->unknown);
    return buf_check(out, err);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* Find the row of a class or, without a class, of the model's type. */
static int find_row(const struct sentencepiece_class **row, const struct tokenizer *tokenizer,
                    const struct folder *folder, const char *file, struct err *err)
{
    static const char fast[] = "Fast";
    const char *class = tokenizer->config.class;
    char type[MODEL_TYPE_BYTES];
    size_t index = 0, size = strlen(class);
    size -= name_ends_in(class, fast) ? sizeof fast - 1 : 0;
    if (tokenizer_model_type(type, folder, err))
        return -1;
    bool found = size && names_find(&index, NAMES(classes, CLASSES), class, size);
    for (; !size && !found && index < CLASSES; index += !found)
        found = name_is_among(classes[index].models, type);
    *row = found ? &classes[index] : NULL;
    return found ? 0
                 : err_unsupported(err,
                                   "'%s/%s': expected a tokenizer_class such as %s or %s, found "
                                   "'%s': " OTHER_FILE_WHY,
                                   folder->path, file, classes[0].name, classes[2].name,
                                   label_excerpt(class, strlen(class)));
}

/* Refuse special tokens whose names are not among the usual names of the class. */
static int check_names(const struct tokenizer *tokenizer, const struct sentencepiece_class *class,
                       const struct folder *folder, struct err *err)
{
    for (size_t i = 0; i < NAMED_TOKENS; i++) {
        const struct added_token *named = &tokenizer->config.named[i];
        bool found = !named->size;
        for (size_t k = 0; k < NAMED_TOKENS; k++)
            found |= strcmp(named->bytes, class->usual[k]) == 0;
        if (!found)
            return err_unsupported(err,
                                   "'%s/tokenizer_config.json': expected the special tokens of %s, "
                                   "found '%s': " OTHER_FILE_WHY,
                                   folder->path, class->name,
                                   label_excerpt(named->bytes, named->size));
    }
    return 0;
}

struct class_reading {
    struct tokenizer *tokenizer;
    const struct sentencepiece_class *class;
};

static int read_file(void *context, const struct file *file, struct err *err)
{
    const struct class_reading *reading = context;
    struct tokenizer *tokenizer = reading->tokenizer;
    struct arena arena = {0};
    struct sentencepiece model;
    struct class_words words;
    struct buf text = {0};
    int failed = sentencepiece_read(&model, file, &arena, err);
    bool bpe = reading->class->flags & CLASS_BPE;
    if (!failed && model.kind != (bpe ? SENTENCEPIECE_BPE : SENTENCEPIECE_UNIGRAM))
        failed = err_unsupported(err, "expected a model of type %s for %s, found type %llu",
                                 bpe ? "BPE" : "Unigram", reading->class->name,
                                 (unsigned long long)model.kind);
    if (!failed && model.count <= reading->class->skipped)
        failed = err_set(err, "expected more than %u pieces, found %zu", reading->class->skipped,
                         model.count);
    failed = failed || list_words(&words, reading->class, tokenizer, &model, &arena, err) ||
             put_json(&text, reading->class, tokenizer, &model, &words, err) ||
             tokenizer_parse_json(tokenizer, text.bytes, text.size, err);
    if (!failed && bpe) {
        bpe_release(&tokenizer->model.bpe);
        tokenizer->model.unknown = reading->class->unknown;
        failed = sentencepiece_add_merges(
            tokenizer, &(struct sentencepiece){.pieces = words.items, .count = words.count}, err);
    }
    buf_release(&text);
    arena_release(&arena);
    return err_if(failed);
}

/* Fill the tokenizer of GPT-SW3, which has the ids of the file (sentencepiece.c) and special tokens
 * of its own. */
static int fill_sw3(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                    struct err *err)
{
    static const char *const usual[NAMED_TOKENS] = {
        "<s>", "<|endoftext|>", "<unk>", "", "<pad>", "", ""};
    if (tokenizer_fill_sentencepiece(tokenizer, folder, name, err))
        return -1;
    tokenizer_name_usual(tokenizer, usual);
    return tokenizer_add_named(tokenizer, folder, err);
}

int tokenizer_fill_class(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                         struct err *err)
{
    struct class_reading reading = {tokenizer};
    struct tokenizer_config *config = &tokenizer->config;
    struct file file = {0};
    if (tokenizer_config_read(tokenizer, folder, CONFIG_LISTED | CONFIG_NAMED, err) ||
        folder_open(&file, folder, name, err)) /* report a missing file first */
        return -1;
    file_release(&file);
    if (strncmp(config->class, "GPTSw3Tokenizer", 15) == 0)
        return fill_sw3(tokenizer, folder, name, err);
    if (find_row(&reading.class, tokenizer, folder, name, err))
        return -1;
    tokenizer_name_usual(tokenizer, reading.class->usual);
    return err_if(check_names(tokenizer, reading.class, folder, err) ||
                  folder_read(folder, name, read_file, &reading, err) ||
                  tokenizer_merge_listed(tokenizer, folder, err));
}
