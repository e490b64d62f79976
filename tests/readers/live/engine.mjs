// The engine of live pages in node: it returns the bytes that the program writes into a page, and
// the same error messages.
//
//     node tests/readers/live/engine.mjs ATTN_CLI MODULE SCRATCH
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const [attn, modulePath, scratch] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const source = readFileSync(join(root, 'lib/draw/page/engine.js'), 'utf8');
const Engine = new Function(`${source}; return Engine;`)();
const bytes = readFileSync(modulePath);
const CASES = join(root, 'tests/texts/tokenizers/llama-3-like/cases.jsonl'); // in every alphabet
const SENTENCES = [
    ...readFileSync(join(root, 'data/experiments/sentences.txt'), 'utf8').split('\n'),
    ...readFileSync(CASES, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).text),
]
    .filter((text) => text.length && text.length < 100 && !text.includes('\0'))
    .slice(0, 50);
const LIFE = 'Life is short, eat dessert first';
const TINY = join(root, 'models/tiny');
let passed = 0;
let failed = 0;

async function test(name, body) {
    try {
        await body();
        passed += 1;
    } catch (error) {
        failed += 1;
        console.log(`failed: ${name}: ${error.message}`);
    }
}

function same(expected, found) {
    if (expected === found) return;
    let at = 0;
    while (at < expected.length && expected[at] === found[at]) at += 1;
    const part = (text) => String(text).slice(Math.max(at - 60, 0), at + 60);
    throw new Error(`at ${at}\n    expected ${part(expected)}\n    found    ${part(found)}`);
}

function open(folder, name = folder) {
    const files = readdirSync(folder)
        .filter((file) => /\.(json|txt|model|safetensors)$/.test(file))
        .map((file) => [file, [readFileSync(join(folder, file))]]);
    return Engine.open(bytes, name, files);
}

// A sentence without the members that depend on the command line.
function plain(json) {
    const sentence = JSON.parse(json);
    delete sentence.explained_bytes;
    const others = ['command', 'roles', 'effects', 'untrained', 'origins', 'without', 'streams'];
    for (const name of [...others, 'without_top', 'findings', 'predicts']) delete sentence[name];
    return JSON.stringify(sentence);
}

// The sentence of a page that the program writes, with everything that the engine returns.
const written = (...words) => plain(sentenceOf(...words));

function sentenceOf(model, text, show, ...options) {
    const page = execFileSync(
        attn,
        [
            ...['page', '-q', '-m', model, '-s', text, '--show', show, '--explain', 'all'],
            ...['--lens', '--scores', 'none', '--keep-paths'],
            ...['-o', '/dev/stdout', ...options],
        ],
        { maxBuffer: 2 ** 30 },
    ).toString();
    const piece = page.split('<script type="application/json" class="sentence">')[1];
    return piece.slice(0, piece.indexOf('</script>'));
}

// The same from the engine; a page has the 50 most likely tokens.
function found(engine, text, options = {}) {
    return plain(engine.run(text, { next: 50, steps: true, ...options }));
}

const tiny = await open(TINY, 'tiny');

await test('the split of a score has the bits of the program', () => {
    const { origins } = JSON.parse(sentenceOf('tiny', LIFE, 'weights'));
    same(true, origins.length > 100);
    for (const one of origins) {
        const { layer, head, query, key, less_mean: lessMean } = one;
        const own = tiny.origin(LIFE, { layer, head, query, key, lessMean });
        same(JSON.stringify(one), JSON.stringify(JSON.parse(own)));
    }
});

await test('fifty sentences have the bits of the program', () => {
    if (SENTENCES.length !== 50) throw new Error(`found ${SENTENCES.length} sentences`);
    for (const text of SENTENCES) same(written('tiny', text, 'weights'), found(tiny, text));
});

await test('the findings of sentences are those of the program', () => {
    for (const text of SENTENCES.slice(0, 20)) {
        const { findings, predicts } = JSON.parse(sentenceOf('tiny', text, 'weights'));
        same(JSON.stringify({ findings, predicts }), JSON.stringify(JSON.parse(tiny.findings(text))));
    }
});

