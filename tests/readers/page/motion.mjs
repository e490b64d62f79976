// Motion draws the numbers of the model: each scene of the journey of a query, at each time, as
// played, stepped and scrubbed.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    attn,
    boxOf,
    json,
    pass,
    quiet,
    same,
    scratch,
    tell,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const TEXT = 'The chicken did not cross the road because it was too tired';
const path = writePage('-s', TEXT, '-s', 'Life is short, eat dessert first');
const numbers = json(TEXT, '--show', 'all').tensors;
const calm = { reducedMotion: 'reduce', viewport: { width: 1280, height: 720 } };
const near = (a, b, most = 1e-5) => Math.abs(a - b) <= most * (1 + Math.abs(b));
const HASH = '#screen=motion&token=8&head=1.3';

const onMotion = (body, options = {}) =>
    withPage(options.path || path, body, { hash: HASH, ...calm, ...options });

// Go to a time, as the slider does.
const scrub = (page, time) =>
    page.$eval(
        '#scrub',
        (slider, at) => {
            slider.value = at;
            slider.dispatchEvent(new Event('input'));
        },
        time,
    );
const picture = (page) => page.$eval('#stage-canvas', (canvas) => canvas.toDataURL());
async function scene(page, name, layer = 1) {
    await page.click(`#motion-layers [data-scene="${layer}"]`);
    await page.click(`#scenes [data-scene="${name}"]`);
}

// The texts that are drawn from now on.
const listenToTexts = (page) =>
    page.evaluate(() => {
        window.drawn = [];
        const own = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function fillText(text, ...rest) {
            if (this.canvas.id === 'stage-canvas') window.drawn.push(text);
            own.call(this, text, ...rest);
        };
    });

