/* drawing.c: begins and ends figures in each format, and runs the programs needed for PNG and PDF.
 * The programs use unnamed temporary files as standard streams: a pipe could fill up and block. */
#include "base/buf.h"
#include "draw/canvas.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/utf8.h"
#include "format/pytorch.h"

extern char **environ;

enum {
    USUAL_DPI = 192,
    PIXELS_MAX = 32000, /* largest width or height in pixels; cairo refuses more than 32,767 */
    NUMBER_BYTES = 32,
    FAMILY_BYTES = 256,
    REMARK_BYTES = 512,
    PIECE_BYTES = 16 * 1024,
    PNG_HEADER_BYTES = 33, /* bytes of the signature and the first chunk of a PNG */
    /* bytes at the end of a PDF that contain startxref, its number and %%EOF */
    PDF_TAIL_BYTES = 64,
    LETTERS_MAX = 256,
};

static const double ROUNDING = 1e-6;

/* --- other programs --------------------------------------------------------------------------- */

static FILE *open_temporary(struct err *err)
{
    FILE *file = tmpfile();
    if (!file)
        err_output(err,
                   "cannot create the temporary file that png and pdf need: %s; svg needs none",
                   strerror(errno));
    return file;
}

static int cannot_read(struct err *err)
{
    return err_output(err, "cannot read a temporary file: %s; svg needs none", strerror(errno));
}