await test('the steps of one token have the bits of those of all tokens', () => {
    const next = (options) => JSON.parse(tiny.run(LIFE, { next: 50, ...options })).next.layers;
    const all = next({ steps: true });
    const bytesOf = (text) => Buffer.from(text, 'base64');
    for (const token of [0, 3, 6]) {
        const some = next({ steps: true, token });
        same(all.length, some.length);
        same(JSON.stringify(all.at(-1)), JSON.stringify(some.at(-1)));
        some.slice(0, -1).forEach(({ ids, logprobs, first = 0, layer, step }, at) => {
            const { count, ids: every, logprobs: numbers, ...place } = all[at];
            const [from, to] = [token * count, (token + 1) * count];
            same(`${place.step} ${place.layer} ${token}`, `${step} ${layer} ${first}`);
            same(`${every.slice(from, to)}`, `${ids}`);
            same(
                bytesOf(numbers).subarray(4 * from, 4 * to).toString('hex'),
                bytesOf(logprobs).toString('hex'),
            );
        });
    }
});

await test('all tensors have the bits of the program', () =>
    same(written('tiny', LIFE, 'all'), found(tiny, LIFE, { show: 'all' })));

await test('a head switched off gives the bits of --ablate', () => {
    const look = { edits: 'h.0.context[head=1] = 0', show: 'weights,logits' };
    const off = found(tiny, LIFE, look);
    same(written('tiny', LIFE, 'weights,logits', '--ablate', '0.1'), off);
    if (off === found(tiny, LIFE, { show: look.show })) throw new Error('nothing changed');
});

await test('a temperature gives the bits of --attention-temperature for one run only', () => {
    const before = tiny.run(LIFE);
    const expected = written('tiny', LIFE, 'weights', '--attention-temperature', '2');
    same(expected, found(tiny, LIFE, { temperature: 2 }));
    same(before, tiny.run(LIFE));
});

await test('a text that cannot run gives an error, and the next text runs', () => {
    const say = (text, options) => {
        try {
            tiny.run(text, options);
        } catch (error) {
            return error.message;
        }
        return 'nothing';
    };
    same('the text is empty: expected at least one token', say(''));
    same(
        'edits: expected numbers, found values of other texts',
        say(LIFE, { edits: 'h.0.context = mean' }),
    );
    if (!say(LIFE, { show: 'wieghts' }).includes("did you mean 'weights'")) throw new Error('show');
    if (!say('Life '.repeat(2000)).includes('tokens')) throw new Error('length');
    same(written('tiny', LIFE, 'weights'), found(tiny, LIFE));
});

await test('a malformed file is refused', async () => {
    const why = await Engine.open(bytes, 'none', [['config.json', [Buffer.from('{')]]]).then(
        () => 'nothing',
        (error) => error.message,
    );
    if (!why.startsWith("'none/config.json': ")) throw new Error(why);
});

for (const [model, text = LIFE] of [
    ['life'],
    ['life-causal'],
    ['life-grouped'],
    ['cloze', 'The [MASK] sat on the [MASK].'],
])
    await test(`${model} has the bits of the program`, async () => {
        const engine = await open(join(root, 'models', model), model);
        same(written(model, text, 'all'), found(engine, text, { show: 'all' }));
    });

// --- a text that grows token by token -------------------------------------------------------------

const json = (...words) =>
    JSON.parse(execFileSync(attn, [...words, '--format', 'json'], { maxBuffer: 2 ** 30 }));
const USUAL = { added: [], edits: '', temperature: 0, next: 10, t: 1, k: 0, seed: 0, index: 0 };
const nextOf = (engine, text, options) =>
    JSON.parse(engine.next(text, { ...USUAL, ...options }));
const list = (numbers) => numbers.join(' ');

// The ids that `generate` adds, with the end of the text, which it does not add.
function generated(model, text, { t = 0, k = 0, seed = 0, count, edits = [] }) {
    const draws = t ? ['--temperature', t, '--top-k', k, '--seed', seed] : [];
    const of = /translate/.test(model) ? ['--source', text, '--beams', '1'] : [text];
    const asked = ['generate', '-q', '-m', model, ...of, '-n', count, '--logprobs', ...edits];
    return json(...asked, ...draws.slice(0, t ? 6 : 0)).tables.tokens;
}

