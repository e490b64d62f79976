// Compares the tokens of attn-cli with those of other programs: for a tokenizer.json, Hugging Face's
// Rust library (@anush008/tokenizers of npm); for GPT-2's vocab.json and merges.txt, OpenAI's
// tiktoken. Reads no other files of a folder.
//
//     npm ci && node compare.mjs ATTN_CLI FOLDER...
//
// Compares the ids of 20,000 random strings (STRINGS=N changes the number), with and without special
// tokens (--special), and the decoded text; then the ids of every Unicode scalar value between other
// characters (QUICK=1: only of assigned ones). CROWD scalar values form one text; if its ids differ,
// they are compared one by one. Each run of attn-cli gets as many texts as fit into a command line.
import { execFileSync, spawnSync } from 'node:child_process';
import {
    existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import rust from '@anush008/tokenizers';
import { get_encoding } from 'tiktoken';

const RANDOM_STRINGS = Number(process.env.STRINGS ?? 20000);
const CROWD = 64;
const SHOWN = Number(process.env.SHOWN ?? 5); // differences that are printed for each group
const quick = Boolean(process.env.QUICK);
const LINE_BYTES = 1 << 20;
const LINE_TEXTS = 20000;

const [program, ...folders] = process.argv.slice(2);
if (!folders.length) {
    console.error('usage: node compare.mjs ATTN_CLI FOLDER...');
    process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), 'attn-tokenizers-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
let passed = 0;
let failed = 0;

// --- other programs --------------------------------------------------------------------------------

function tokenizersOf(folder) {
    const file = join(folder, 'tokenizer.json');
    const other = rust.Tokenizer.fromFile(file);
    const description = JSON.parse(readFileSync(file, 'utf8'));
    other.disableTruncation();
    other.disablePadding();
    const encode = async (texts, addSpecialTokens) =>
        (await other.encodeBatch(texts, { addSpecialTokens })).map((encoding) => encoding.getIds());
    return {
        encode: (texts) => encode(texts, false),
        special: (texts) => encode(texts, true),
        decode: (ids) => other.decode(ids, false),
        added: (description.added_tokens ?? []).map((token) => token.content),
    };
}

function tiktoken() {
    const other = get_encoding('gpt2');
    const decoder = new TextDecoder();
    return {
        encode: (texts) => texts.map((text) => Array.from(other.encode(text, 'all'))),
        decode: (ids) => decoder.decode(other.decode(new Uint32Array(ids))),
        added: ['<|endoftext|>'],
    };
}

const otherOf = (folder) =>
    existsSync(join(folder, 'tokenizer.json')) ? tokenizersOf(folder) : tiktoken();

// --- attn-cli --------------------------------------------------------------------------------------

// The ids of each text; none for a text that is refused.
function encodeAll(folder, texts, options) {
    const line = ['tokenize', '-q', '--model', folder, '--only-ids', ...options];
    for (const text of texts)
        line.push('-s', text);
    const run = spawnSync(program, line, { maxBuffer: 2 ** 30 });
    if (run.status === 0)
        return run.stdout.toString('latin1').trimEnd().split('\n')
            .map((ids) => ids.split(' ').filter(Boolean).map(Number));
    if (run.status === null)
        throw run.error ?? new Error(`killed by ${run.signal}`);
    if (texts.length === 1)
        return [[]];
    const half = texts.length >> 1;
    return [...encodeAll(folder, texts.slice(0, half), options),
        ...encodeAll(folder, texts.slice(half), options)];
}

function decode(folder, ids) {
    const file = join(scratch, 'ids');
    writeFileSync(file, ids.join(' '));
    const line = ['tokenize', '-q', '--model', folder, '--decode', '--file', file];
    return execFileSync(program, line, { maxBuffer: 2 ** 30 }).toString();
}

// Divides texts into groups that fit into a command line.
function* lines(texts) {
    let line = [];
    let size = 0;
    for (const text of texts) {
        line.push(text);
        size += 3 * text.length;
        if (size > LINE_BYTES || line.length === LINE_TEXTS) {
            yield line;
            line = [];
            size = 0;
        }
    }
    if (line.length)
        yield line;
}

// --- comparing -------------------------------------------------------------------------------------

const same = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);

// Leaves out texts without tokens, which attn-cli refuses.
function compareIds(folder, texts, lists, options = ['--special', 'none']) {
    const expected = new Map(texts.map((text, i) => [text, lists[i]]).filter((pair) => pair[1].length));
    const differences = [];
    for (const line of lines(expected.keys())) {
        const found = encodeAll(folder, line, options);
        line.forEach((text, i) => {
            if (!same(expected.get(text), found[i]))
                differences.push({ text, expected: expected.get(text), found: found[i] });
        });
    }
    return differences;
}

// Decodes the ids of all texts together; if the results differ, compares each half of the texts.
async function compareDecoded(folder, lists, other, differences = []) {
    const ids = lists.flat();
    if (!ids.length)
        return differences;
    const expected = await other.decode(ids);
    const found = decode(folder, ids);
    const half = lists.length >> 1;
    if (expected === found || differences.length >= SHOWN)
        return differences;
    if (lists.length === 1) {
        differences.push({ text: ids.join(' '), expected, found });
        return differences;
    }
    await compareDecoded(folder, lists.slice(0, half), other, differences);
    return compareDecoded(folder, lists.slice(half), other, differences);
}

