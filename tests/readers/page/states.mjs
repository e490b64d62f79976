// A page shows one text at a time: all parts belong to it, at every frame, while texts are typed. Its
// roles of heads are those of the command `heads`; it names the head that the prediction needs.
//
// page.mjs imports it. PAGE_TYPING: seconds of typing (15), on a clock that stands still between frames.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    attn,
    attnJson,
    pass,
    percent,
    quiet,
    run,
    same,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const SECONDS = Number(process.env.PAGE_TYPING || 15);
const KEYS = 'The keys to the cabinet';
const TEXTS = [
    KEYS,
    'the dog sat on a mat',
    'red fox green boat red fox',
    'Life is short, eat dessert first',
    'a man ran to the little house and the old man sat',
];
const WRONG = ['', 'and then '.repeat(200)];
const live = join(scratch, 'live.html'); // live.mjs writes it
const shownHead = (layer, head) => `L${layer}H${head}`;

// Runs in the page: what each part says. Labels of the matrix are those that were drawn.
function watch() {
    const text = (id) => document.getElementById(id).textContent;
    const all = (selector, of = document) =>
        [...of.querySelectorAll(selector)].map((one) => one.textContent);
    const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function note(words, ...place) {
        (this.canvas.words ||= []).push(words);
        fillText.call(this, words, ...place);
    };
    CanvasRenderingContext2D.prototype.clearRect = function note(...box) {
        this.canvas.words = [];
        clearRect.call(this, ...box);
    };
    window.parts = () => ({
        chips: all('.chip').join(' '),
        labels: (document.querySelector('#stage .over').words || []).sort().join(' '),
        prediction: text('follows') + all('#bars li:not([hidden])').join(' '),
        layers: all('#layer-rows tr').join(' '),
        entry: text('entry'),
        headline: text('headline') + text('finding'),
        roles: text('roles').replace(/L\d+H\d+: layer .*/, ''),
        grid: [...document.querySelectorAll('.thumb')].map((one) => one.ariaLabel).join(),
        readout: text('readout'),
        table: all('#numbers td, #numbers th').join(' '),
        address: new URLSearchParams(location.hash.slice(1)).get('text') || '',
    });
    // The head that a prediction needs most is added to its roles, unless runs take too long.
    window.begins = (a, b) => a.startsWith(b) || b.startsWith(a);
    // The parts when nothing waits any more.
    window.settled = async () => {
        await window.clock.quiet();
        return window.parts();
    };
    // The words of Why at their places in the text, as "keys 1".
    window.why = () =>
        document.querySelector('#why.open')
            ? [...document.querySelectorAll('#why .why-head b')].map(
                  (one) => one.textContent + one.nextSibling.textContent.replace(/ →.*/, ''),
              )
            : [];
    window.type = (words) => {
        const field = document.getElementById('text');
        field.value = words;
        field.dispatchEvent(new Event('input', { bubbles: true }));
    };
}

// Runs in the page: types at random and compares every frame with what is known of its text.
async function typeAtRandom([known, texts, wrong, seconds]) {
    const found = { frames: 0, texts: [], faults: [] };
    const later = new Set(['layers', 'entry']); // may follow, and be empty until then
    const fault = (words) => found.faults.length < 5 && found.faults.push(words);
    const look = () => {
        const now = window.parts();
        const expected = known[now.chips];
        found.frames += 1;
        if (!expected) return fault(`unknown chips: ${now.chips}`);
        if (!found.texts.includes(now.chips)) found.texts.push(now.chips);
        for (const [name, words] of Object.entries(now)) {
            const whole = expected[name];
            const isLater = later.has(name) && !(words && whole);
            if (words !== whole && !isLater && !(name === 'roles' && window.begins(words, whole)))
                fault(`${name} of another text than “${now.chips}”: ${words}`);
        }
        const { value } = document.getElementById('text');
        if (value !== document.getElementById('live-note').dataset.text)
            if (!document.body.classList.contains('stale')) fault(`“${value}” above “${now.chips}”`);
        const words = now.chips.split(' ');
        for (const one of window.why())
            if (words[one.split(' ')[1]] !== one.split(' ')[0]) fault(`Why: ${one}`);
        return null;
    };
    let seed = 7;
    const random = (below) => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
    };
    const pick = (list) => list[random(list.length)];
    let ends = false;
    const frame = () => {
        look();
        if (!ends) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const until = performance.now() + 1000 * seconds;
    while (performance.now() < until) {
        window.type(pick(random(3) ? texts : wrong));
        window.clock.pass(pick([0, 5, 30, 60, 90, 120, 400]));
        if (!random(4)) document.getElementById('why-button').click();
        if (!random(4)) document.querySelector('.over').dispatchEvent(new PointerEvent('pointerleave'));
        window.clock.pass(pick([0, 20, 150]));
    }
    ends = true;
    window.clock.pass(20);
    window.type(texts[0]);
    const last = await window.settled();
    look();
    return { ...found, last };
}

