// Writes the files of tests/texts/bpe except its texts: a small vocabulary trained on the texts, and the ids
// that tiktoken gives for the texts with this vocabulary and the patterns of GPT-2, Llama 3 and Qwen.
//
//     npm ci && node freeze.mjs
//
// <|endoftext|> separates the texts and is the last token of the vocabulary.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tiktoken } from 'tiktoken';

const MERGES = 300;
const END_OF_TEXT = '<|endoftext|>';
const PATTERN = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const LLAMA3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" +
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'bpe');
const texts = readFileSync(join(folder, 'texts'), 'utf8');

// GPT-2's alphabet: a character for each byte, and the order of the first 256 tokens.
const printable = [...Array(256).keys()].filter(
    (b) => (b > 0x20 && b < 0x7f) || (b > 0xa0 && b !== 0xad));
const others = [...Array(256).keys()].filter((b) => !printable.includes(b));
const signs = Array.from({ length: 256 }, (_, b) =>
    String.fromCodePoint(printable.includes(b) ? b : 0x100 + others.indexOf(b)));
const words = [...printable, ...others].map((b) => signs[b]);

// --- training --------------------------------------------------------------------------------------

const pattern = new RegExp(PATTERN.replaceAll('\\s', '\\p{White_Space}')
    .replace('\\S', '\\P{White_Space}'), 'gu');
const counts = new Map(); // of pieces, written in this alphabet
for (const text of texts.split(END_OF_TEXT)) {
    for (const [piece] of text.matchAll(pattern)) {
        const key = Array.from(Buffer.from(piece), (b) => signs[b]).join(' ');
        counts.set(key, (counts.get(key) ?? 0) + 1);
    }
}

// The most frequent pair; of equally frequent pairs the first in the order of code units.
function bestPair(pieces) {
    const pairs = new Map();
    for (const { parts, count } of pieces)
        for (let i = 0; i + 1 < parts.length; i++) {
            const pair = `${parts[i]} ${parts[i + 1]}`;
            pairs.set(pair, (pairs.get(pair) ?? 0) + count);
        }
    return [...pairs].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0][0];
}

function joinPair(parts, left, right) {
    const joined = [];
    for (let i = 0; i < parts.length; i++) {
        const both = parts[i] === left && parts[i + 1] === right;
        joined.push(both ? left + right : parts[i]);
        i += both;
    }
    return joined;
}

const pieces = [...counts].map(([key, count]) => ({ parts: key.split(' '), count }));
const merges = [];
while (merges.length < MERGES) {
    const pair = bestPair(pieces);
    const [left, right] = pair.split(' ');
    merges.push(pair);
    words.push(left + right);
    for (const piece of pieces)
        piece.parts = joinPair(piece.parts, left, right);
}
words.push(END_OF_TEXT);

// --- writing ---------------------------------------------------------------------------------------

const bytesOf = (word) => Buffer.from(Array.from(word, (sign) => signs.indexOf(sign)));
const ranks = ['!', '0', ...words.slice(0, -1).map((word) => bytesOf(word).toString('base64'))];
const idsBy = (pattern, text) => {
    const oracle = new Tiktoken(ranks.join(' '), { [END_OF_TEXT]: words.length - 1 }, pattern);
    return `${oracle.encode(text, 'all').join(' ')}\n`;
};
const vocabulary = words.map((word, id) => ` ${JSON.stringify(word)}: ${id}`).join(',\n');

writeFileSync(join(folder, 'vocab.json'), `{\n${vocabulary}\n}\n`);
writeFileSync(join(folder, 'merges.txt'), `#version: 0.2\n${merges.join('\n')}\n`);
writeFileSync(join(folder, 'ids'), idsBy(PATTERN, texts));
writeFileSync(join(folder, 'ids_llama3'), idsBy(LLAMA3, texts));
writeFileSync(join(folder, 'ids_qwen'), idsBy(LLAMA3.replace('{1,3}', ''), texts.normalize('NFC')));
