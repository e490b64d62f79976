#!/bin/sh
# Print C code with the lessons of cmd/lesson.h. A text without its translation is an error.
#
#     sh cmd/lesson/embed.sh >build/cmd/lesson_texts.c
set -eu
cd "$(dirname "$0")"

LC_ALL=C awk '
    function stop(why) {
        print "cmd/lesson/steps.txt:" FNR ": " why | "cat >&2"
        failed = 1
        exit 1
    }
    function quoted(text) {
        if (text ~ /^".*"$/)
            text = substr(text, 2, length(text) - 2)
        gsub(/["\\]/, "\\\\&", text)
        return "\"" text "\""
    }
    # The number of the step that {NAME: WORDS} refers to.
    function referred(text,    name) {
        while (match(text, /[{][a-z-]+: [^}]*[}]/)) {
            name = substr(text, RSTART + 1, index(substr(text, RSTART), ":") - 2)
            if (!(name in numbers))
                stop("there is no step " name)
            text = substr(text, 1, RSTART - 1) numbers[name] substr(text, RSTART + RLENGTH)
        }
        return text
    }
    function put(language, field, text) {
        text = referred(text)
        if (!step)
            words[language] = words[language] "     ." field " = " text ",\n"
        else if (field == "look" && last == "look") # one more paragraph
            texts[language, step, field] = substr(texts[language, step, field], 1,
                length(texts[language, step, field]) - 1) "\\n\\n" substr(text, 2)
        else
            texts[language, step, field] = text
        if (step && !(field in known)) {
            known[field] = 1
            fields[++field_count] = field
        }
    }
    function print_step(language, number,    i) {
        print "    {"
        for (i = 1; i <= field_count; i++)
            if ((language, number, fields[i]) in texts)
                print "        ." fields[i] " = " texts[language, number, fields[i]] ","
        print "    },"
    }
    NR == FNR { # the first reading
        if ($1 == "step")
            numbers[$2] = ++count
        next
    }
    NF == 0 || /^#/ { next }
    { text = $0; sub(/^[a-z]+ */, "", text) }
    awaited != "" && $1 != "zh" { stop("expected the translation of \"" awaited "\"") }
    $1 == "zh" {
        if (awaited == "" && changed == "")
            stop("expected a text, found a translation")
        put("zh", awaited == "" ? changed : awaited, quoted(text))
        last = awaited
        awaited = ""
        next
    }
    { changed = "" }
    $1 == "step" { step++; next }
    $1 ~ /^(walk|scale|scene|line|marks|figures|show|tables|parts|curve|channels|picture)$/ {
        put("en", $1, NF == 1 && $1 != "marks" ? "true" : quoted(text))
        put("zh", $1, NF == 1 && $1 != "marks" ? "true" : quoted(text))
        changed = $1 # a line of zh may follow, for an example in Chinese
        next
    }
    { put("en", $1, quoted(text)); awaited = $1 }
    END {
        if (failed)
            exit 1
        print "/* Made by cmd/lesson/embed.sh from steps.txt. */\n#include \"lesson.h\"\n"
        for (i = 1; i <= 2; i++) {
            language = i == 1 ? "en" : "zh"
            print "static const struct page_lesson " language "[] = {"
            for (k = 1; k <= step; k++)
                print_step(language, k)
            print "};\n"
        }
        print "const struct lesson lessons[] = {"
        print "    {.language = \"en\", .name = \"English\", .steps = en,\n" words["en"] "    },"
        print "    {.language = \"zh\", .name = \"Chinese\", .steps = zh,\n" words["zh"] "    },"
        print "};\n\nconst size_t lesson_steps = sizeof en / sizeof *en - 2;"
    }' steps.txt steps.txt