// The table of a scene: rows of texts, with their names.
async function readNumbers(page) {
    if (!(await page.$eval('#motion-numbers', (one) => one.open)))
        await page.click('#motion-numbers summary');
    await page.locator('#motion-numbers table').waitFor();
    return page.$$eval('#motion-numbers tbody tr', (rows) =>
        rows.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
}

await test('motion: weighted values add up to the context of the model', () =>
    onMotion(async (page) => {
        await scene(page, 'sum');
        const rows = await readNumbers(page);
        const [name, , , , ...context] = rows.at(-1);
        same('context', name);
        const expected = numbers['h.1.context'][3][8];
        same(expected.length, context.length);
        const sums = context.map(() => 0);
        for (const [, , , weight, ...v] of rows.slice(0, -1))
            v.forEach((value, i) => (sums[i] += Number(weight) * Number(value)));
        expected.forEach((value, i) => {
            yes(near(sums[i], value), `dim ${i} of the sum: ${sums[i]} for ${value}`);
            yes(near(Number(context[i]), value), `dim ${i}: ${context[i]} for ${value}`);
        });
        rows.slice(0, -1).forEach(([, raw, scaled, weight, ...v], key) => {
            const [head, query] = [3, 8];
            if (key <= query) {
                same(String(numbers['h.1.weights'][head][query][key]), weight, `weight ${key}`);
                same(String(numbers['h.1.scores'][head][query][key]), raw, `score ${key}`);
                same(String(numbers['h.1.masked'][head][query][key]), scaled, `scaled ${key}`);
            } else same('−∞', scaled, `scaled ${key}`);
            same(numbers['h.1.v'][head][key].map(String), v, `v ${key}`);
        });
    }));

await test('motion: what attention and the MLP add makes the stream of the model', () =>
    onMotion(async (page) => {
        await scene(page, 'mlp');
        const rows = new Map((await readNumbers(page)).map(([name, ...list], at) => [`${at} ${name}`, list.map(Number)]));
        const of = (name) => rows.get(name);
        const [before, attention, mid, mlp, after] = ['4 stream before', '5 + attention', '6 = stream', '7 + MLP', '8 = stream'].map(of);
        const names = { resid_pre: before, attn_out: attention, resid_mid: mid, mlp_out: mlp, resid_post: after };
        for (const [name, list] of Object.entries(names)) same(numbers[`h.1.${name}`][8], list, name);
        after.forEach((value, i) => yes(near(before[i] + attention[i] + mlp[i], value), `channel ${i}`));
    }));

await test('motion: the drawn weights and scores are those of run', () =>
    onMotion(async (page) => {
        await listenToTexts(page);
        await scene(page, 'softmax');
        const drawn = new Set(await page.evaluate(() => window.drawn));
        const weights = numbers['h.1.weights'][3][8];
        for (const weight of weights.slice(0, 9)) {
            yes(drawn.has(weight.toFixed(3)), `${weight} is not drawn`);
            if (weight >= 0.005) yes(drawn.has(weight.toFixed(2)), `${weight} has no cell`);
        }
        await page.evaluate(() => (window.drawn = []));
        await scene(page, 'scale');
        const scaled = new Set(await page.evaluate(() => window.drawn));
        for (const score of numbers['h.1.masked'][3][8].slice(0, 9))
            yes(scaled.has(score.toFixed(2).replace('-', '−')), `${score} is not drawn`);
    }));

await test('motion: between two scenes, too, all numbers are those of run', () =>
    onMotion(async (page) => {
        const timeOf = async (name) => {
            await scene(page, name);
            return Number(await page.inputValue('#scrub'));
        };
        const [first, last] = [await timeOf('project'), await timeOf('softmax')];
        await listenToTexts(page);
        for (let time = first; time <= last; time += 0.05) await scrub(page, time);
        const drawn = new Set(await page.evaluate(() => window.drawn));
        const [scores, masked, weights] = ['scores', 'masked', 'weights'].map((name) =>
            numbers[`h.1.${name}`][3][8].map(Number));
        const seen = masked.slice(0, 9);
        const hidden = scores.slice(9).map((score) => (score * seen[0]) / scores[0]);
        const powers = seen.map((score) => Math.exp(score - Math.max(...seen)));
        const sum = powers.reduce((all, one) => all + one).toFixed(3);
        const written = (list, places) => list.map((one) => one.toFixed(places).replace('-', '−'));
        const known = new Set([
            ...[...written(scores, 2), ...written([...seen, ...hidden], 2), ...written(powers, 3)],
            ...[...written(weights, 3), ...written(weights, 2), `sum ${sum}`],
        ]);
        const found = [...drawn].filter((text) => /^(sum )?−?\d+\.\d+$/.test(text));
        yes(found.length > 25, `only ${found.length} numbers`);
        same([], found.filter((text) => !known.has(text)));
    }));

await test('motion: every scene of every family is drawn without an error', async () => {
    const root = join(process.env.ROOT, 'tests/references/golden-families');
    const wanted = ['gpt_oss', 'gemma2', 'gemma3n_text', 'bloom', 'bert', 'falcon_h1', 'diffllama', 'gpt_neo', 'granite', 'codegen', 'jamba', 'falcon_mamba', 'lfm2', 'nemotron_h', 'mpt', 'deberta-v2', 'deepseek_v2'];
    const families = readdirSync(root).filter((name) => wanted.includes(name));
    same(wanted.length, families.length);
    const pages = families.map((name) => ['-m', join(root, name), '--ids', '1,4,2,0,3,1']);
    pages.push(['-m', 'cloze', 'The [MASK] sat'], ['-m', 'journey', 'Your journey starts']);
    pages.push(['-m', 'life-cross', 'Life is', '--source', 'eat dessert'], ['-m', 'life-grouped', 'Life is']);
    pages.push([TEXT, '--mask-after'], [TEXT, '--attention', 'linear']);
    for (const words of pages)
        await onMotion(
            async (page) => {
                yes(await page.isVisible('#motion'), `${words}: no motion`);
                await listenToTexts(page);
                const last = Number(await page.getAttribute('#scrub', 'max'));
                for (let time = 0; time <= last; time += 0.5) await scrub(page, time);
                await scrub(page, last);
                const drawn = [...new Set(await page.evaluate(() => window.drawn))];
                const wrong = drawn.filter((text) => /NaN|undefined|Infinity|null/.test(text));
                same([], wrong, words.join(' '));
            },
            { path: writePage(...words), hash: '#screen=motion' },
        );
});

await test('motion: a time has one picture, from wherever the reader comes', () =>
    onMotion(async (page) => {
        const last = Number(await page.getAttribute('#scrub', 'max'));
        const times = [3.3, 7.1, 12, 16.4, 22, 27, 33.3, 50.5, last - 1];
        const there = [];
        for (const time of times) {
            await scrub(page, time);
            there.push(await picture(page));
        }
        yes(new Set(there).size === times.length, 'two times have one picture');
        for (let i = times.length - 1; i >= 0; i--) {
            await scrub(page, times[i]);
            yes((await picture(page)) === there[i], `the picture at ${times[i]} s differs`);
        }
    }));

await test('motion: readers who want no motion get finished pictures at once', () =>
    onMotion(async (page) => {
        await page.evaluate(() => {
            window.frames_ = 0;
            const own = window.requestAnimationFrame;
            window.requestAnimationFrame = (act) => own((...rest) => ((window.frames_ += 1), act(...rest)));
        });
        const titles = new Set();
        for (let step = 0; step < 6; step++) {
            await page.keyboard.press(step % 2 ? 'ArrowRight' : ' ');
            titles.add(await page.innerText('#scene-title'));
        }
        same(6, titles.size);
        same(0, await page.evaluate(() => window.frames_), 'frames');
    }));

await test('motion: it plays a scene and stops, and all keys work', () =>
    onMotion(
        async (page) => {
            const at = () => page.$eval('#scrub', (one) => Number(one.value));
            await page.selectOption('#speed', '2');
            await page.keyboard.press('Home');
            await page.locator('#play').focus();
            await page.keyboard.press('ArrowRight');
            await pass(page, 1000); // a scene takes 2.5 s / 2
            const middle = await at();
            yes(near(middle, 4, 0.02), `after 1 s it is at ${middle}`);
            await quiet(page);
            yes(near(await at(), 4.5, 0.01), `it stops at ${await at()}`);
            const name = await page.innerText('#scene-title');
            await page.reload();
            same(name, await page.innerText('#scene-title'), 'the end of a scene, opened again');
            await page.locator('#play').focus();
            await page.keyboard.press(',');
            yes(near(await at(), 4.25, 0.01), 'a quarter second back');
            await page.keyboard.press('.');
            await page.keyboard.press('ArrowDown');
            same('9', await page.getAttribute('#chips [aria-pressed="true"]', 'data-at'));
            await page.keyboard.press('ArrowUp');
            await page.keyboard.press('End');
            yes(/Prediction/.test(await page.innerText('#scene-title')), 'End is the prediction');
            const best = await page.innerText('#scene-words');
            yes(/“was”, 55\.6 %/.test(best), best);
            await page.keyboard.press('Home');
            await page.keyboard.press(' ');
            same('Pause', await page.innerText('#play'));
            await pass(page, 320);
            await page.keyboard.press(' ');
            const stopped = await at();
            yes(near(stopped, 0.32, 0.02), `played to ${stopped}`);
            await pass(page, 320);
            same(stopped, await at());
            yes(/at=\d/.test(page.url()), page.url());
        },
        { reducedMotion: 'no-preference', still: true },
    ));

await test('motion: arrows turn by dragging and by keys, and sums stay', () =>
    onMotion(async (page) => {
        await scene(page, 'sum');
        const before = await picture(page);
        await page.locator('#stage-canvas').focus();
        await page.keyboard.press('ArrowRight');
        const turned = await picture(page);
        yes(turned !== before, 'keys do not turn');
        yes(/Sum/.test(await page.innerText('#scene-title')), 'an arrow key left the scene');
        const box = await boxOf(page.locator('#stage-canvas'));
        await page.mouse.move(box.x + box.width - 150, box.y + 200);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width - 80, box.y + 220);
        await page.mouse.up();
        yes((await picture(page)) !== turned, 'dragging does not turn');
    }));