// Runs in the page before its scripts: each run of the engine takes some of window.costs, in turns.
function slowEngine() {
    const own = WebAssembly.instantiate;
    let runs = 0;
    window.costs = [0];
    WebAssembly.instantiate = async (...all) => {
        const { exports } = (await own.apply(WebAssembly, all)).instance;
        const run = (...words) => {
            window.clock.spend(window.costs[runs++ % window.costs.length]);
            return exports.live_run(...words);
        };
        return { instance: { exports: { ...exports, live_run: run } } };
    };
}

if (existsSync(live)) {
    for (const [speed, ...costs] of [
        ['a fast engine', 0],
        ['an engine of any speed', 10, 40, 0, 90, 300, 20, 60],
    ])
        await test(`all parts show one text at every frame of ${SECONDS} s of typing, with ${speed}`, () =>
            withPage(
                live,
                async (page) => {
                    await page.addInitScript(slowEngine);
                    await page.reload();
                    await page.locator('#text:enabled').waitFor();
                    await page.click('#numbers summary');
                    await page.evaluate(watch);
                    const known = {};
                    for (const text of TEXTS) {
                        await page.evaluate((words) => window.type(words), text);
                        const parts = await page.evaluate(() => window.settled());
                        known[parts.chips] = parts;
                    }
                    same(TEXTS.length, Object.keys(known).length);
                    for (const one of Object.values(known)) {
                        yes(one.layers.includes('attention 1'), `no layers: ${one.chips}`);
                        for (const [name, words] of Object.entries(one)) yes(words, `no ${name}`);
                    }
                    await page.evaluate((all) => (window.costs = all), costs);
                    const args = [known, TEXTS, WRONG, SECONDS];
                    const { frames, texts, faults, last } = await page.evaluate(typeAtRandom, args);
                    same([], faults);
                    same(TEXTS.length, texts.length, 'texts that were shown');
                    yes(frames > 20 * SECONDS, `${frames} frames`);
                    const { roles } = last; // as of each frame
                    same({ ...known[last.chips], roles }, { ...last, roles }, 'all parts are complete');
                },
                { viewport: { width: 1440, height: 900 }, still: true },
            ));

    await test('a text that cannot run greys the results below a message under the field', async () => {
        for (const [width, colorScheme] of [
            [1440, 'light'],
            [1440, 'dark'],
            [1024, 'light'],
            [390, 'light'],
        ])
            await withPage(
                live,
                async (page) => {
                    await page.locator('#live-note[data-took]').waitFor({ state: 'attached' });
                    if (width < 700) await page.click('#edit');
                    const chips = await page.innerText('#chips');
                    for (const [text, message] of [
                        ['', 'Type some text to begin.'],
                        [WRONG[1], /expected at most 128/],
                    ]) {
                        await page.fill('#text', text);
                        await page.locator('.stale #text-error', { hasText: message }).waitFor();
                        const [field, below] = await Promise.all(
                            ['#text', '#text-error'].map((one) => page.locator(one).boundingBox()),
                        );
                        const gap = below.y - field.y - field.height;
                        yes(gap >= 0 && gap < 8, `the message is ${gap} pixels below`);
                        yes(below.height < 36 && below.x + below.width <= width, 'it is cut');
                        yes(width < 700 || below.height < 16, 'the message covers the tokens');
                        same(chips, await page.innerText('#chips'));
                        same('true', await page.getAttribute('#workbench', 'aria-busy'));
                        const [ink, ground, opacity] = await page.evaluate(() => [
                            getComputedStyle(document.getElementById('text-error')).color,
                            getComputedStyle(document.body).backgroundColor,
                            getComputedStyle(document.getElementById('workbench')).opacity,
                        ]);
                        yes(Number(opacity) < 0.6, 'the results are not grey');
                        const [a, b] = [ink, ground].map(luminance).sort((x, y) => y - x);
                        yes((a + 0.05) / (b + 0.05) >= 4.5, `${ink} on ${ground}`);
                    }
                    await page.fill('#text', KEYS);
                    await page.locator('.stale').waitFor({ state: 'detached' });
                    same('', await page.innerText('#text-error'));
                    same('false', await page.getAttribute('#workbench', 'aria-busy'));
                },
                { viewport: { width, height: 844 }, colorScheme },
            );
    });
}