// Append tokens as the page does; check each with the command's.
function grows(engine, model, text, asked) {
    const added = [];
    for (const [index, { id, logprob }] of generated(model, text, asked).entries()) {
        const { likely, drawn } = nextOf(engine, text, {
            ...{ added, index, next: 1300, edits: asked.off || '' },
            ...{ t: asked.t || 0, k: asked.k || 0, seed: asked.seed || 0 },
        });
        same(id, drawn.id);
        same(true, Math.abs(drawn.logprob - logprob) < 1e-5);
        const least = asked.k ? likely[asked.k - 1].logprob : -Infinity; // equal ones are kept
        if (asked.t)
            for (const one of likely) same(one.logprob >= least, one.chance > 0);
        same(true, Math.abs(likely.reduce((sum, one) => sum + one.chance, 0) - 1) < 1e-5);
        added.push(id);
    }
    return added;
}

const recall = await open(join(root, 'models/recall'), 'recall');
const translate = await open(join(root, 'models/translate'), 'translate');
const FRENCH = 'the small black cat sees a white cow';

await test('tokens that are appended are those of generate, with the same seed and options', () => {
    for (const asked of [
        { count: 20 },
        { count: 20, t: 1, seed: 7 },
        { count: 20, t: 1.6, k: 6, seed: 2 ** 40 },
        { count: 9, t: 3, k: 20, edits: ['--ablate', '0.1'], off: 'h.0.context[head=1] = 0' },
    ])
        grows(tiny, 'tiny', LIFE, asked);
    grows(recall, 'recall', 'a red cat and a blue', { count: 6, t: 2, k: 5, seed: 3 });
    for (const t of [0, 2]) grows(translate, 'translate', FRENCH, { count: 6, t, k: t ? 4 : 0 });
});

await test('text that was appended has the bits of one pass, in any order of requests', () => {
    const added = grows(tiny, 'tiny', LIFE, { count: 12, t: 2, seed: 1 });
    const look = (ids) => JSON.parse(tiny.run(LIFE, { added: ids, show: 'all', next: 50 }));
    for (const count of [12, 3, 5, 0, 12]) {
        const ids = added.slice(0, count);
        const { likely, words } = nextOf(tiny, LIFE, { added: ids });
        const whole = look(ids);
        same(list(whole.labels.sentence), list(words));
        const { ids: best, logprobs } = whole.next.layers.at(-1);
        const last = 50 * (words.length - 1);
        same(list(best.slice(last, last + 10)), list(likely.map(({ id }) => id)));
        const bits = new Float32Array(Uint8Array.from(Buffer.from(logprobs, 'base64')).buffer);
        same(list(bits.slice(last, last + 10)), list(likely.map((one) => Math.fround(one.logprob))));
    }
    const { text } = look(added);
    same(written('tiny', text, 'weights'), found(tiny, LIFE, { added }));
});

await test('what a token loses is what it loses with --knockout', () => {
    const check = (engine, model, text, added, keys, ofSource) => {
        const asked = { ...USUAL, added };
        const { likely, words } = nextOf(engine, text, asked);
        const ids = JSON.parse(engine.run(text, { added }));
        const whole = ids.text === undefined ? ['--ids', ids.ids.join(',')] : [ids.text];
        for (const key of keys) {
            const own = JSON.parse(engine.knockout(text, asked, key, ofSource));
            const one = `--knockout=-1:${key}`;
            const command = ['run', '-q', '-m', model, ...whole, '--show', 'logits', one];
            const row = json(...command).tensors.logits.at(-1);
            same(words.length > key, true);
            const sum = Math.log(row.reduce((all, one) => all + Math.exp(one), 0));
            likely.forEach(({ id }, at) =>
                same(true, Math.abs(row[id] - sum - own[at]) < 1e-5 * Math.abs(own[at]) + 1e-5),
            );
        }
        same(list(likely.map(({ id }) => id)), list(nextOf(engine, text, asked).likely.map(({ id }) => id)));
    };
    check(tiny, 'tiny', 'The keys to the cabinet', [], [1, 0, 3], false);
    check(tiny, 'tiny', 'The keys to the cabinet', [312, 380, 13], [1, 5, 6, 0], false);
});

