// Compares the CPU time of attn-cli with that of Hugging Face's tokenizers.js, or of OpenAI's tiktoken
// for GPT-2's vocab.json and merges.txt: the time to open a tokenizer (also compared with JSON.parse
// of its file) and to tokenize a text. attn-cli gets the whole text, tokenizers.js each line.
//
//     npm ci && node speed.mjs ATTN_CLI TEXT FOLDER...
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { Tokenizer } from '@huggingface/tokenizers';
import { get_encoding } from 'tiktoken';

const OPENINGS = 10;
const TRIES = Number(process.env.TRIES ?? 3);
const [program, file, ...folders] = process.argv.slice(2);
if (!folders.length) {
    console.error('usage: node speed.mjs ATTN_CLI TEXT FOLDER...');
    process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), 'attn-tokenizers-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const word = join(scratch, 'word');
writeFileSync(word, 'hi');
const text = readFileSync(file, 'utf8');
const lines = text.split('\n');

// CPU time of a command, from the shell's `times`, which prints minutes and seconds (0m0.25s).
function secondsOf(folder, path, rounds) {
    const args = [program, 'tokenize', '-q', '-m', folder, '--only-ids', '-f', path];
    const loop = `for i in ${'. '.repeat(rounds)}; do "$@" > /dev/null; done; times`;
    const out = spawnSync('sh', ['-c', loop, 'sh', ...args], { encoding: 'utf8' });
    const [user, system] = out.stdout.trim().split('\n').pop().split(' ');
    return [user, system].reduce((sum, time) => {
        const [minutes, seconds] = time.split('m');
        return sum + (60 * Number(minutes) + parseFloat(seconds)) / rounds;
    }, 0);
}

function secondsHere(work) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
}

function least(measure) {
    return Math.min(...Array.from({ length: TRIES }, measure));
}

function other(folder) {
    const path = join(folder, 'tokenizer.json');
    if (!existsSync(path)) {
        const gpt2 = get_encoding('gpt2');
        return { json: NaN, open: NaN, cut: () => gpt2.encode_ordinary(text) };
    }
    const config = join(folder, 'tokenizer_config.json');
    const settings = existsSync(config) ? JSON.parse(readFileSync(config)) : {};
    const parse = () => JSON.parse(readFileSync(path));
    const tree = parse();
    const tokenizer = new Tokenizer(tree, settings);
    return {
        json: least(() => secondsHere(parse)),
        open: least(() => secondsHere(() => new Tokenizer(tree, settings))),
        cut: () => lines.forEach((line) => tokenizer.encode(line, { add_special_tokens: false })),
    };
}

const ms = (seconds) => (1000 * seconds).toFixed(0).padStart(7);
console.log('                     open, ms:                 | the text, ms:');
console.log('                        ours   JSON  other     |    ours    other  other / ours');
for (const folder of folders) {
    const theirs = other(folder);
    const open = least(() => secondsOf(folder, word, OPENINGS));
    const ours = least(() => secondsOf(folder, file, 1)) - open;
    const cut = secondsHere(theirs.cut);
    console.log(
        basename(folder).padEnd(21), ms(open), ms(theirs.json), ms(theirs.open), '  |',
        ms(ours), ' ', ms(cut), (cut / ours).toFixed(1).padStart(9),
    );
}