/* Read the first line of a file, without its newline. */
static int parse_line(char *line, size_t size, FILE *file, struct err *err)
{
    ssize_t got = pread(fileno(file), line, size - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return got < 0 ? cannot_read(err) : 0;
}

/* programs must be allowed to open at least this many files: with fewer, they skip fonts
 * silently */
enum { PROGRAM_FILES = 32 };

/* Start a program with three standard streams (NULL: the stream of this process). Return 0 or an
 * errno value. */
static int start(pid_t *pid, const char *const arguments[], FILE *const streams[3])
{
    posix_spawn_file_actions_t files;
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < PROGRAM_FILES)
        return EMFILE;
    int failure = posix_spawn_file_actions_init(&files);
    if (failure)
        return failure;
    for (int i = 0; i < 3 && !failure; i++)
        if (streams[i])
            failure = posix_spawn_file_actions_adddup2(&files, fileno(streams[i]), i);
    if (!failure) /* the cast is safe: posix_spawn does not modify the arguments */
        failure = posix_spawnp(pid, arguments[0], &files, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

/* Run a program and wait for it to end. If `in` is NULL, the program reads the stdin of this
 * process. If the program fails, the error message contains the first line of its stderr, or the
 * signal that killed it. */
static int run(const char *const arguments[], FILE *in, FILE *out, struct err *err)
{
    char remark[REMARK_BYTES];
    const char *program = arguments[0];
    pid_t pid = 0;
    int status = 0;
    int failed = 0;
    FILE *remarks = open_temporary(err);
    if (!remarks)
        return -1;
    int failure = start(&pid, arguments, (FILE *const[]){in, out, remarks});
    while (!failure && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (failure == ENOENT)
        failed = err_output(err,
                            "png and pdf need %s, which is not installed: install it (Debian: %s) "
                            "or write svg",
                            program, *program == 'r' ? "librsvg2-bin" : "fontconfig");
    else if (failure)
        failed = err_output(err, "cannot start %s: %s; svg does not need it", program,
                            strerror(failure));
    else if (WIFSIGNALED(status))
        failed = err_output(err, "%s was ended by a signal: %s; svg does not need it", program,
                            strsignal(WTERMSIG(status)));
    else if (status)
        failed = parse_line(remark, sizeof remark, remarks, err) ||
                 err_output(err, "%s failed: %s", program, *remark ? remark : "it did not say why");
    fclose(remarks);
    return err_if(failed);
}

/* Run a program and get the first line that it prints. */
static int ask(char *line, size_t size, const char *const arguments[], struct err *err)
{
    FILE *out = open_temporary(err);
    if (!out)
        return -1;
    int failed = run(arguments, NULL, out, err) || parse_line(line, size, out, err);
    fclose(out);
    return err_if(failed);
}

/* --- fonts ------------------------------------------------------------------------------------ */

/* Find the family that fontconfig substitutes for a name; "" if no font is installed. */
static int match_family(char family[FAMILY_BYTES], const char *name, struct err *err)
{
    char pattern[FAMILY_BYTES];
    size_t size = 0;
    for (; *name && size + 2 < sizeof pattern; name++) {
        if (*name == '-' || *name == ':')
            pattern[size++] = '\\';
        pattern[size++] = *name;
    }
    pattern[size] = '\0';
    const char *const arguments[] = {"fc-match", "--format=%{family[0]}", "--", pattern, NULL};
    return ask(family, FAMILY_BYTES, arguments, err);
}

static const char NO_FAMILY[] = "no family has this name";

/* Refuse a font for which fontconfig substitutes the same family as for an invented name: it is not
 * installed. Aliases of other families, such as Times for Nimbus Roman, are accepted. */
static int check_font(const char *name, struct err *err)
{
    static const char *const generic[] = {"sans", "sans-serif", "serif", "monospace"};
    char any[FAMILY_BYTES], its[FAMILY_BYTES];
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        if (strcasecmp(name, generic[i]) == 0)
            return 0;
    if (match_family(any, NO_FAMILY, err) || match_family(its, name, err))
        return -1;
    if (strcasecmp(its, any) == 0 && strcasecmp(its, name) != 0)
        return err_output(err,
                          "--font: expected an installed font family, found '%s': 'fc-list : "
                          "family' lists them; svg takes any",
                          name);
    return 0;
}

int drawing_check(struct err *err)
{
    static const char *const version[] = {"rsvg-convert", "--version", NULL};
    char family[FAMILY_BYTES];
    if (ask(family, sizeof family, version, err) || match_family(family, NO_FAMILY, err))
        return -1;
    if (!*family) /* without a font, rsvg-convert would draw a picture without text and succeed */
        return err_output(err, "png and pdf need a font, and none was found: install one "
                               "(Debian: fonts-dejavu-core) or write svg");
    return 0;
}

/* Read from a file the letters that fonts often lack, each once: all letters except those below
 * U+0590 (Latin, Greek, Cyrillic, Armenian) and symbols (U+2000 to U+2BFF). Returns how many there
 * are. */
static size_t parse_letters(uint32_t letters[LETTERS_MAX], FILE *file)
{
    char bytes[4] = {0};
    size_t count = 0, size = 0;
    rewind(file);
    for (int c; (c = getc(file)) != EOF && count < LETTERS_MAX;) {
        uint32_t letter = 0;
        size_t at = 0;
        /* not a continuation byte: a new character begins */
        size = (c & 0xc0) == 0x80 && size < sizeof bytes ? size : 0;
        bytes[size++] = (char)c;
        if (utf8_decode(&letter, bytes, size) != size || letter < 0x590 ||
            (letter >= 0x2000 && letter < 0x2c00) || letter == 0xfffd)
            continue;
        while (at < count && letters[at] != letter)
            at++;
        letters[at] = letter;
        count += at == count;
    }
    return count;
}

/* True if one font has all `letters`, or if the fonts cannot be listed. */
static bool has_font(const uint32_t *letters, size_t count)
{
    char family[FAMILY_BYTES] = "";
    struct err ignored = {0};
    struct buf pattern = {0};
    for (size_t i = 0; i < count; i++)
        buf_format(&pattern, i ? " %x" : ":charset=%x", (unsigned)letters[i]);
    const char *const arguments[] = {"fc-list", pattern.bytes, "family", NULL};
    bool unknown = buf_check(&pattern, &ignored) || ask(family, sizeof family, arguments, &ignored);
    buf_release(&pattern);
    return unknown || *family;
}

/* Print a note, once per process, about the letters that no font has, and the Debian package for
 * the first of them: rsvg-convert draws boxes in their place. */
static void note_missing(const struct drawing *drawing)
{
    static atomic_flag noted = ATOMIC_FLAG_INIT;
    uint32_t letters[LETTERS_MAX], first = 0;
    struct buf missing = {0};
    size_t count = drawing->note ? parse_letters(letters, drawing->svg_file) : 0;
    if (!count || has_font(letters, count))
        return;
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        if (has_font(&letters[i], 1))
            continue;
        first = first ? first : letters[i];
        buf_bytes(&missing, bytes, utf8_encode(bytes, letters[i]));
    }
    bool is_cjk = first >= 0x2e80 && (first < 0x1f000 || first >= 0x20000);
    if (missing.size && !missing.out_of_memory && !atomic_flag_test_and_set(&noted))
        drawing->note("no installed font has %s%s: the figure shows boxes in their place; install "
                      "a font (Debian: fonts-noto-%s), or write svg, tex or html",
                      missing.bytes, is_cjk ? " (Chinese, Japanese or Korean)" : "",
                      is_cjk ? "cjk" : "core");
    buf_release(&missing);
}

/* --- PNG and PDF ------------------------------------------------------------------------------ */

static void put_big_endian(struct buf *out, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_char(out, (char)(number >> shift));
}

/* Append a chunk of a PNG: its type, 4 bytes, and its data. */
static void put_chunk(struct buf *out, const char *type, const char *data, size_t size)
{
    put_big_endian(out, (uint32_t)size);
    size_t begin = out->size;
    buf_bytes(out, type, 4);
    buf_bytes(out, data, size);
    put_big_endian(out, out->out_of_memory ? 0 : zip_crc32(out->bytes + begin, size + 4));
}

/* Append the chunks after the header of a PNG: the resolution, which rsvg-convert omits, and the
 * metadata as text in UTF-8 with the keyword "attn-cli", not compressed, without a language. */
static void add_chunks(struct buf *out, const struct drawing *drawing)
{
    static const char keyword[] = "attn-cli\0\0\0\0";
    uint32_t density = (uint32_t)lround((double)drawing->dpi / 0.0254); /* pixels per metre */
    struct buf data = {0};
    put_big_endian(&data, density);
    put_big_endian(&data, density);
    buf_char(&data, 1);
    put_chunk(out, "pHYs", data.bytes, data.size);
    buf_clear(&data);
    buf_bytes(&data, keyword, sizeof keyword);
    buf_text(&data, drawing->metadata ? drawing->metadata : "");
    if (drawing->metadata)
        put_chunk(out, "iTXt", data.bytes, data.size);
    buf_fail_with(out, &data);
    buf_release(&data);
}

static int copy_bytes(struct stream *out, FILE *from, off_t at, off_t end, struct err *err)
{
    char bytes[PIECE_BYTES];
    for (ssize_t got = 0; at < end; at += got) {
        got = pread(fileno(from), bytes, num_min(sizeof bytes, (size_t)(end - at)), at);
        if (got <= 0)
            return cannot_read(err);
        stream_bytes(out, bytes, (size_t)got);
    }
    return 0;
}

/* Return the byte offset of the last line "startxref" of a PDF, before which a comment can be
 * inserted: no offset in the file leads beyond it. 0: not found. */
static off_t find_startxref(FILE *from, off_t size)
{
    static const char line[] = "startxref\n";
    char tail[PDF_TAIL_BYTES];
    off_t begin = size > PDF_TAIL_BYTES ? size - PDF_TAIL_BYTES : 0;
    ssize_t got = pread(fileno(from), tail, sizeof tail, begin);
    const char *found = got > 0 ? memmem(tail, (size_t)got, line, sizeof line - 1) : NULL;
    return found ? begin + (found - tail) : 0;
}

/* Copy the picture, and add its metadata: to a PNG in chunks after the header, to a PDF as a
 * comment. */
static int copy_result(struct drawing *drawing, FILE *from, struct err *err)
{
    struct buf added = {0};
    off_t size = lseek(fileno(from), 0, SEEK_END), middle = 0;
    if (size <= 0)
        return size ? cannot_read(err) : err_output(err, "rsvg-convert wrote nothing");
    if (drawing->form == DRAWING_PNG && size >= PNG_HEADER_BYTES) {
        middle = PNG_HEADER_BYTES;
        add_chunks(&added, drawing);
    } else if (drawing->metadata && (middle = find_startxref(from, size))) {
        buf_format(&added, "%% %s\n", drawing->metadata);
    }
    int failed = buf_check(&added, err) || copy_bytes(drawing->out, from, 0, middle, err);
    stream_bytes(drawing->out, added.bytes, failed ? 0 : added.size);
    failed = failed || copy_bytes(drawing->out, from, middle, size, err);
    buf_release(&added);
    return err_if(failed);
}

static int convert(struct drawing *drawing, struct err *err)
{
    char dpi[NUMBER_BYTES];
    bool png = drawing->form == DRAWING_PNG;
    const char *const arguments[] = {"rsvg-convert",
                                     "--unlimited",
                                     "--background-color=white",
                                     "--dpi-x",
                                     dpi,
                                     "--dpi-y",
                                     dpi,
                                     "--format",
                                     png ? "png" : "pdf",
                                     NULL};
    FILE *result = open_temporary(err);
    if (!result)
        return -1;
    /* a PDF gets 72 dots per inch, since lengths in the SVG are points */
    snprintf(dpi, sizeof dpi, "%lld", png ? drawing->dpi : 72);
    /* set the date that programs write into files, unless the user has set it */
    setenv("SOURCE_DATE_EPOCH", "0", 0);
    int failed = lseek(fileno(drawing->svg_file), 0, SEEK_SET) ? cannot_read(err) : 0;
    failed = failed || run(arguments, drawing->svg_file, result, err) ||
             copy_result(drawing, result, err);
    fclose(result);
    return err_if(failed);
}

int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err)
{
    *drawing = (struct drawing){.form = form,
                                .out = out,
                                .dpi = page->dpi ? page->dpi : USUAL_DPI,
                                .metadata = page->metadata,
                                .note = page->note};
    if (form == DRAWING_SVG || form == DRAWING_TEX) {
        (form == DRAWING_SVG ? svg_begin : tex_begin)(&drawing->canvas, out, page);
        return 0;
    }
    double side = fmax(page->width, page->height) * (double)drawing->dpi / 72;
    if (form == DRAWING_PNG && ceil(side - ROUNDING) > PIXELS_MAX)
        return err_output(err,
                          "--format png: expected at most %d pixels a side, found %.0f: choose "
                          "fewer layers or heads, or write svg or pdf",
                          PIXELS_MAX, ceil(side - ROUNDING));
    if (page->font && check_font(page->font, err))
        return -1;
    drawing->svg_file = open_temporary(err);
    if (!drawing->svg_file)
        return -1;
    if (stream_to(&drawing->svg, fileno(drawing->svg_file), err)) {
        fclose(drawing->svg_file);
        return -1;
    }
    stream_binary(out);
    /* the SVG has no metadata, since note_missing checks all letters of the SVG */
    struct drawing_page bare = *page;
    bare.metadata = NULL;
    svg_begin(&drawing->canvas, &drawing->svg, &bare);
    return 0;
}

int drawing_end(struct drawing *drawing, struct err *err)
{
    (drawing->form == DRAWING_TEX ? tex_end : svg_end)(&drawing->canvas);
    if (!drawing->svg_file) {
        static atomic_flag noted = ATOMIC_FLAG_INIT;
        if (drawing->note && drawing->canvas.has_scripts && !atomic_flag_test_and_set(&noted))
            drawing->note("the figure has letters of other scripts than Latin: compile it with "
                          "lualatex or xelatex; pdflatex prints boxes in their place");
        return 0;
    }
    stream_flush(&drawing->svg);
    int failed = drawing->svg.failure
                     ? err_output(err, "cannot write a temporary file: %s; svg needs none",
                                  strerror(drawing->svg.failure))
                     : convert(drawing, err);
    if (!failed)
        note_missing(drawing);
    stream_discard(&drawing->svg);
    fclose(drawing->svg_file);
    return failed;
}