await test('an edit of a token of the source has the bits of --edit', () => {
    const edits = 'cross_masked[query=2,key=7] = -1e30';
    const { ids, tensors } = JSON.parse(
        translate.run(FRENCH, { added: grows(translate, 'translate', FRENCH, { count: 3 }), edits,
            show: 'cross_weights' }),
    );
    const text = ['--ids', ids.join(','), '--source', FRENCH, '--show', 'cross_weights'];
    const expected = json('run', '-q', '-m', 'translate', ...text, '--edit', edits).tensors;
    const bytes = Uint8Array.from(Buffer.from(tensors[0].values, 'base64'));
    const bits = new Float32Array(bytes.buffer);
    same(list(expected['h.0.cross_weights'].flat(2).map(Math.fround)), list(bits));
});

await test('switches have the bits of the options --scale and --without', () => {
    const text = 'The keys to the cabinet';
    for (const [scale, without] of [
        ['none', ''],
        ['', 'positions'],
        ['', 'mask'],
        ['0.5', 'mask,positions'],
    ]) {
        const options = [scale && `--scale=${scale}`, without && `--without=${without}`];
        tiny.switches(scale, without);
        same(written('tiny', text, 'weights', ...options.filter(Boolean)), found(tiny, text));
    }
    tiny.switches('', '');
    same(written('tiny', text, 'weights'), found(tiny, text));
});

await test('a token that is not of the model, or beyond its context, is refused', () => {
    for (const added of [[1280], ['x'], Array(128).fill(5)]) {
        let why = '';
        try {
            nextOf(tiny, LIFE, { added });
        } catch (error) {
            why = error.message;
        }
        same('expected up to 121 ids below 1280', why.split(' to be added')[0]);
    }
    same(0, nextOf(tiny, LIFE, { added: Array(121).fill(5) }).room);
});

// Patterns that need Oniguruma, and norms, rotations and gates of other families.
for (const [like, vocab] of [
    ['gpt2', 'llama-3-like'],
    ['tiny', 'qwen2-like'],
])
    await test(`a fresh model with the tokenizer of ${vocab} has the bits`, async () => {
        const folder = join(scratch, vocab);
        const tokenizer = join(root, 'tests/texts/tokenizers', vocab, 'tokenizer.json');
        const sizes = 'n_layer=2,n_embd=64,n_head=4';
        execFileSync(attn, [
            ...['init', '-q', '--shape', like, '--set', sizes, '--vocab', tokenizer, '-o', folder],
        ]);
        const engine = await open(folder);
        for (const text of SENTENCES.slice(0, 20))
            same(
                written(folder, text, 'weights,mlp_out'),
                found(engine, text, { show: 'weights,mlp_out' }),
            );
    });

await test('a page holds the files that were read for the model, and no others', async () => {
    const folder = join(scratch, 'bert');
    cpSync(join(root, 'models/cloze'), folder, { recursive: true });
    const words = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')).model.vocab;
    rmSync(join(folder, 'tokenizer.json'));
    writeFileSync(join(folder, 'vocab.txt'), `${Object.keys(words).join('\n')}\n`);
    for (const name of ['credentials.json', 'training.safetensors', 'notes.model'])
        writeFileSync(join(folder, name), '{"key": "secret"}');
    const page = join(scratch, 'bert.html');
    execFileSync(attn, ['page', '-q', '--live', '-m', folder, 'The cat sat.', '-o', page]);
    const parts = readFileSync(page, 'utf8').matchAll(/class="file" data-name="(.*?)">(.*?)</g);
    const files = [...parts].map(([, name, text]) => [name, [Buffer.from(text, 'base64')]]);
    const names = files.map(([name]) => name).sort();
    same('config.json,model.safetensors,vocab.txt', names.join());
    const engine = await Engine.open(bytes, folder, files);
    same(written(folder, 'The cat sat.', 'weights'), found(engine, 'The cat sat.'));
});

await test('make site writes the page, within its limit of bytes', () => {
    const command = ['lib/draw/page/site.sh', attn, join(scratch, 'site')];
    execFileSync('sh', command, { cwd: root, stdio: 'pipe' });
    if (!readFileSync(join(scratch, 'site/index.html'), 'utf8').includes('og:image'))
        throw new Error('expected a card of its preview, found none');
});

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