function luminance(colour) {
    return colour
        .match(/\d+/g)
        .slice(0, 3)
        .map((byte) => byte / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
}

// "L1H3, induction": the roles of all heads, as the command says and as the page does.
function rolesOfCommand(text) {
    const lines = execFileSync(attn, ['heads', '-q', text]).toString().split('\n');
    const rows = lines.map((line) => /^ +(\d+) +(\d+)(?: +[\d.]+){7}(?:  (.*))?$/.exec(line));
    return rows
        .filter(Boolean)
        .map(([, layer, head, role]) => `${shownHead(layer, head)}, ${role || 'mixed'}`);
}

const rolesOfPage = (page) =>
    page.$$eval('.thumb', (all) => all.map((one) => one.getAttribute('aria-label')));

await test('the command heads, a page and a live page give heads the same roles', async () => {
    for (const text of TEXTS)
        await withPage(writePage(text), async (page) =>
            same(rolesOfCommand(text), await rolesOfPage(page), text),
        );
    if (!existsSync(live)) return;
    await withPage(live, async (page) => {
        await page.locator('#live-note[data-took]').waitFor({ state: 'attached' });
        for (const text of TEXTS) {
            await page.fill('#text', text);
            const note = page.locator(`#live-note[data-text=${JSON.stringify(text)}]`);
            await note.waitFor({ state: 'attached' });
            same(rolesOfCommand(text), await rolesOfPage(page), text);
        }
    });
});

await test('a page of weights of another program has heads, and no predictions or explanations', async () => {
    const [weights, tokens] = ['weights.safetensors', 'tokens.txt'].map((name) => join(scratch, name));
    run('The cat sat on the mat', '--layer', 'all', '-o', weights);
    writeFileSync(tokens, ['The', ' cat', ' sat', ' on', ' the', ' mat'].join('\n'));
    await withPage(writePage('--weights', weights, '--tokens', tokens), async (page) => {
        same('Matrix', await page.locator('#screens button').allInnerTexts().then(String));
        const said = 'Weights of another program, without a model: nothing is predicted or explained.';
        same(said, await page.innerText('#notes'));
        await page.click('#why-button');
        const why = await page.innerText('#why');
        yes(why.includes(said) && !why.includes('attn-cli') && !why.includes('come from'), why);
        await page.keyboard.press('Escape');
        await page.click('#command');
        const command = await page.locator('dialog .command code').first().innerText();
        yes(command.startsWith(`attn-cli run --weights ${weights} --tokens ${tokens} --layer`), command);
    });
});

await test('a page says that its model is not trained, and that characters are split into bytes', async () => {
    const UNTRAINED = 'This model is not trained: its numbers show the computation, not language.';
    const BYTES = 'Some characters are not in the vocabulary and are split into bytes, such as “我₂”.';
    const wide = { viewport: { width: 1440, height: 900 } };
    for (const model of ['life', 'life-causal', 'life-4-heads', 'life-grouped', 'nlp'])
        await withPage(
            writePage('-m', model, model === 'nlp' ? '我爱自然语言处理' : 'Life is short'),
            async (page) => {
                same(UNTRAINED, `${await page.innerText('#headline')}.`, model);
                await page.keyboard.press('p');
                const title = await page.innerText('#head-title');
                yes(title.endsWith('· not trained'), `${model}, presented: ${title}`);
            },
            wide,
        );
    await withPage(writePage('Life is short'), async (page) => {
        const said = await page.innerText('#head');
        yes(!/trained|bytes/.test(said), said);
    });
    await withPage(writePage('a 我', '--hide-first'), async (page) =>
        same(BYTES, await page.innerText('#notes'), 'without the first token'));
    if (!existsSync(live)) return;
    const own = writePage('--live', '-m', 'life', 'Life is short');
    await withPage(own, async (page) => {
        await page.locator('#live-note[data-took]').waitFor({ state: 'attached' });
        await page.fill('#text', 'Life is');
        await page.locator('.chip', { hasText: 'short' }).waitFor({ state: 'detached' });
        same(UNTRAINED, `${await page.innerText('#headline')}.`, 'a live page of life');
    });
    await withPage(live, async (page) => {
        await page.locator('#live-note[data-took]').waitFor({ state: 'attached' });
        await page.fill('#text', '我爱 dog');
        await page.locator('.chip', { hasText: '我' }).first().waitFor();
        same(BYTES, await page.innerText('#notes'));
    });
});

// The head without which the likeliest next token changes most, by the command `score`.
function mostNeeded(text) {
    const shares = (...options) => {
        const { best } = attnJson('score', '-q', `${text} x`, '--top', '50', ...options).tables;
        const { position } = attnJson('score', '-q', text).tables.scores.at(-1);
        return best.filter((one) => one.position === position + 1);
    };
    const [winner] = shares();
    const effects = [0, 1].flatMap((layer) =>
        [0, 1, 2, 3].map((head) => {
            const without = shares('--ablate', `${layer}.${head}`);
            const mine = without.find((one) => one.id === winner.id);
            const by = Math.exp(mine.logprob) - Math.exp(winner.logprob);
            return { name: shownHead(layer, head), by, share: percent(Math.exp(mine.logprob)) };
        }),
    );
    const [most] = effects.sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const points = Math.abs(100 * most.by).toFixed(1);
    const token = winner.text.trim();
    const verb = most.by < 0 ? 'falls' : 'rises';
    return { ...most, words: `“${token}” ${verb} by ${points} points` };
}

await test('a page names the head that the prediction needs most, and says by how much', async () => {
    for (const text of [KEYS, TEXTS[3]]) {
        const most = mostNeeded(text);
        await withPage(writePage(text), async (page) => {
            await page.click('#scores summary');
            const roles = await page.innerText('#roles');
            yes(roles.includes(`Without ${most.name}, ${most.words}, the most of all heads.`), roles);
            yes(/L\dH\d: layer \d, head \d$/.test(roles), roles);
        });
        if (!existsSync(live)) continue;
        const typed = async (page) => {
            await page.locator('#text:enabled').waitFor();
            await page.fill('#text', text);
            await pass(page, 100);
            await quiet(page); // the runs without each head
            await page.click('#scores summary');
            const roles = await page.innerText('#roles');
            yes(roles.includes(`${most.words}, the most`), roles);
            await page.locator(`.head:has([data-head="1.3"]) .power`).click();
            const effect = await page.innerText('#effect');
            yes(/^Before → now the prediction (changes|stays)/.test(effect), effect);
        };
        await withPage(live, typed, { still: true }); // runs without heads are quick enough
    }
});