await test('motion: it fits windows, with large letters', async () => {
    for (const [width, height] of [[1280, 720], [1440, 900], [390, 844]])
        for (const hash of [HASH, `${HASH}&present=1`])
            await onMotion(
                async (page) => {
                    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
                    yes(over <= 0, `${width}: ${over} pixels too wide`);
                    const { y, height: high } = await boxOf(page.locator('#play'));
                    yes(y + high <= height, `${width}: Play is at ${y}`);
                    if (width < 700) return;
                    const sizes = await page.evaluate(async () => {
                        const found = new Set();
                        const own = CanvasRenderingContext2D.prototype.fillText;
                        CanvasRenderingContext2D.prototype.fillText = function fillText(...rest) {
                            if (this.canvas.id === 'stage-canvas') found.add(parseFloat(/[\d.]+px/.exec(this.font)[0]));
                            own.apply(this, rest);
                        };
                        const slider = document.getElementById('scrub');
                        for (let at = 0; at <= slider.max; at += 1) {
                            slider.value = at;
                            slider.dispatchEvent(new Event('input'));
                        }
                        return [...found];
                    });
                    yes(Math.min(...sizes) >= 18, `${width}: letters of ${Math.min(...sizes)} pixels`);
                },
                { viewport: { width, height }, hash },
            );
});