// A part of the value from three items before the first difference.
function excerpt(value, other) {
    let at = 0;
    while (at < value.length && value[at] === other[at])
        at++;
    return JSON.stringify(value.slice(Math.max(at - 3, 0), at + 12));
}

function report(name, count, differences) {
    for (const { text, expected, found } of differences.slice(0, SHOWN))
        console.log(`  ${JSON.stringify(text)}: expected ${excerpt(expected, found)}, found ` +
            excerpt(found, expected));
    console.log(`${name}: ${count} texts, ${differences.length} differences`);
    passed += differences.length === 0;
    failed += differences.length !== 0;
}

// --- texts -----------------------------------------------------------------------------------------

const surround = [(c) => `x${c}y`, (c) => ` ${c}${c}`];

// All except U+0000, which a command line cannot contain.
function* scalars() {
    for (let c = 1; c <= 0x10ffff; c++)
        if ((c < 0xd800 || c > 0xdfff) && (!quick || /[^\p{Cn}\p{Co}]/u.test(String.fromCodePoint(c))))
            yield String.fromCodePoint(c);
}

function* crowds() {
    let crowd = [];
    for (const c of scalars())
        if (crowd.push(c) === CROWD) {
            yield crowd;
            crowd = [];
        }
    yield crowd;
}

// Random numbers from 0 to 1, the same on every machine (mulberry32).
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
    [0x01, 0x1f], [0x7f, 0xa0], [0xa0, 0x24f], [0x300, 0x36f], [0x370, 0x3ff], [0x400, 0x4ff],
    [0x590, 0x5ff], [0x600, 0x6ff], [0x900, 0x97f], [0xe00, 0xe7f], [0x1100, 0x11ff],
    [0x2000, 0x206f], [0x2070, 0x218f], [0x2460, 0x24ff], [0x3000, 0x30ff], [0x4e00, 0x9fff],
    [0xac00, 0xd7a3], [0xfe00, 0xfe0f], [0xfeff, 0xff60], [0x1d400, 0x1d7ff], [0x1f1e6, 0x1f1ff],
    [0x1f300, 0x1faff], [0x1f3fb, 0x1f3ff], [0x20000, 0x2a6df], [0xe000, 0xe0ff], [1, 0x10ffff],
];
const PARTS = [
    ' ', '  ', '\n', '\n\n', '\r\n', '\t', ' \n', '\u00a0', '\u0085', '\u2003', '\u3000', '\ufeff',
    "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "''", "'", '’s', "n't", "I'm", "'l",
    'hello', ' the', 'The', ' world', '2024', ' 3.14', '…', '—', '!!!', '?!', '://', '<|', '|>',
    '👨‍👩‍👧', '👍🏽', '🇩🇪', 'é', 'e\u0301', '爱', 'Привет', 'العربية', 'नमस्ते', '안녕', 'ﬁ', 'ß',
];

function randomString(random, added) {
    const pick = (list) => list[Math.floor(random() * list.length)];
    const parts = [];
    for (let left = 1 + Math.floor(random() * 30); left > 0; left--) {
        const [first, last] = pick(RANGES);
        const c = first + Math.floor(random() * (last - first + 1));
        const again = random() < 0.1 ? 1 + Math.floor(random() * 20) : 1;
        const part = random() < 0.35 ? pick(PARTS)
            : added.length && random() < 0.03 ? pick(added)
                : c >= 0xd800 && c <= 0xdfff ? 'x' : String.fromCodePoint(c);
        parts.push(part.repeat(again));
    }
    return parts.join('');
}

function randomStrings(added) {
    const random = randomFrom(2019);
    return Array.from({ length: RANDOM_STRINGS }, () => randomString(random, added));
}

// --- all comparisons -------------------------------------------------------------------------------

async function compareScalars(name, folder, other, around) {
    const all = Array.from(crowds());
    const texts = all.map((crowd) => crowd.map(around).join('\n'));
    const differing = new Set(compareIds(folder, texts, await other.encode(texts))
        .map((difference) => difference.text));
    const singles = all.filter((crowd, i) => differing.has(texts[i])).flat().map(around);
    report(name, all.flat().length, compareIds(folder, singles, await other.encode(singles)));
}

// A folder with only the files of the tokenizer.
function bare(folder) {
    const alone = mkdtempSync(join(scratch, 'folder-'));
    const names = ['tokenizer.json', 'vocab.json', 'merges.txt'];
    for (const name of names.filter((name) => existsSync(join(folder, name))))
        symlinkSync(resolve(folder, name), join(alone, name));
    return alone;
}

for (const given of folders) {
    const name = basename(given);
    const folder = bare(given);
    const other = otherOf(folder);
    const texts = randomStrings(other.added);
    const lists = await other.encode(texts);
    report(`${name}: ids of random strings`, texts.length, compareIds(folder, texts, lists));
    if (other.special)
        report(`${name}: with --special auto`, texts.length,
            compareIds(folder, texts, await other.special(texts), ['--special', 'auto']));
    report(`${name}: decoded`, texts.length, await compareDecoded(folder, lists, other));
    for (const around of surround)
        await compareScalars(`${name}: scalar values in ${JSON.stringify(around('_'))}`, folder,
            other, around);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
