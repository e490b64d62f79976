// Compares the tokens of attn-cli with those of tiktoken, OpenAI's own engine.
//
//     npm ci && node compare.mjs ATTN_CLI FOLDER [FILE.jsonl]
//
// FOLDER holds GPT-2's vocab.json and merges.txt. Compared are every Unicode scalar value in two
// surroundings, 20,000 random strings, and the lines {"text": …, "ids": […]} of a file. The texts of
// a group go through one run of the program, with <|endoftext|> between them: it becomes one id, and
// what stands on its sides is encoded as if it stood alone.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { get_encoding } from 'tiktoken';

const SEPARATOR = '<|endoftext|>';
const SEPARATOR_ID = 50256;
const RANDOM_STRINGS = 20000;
const SHOWN = 5; // differences of a group

const [program, folder, jsonl] = process.argv.slice(2);
if (!folder) {
    console.error('usage: node compare.mjs ATTN_CLI FOLDER [FILE.jsonl]');
    process.exit(2);
}
const oracle = get_encoding('gpt2');
const scratch = mkdtempSync(join(tmpdir(), 'attn-tiktoken-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
let passed = 0;
let failed = 0;

// --- the program -----------------------------------------------------------------------------------

const run = (...args) =>
    execFileSync(program, ['tokenize', '--model', folder, ...args], { maxBuffer: 2 ** 31 });

const readIds = (bytes) => bytes.toString('latin1').trim().split(' ').map(Number);

// The ids of each text, and what decoding all of them gives.
function encodeAll(texts) {
    const textFile = join(scratch, 'text');
    const idFile = join(scratch, 'ids');
    const joined = Buffer.from(texts.join(SEPARATOR));
    writeFileSync(textFile, joined);
    const printed = run('--ids', '--file', textFile);
    writeFileSync(idFile, printed);
    const groups = [[]];
    for (const id of readIds(printed)) {
        if (id === SEPARATOR_ID)
            groups.push([]);
        else
            groups.at(-1).push(id);
    }
    return { groups, decodes: run('--decode', '--file', idFile).equals(joined) };
}

// --- comparing -------------------------------------------------------------------------------------

const same = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);

function report(name, count, differences) {
    for (const line of differences.slice(0, SHOWN))
        console.log(`  ${line}`);
    console.log(`${name}: ${count} texts, ${differences.length} differences`);
    passed += differences.length === 0;
    failed += differences.length !== 0;
}

function compare(name, texts, expect = (text) => Array.from(oracle.encode_ordinary(text))) {
    const { groups, decodes } = encodeAll(texts);
    const differences = [];
    if (groups.length !== texts.length)
        differences.push(`expected ${texts.length} texts, found ${groups.length}`);
    for (let i = 0; i < texts.length && i < groups.length; i++) {
        const expected = expect(texts[i], i);
        if (!same(expected, groups[i]))
            differences.push(`${JSON.stringify(texts[i])}: expected ${expected}, found ${groups[i]}`);
    }
    if (!decodes)
        differences.push('the ids do not decode to the texts');
    report(name, texts.length, differences);
}

// Special tokens as text: the whole of it is one text, to both.
function compareSpelled(name, texts) {
    const text = texts.join(SEPARATOR);
    const file = join(scratch, 'text');
    writeFileSync(file, text);
    const found = readIds(run('--ids', '--no-special', '--file', file));
    const equal = same(Array.from(oracle.encode_ordinary(text)), found);
    report(name, 1, equal ? [] : ['the ids are not the same']);
}

// --- texts -----------------------------------------------------------------------------------------

function* scalars() {
    for (let c = 0; c <= 0x10ffff; c++)
        if (c < 0xd800 || c > 0xdfff)
            yield String.fromCodePoint(c);
}

// A generator of numbers below 1 that is the same everywhere (mulberry32).
function randomFrom(seed) {
    return () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}

const RANGES = [
    [0x20, 0x7e], [0x20, 0x7e], [0x61, 0x7a], [0x61, 0x7a], [0x41, 0x5a], [0x30, 0x39],
    [0x00, 0x1f], [0x7f, 0xa0], [0xa0, 0x24f], [0x300, 0x36f], [0x370, 0x3ff], [0x400, 0x4ff],
    [0x590, 0x5ff], [0x600, 0x6ff], [0x900, 0x97f], [0xe00, 0xe7f], [0x1100, 0x11ff],
    [0x2000, 0x206f], [0x2070, 0x218f], [0x2460, 0x24ff], [0x3000, 0x30ff], [0x4e00, 0x9fff],
    [0xac00, 0xd7a3], [0xfe00, 0xfe0f], [0xfeff, 0xff60], [0x1d400, 0x1d7ff], [0x1f1e6, 0x1f1ff],
    [0x1f300, 0x1faff], [0x1f3fb, 0x1f3ff], [0x20000, 0x2a6df], [0xe000, 0xe0ff], [0, 0x10ffff],
];
const PARTS = [
    ' ', '  ', '\n', '\n\n', '\r\n', '\t', ' \n', '\u00a0', '\u0085', '\u2003', '\u3000', '\ufeff',
    "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "''", "'", '’s', "n't", "I'm", "'l",
    'hello', ' the', 'The', ' world', '2024', ' 3.14', '…', '—', '!!!', '?!', '://', '<|', '|>',
    '👨‍👩‍👧', '👍🏽', '🇩🇪', 'é', 'e\u0301', '爱', 'Привет', 'العربية', 'नमस्ते', '안녕', 'ﬁ', 'ß',
];

function randomString(random) {
    const pick = (list) => list[Math.floor(random() * list.length)];
    const parts = [];
    for (let left = 1 + Math.floor(random() * 30); left > 0; left--) {
        const [first, last] = pick(RANGES);
        const c = first + Math.floor(random() * (last - first + 1));
        const again = random() < 0.1 ? 1 + Math.floor(random() * 20) : 1;
        const part = random() < 0.35 ? pick(PARTS)
            : c >= 0xd800 && c <= 0xdfff ? 'x' : String.fromCodePoint(c);
        parts.push(part.repeat(again));
    }
    return parts.join('').replaceAll(SEPARATOR, '');
}

function randomStrings() {
    const random = randomFrom(2019);
    return Array.from({ length: RANDOM_STRINGS }, () => randomString(random));
}

// --- all of it -------------------------------------------------------------------------------------

const random = randomStrings();
compare('every scalar value alone', [...scalars()]);
compare('every scalar value between letters, digits and blanks',
    Array.from(scalars(), (c) => `a${c}b ${c} 1${c}2\n${c}'s ${c}${c}`));
compare('random strings', random);
compareSpelled('special tokens as text', random);
if (jsonl) {
    const rows = readFileSync(jsonl, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    compare(jsonl, rows.map((row) => row.text), (text, i) => rows[i].ids);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