await test('motion: a Chinese page says all in Chinese, and translates no token', () =>
    onMotion(
        async (page) => {
            const plan = await page.$$eval('#scenes button', (all) => all.map((one) => one.dataset.scene));
            for (const one of plan) {
                await scene(page, one);
                const words = await page.innerText('#scene-words');
                const plain = words.replace(/“[^”]*”|softmax|MLP|W_O|RoPE|L\dH\d|\bd\b/g, '');
                yes(!/[a-z]{2}/i.test(plain), words);
                yes(/[\u4e00-\u9fff]/.test(words), words);
            }
        },
        { hash: `${HASH}&lang=zh` },
    ));

await test('motion: heads that the page does not explain have the command that adds them', () =>
    onMotion(
        async (page) => {
            await scene(page, 'softmax');
            const words = await page.innerText('#motion-missing');
            yes(/queries, keys and values of L1H2\. Those of one head take about [\d,]+ bytes/.test(words), words);
            yes(words.includes(`--explain 1.2 -o page.html`), words);
        },
        { path: writePage(TEXT, '--explain', 'none'), hash: '#screen=motion&head=1.2' },
    ));

await test('motion: pages without all heads follow one of each layer', () =>
    onMotion(
        async (page) => {
            await scene(page, 'sum', 0);
            const best = [0, 1].map((layer) => {
                let found = [0, -1];
                numbers[`h.${layer}.weights`].forEach((rows, head) =>
                    rows[11].forEach((value, key) => {
                        if (key && key < 11 && value > found[1]) found = [head, value];
                    }),
                );
                return found[0];
            });
            yes((await page.innerText('#scene-title')).startsWith(`L0H${best[0]}`), `L0H${best[0]} for ${await page.innerText('#scene-title')}`);
            const context = (await readNumbers(page)).at(-1).slice(4).map(Number);
            const expected = numbers['h.0.context'][best[0]][11];
            context.forEach((value, i) => yes(Math.abs(value - expected[i]) < 0.02, `dim ${i}: ${value} for ${expected[i]}`));
        },
        { path: writePage(TEXT, '--explain', '1.0'), hash: '#screen=motion&head=1.0&token=11' },
    ));

await test('motion: a frame of 12 layers of 12 heads draws and computes little', async () => {
    const words = Array.from({ length: 60 }, (_, at) => `w${at}`).join(' ');
    const model = join(scratch, 'twelve-motion');
    const sizes = 'n_layer=12,n_head=12,n_embd=192,n_positions=60';
    execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', words, '-o', model]);
    await onMotion(
        async (page) => {
            const [frames, again, took] = await page.evaluate(async () => {
                const slider = document.getElementById('scrub');
                const acts = Array.from({ length: 200 }, (_, at) => () => {
                    slider.value = at * 0.15;
                    slider.dispatchEvent(new Event('input'));
                });
                const found = [];
                for (const act of acts) found.push(await window.workOf(act));
                const all = async () => {
                    for (const act of acts) await act();
                };
                return [found, await window.workOf(all), await window.clock.ratio(acts)];
            });
            tell('a frame of 12 layers of 12 heads', took);
            const drawn = frames.map((one) =>
                one.fillRect + one.strokeRect + one.fillText + one.fill + one.stroke);
            yes(Math.max(...drawn) <= 1000, `a frame draws ${Math.max(...drawn)} shapes and texts`);
            // what a layer and its head have computed is kept
            same(0, again.decoded, 'decoded tensors');
            const { arrays, made } = again;
            yes(arrays <= 1200, `200 frames make ${arrays} arrays of numbers`);
            yes(made <= 40, `200 frames make ${made} elements`);
        },
        {
            path: writePage('-m', model, '-s', words, '--scores', 'none'),
            hash: '#screen=motion',
            counted: true,
        },
    );
});

await test('at rest the first scene shows its vectors', () =>
    onMotion(async (page) => {
        await scrub(page, 0);
        const rest = await picture(page);
        await page.click('#scenes [data-scene="vector"]'); // calm: the finished picture
        same(await picture(page), rest);
    }));
